"""Comparison of a prompt with its candidates as text, for the command line and the library."""

from collections.abc import Sequence
from typing import Final

from metrics.remedies.recommendation import format_points, gain_text
from metrics.summary.alignment.alignment_section import (
    AlignmentInputs,
    LookResult,
    compare_latest_candidates,
    read_alignment_inputs,
)
from metrics.summary.alignment.candidate_table import CandidateLine, CandidateTable, agreement_text
from metrics.summary.alignment.prompt_advice import PromptAdvice
from metrics.summary.alignment.side_effects import SideEffect, effect_name
from metrics.twins.twin_effects import SHOWN
from metrics.twins.twin_sentence import difference_with_interval_text as twin_points
from studies.domain import Estimate
from studies.errors import StudyError
from studies.store.store import Store

SHORT: Final = {"first_share": "first", "length_excess": "length"}
"""Key of a side effect -> heading of its column in the table, if that is not its name."""
HIDDEN: Final = frozenset({"unusable"})
"""Side effects without a column; they are named where they became worse."""


def alignment_text(store: Store, study: str, judge: str, prompt: str) -> str:
    """Return the table of the latest candidates and the recommendation; raise StudyError if no
    candidate was compared for this judge and prompt."""
    inputs = read_alignment_inputs(store, study)
    found = None if inputs is None else compare_latest_candidates(inputs, judge, prompt)
    if inputs is None or found is None:
        raise StudyError(f"no candidate of {prompt} was asked for {judge}; see evenhand align")
    return render_candidate_comparison(inputs, *found)


def render_candidate_comparison(
    inputs: AlignmentInputs, result: LookResult, table: CandidateTable | None, advice: PromptAdvice
) -> str:
    """Format a comparison of candidates: a line for each prompt if there is a table, the split into
    learn and hold-out (labelled items that no candidate was made from), and the recommendation."""
    rows: list[tuple[str, ...]] = []
    if table is not None:
        effects = effects_with_column(table)
        heads = [SHORT.get(one.key, one.name) for one in effects]
        twins = ("largest twin effect",) * bool(result.twins)
        agreement = agreement_text(table.kind)
        start = ("prompt", agreement, "difference to today", *heads, "calls", "tokens")
        rows = [(*start, *twins, "")]
        rows += [_format_line_cells(line, result, table, effects) for line in table.lines]
    columns = len(rows[0]) if rows else 0
    widths = [max(len(row[k]) for row in rows) for k in range(columns)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
             for row in rows]  # fmt: skip
    split = inputs.split_of(result.kind)
    times = {1: "once", 2: "twice"}.get(len(split.looks), f"{len(split.looks)} times")
    lines.append(
        f"Split: learn {len(split.learn)} items, hold-out {len(split.hold_out)} items, seed "
        f"{split.seed}; hold-out looked at {times}."
    )
    return "\n".join([*lines, advice.sentence, *([advice.others] if advice.others else [])])


def effects_with_column(table: CandidateTable) -> list[SideEffect]:
    """Side effects (measures besides agreement) that have a column in the text table; the others
    are named only where they became worse."""
    return [one for one in table.effects if one.key not in HIDDEN]


def _format_line_cells(
    line: CandidateLine, result: LookResult, table: CandidateTable, effects: Sequence[SideEffect]
) -> tuple[str, ...]:
    tokens = result.call_tokens(line.prompt)
    twins = (format_twin_effect(line.prompt, result),) * bool(result.twins)
    return (
        line.prompt,
        _format_percent(line.agreement, interval=True),
        "–" if line.difference is None else gain_text(line.difference).replace(" points", ""),
        *(_format_effect_value(line.effects[one.key], one) for one in effects),
        f"{result.call_count(line.prompt):,}",
        "–" if tokens is None else f"{tokens:,.0f}",
        *twins,
        format_status(line, table),
    )


def _format_effect_value(estimate: Estimate, effect: SideEffect) -> str:
    if effect.measure.unit == "share":
        return _format_percent(estimate)
    if effect.measure.unit == "score":
        return "–" if estimate.value is None else f"{estimate.value:.2f}"
    return format_points(estimate.value, 0)


def format_twin_effect(prompt: str, result: LookResult) -> str:
    """Text on the largest effect of a kind of twins (answers with one change that should not
    matter) on the verdicts with a prompt, among those that are significant after adjustment: the
    kind, and the effect in percentage points. "none shown" if none is; "–" if no effect of its
    twins was measured."""
    effects = result.twins.get(prompt)
    shown = [one for one in effects or () if one.finding == SHOWN]
    if shown:
        return f"{shown[0].family} {twin_points(shown[0].adjusted)}"
    return "–" if not effects else "none shown"


def format_status(line: CandidateLine, table: CandidateTable) -> str:
    """Short words for the status of a prompt in the table, such as "gains", "adds flips", "loses",
    "not shown"."""
    if line.status == "adds bias":
        names = [effect_name(key, table.effects) for key in line.worsened_effects]
        return f"adds {' and '.join(names)}"
    return line.status


def _format_percent(estimate: Estimate, *, interval: bool = False) -> str:
    if estimate.value is None:
        return "–"
    text = f"{100 * estimate.value:.1f}%"
    if not interval or estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
