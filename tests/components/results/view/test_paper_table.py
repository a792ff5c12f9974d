"""Cells of tables for a paper."""

from __future__ import annotations

from components.results.view.paper_table import interval_cell
from studies.domain import Estimate


def test_an_interval_with_one_end_has_no_cell():
    assert interval_cell(Estimate(0.5, 0.25, 0.75), 100, 1) == "[25.0, 75.0]"
    for estimate in (Estimate(0.5, 0.25), Estimate(0.5, None, 0.75), Estimate(0.5)):
        assert interval_cell(estimate, 100, 1) == ""
