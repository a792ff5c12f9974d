"""A results view is drawn again only when its study or a related one has changed."""

from __future__ import annotations

from components.filtering.filters import Filter
from components.filtering.related_studies import studies_with_same_data_source
from components.results.view_drawing import VIEWS, render_view
from studies.spec.study import DataSpec, Study
from studies.store.store import Store
from tests.studies.small_items import ask, item, judged

WINS = "Ranking"


def save(store: Store, name: str, source: str, picks: str, sha: str = "1") -> None:
    made = [
        judged(ask(f"{name} {source} {n}{order}", f"q{n}", order), order.index(picked))
        for n, picked in enumerate(picks)
        for order in ("xy", "yx")
    ]
    items = [item(f"q{n}") for n in range(len(picks))]
    spec = Study(name=name, data=DataSpec(source=source))
    store.save_study(spec, items, (), recorded=made, plan_sha=sha, only_recorded=True)


def shown(store: Store, name: str = "one", chosen: Filter | None = None) -> dict[str, object]:
    return render_view(store, name, WINS, chosen or Filter(), VIEWS[WINS].start_values)


def test_two_readers_get_one_drawing_and_a_new_verdict_makes_another(store):
    save(store, "one", "a", "xxyx")
    first, second = shown(store), shown(store)
    assert first.keys() == second.keys() and len(first) > 5
    assert all(first[name] is second[name] for name in first)
    board = str(first["leaders"])
    assert "75" in board
    save(store, "one", "a", "yyyx", sha="2")
    assert str(shown(store)["leaders"]) != board


def test_another_filter_is_another_drawing(store):
    save(store, "one", "a", "xxyx")
    other = shown(store, chosen=Filter(judge="nobody"))
    assert other["finding"] != shown(store)["finding"]


def test_a_run_of_other_data_is_no_neighbour(store):
    save(store, "one", "a", "xy")
    save(store, "far", "b", "xy")
    before = studies_with_same_data_source(store, "one")
    save(store, "far", "b", "xyx", sha="2")
    assert studies_with_same_data_source(store, "one") == before == ()
    save(store, "near", "a", "xy")
    ((name, version),) = studies_with_same_data_source(store, "one")
    save(store, "near", "a", "xyx", sha="2")
    assert name == "near" and studies_with_same_data_source(store, "one") != (("near", version),)


def test_studies_whose_files_cannot_be_read_are_not_related(store, monkeypatch):
    for name in ("one", "two"):
        save(store, name, "a", "xy")
    assert [name for name, _ in studies_with_same_data_source(store, "one")] == ["two"]
    monkeypatch.setattr(store, "study_file_texts", lambda: {"one": "judges: 5", "two": "judges: 6"})
    assert studies_with_same_data_source(store, "one") == ()
