"""Every view of Results gives the same page when the counts are made in chunks of rows."""

from __future__ import annotations

import json

import gradio as gr
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.results import results_tab
from metrics.estimation import measure_cube
from metrics.ratings import elo_orders
from metrics.win_rates import win_rates
from studies.store.store import Store


@pytest.fixture(scope="module")
def tab():
    with gr.Blocks():
        return results_tab.build()


def drawn(path, tab, view: str) -> list[str]:
    """By a store of its own, so that nothing is remembered."""
    controls = {
        name: None if isinstance(part, gr.State) else part.value
        for name, part in tab.parts[view].controls.items()
    }
    store = Store(path)
    try:
        made = results_tab.render_panels(FilteredStudy(store, "two judges"), view, controls)
        return [json.dumps(part) for part in made if isinstance(part, str | dict)]
    finally:
        store.close()


@pytest.mark.parametrize("view", results_tab.PAIR_VIEWS)
def test_a_view_counted_in_parts_is_the_view(judged, tab, view, monkeypatch):
    whole = drawn(judged.path, tab, view)
    assert sum(map(len, whole)) > 1000
    monkeypatch.setattr(measure_cube, "BLOCK_ROWS", 40)
    monkeypatch.setattr(win_rates, "BLOCK_ROWS", 7)
    monkeypatch.setattr(elo_orders, "_MAX_CELLS", 500)
    monkeypatch.setattr("components.results.protocol.visit.cost_and_extraction.MIN_CACHED_ROWS", 0)
    assert drawn(judged.path, tab, view) == whole
