"""The view Nudges with twins: headline, forest, pairs with marked words, and all families."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.inspect.filter_bar import filter_bar
from components.inspect.load_comparison import load_inspect_page
from components.results.bias.computed import bias_from_frame
from components.results.bias.flip_leans import flip_leans
from components.results.contrasts import comparison
from components.results.controls.mark_selection import inspect_filters_for_mark
from components.results.nudges import tab, twin_panels
from components.results.nudges.twin_pairs import load_twin_examples
from components.results.overview import tab as summary_tab
from components.study.plan.demo_studies import DEMO_FOLDER, TWINS_STUDY
from judges.twins.make_twins import add_twins
from metrics.catalogue.records import RECORDS
from metrics.twins.twin_effects import twins_lose
from studies.exchange.recorded_studies import save_recorded_once
from studies.sources.load import load_items
from studies.spec.study import load_study
from studies.store.store import Store
from studies.texts.twin_families import CONTROLS, FAMILIES, is_twin
from tests.judges.small_studies import run_text
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
    title, lead = tab.headline(study)
    assert says(title, "frame", "+24", "[11, 37]")
    assert says(lead, "more than chance", "19 changes", "controls", "lose")


def test_the_preference_for_padding_is_named_in_nudges_and_summary(study: FilteredStudy) -> None:
    """Counted by hand from the recording: padded and precise answers are equally right by design,
    and padded ones are longer; 99 of 128 verdicts choose them."""
    with gzip.open(DEMO_FOLDER / "twins.jsonl.gz", "rt") as file:
        records = [json.loads(line) for line in file]
    chosen = [
        row["ask"]["shown"][row["verdict"]["pick"]]
        for row in records
        if sorted(row["ask"]["shown"]) == ["padded", "precise"] and not row["ask"]["noise"]
    ]
    assert (chosen.count("padded"), len(chosen)) == (99, 128)
    words = ("equally right answers", "the longer one wins", "77\u202f%", "[69, 84]")
    assert says(tab.headline(study)[1], *words)
    assert "not significant" not in tab.headline(study)[1]  # [69, 84] excludes an even share
    assert says(str(tab.VIEW.report(study)), *words), "the report has it too"
    line = str(summary_tab.render_longer_answer_line(study))
    assert says(line, *words) and "Nudges" in line
    # Two questions: different answers of unequal length, and one answer with a change.
    assert says(line, "the longer answer", "two different", "more than") and "padding" not in line
    assert says(tab.headline(study)[1], "the same answer") and not says(line, "same answer")


def test_the_forest_sorts_by_effect_fills_what_is_shown_and_ends_with_controls(study) -> None:
    html = str(twin_panels.render_twin_effects(study))
    order = [html.index(f">{name}</button>") for name in ("frame", "twice", "markdown")]
    assert order == sorted(order) and order[-1] < html.index("Controls: must lose")
    assert html.index("<details") < html.index(">longer-3</button>"), "not shown: folded"
    shown = {e.family for e in study.twin_effects if e.finding == "shown"} - set(CONTROLS)
    assert html.count('class="p moved"') == len(shown)
    assert html.count('class="p control"') == 3


def test_the_floor_is_one_band_through_all_rows_and_that_of_openings_is_dashed(study) -> None:
    html = str(twin_panels.render_twin_effects(study))
    bands = re.findall(r'<i class="band" style="([^"]*)"', html)
    assert len(bands) == 19 + 1 and len(set(bands)) == 1, "19 rows and the heading of the controls"
    own = re.findall(r'<i class="own" style="([^"]*)"', html)
    openings = [e for e in study.twin_effects if e.floor_family == "prefix"]
    assert len(own) == len(openings) > 0 and set(own).isdisjoint(bands)


def test_pairs_mark_the_added_words_and_link_to_their_calls(study: FilteredStudy) -> None:
    effect = next(one for one in study.twin_effects if one.family == "longer-3")
    found = load_twin_examples(study, effect)
    assert found.total == 64 and found.select["contestant"] == "precise ≈ longer-3"
    kinds = {kind for _, kind in found.pairs[0].words}
    assert kinds == {"", "added"} and found.pairs[0].verdict.startswith("Chosen: the twin")
    html = str(twin_panels.render_twin_examples(study))
    assert html.count("eh-twin-box open") == 1 and "<mark>" in html


def test_examples_are_of_the_selected_category(study: FilteredStudy) -> None:
    categories = {str(name) for name in study.whole_frame_by_person["category"].unique()}
    assert len(categories) > 1
    whole, parts = 0, 0
    for category in sorted(categories):
        chosen = FilteredStudy(study.store, study.name, Filter(category=category))
        effect = next(one for one in chosen.twin_effects if one.family == "longer-3")
        found = load_twin_examples(chosen, effect)
        whole, parts = load_twin_examples(study, effect).total, parts + found.total
        assert 0 < found.total < whole
        for pair in found.pairs:
            assert study.store.item(study.name, pair.item).category == category
    assert parts == whole


def test_all_families_show_what_could_have_been_found(study: FilteredStudy) -> None:
    html = str(twin_panels.render_all_twin_effects(study))
    assert html.count("<tr>") == 1 + 16 + 3 and "25" in html


def test_a_filter_of_another_judge_leaves_nothing(study: FilteredStudy) -> None:
    other = FilteredStudy(study.store, study.name, Filter(judge="nobody"))
    assert (
        twin_panels.render_twin_effects(other) is None
        and twin_panels.twin_effects_headline(other) is None
    )


def test_compare_with_shows_the_difference_in_each_family_of_twins(store: Store) -> None:
    run_text(
        store,
        "name: two\ndata: {source: probe, count: 12, seed: 1}\ncontestants: [precise, flawed]\n"
        "judges: [{name: a, model: simulated, seed: 1}, {name: b, model: simulated, seed: 2}]\n"
        "prompts: [brief-letters]\ntwins: {families: [longer-3, crowd], answers: [precise]}\n",
    )
    filtered = FilteredStudy(store, "two", Filter(judge="a"))
    html = str(comparison.comparison_html(filtered, "b", tab.NAME))
    assert [name for name in FAMILIES if f"Twin {name}<" in html] == [
        "longer-3",
        "crowd",
        *CONTROLS,
    ]
    assert RECORDS["longer"].name in html
    lines = {
        one.name: line
        for one, line in comparison.pair_with_filtered_side(filtered, "b").family_contrasts(
            "Nudges"
        )
    }
    values = {(e.judge, e.family): e.beyond_floor.value for e in filtered.twin_effects}
    gap = values["a", "longer-3"] - values["b", "longer-3"]
    assert lines["Twin longer-3"].raw.value == pytest.approx(gap)


def test_the_examples_of_a_family_make_no_pandas_row_for_each_verdict(
    study: FilteredStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a row object for each verdict, 50,000 verdicts took five of the view's seven seconds."""
    made = []
    real = pd.Series.__init__
    monkeypatch.setattr(
        pd.Series, "__init__", lambda self, *a, **k: (made.append(1), real(self, *a, **k))[1]
    )
    effect = next(one for one in study.twin_effects if one.family == "longer-3")
    made.clear()
    found = load_twin_examples(study, effect)
    assert found.total == 64 and len(made) < 64


def test_the_summary_names_the_change_that_nudges_name_and_its_unit(study):
    title, _ = twin_panels.twin_effects_headline(study)
    family = title.split(" ", 1)[0]
    words = re.sub(r"<[^>]+>", " ", str(summary_tab.render_card_or_judge_tables(study)))
    assert re.search(rf"twins: {family}\b.*?\+\d+\.\d points", words, re.DOTALL)


def test_a_control_that_loses_has_an_interval_without_0(study):
    for one in study.twin_effects:
        if one.family in CONTROLS and twins_lose(one):
            assert not re.search(
                r"[\[ ]0[\],]", twin_panels._format_effect_interval(one.adjusted)
            ), one.family


def test_a_number_of_results_opens_no_twins_and_that_of_a_twin_does(study: FilteredStudy) -> None:
    rows = flip_leans(bias_from_frame(study.measured_judge_rows))
    flips = inspect_filters_for_mark(study, {"flipped": True})
    assert load_inspect_page(study.store, flips).total == sum(row.flips for row in rows) == 85
    opened = load_inspect_page(study.store, flips)
    assert "Without twins" in filter_bar(opened)
    twin = next(name for name in (opened.choices or {})["contestant"] if is_twin(name))
    for mark in ({"contestant": twin}, {"contestant": "precise", "opponent": twin}):
        assert not inspect_filters_for_mark(study, mark).no_twins
        assert load_inspect_page(study.store, inspect_filters_for_mark(study, mark)).total
