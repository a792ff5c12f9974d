"""Every view of Results gives the same page when the counts are made in chunks of rows."""

from __future__ import annotations

import json

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.results.view_drawing import VIEWS, render_view_uncached
from metrics.estimation import measure_cube
from metrics.ratings import elo_orders
from metrics.win_rates import win_rates
from studies.store.store import Store
from tests.samples import sample


def drawn(path, view: str) -> dict[str, str]:
    """By a store of its own, so that nothing is remembered."""
    store = Store(path)
    try:
        filtered = FilteredStudy(store, "two judges")
        states = {
            name: control.initial_state(filtered, None)
            for name, control in VIEWS[view].controls.items()
        }
        controls = {name: state and state.value for name, state in states.items()}
        made = render_view_uncached(filtered, view, controls)
        return {name: json.dumps(part) for name, part in made.items()}
    finally:
        store.close()


@pytest.mark.parametrize("view", sample(VIEWS, "Position", "Ranking"))
def test_a_view_counted_in_parts_is_the_view(judged, view, monkeypatch):
    whole = drawn(judged.path, view)
    assert sum(map(len, whole.values())) > 1000
    monkeypatch.setattr(measure_cube, "BLOCK_ROWS", 40)
    monkeypatch.setattr(win_rates, "BLOCK_ROWS", 7)
    monkeypatch.setattr(elo_orders, "_MAX_CELLS", 500)
    monkeypatch.setattr("components.results.protocol.visit_replies.MIN_CACHED_ROWS", 0)
    assert drawn(judged.path, view) == whole
