"""Grade Score of a study: heatmaps by judge and prompt, with and without an unrelated option (an
answer to another item), the scores of random choices, and the scores by the authors' code.

An item's grade is the harmonic mean of Entropy (its position entropy) and Choice (share of its most
chosen option). Scores with different numbers of options N are not comparable. A trial is one call:
one rotation of an item's options. Evenhand leaves out items with an unusable trial. The authors'
code, and so the published numbers, include such items.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.html import heatmap, scales
from components.html.format import NARROW_SPACE, count, number, share
from components.html.markup import EMPTY, Markup, bold_and_code_html, fill, join
from components.html.pieces import Kpi, empty_state, paragraph, wrap
from components.html.tables import value_table as tables
from components.results.protocol.paper_tables import GRADE_PROMPTS
from components.results.protocol.sections import judge_rows_or_votes
from metrics.estimation.row_selection import select_rows
from metrics.position.position_measures import chance_accuracy
from metrics.protocols import grade_score
from metrics.protocols.grade_score import RANDOM_GRADE
from metrics.protocols.grade_table import UNRELATED_PRESENT, GradeCell, grade_cells, mark_unrelated
from studies.domain import Estimate

CORRECTED_SCALE: Final = scales.score_scale("Above chance", 0, "1", "0 (chance level) or less", "")

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


def study_grade_cells(filtered: FilteredStudy) -> list[GradeCell]:
    """Grade Score and related measures: one GradeCell for each judge and prompt or, if some items
    have the unrelated option and others do not, two."""
    rows = load_choice_rows(filtered)
    return grade_cells(rows) if len(rows) else []


def load_choice_rows(filtered: FilteredStudy) -> pd.DataFrame:
    rows = judge_rows_or_votes(filtered, "choice")
    return rows.loc[(rows["options"] > 1).to_numpy()]


def list_numbers_of_options(cells: Sequence[GradeCell]) -> list[int]:
    """Numbers of options N of the items, the smallest first."""
    return sorted({n for cell in cells for n in cell.options})


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
    random = grade_score.simulated_slot_probabilities(options, best=None)
    return grade_score.expected_grade_scores(random)[measure.lower()]


def chance_sentence(measure: str, options: Sequence[int]) -> str:
    """Sentence on the score of random choices in `measure` (a key of GRADE_MEASURES), such as
    "N = 3: 0.58", for each N in `options`; empty if unknown."""
    scores = _chance_text_by_options(measure, options)
    who = "A judge that chooses at random among N options has this score:"
    return f"{who} {', '.join(scores)}." if scores else ""


def chance_note(measure: str, options: Sequence[int]) -> str:
    """Note at the end of the colour scale of `measure`, such as "chance at N = 3: 0.58", for each N
    in `options`; empty if unknown."""
    scores = _chance_text_by_options(measure, options)
    return f"chance at {', '.join(scores)}" if scores else ""


def _chance_text_by_options(measure: str, options: Sequence[int]) -> list[str]:
    scale = GRADE_MEASURES[measure][1]
    unit = f"{NARROW_SPACE}%" if scale.unit == "%" else ""
    known = {n: chance_score(measure, n) for n in options}
    return [f"N = {n}: {scale.text(v)}{unit}" for n, v in known.items() if v is not None]


# -- the heatmap ---------------------------------------------------------------------------------


def prompt_columns(cells: Sequence[GradeCell]) -> list[heatmap.MatrixColumn]:
    """Heatmap columns of the prompts: those of the paper in its order, then all other prompts."""
    found = list(dict.fromkeys(cell.prompt for cell in cells))
    order = {prompt: place for place, prompt in enumerate(GRADE_PROMPTS)}
    found.sort(key=lambda prompt: order.get(prompt, len(order)))
    return [heatmap.MatrixColumn(p, f"prompt {order[p] + 1}" if p in order else "") for p in found]


def rank_judges(cells: Sequence[GradeCell], measure: str = "Grade") -> list[str]:
    """Names of the judges by descending mean of `measure` (a key of GRADE_MEASURES) over their
    prompts. An unknown value counts as −1."""
    attribute = GRADE_MEASURES[measure][0]
    values: dict[str, list[float]] = {}
    for cell in cells:
        got = getattr(cell, attribute).value
        values.setdefault(cell.judge, []).append(-1.0 if got is None else got)
    return sorted(values, key=lambda judge: -float(np.mean(values[judge])))


def show_heatmap(cells: Sequence[GradeCell], measure: str) -> Markup:
    """HTML matrix of `measure` (a key of GRADE_MEASURES) by judge and prompt, with the score of
    random choices; one matrix for items without the unrelated option, and one for items with
    it, if the study has both. A message without cells."""
    if not cells:
        return empty_state(
            "No item was shown with its options rotated.",
            "Grade Score needs prompts in which the judge chooses among N options, such as "
            "grade-simple.",
        )
    states = dict.fromkeys(cell.unrelated for cell in cells)
    by_state = {state: [cell for cell in cells if cell.unrelated == state] for state in states}
    return join(
        _heatmap_by_unrelated_option(state, mine, measure) for state, mine in by_state.items()
    )


def _heatmap_by_unrelated_option(
    unrelated: str, cells: Sequence[GradeCell], measure: str
) -> Markup:
    """HTML of the matrix of `measure` for the items with the unrelated option
    (`unrelated`: UNRELATED_PRESENT), or for those without it."""
    attribute, scale = GRADE_MEASURES[measure]
    found = {(cell.judge, cell.prompt): getattr(cell, attribute) for cell in cells}
    sizes = list_numbers_of_options(cells)
    items = count(max((cell.grade.items for cell in cells), default=0), "item")
    shown = "with the" if unrelated == UNRELATED_PRESENT else "without an"
    title = f"N = {', '.join(map(str, sizes))}, {items}, {shown} unrelated option"
    judges, columns, keys = rank_judges(cells, measure), prompt_columns(cells), ("judge", "prompt")
    aside = chance_note(measure, sizes)
    drawn = heatmap.matrix_html(judges, columns, found, scale, keys=keys, aside=aside)
    mixed = Markup(
        '<p class="eh-small eh-under">This score mixes items with different numbers of options N. '
        "The table below shows each N separately.</p>"
    )
    head = fill('<p class="eh-still-title">{}</p>', bold_and_code_html(title))
    return wrap(head, drawn, mixed if len(sizes) > 1 else EMPTY)


def _rows_of_cell(marked: pd.DataFrame, cell: GradeCell) -> pd.DataFrame:
    """The rows of the judge, the prompt and the kind of items (with or without the unrelated
    option) of `cell`. `marked`: rows with the column "unrelated" that `mark_unrelated` adds."""
    own = (marked["judge"] == cell.judge) & (marked["prompt"] == cell.prompt)
    return select_rows(marked, own & (marked["unrelated"] == cell.unrelated))


def _prompt_of_cell(cell: GradeCell) -> str:
    return f"{cell.prompt}{', unrelated' if cell.unrelated == UNRELATED_PRESENT else ''}"


def show_grades_by_option_count(filtered: FilteredStudy, cells: Sequence[GradeCell]) -> Markup:
    """HTML table of grades and chance scores by number of options N, the highest grade first;
    empty if all items have the same N."""
    sizes = list_numbers_of_options(cells)
    if len(sizes) < 2:
        return EMPTY
    rows = mark_unrelated(load_choice_rows(filtered))
    chances = [number(RANDOM_GRADE.get(n), 2) for n in sizes]
    by_size = [(f"N = {n}", f"chance {text}") for n, text in zip(sizes, chances, strict=True)]
    lines: list[list[str]] = []
    for cell in sorted(cells, key=lambda one: (-round(one.grade.value or 0, 9), one.judge)):
        found = grade_score.estimate_grade_score_measures(_rows_of_cell(rows, cell))
        select, prompt = {"judge": cell.judge, "prompt": cell.prompt}, _prompt_of_cell(cell)
        line = [tables.name_cell(cell.judge, select, prompt)]
        for n in sizes:
            got = found.get(f"grade_{n}") or (found["grade"] if cell.options == (n,) else None)
            who = f"{cell.judge}, {prompt}, N = {n}"
            line.append(tables.value_cell(got, tables.SCORE, who=who))
        lines.append([*line])
    lines.append(["chance", *(fill("<b>{}</b>", text) for text in chances)])
    label = "Grade Score by number of options"
    return tables.value_table(["Judge, prompt", *by_size], lines, label=label)


def show_items_with_unusable_replies(filtered: FilteredStudy, cells: Sequence[GradeCell]) -> Markup:
    """HTML table of scores by two rules for items with an unusable reply, one row for each judge
    and prompt with such items: the number of these items; the Grade Score without their incomplete
    sets of rotations (Evenhand's rule); Grade Score, entropy and choice share with these sets (the
    rule of the authors' code). Empty if there are no such items."""
    rows = mark_unrelated(load_choice_rows(filtered))
    lines, every = [], set[str]()
    for cell in cells:
        mine = _rows_of_cell(rows, cell)
        items = grade_score.grade_table(mine).attrs["left_out_items"]
        if not items:
            continue
        every.update(items)
        theirs = grade_score.estimate_grade_score_measures(mine, "gradelab")
        who = f"{cell.judge}, {cell.prompt}"
        select = {"judge": cell.judge, "prompt": cell.prompt}
        grades = [(cell.grade, who)]
        grades += [(theirs[k], f"{who}, authors’ code") for k in ("grade", "entropy", "choice")]
        failures = {**select, "status": "failures"}
        name = tables.name_cell(cell.judge, select, _prompt_of_cell(cell))
        skipped = tables.count_cell(len(items), "a reply without a verdict", failures)
        values = [tables.value_cell(e, tables.SCORE, who=w, select=select) for e, w in grades]
        lines.append([name, skipped, *values])
    if not lines:
        return EMPTY
    heads: list[tables.Head] = [
        "Judge, prompt",
        ("Items with an unusable reply", "each item counts once, however many of its replies are"),
        "Grade, this app",
        *(f"{part}, authors’ code" for part in ("Grade", "Entropy", "Choice")),
    ]
    have = "has" if len(every) == 1 else "have"
    text = (
        f"{count(len(every), 'item')} {have} an unusable reply. Where one is unusable, all replies "
        "of the same judge, prompt and repeat to the item are left out. The code of Grade Score's "
        "authors scores the usable ones; without a usable reply an item gets 0."
    )
    who = "Grade Score of each judge with unusable replies"
    label = f"{who}: by the rule of this app, and by the authors' code"
    return tables.value_table(heads, lines, label=label) + paragraph(text)


# -- headline and key numbers --------------------------------------------------------------------


def highest_grade_cell(cells: Sequence[GradeCell]) -> GradeCell | None:
    known = [cell for cell in cells if cell.grade.value is not None]
    return max(known, key=lambda cell: cell.grade.value or 0.0, default=None)


def grade_headline(cells: Sequence[GradeCell]) -> tuple[str, str]:
    """Headline (how many judge-prompt pairs score significantly above chance) and the sentence
    below it (the highest grade); a message if no grade is known."""
    best = highest_grade_cell(cells)
    if best is None:
        return (
            "No item has usable verdicts in all its rotations yet.",
            "A Grade Score can be computed once an item has a verdict in every rotation.",
        )
    significant = [c for c in cells if c.corrected.low is not None and c.corrected.low > 0]
    known = [c for c in cells if c.corrected.value is not None]
    leader = f"{best.judge} with {best.prompt}"
    grade = f"{number(best.grade.value, 2)}{_accuracy_clause(best)}"
    lead = f"{leader} has the highest grade, {grade}. {chance_sentence('Grade', best.options)}"
    title = (
        f"{len(significant)} of {len(known)} combinations of judge and prompt have a Grade Score"
    )
    if len(known) == 1:
        title = f"the Grade Score of {leader} is{'' if significant else ' not'}"
    return f"With rotated options, {title} significantly above chance.", lead


def _accuracy_clause(best: GradeCell) -> str:
    """Clause on the accuracy of the judge and prompt with the highest grade, because a judge that
    chooses the same wrong answer in every order also has the grade 1; "" if it is unknown."""
    right, lead = best.accuracy, best.accuracy_lead
    if right.value is None:
        return ""
    correct = f"{share(right.value, 0)} of its choices (chance: {_format_chance_accuracy(best)})"
    if lead.high is not None and lead.high < 0:
        return f", but the judge is right in only {correct}"
    return f", and the judge is right in {correct}"


def _format_chance_accuracy(cell: GradeCell) -> str:
    return share(chance_accuracy(cell.accuracy, cell.accuracy_lead), 0)


def grade_kpis(cells: Sequence[GradeCell]) -> list[Kpi]:
    best = highest_grade_cell(cells)
    if best is None:
        return []
    corrected, right = best.corrected, best.accuracy
    level = RANDOM_GRADE.get(best.options[0]) if len(set(best.options)) == 1 else None
    chance = "" if level is None else f"; chance {number(level, 2)}"
    bounds = _interval_or_note(best.grade, tables.SCORE)
    who = f"{best.judge}, {best.prompt} {bounds}"
    above = f"{_interval_or_note(corrected, tables.SCORE)}, chance 0"
    accuracy = _interval_or_note(right, tables.ROUND_PERCENT)
    accuracy += f", chance {_format_chance_accuracy(best)}"
    if right.value is None:
        accuracy = right.note or "people have not ranked these answers"
    return [
        Kpi("Highest grade", number(best.grade.value, 2), note=f"{who}{chance}"),
        Kpi("Grade above chance", number(corrected.value, 2), note=above),
        Kpi("Accuracy", share(right.value, 0), note=accuracy),
    ]


def _interval_or_note(estimate: Estimate, style: tables.NumberStyle) -> str:
    unknown = estimate.low is None or estimate.high is None
    return estimate.note if unknown else style.interval(estimate)
