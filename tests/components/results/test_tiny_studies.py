"""Studies of one and of two questions: every view, card, report and table can be drawn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.charts.svg_pieces import Canvas, round_share_ticks
from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import Raters
from components.results.cards.card_html import show_card
from components.results.view_drawing import VIEWS, offered_views, render_view_uncached
from components.share.paper_text import methods_paragraph, paper_tables
from components.share.report import ReportFigures, report_html, report_sections
from studies.store.store import Store
from tests.judges.small_studies import run_text
from tests.samples import ALL, sample

KINDS = {
    "sure": ("accuracy: 1", "brief-letters", "orders: both"),
    "biased": ("first_bias: 1", "brief-letters", "orders: both\nrepeats: 3"),
    "unreadable": ("unreadable_rate: 1", "brief-letters", "orders: both"),
    "one order": ("accuracy: 1", "brief-letters", "orders: one"),
    "options": ("accuracy: 1", "brief-options", "options: rotations"),
    "passes": ("sensitivity: 1, specificity: 1", "pass-fail", "options: rotations"),
    "scores": ("score_noise: 0.5", "score-scale", "options: rotations"),
    "both": ("accuracy: 1", "pass-fail, score-scale, brief-letters", "orders: both"),
}
"""Setting of the judges, prompts, and further lines of the study file."""


def tiny(folder: Path, kind: str, questions: int) -> str:
    """A study file of two judges and so many questions, with labels and a vote for each."""
    lines = [
        {"id": f"q{k}", "instruction": f"question {k}", "category": "one",
         "responses": {"okapi": f"answer {k}", "tapir": f"other {k}", "lynx": f"third {k}"},
         "labels": [{"contestant": "okapi", "value": "pass"},
                    {"contestant": "tapir", "value": "fail"}],
         "human": [{"judge": "by-design", "shown": ["okapi", "tapir"], "picked": "okapi"}]}
        for k in range(questions)
    ]  # fmt: skip
    if kind != "options":
        for line in lines:
            del line["responses"]["lynx"]  # type: ignore[attr-defined]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    judge, prompts, more = KINDS[kind]
    judges = ", ".join(f"{{name: {n}, model: simulated, seed: 1, {judge}}}" for n in ("ada", "bob"))
    return (
        f"name: tiny\ndata: {{source: items.jsonl}}\njudges: [{judges}]\n"
        f"prompts: [{prompts}]\n{more}\n"
    )


SIZES = [f"{kind}, {questions}" for kind in KINDS for questions in (1, 2)]


@pytest.fixture(params=sample(SIZES, "sure, 1", "passes, 1", "options, 2"))
def filtered(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FilteredStudy]:
    store = Store(tmp_path / "evenhand.db")
    kind, questions = request.param.split(", ")
    run_text(store, tiny(tmp_path, kind, int(questions)), tmp_path)
    yield FilteredStudy(store, "tiny")
    store.close()


def test_everything_can_be_drawn(filtered: FilteredStudy) -> None:
    for name in offered_views(filtered):
        made = render_view_uncached(filtered, name, VIEWS[name].initial_values(filtered))
        assert any(made.values()), name
    raters = Raters(filtered)
    for rater in raters.names:
        assert rater.split(",")[0].split(" ")[0] in show_card(raters, rater)
    if ALL:
        assert "tiny" in report_html(filtered.store, "tiny")
    else:  # without the numbers as JSON, which the tests of metrics make of little data
        assert "Report" in report_sections(filtered, ReportFigures())
    assert methods_paragraph(filtered)
    assert all(table.rows for table in paper_tables(filtered).values())


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 0.93, 1.0])
def test_an_axis_has_a_range_where_all_shares_are_equal(share: float) -> None:
    rows = round_share_ticks(share, share)
    assert 2 <= len(rows) <= 6 and rows[0] <= share <= rows[-1] <= 1
    canvas = Canvas(820, 290)
    y = canvas.vertical_scale(rows[0], rows[-1])
    assert y(rows[0]) == canvas.axis_y > y(rows[-1])
