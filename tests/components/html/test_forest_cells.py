"""Marks of a forest plot."""

from __future__ import annotations

import pytest

from components.html.tables.forest_cells import Axis, _dot_html
from studies.domain import Estimate


@pytest.mark.parametrize(("items", "hollow"), [(0, False), (1, True), (4, True), (5, False)])
def test_an_estimate_from_few_items_is_hollow(items, hollow):
    """Without a number of items (0) nothing is known about how few they are."""
    made = _dot_html(Estimate(0.5, 0.4, 0.6, 20, items), Axis())
    assert ("hollow" in made) is hollow
    assert _dot_html(Estimate(None), Axis()) == ""
