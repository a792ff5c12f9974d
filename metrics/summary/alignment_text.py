"""Comparison of a prompt with its candidates as text, for the command line and the library."""

from __future__ import annotations

from metrics.remedies.alignment.candidate_table import CandidateLine, CandidateTable
from metrics.remedies.alignment.prompt_advice import PromptAdvice
from metrics.remedies.recommendation import gain_text, points
from metrics.summary.alignment_section import (
    AlignmentInputs,
    LookResult,
    candidate_result,
    read_alignment_inputs,
)
from metrics.twins.twin_effects import SHOWN
from metrics.twins.twin_sentence import points as twin_points
from studies.domain import Estimate
from studies.errors import StudyError
from studies.store.store import Store

HEADS = ("prompt", "agreement", "difference to today", "flips", "first", "length", "tokens",
         "largest twin effect", "")  # fmt: skip


def alignment_text(store: Store, study: str, judge: str, prompt: str) -> str:
    """Return the table of the latest candidates and the recommendation."""
    inputs = read_alignment_inputs(store, study)
    found = None if inputs is None else candidate_result(inputs, judge, prompt)
    if inputs is None or found is None:
        raise StudyError(f"no candidate of {prompt} was asked for {judge}; see evenhand align")
    return render_result(inputs, *found)


def render_result(
    inputs: AlignmentInputs,
    result: LookResult,
    table: CandidateTable | None,
    advice: PromptAdvice,
) -> str:
    """Format a comparison of candidates: a line for each prompt, the split, the recommendation."""
    rows: list[tuple[str, ...]] = [HEADS]
    if table is not None:
        rows += [_cells(line, result) for line in table.lines]
    if not result.twins:
        rows = [(*row[:-2], row[-1]) for row in rows]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
             for row in rows]  # fmt: skip
    split = inputs.split
    times = {1: "once", 2: "twice"}.get(len(split.looks), f"{len(split.looks)} times")
    lines.append(
        f"Split: learn {len(split.learn)} items, hold-out {len(split.hold_out)} items, seed "
        f"{split.seed}; hold-out looked at {times}."
    )
    return "\n".join([*lines, advice.sentence, *([advice.others] if advice.others else [])])


def _cells(line: CandidateLine, result: LookResult) -> tuple[str, ...]:
    tokens = result.call_tokens(line.prompt)
    return (
        line.prompt,
        _percent(line.agreement, interval=True),
        "–" if line.difference is None else gain_text(line.difference).replace(" points", ""),
        _percent(line.effects["flips"]),
        _percent(line.effects["first_share"]),
        points(line.effects["length_excess"].value, 0),
        "–" if tokens is None else f"{tokens:,.0f}",
        twin_words(line.prompt, result),
        status_words(line),
    )


def twin_words(prompt: str, result: LookResult) -> str:
    """The largest shown effect of a twin with a prompt, "none shown", or "–" without verdicts."""
    effects = result.twins.get(prompt)
    shown = [one for one in effects or () if one.finding == SHOWN]
    if shown:
        return f"{shown[0].family} {twin_points(shown[0].adjusted)}"
    return "–" if not effects else "none shown"


def status_words(line: CandidateLine) -> str:
    """Short words for the status of a line: "gains", "adds flips", "loses", "not shown"."""
    names = {"flips": "flips", "first_share": "first position", "length_excess": "length",
             "unusable": "unusable replies"}  # fmt: skip
    if line.status == "adds bias":
        return f"adds {' and '.join(names[key] for key in line.worse)}"
    return line.status


def _percent(got: Estimate, *, interval: bool = False) -> str:
    if got.value is None:
        return "–"
    text = f"{100 * got.value:.1f}%"
    if not interval or got.low is None or got.high is None:
        return text
    return f"{text} [{100 * got.low:.1f}, {100 * got.high:.1f}]"
