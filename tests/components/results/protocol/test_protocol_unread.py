"""Items with an unusable trial, by the rule of this app and by Grade Score's authors' code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.results.protocol.blocks import render_grade_heatmap
from components.results.protocol.grade_panel import (
    load_choice_rows,
    show_items_with_unusable_replies,
    study_grade_cells,
)
from metrics.protocols.grade_score import grade_table
from metrics.summary.summary import summarise_frame
from studies.store.store import Store
from tests.components.written_replies import answered, endpoint, write_items
from tests.page_words import says


def write(planned, rng) -> str:
    """The best-ranked, always; `mumbler` says nothing of q1 when that stands first."""
    best = planned.ask.shown.index("rank-1")
    silent = planned.ask.judge == "mumbler" and planned.ask.item == "q1" and best == 0
    return "Hard to say." if silent else f"Selection: Option {best + 1}\nExplanation: it is."


@pytest.fixture
def graded(store: Store, tmp_path: Path) -> Store:
    items = [
        {"id": item, "instruction": f"Which, in {item}?",
         "responses": {f"rank-{k}": f"answer {k}" for k in (1, 2, 3, 4)},
         "human": [{"judge": "panel", "ranks": {f"rank-{k}": k for k in (1, 2, 3, 4)}}]}
        for item in ("q1", "q2")
    ]  # fmt: skip
    values = {
        "name": "four", "preset": "grade-score", "prompts": ["grade-simple"],
        "data": {"source": str(write_items(tmp_path / "items.jsonl", items)), "options": 4},
        "judges": [endpoint("mumbler"), endpoint("steady")],
    }  # fmt: skip
    answered(store, values, write)
    return store


def test_the_authors_number_stands_beside_ours_where_a_trial_was_not_read(graded: Store) -> None:
    # Worked by hand from Iourovitski 2024: consistent with one of four trials unread is
    # (.8842282, .7924813, 1) by their
    # rule. q2 is whole (1, 1, 1). So ours is 1 over q2 alone, theirs the mean of the two.
    scene = FilteredStudy(graded, "four")
    html = show_items_with_unusable_replies(scene, study_grade_cells(scene))
    assert ">mumbler<" in html and ">steady<" not in html
    assert "<b>1.00</b>" in html and "<b>0.94</b>" in html and "<b>0.90</b>" in html
    assert says(html, "1", "unusable reply", "left out")
    assert says(render_grade_heatmap(scene, "Grade").bodies["sizes"], "unusable reply")


def test_an_item_with_unusable_replies_to_two_prompts_is_one_item(graded, tmp_path) -> None:
    """q1 lacks a reply with both prompts, in both repeats: four sets of rotations, one item."""
    values = {
        "name": "twice", "preset": "grade-score", "prompts": ["grade-simple", "grade-debias"],
        "repeats": 2, "data": {"source": str(tmp_path / "items.jsonl"), "options": 4},
        "judges": [endpoint("mumbler")],
    }  # fmt: skip
    answered(graded, values, write)
    scene = FilteredStudy(graded, "twice")
    rows = load_choice_rows(scene)
    assert grade_table(rows).attrs["left_out"] == 4
    html = show_items_with_unusable_replies(scene, study_grade_cells(scene))
    assert says(html, "1 item has", "unusable reply")
    skipped = re.findall(r'data-head="Items with an unusable reply">.*?>(\d+)</button>', html)
    assert skipped == ["1", "1"]
    assert ">grade-debias<" in html and ">debias<" not in html


@pytest.mark.extra
def test_the_command_prints_the_same(graded: Store) -> None:
    got = summarise_frame(graded.frame("four"), quick=True)["grade"]
    mumbler = got["mumbler"]["grade-simple"]
    assert (mumbler["grade"]["value"], mumbler["grade"]["n"]) == (1, 1)
    assert mumbler["grade_gradelab"]["value"] == pytest.approx((0.8842282 + 1) / 2, abs=1e-7)
    assert mumbler["entropy_gradelab"]["value"] == pytest.approx((0.7924813 + 1) / 2, abs=1e-7)
    assert mumbler["choice_gradelab"]["value"] == 1
    assert "grade_gradelab" not in got["steady"]["grade-simple"]


def test_nothing_is_said_where_every_trial_was_read(graded: Store) -> None:
    scene = FilteredStudy(graded, "four")
    whole = [cell for cell in study_grade_cells(scene) if cell.judge == "steady"]
    assert show_items_with_unusable_replies(scene, whole) == ""
