"""The view Nudges with twins: headline, forest, pairs with marked words, and all families."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.results.nudges import tab, twin_panels
from components.results.nudges.twin_pairs import family_pairs
from components.study.plan.demo_studies import DEMO_FOLDER, TWINS_STUDY
from judges.twins.make_twins import add_twins
from studies.exchange.recorded_studies import save_recorded_once
from studies.sources.load import load_items
from studies.spec.study import load_study
from studies.store.store import Store
from studies.texts.twin_families import CONTROLS
from tests.page_words import says


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilteredStudy]:
    store = Store(Path(tmp_path_factory.mktemp("twins")) / "store.db")
    spec = load_study(DEMO_FOLDER / "twins.yaml")
    items = add_twins(spec, load_items(spec.data, spec.folder)).items
    save_recorded_once(store, spec, list(items), DEMO_FOLDER / "twins.jsonl.gz")
    yield FilteredStudy(store, TWINS_STUDY)
    store.close()


def test_the_headline_names_the_largest_effect_and_the_controls(study: FilteredStudy) -> None:
    title, lead = tab.finding(study)
    assert says(title, "frame", "+24", "[11, 37]")
    assert says(lead, "controls", "lose")


def test_the_forest_sorts_by_effect_fills_what_is_shown_and_ends_with_controls(study) -> None:
    html = str(twin_panels.draw_twins(study))
    order = [html.index(f">{name}</button>") for name in ("frame", "twice", "markdown")]
    assert order == sorted(order) and order[-1] < html.index("Controls: must lose")
    assert html.index("<details") < html.index(">longer-3</button>"), "not shown: folded"
    shown = {e.family for e in study.twin_effects if e.finding == "shown"} - set(CONTROLS)
    assert html.count('class="p moved"') == len(shown)
    assert html.count('class="p control"') == 3 and html.count('class="band"') == 19


def test_pairs_mark_the_added_words_and_link_to_their_calls(study: FilteredStudy) -> None:
    effect = next(one for one in study.twin_effects if one.family == "longer-3")
    found = family_pairs(study, effect)
    assert found.total == 64 and found.select["contestant"] == "precise ≈ longer-3"
    kinds = {kind for _, kind in found.pairs[0].words}
    assert kinds == {"", "added"} and found.pairs[0].verdict.startswith("Chosen: the twin")
    html = str(twin_panels.draw_pairs(study))
    assert html.count("eh-twin-box open") == 1 and "<mark>" in html


def test_all_families_show_what_could_have_been_found(study: FilteredStudy) -> None:
    html = str(twin_panels.draw_families(study))
    assert html.count("<tr>") == 1 + 16 + 3 and "25" in html


def test_a_filter_of_another_judge_leaves_nothing(study: FilteredStudy) -> None:
    other = FilteredStudy(study.store, study.name, Filter(judge="nobody"))
    assert twin_panels.draw_twins(other) is None and twin_panels.twin_finding(other) is None
