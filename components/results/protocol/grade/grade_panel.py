"""Grade Score of a study: heatmaps by judge and prompt, with and without an unrelated option (an
answer to another item), and the scores of random choices.

An item's grade is the harmonic mean of Entropy (its position entropy) and Choice (share of its most
chosen option). Scores with different numbers of options N are never compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import machine_rows
from components.html import heatmap as heat
from components.html import scales
from components.html.format import NARROW_SPACE, count, number, share
from components.html.markup import EMPTY, Markup, fill, inline_markup, join
from components.html.panel import Kpi, empty_state, wrap
from components.html.tables.value_table import SCORE, ColumnHead, name_cell, value_cell, value_table
from components.results.protocol.paper_tables import GRADE_PROMPTS
from components.results.protocol.sections import protocol_rows
from metrics.position.position_measures import chance_accuracy
from metrics.protocols.grade_score import (
    RANDOM_GRADE,
    canonical_slot_probabilities,
    expected_grade_scores,
    grade_estimates,
)
from metrics.protocols.grade_table import UNRELATED_PRESENT, GradeCell, grade_cells
from studies.domain import Estimate

CORRECTED_SCALE: Final = scales.ColourScale(
    "Above chance", "b", 1, 0, ("no colour: 1", "full colour: 0 (chance level) or less"), 2, 1, ""
)

GRADE_MEASURES: Final[dict[str, tuple[str, scales.ColourScale]]] = {
    "Grade": ("grade", scales.GRADE_SCALE),
    "Entropy": ("entropy", scales.ENTROPY_SCALE),
    "Choice": ("choice", scales.CHOICE_SCALE),
    "Above chance": ("corrected", CORRECTED_SCALE),
    "Accuracy": ("accuracy", scales.ACCURACY_SCALE),
}
_CI: Final = f"95{NARROW_SPACE}% CI"
MEASURE_SUBTITLES: Final = {
    "Grade": "for each item, the harmonic mean of position entropy and share of choices for the "
    f"most chosen option; then the mean over items; {_CI}",
    "Entropy": f"entropy of an item's chosen positions, divided by its maximum; 1 = no preferred "
    f"position; {_CI}",
    "Choice": f"share of an item's choices that go to its most chosen option; {_CI}",
    "Above chance": (
        "(Grade Score − its value by chance) / (1 − its value by chance); not comparable "
        f"between different numbers of options N; {_CI}"
    ),
    "Accuracy": "% of choices that go to the answer ranked best by people; a judge with a high "
    f"grade can be wrong; {_CI}",
}
MAX_EXACT_OPTIONS: Final = 6
"""Largest N for which the page shows Entropy and Choice of random choices: all Nᴺ outcomes have to
be enumerated."""
SEED: Final = 20_24


def study_grade_cells(filtered: FilteredStudy) -> list[GradeCell]:
    """One cell for each judge and prompt, separately for items with and without the unrelated
    option: Grade Score and related measures."""
    rows = load_choice_rows(filtered)
    return grade_cells(rows) if len(rows) else []


def load_choice_rows(filtered: FilteredStudy) -> pd.DataFrame:
    rows = machine_rows(protocol_rows(filtered, "choice"))
    return rows.loc[(rows["options"] > 1).to_numpy()]


# -- chance scores -------------------------------------------------------------------------------


@cache
def chance_score(measure: str, options: int) -> float | None:
    """Expected value of `measure` for random choices among `options` options; None if unknown."""
    if measure == "Accuracy":
        return 1 / options
    if measure == "Above chance":
        return 0.0
    if measure == "Grade":
        return RANDOM_GRADE.get(options)
    if options > MAX_EXACT_OPTIONS:
        return None
    return expected_grade_scores(canonical_slot_probabilities(options, best=None))[measure.lower()]


def chance_sentence(measure: str, options: Sequence[int]) -> str:
    """Sentence on the score of random choices, such as "N = 3: 0.58", for each N in `options`."""
    scores = _chance_by_size(measure, options)
    who = "A judge that chooses at random among N options has this score:"
    return f"{who} {', '.join(scores)}." if scores else ""


def chance_note(measure: str, options: Sequence[int]) -> str:
    """Note at the end of the colour scale, such as "chance at N = 3: 0.58"."""
    scores = _chance_by_size(measure, options)
    return f"chance at {', '.join(scores)}" if scores else ""


def _chance_by_size(measure: str, options: Sequence[int]) -> list[str]:
    scale = GRADE_MEASURES[measure][1]
    unit = f"{NARROW_SPACE}%" if scale.unit == "%" else ""
    known = {n: chance_score(measure, n) for n in options}
    return [f"N = {n}: {scale.text(v)}{unit}" for n, v in known.items() if v is not None]


# -- the heatmap ---------------------------------------------------------------------------------


def short_prompt(prompt: str) -> str:
    return prompt.removeprefix("grade-")


def prompt_columns(cells: Sequence[GradeCell]) -> list[heat.MatrixColumn]:
    """Heatmap columns of the prompts: those of the paper in its order, then all other prompts."""
    found = list(dict.fromkeys(cell.prompt for cell in cells))
    order = {prompt: place for place, prompt in enumerate(GRADE_PROMPTS)}
    found.sort(key=lambda prompt: order.get(prompt, len(order)))
    return [heat.MatrixColumn(p, f"prompt {order[p] + 1}" if p in order else "") for p in found]


def rank_judges(cells: Sequence[GradeCell], measure: str = "Grade") -> list[str]:
    """Names of the judges, the highest mean of `measure` first."""
    attribute = GRADE_MEASURES[measure][0]
    values: dict[str, list[float]] = {}
    for cell in cells:
        got = getattr(cell, attribute).value
        values.setdefault(cell.judge, []).append(-1.0 if got is None else got)
    return sorted(values, key=lambda judge: -float(np.mean(values[judge])))


def show_heatmap(cells: Sequence[GradeCell], measure: str) -> Markup:
    """HTML of two matrices, with and without the unrelated option, each with its chance score."""
    if not cells:
        return empty_state(
            "No item was shown with its options rotated.",
            "Grade Score needs prompts in which the judge chooses among N options, such as "
            "grade-simple.",
        )
    attribute, scale = GRADE_MEASURES[measure]
    parts = []
    for state in dict.fromkeys(cell.unrelated for cell in cells):
        mine = [cell for cell in cells if cell.unrelated == state]
        found = {(cell.judge, cell.prompt): getattr(cell, attribute) for cell in mine}
        sizes = sorted({n for cell in mine for n in cell.options})
        drawn = heat.matrix_html(
            rank_judges(mine, measure),
            prompt_columns(mine),
            found,
            scale,
            keys=("judge", "prompt"),
            aside=chance_note(measure, sizes),
        )
        parts.append(wrap(_heatmap_title(state, mine), drawn, _mixed_sizes_note(sizes)))
    return join(parts)


def _heatmap_title(state: str, cells: Sequence[GradeCell]) -> Markup:
    sizes = sorted({n for cell in cells for n in cell.options})
    listed = ", ".join(map(str, sizes))
    items = max((cell.grade.items for cell in cells), default=0)
    shown = (
        "with the unrelated option" if state == UNRELATED_PRESENT else "without an unrelated option"
    )
    title = inline_markup(f"N = {listed}, {count(items, 'item')}, {shown}")
    return fill('<p class="eh-still-title">{}</p>', title)


def _mixed_sizes_note(sizes: Sequence[int]) -> Markup:
    if len(sizes) < 2:
        return EMPTY
    note = (
        "This score mixes items with different numbers of options N. The table below shows each N "
        "separately."
    )
    return fill('<p class="eh-small eh-under">{}</p>', note)


def show_by_size(filtered: FilteredStudy, cells: Sequence[GradeCell]) -> Markup:
    """HTML table of grades and chance scores by number of options N, for a study with several N."""
    sizes = sorted({n for cell in cells for n in cell.options})
    if len(sizes) < 2:
        return EMPTY
    rows = load_choice_rows(filtered)
    heads = [ColumnHead("Judge, prompt", numeric=False)]
    heads += [ColumnHead(f"N = {n}", tip=f"chance {number(RANDOM_GRADE.get(n), 2)}") for n in sizes]
    lines = []
    for cell in cells:
        mine = rows[(rows["judge"] == cell.judge) & (rows["prompt"] == cell.prompt)]
        found = grade_estimates(mine)
        select = {"judge": cell.judge, "prompt": cell.prompt}
        line = [name_cell(cell.judge, select, short_prompt(cell.prompt))]
        for n in sizes:
            got = found.get(f"grade_{n}") or (found["grade"] if cell.options == (n,) else None)
            line.append(value_cell(got, SCORE, who=f"{cell.judge}, {cell.prompt}, N = {n}"))
        lines.append(line)
    chance = ["chance", *(fill("<b>{}</b>", number(RANDOM_GRADE.get(n), 2)) for n in sizes)]
    return value_table(heads, [*lines, chance], label="Grade Score by number of options")


# -- headline and key numbers --------------------------------------------------------------------


def best_cell(cells: Sequence[GradeCell]) -> GradeCell | None:
    known = [cell for cell in cells if cell.grade.value is not None]
    return max(known, key=lambda cell: cell.grade.value or 0.0) if known else None


def grade_finding(cells: Sequence[GradeCell]) -> tuple[str, str]:
    """Headline (how many judge-prompt pairs score significantly above chance) and the sentence
    below it (the highest grade)."""
    best = best_cell(cells)
    if best is None:
        return (
            "No item has usable verdicts in all its rotations yet.",
            "A Grade Score can be computed once an item has a verdict in every rotation.",
        )
    significant = [c for c in cells if c.corrected.low is not None and c.corrected.low > 0]
    known = [c for c in cells if c.corrected.value is not None]
    leader = f"{best.judge} with {short_prompt(best.prompt)}"
    lead = (
        f"{leader} has the highest grade, {number(best.grade.value, 2)}{_accuracy_clause(best)}. "
    )
    lead += chance_sentence("Grade", best.options)
    if len(known) == 1:
        word = "is" if significant else "is not"
        return (
            f"With rotated options, the Grade Score of {leader} {word} significantly above chance.",
            lead,
        )
    return (
        f"With rotated options, {len(significant)} of {len(known)} combinations of judge and "
        "prompt have a Grade Score significantly above chance.",
        lead,
    )


def _accuracy_clause(best: GradeCell) -> str:
    """Clause on the accuracy of a judge and prompt, because a judge that chooses the same wrong
    answer in every order also has grade 1."""
    right, lead = best.accuracy, best.accuracy_lead
    if right.value is None:
        return ""
    correct = f"{share(right.value, 0)} of its choices (chance: {_chance_text(best)})"
    if lead.high is not None and lead.high < 0:
        return f", but the judge is right in only {correct}"
    return f", and the judge is right in {correct}"


def _chance_text(cell: GradeCell) -> str:
    return share(chance_accuracy(cell.accuracy, cell.accuracy_lead), 0)


def grade_kpis(cells: Sequence[GradeCell]) -> list[Kpi]:
    best = best_cell(cells)
    if best is None:
        return []
    who = f"{best.judge}, {short_prompt(best.prompt)}"
    corrected = best.corrected
    right = best.accuracy
    level = RANDOM_GRADE.get(best.options[0]) if len(set(best.options)) == 1 else None
    chance = "" if level is None else f"; chance {number(level, 2)}"
    note = f"{who} {_bounds_text(best.grade)}{chance}"
    return [
        Kpi("Highest grade", number(best.grade.value, 2), note=note),
        Kpi(
            "Grade above chance",
            number(corrected.value, 2),
            note=f"{_bounds_text(corrected)}, chance 0",
        ),
        Kpi(
            "Accuracy",
            share(right.value, 0),
            note=f"{_bounds_text(right, 100)}, chance {_chance_text(best)}"
            if right.value is not None
            else right.note or "people have not ranked these answers",
        ),
    ]


def _bounds_text(estimate: Estimate, times: float = 1) -> str:
    if estimate.low is None or estimate.high is None:
        return estimate.note
    digits = 2 if times == 1 else 0
    return f"[{number(times * estimate.low, digits)}, {number(times * estimate.high, digits)}]"
