"""A results view is drawn again only when its study or a related one has changed."""

from __future__ import annotations

import gradio as gr
import pytest

from components.filtering.related_studies import related_studies
from components.results import results_tab
from studies.spec.study import DataSpec, Study
from studies.store.store import Store
from tests.studies.small_items import ask, item, judged

WINS = "Win rates"


@pytest.fixture(scope="module")
def tab():
    with gr.Blocks():
        made = results_tab.build()
        results_tab.render_hidden(made)
    return made


def save(store: Store, name: str, source: str, picks: str, sha: str = "1") -> None:
    made = [
        judged(ask(f"{name} {source} {n}{order}", f"q{n}", order), order.index(picked))
        for n, picked in enumerate(picks)
        for order in ("xy", "yx")
    ]
    items = [item(f"q{n}") for n in range(len(picks))]
    spec = Study(name=name, data=DataSpec(source=source))
    store.save_study(spec, items, (), recorded=made, plan_sha=sha, only_recorded=True)


def shown(store: Store, tab, name: str = "one") -> list[object]:
    values = tuple(part.value for part in tab.inputs)
    return results_tab.render_view(store, name, tab, WINS, values)


def test_two_readers_get_one_drawing_and_a_new_verdict_makes_another(store, tab):
    save(store, "one", "a", "xxyx")
    first, second = shown(store, tab), shown(store, tab)
    assert [mine is its for mine, its in zip(first, second, strict=True)] == [True] * len(first)
    assert "x wins 75" in str(first[0])
    save(store, "one", "a", "yyyx", sha="2")
    assert "y wins 75" in str(shown(store, tab)[0])


def test_another_filter_is_another_drawing(store, tab):
    save(store, "one", "a", "xxyx")
    values = [part.value for part in tab.inputs]
    values[1] = "nobody"
    other = results_tab.render_view(store, "one", tab, WINS, tuple(values))
    assert other[0] != shown(store, tab)[0]


def test_a_run_of_other_data_is_no_neighbour(store):
    save(store, "one", "a", "xy")
    save(store, "far", "b", "xy")
    before = related_studies(store, "one")
    save(store, "far", "b", "xyx", sha="2")
    assert related_studies(store, "one") == before == ()
    save(store, "near", "a", "xy")
    ((name, version),) = related_studies(store, "one")
    save(store, "near", "a", "xyx", sha="2")
    assert name == "near" and related_studies(store, "one") != (("near", version),)
