"""Matrix of one position-bias measure by judge, prompt and category, with related measures in the
hover cards; and position bias as a table for a paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Final, TypeVar

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import rater_column_head, rater_names
from components.html import heatmap as heat
from components.html import scales
from components.html.format import (
    MIN_COLOURED_ITEMS,
    NARROW_SPACE,
    count,
    decimal,
    join_names,
    percent,
    share,
)
from components.html.markup import Markup
from components.html.pieces import empty_state
from components.html.tables.typed_columns import TypedColumn, ValueRow, paper_head, paper_rows
from components.html.tables.value_table import STYLES
from components.results.bias.computed import CELL_COLUMNS, ROW_COLUMNS, Bias, choice_rows, load_bias
from components.results.bias.flip_leans import flip_leans
from components.results.bias.option_tests import LEAST_STRENGTH, Evenness
from components.results.bias.sentences import NO_PREFERENCES, consistency_by_chance
from components.results.view.paper_table import PaperTable, describe_items_and_filters
from metrics.catalogue import records
from metrics.catalogue.answer_records import ACCURACY
from metrics.catalogue.position_records import CONSISTENCY, ENTROPY, FIRST_SHARE
from metrics.catalogue.record import MeasureRecord
from metrics.estimation.measures import CellKey
from metrics.ratings.position_term import first_share_if_equal, position_term
from studies.domain import Estimate

Value = TypeVar("Value")
BY_CATEGORY: Final = "By category"
BY_PROMPT: Final = "By prompt"
LAYOUTS: Final = (BY_CATEGORY, BY_PROMPT)
_CI_TEXT: Final = f"95{NARROW_SPACE}% CI"


_SUBTITLE_ADDITIONS: Final = {"entropy": "; in small print: consistency in %"}
MEASURES: Final = {
    one.name: one for options in (2, 3) for one in records.records_listed_by("matrix", options)
}
"""Name -> record, for the measures that the matrix can show."""


def measure_subtitle(name: str) -> str:
    """Definition of a measure of the matrix, below the panel's title."""
    record = MEASURES[name]
    return f"{record.description}{_SUBTITLE_ADDITIONS.get(record.key, '')}; {_CI_TEXT}"


def list_matrix_measures(options: int) -> list[str]:
    """Names of the measures that apply to comparisons with this number of options."""
    names = [
        one.name for one in records.records_listed_by("matrix", options) if one.key != ENTROPY.key
    ]
    names.insert(1 if options == 2 else 0, ENTROPY.name)
    return names


def bias_matrix_html(
    bias: Bias,
    measure: str,
    layout: str = BY_CATEGORY,
    frame: pd.DataFrame | None = None,
    evenness: Mapping[CellKey, Evenness] | None = None,
) -> Markup:
    """HTML of the matrix of one measure, with the columns that `layout` names (BY_CATEGORY or
    BY_PROMPT); a message if no prompt asks for a choice among answers.

    `measure` is a name in MEASURES. A measure that does not apply to this number of options
    is replaced by the first that does. `frame` (the verdicts) is needed only for the position
    term, the advantage in log-odds of the answer shown first. `evenness`, by judge or by judge
    and prompt, is the test of whether positions are chosen evenly. If it is given, a tested
    cell in the matrix of entropy by prompt has a colour only if the test finds it uneven."""
    if not bias.names:
        return empty_state("Nothing to show.", NO_PREFERENCES)
    known = list_matrix_measures(bias.max_options)
    shown = MEASURES[measure if measure in known else known[0]]
    grid = _lay_out_matrix(bias, layout)
    if shown.key == "position_term":
        cells = grid.position_terms_by_cell(frame) if frame is not None else {}
    else:
        cells = grid.estimates_by_cell(shown.key)
    consistency = grid.estimates_by_cell("consistency")
    scale, chance = _choose_colour_scale(shown, bias.max_options), _chance_value(shown, bias)
    banded = evenness if shown.key == "entropy" and layout == BY_PROMPT else None
    even = grid.by_row_and_column(banded or {})
    if shown.better == "high":
        coloured = [
            one.value
            for at, one in cells.items()
            if one.value is not None and one.items >= MIN_COLOURED_ITEMS
            if at not in even or even[at].is_uneven
        ]
        even_top = [1.0] if shown.key == ENTROPY.key else []
        scale = scales.fit_scale(scale, [*coloured, *even_top] if coloured else [], chance)
    return heat.matrix_html(
        grid.rows,
        grid.columns,
        cells,
        scale,
        total=True,
        label_width=132 if layout == BY_PROMPT else 168,
        select=grid.click_filters,
        more=_hover_lines(grid, shown, cells),
        beside=_evenness_notes(consistency, even) if shown.key == "entropy" else None,
        strengths={
            at: max(scale.strength(cells[at].value or 0.0), LEAST_STRENGTH)
            if one.is_uneven and at in cells and cells[at].value is not None
            else 0.0
            for at, one in even.items()
        },
        least=4 * bias.max_options if shown.counts_verdicts else 0,
        aside="" if scale.marks or even else _chance_note(shown, bias),
        keys=("row", "prompt" if layout == BY_PROMPT else "category"),
        end=_consistency_column(grid, consistency) if shown.key == "entropy" else None,
    )


def _consistency_column(
    grid: _MatrixLayout, consistency: Mapping[tuple[str, str], Estimate]
) -> heat.EndColumn | None:
    """Column with the consistency of each row; None if no comparison was judged in every order. The
    column is needed because a judge that chooses at random also chooses the positions evenly."""
    total = grid.columns[0].name
    values = {row: consistency[row, total] for row in grid.rows if (row, total) in consistency}
    if all(one.value is None for one in values.values()):
        return None
    head = heat.MatrixColumn(CONSISTENCY.name, "%")
    return heat.EndColumn(head, values, scales.CONSISTENCY_SCALE)


@dataclass(frozen=True)
class _MatrixLayout:
    """Columns of the matrix, and for each (row, column) the key under which the counts of this cell
    are stored.

    If the columns are categories, the key is (judge, prompt, category), and (judge, prompt) in the
    first column, which pools all categories. If they are prompts, it is (judge, prompt), and
    (judge,) in the first column.
    """

    bias: Bias
    columns: list[heat.MatrixColumn]
    keys: dict[tuple[str, str], CellKey]
    names: tuple[str, ...]
    """Names of the parts of a key, such as judge and prompt."""

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(row for row, _ in self.keys))

    def by_row_and_column(self, found: Mapping[CellKey, Value]) -> dict[tuple[str, str], Value]:
        """The values of `found`, by (row, column) of the matrix; keys that the matrix does not show
        are left out."""
        return {at: found[cell] for at, cell in self.keys.items() if cell in found}

    def estimates_by_cell(self, key: str) -> dict[tuple[str, str], Estimate]:
        """(row, column) -> estimate of the measure with the key `key`, such as "entropy"."""
        if key == "lean":
            fairness = self.estimates_by_cell("fairness")
            return {cell: _negate_estimate(one) for cell, one in fairness.items()}
        if self.names == ROW_COLUMNS:
            return self.by_row_and_column({**self.bias.by_judge(key), **self.bias.by_rater(key)})
        return self.by_row_and_column({**self.bias.by_rater(key), **self.bias.by_category(key)})

    def position_terms_by_cell(self, frame: pd.DataFrame) -> dict[tuple[str, str], Estimate]:
        """(row, column) -> position term, the advantage in log-odds of the answer shown first,
        fitted to the pairs in `frame` that belong to this cell."""

        def fit_terms(names: tuple[str, ...]) -> dict[CellKey, Estimate]:
            return self.bias.memoise(("terms", names), lambda: _position_terms(frame, names))

        return self.by_row_and_column({**fit_terms(self.names[:-1]), **fit_terms(self.names)})

    @property
    def click_filters(self) -> dict[tuple[str, str], dict[str, str]]:
        """The judge, prompt and category that a click on each cell selects, by (row, column)."""
        return {at: dict(zip(self.names, cell, strict=False)) for at, cell in self.keys.items()}


def _lay_out_matrix(bias: Bias, layout: str) -> _MatrixLayout:
    """Rows and columns: judges by prompts (`layout` BY_PROMPT), or judges with a prompt by
    categories (BY_CATEGORY)."""
    rows: dict[str, CellKey] = {name: row for row, name in bias.names.items()}
    columns = [heat.MatrixColumn(name, str(size)) for name, size in bias.category_sizes.items()]
    if layout == BY_PROMPT:
        rows = {judge: (judge,) for (judge,) in bias.sort_best_first(bias.by_judge)}
        columns = [heat.MatrixColumn(name) for name in sorted({prompt for _, prompt in bias.names})]
    total = heat.total_name({column.name for column in columns})
    keys: dict[tuple[str, str], CellKey] = {(name, total): cell for name, cell in rows.items()}
    for name, cell in rows.items():
        keys |= {(name, column.name): (*cell, column.name) for column in columns}
    head = heat.MatrixColumn(total, count(bias.item_count, "item"))
    names = ROW_COLUMNS if layout == BY_PROMPT else CELL_COLUMNS
    return _MatrixLayout(bias, [head, *columns], keys, names)


def _negate_estimate(estimate: Estimate) -> Estimate:
    """Reverse the sign of recency − primacy (flips toward the second position minus flips toward
    the first), so that a positive value means that the first position is preferred."""
    ends = (estimate.value, estimate.high, estimate.low)
    value, low, high = (None if end is None else -end for end in ends)
    return replace(estimate, value=value, low=low, high=high)


def _position_terms(frame: pd.DataFrame, columns: Sequence[str]) -> dict[CellKey, Estimate]:
    pairs = frame[frame["options"] == 2]
    groups = pairs.groupby(list(columns), observed=True, sort=False)
    return {tuple(str(part) for part in cell): position_term(rows) for cell, rows in groups}


def _hover_lines(
    grid: _MatrixLayout, shown: MeasureRecord, cells: Mapping[tuple[str, str], Estimate]
) -> dict[tuple[str, str], list[str]]:
    """(row, column) -> lines of the cell's hover card.

    Entropy, first-position share and flips are given together, because each of them alone
    misleads. If known, the share of changes on a repeat, the Grade Score and the path in
    the JSON output follow. If the measure `shown` is the position term, so does the share of
    verdicts that the answer shown first would win between equally good answers. `cells`: the
    estimates of `shown`."""
    entropy, first, flips, noise = map(
        grid.estimates_by_cell, ("entropy", "first_share", "conflict", "noise_floor")
    )
    parts = GRADE_PARTS if grid.bias.max_options > 2 else ()
    grades = {part: grid.estimates_by_cell(part) for part in parts}
    found = {}
    for place, one in cells.items():
        lines = [_entropy_line(entropy.get(place), first.get(place), flips.get(place))]
        floor = noise.get(place)
        if floor is not None and floor.value is not None:
            lines.append(f"{percent(floor, 0, n=False)} of verdicts change on a repeat")
        if grades:
            lines.append(_grade_score_line({part: of.get(place) for part, of in grades.items()}))
        if shown.key == "position_term" and one.value is not None:
            lines.append(
                "Of two equally good answers, the one shown first would win "
                f"{percent(first_share_if_equal(one), 0, n=False)} of verdicts"
            )
        lines.append(_json_path(grid, place, shown))
        found[place] = [line for line in lines if line]
    return found


def _json_path(grid: _MatrixLayout, place: tuple[str, str], shown: MeasureRecord) -> str:
    """Text on where the output of `python -m metrics --json` has the measure of the cell `place`
    (row, column): its path and, for a category, the option `--by` that makes the output contain
    categories; "" for a cell that pools prompts, and for a measure that the output lacks."""
    cell = grid.click_filters.get(place, {})
    judge, prompt, category = (cell.get(name, "") for name in CELL_COLUMNS)
    declared = next((path for path in shown.paths if ".*.*." in path), "")
    if not judge or not prompt or not declared:
        return ""
    path = declared.replace(".*.*.", f".{judge}.{prompt}.")
    if not category:
        return f"JSON: {path}"
    return f"JSON with --by {','.join(CELL_COLUMNS)}: by.{judge}.{prompt}.{category}.{path}"


GRADE_PARTS: Final = ("grade", "grade:entropy", "grade:choice")


def _entropy_line(entropy: Estimate | None, first: Estimate | None, flips: Estimate | None) -> str:
    """Text on entropy, first-position share and flips, as far as they are known; "" if none is."""
    parts = []
    if entropy is not None and entropy.value is not None:
        decimals = scales.colour_scale_of(ENTROPY).decimals
        parts.append(f"entropy {decimal(entropy, decimals, n=False)}")
    if first is not None and first.value is not None:
        parts.append(
            f"picks the answer shown first in {percent(first, 0, n=False)} of decisive verdicts"
        )
    if flips is not None and flips.value is not None:
        parts.append(f"{percent(flips, 0, n=False)} flip")
    text = ", ".join(parts)
    return text[:1].upper() + text[1:]


def _grade_score_line(parts: Mapping[str, Estimate | None]) -> str:
    grade, entropy, choice = (parts.get(name) for name in GRADE_PARTS)
    if grade is None or grade.value is None or entropy is None or choice is None:
        return ""
    return (
        f"Grade {decimal(grade, n=False)}; mean of an item's entropy {decimal(entropy, n=False)}, "
        f"choice {decimal(choice, n=False)}"
    )


def _evenness_notes(
    consistency: Mapping[tuple[str, str], Estimate], even: Mapping[tuple[str, str], Evenness]
) -> dict[tuple[str, str], str]:
    """(row, column) -> text below the entropy in a cell: the result of the test of evenness in
    `even`, such as "within chance"; for a cell without a test, its consistency."""
    notes = {at: share(one.value, 0) for at, one in consistency.items() if one.value is not None}
    return notes | {at: one.text for at, one in even.items()}


def _choose_colour_scale(shown: MeasureRecord, options: int) -> scales.ColourScale:
    """Colour scale of a measure. With more than two options, the scale of a share is adapted to
    the share expected by chance, which is smaller than for pairs."""
    scale, chance = scales.colour_scale_of(shown), shown.chance(options)
    if options == 2 or chance is None or shown.style != "percent":
        return scale
    if shown.key == FIRST_SHARE.key:
        return replace(scales.even_share_scale(options), name=shown.name)
    return scales.scale_for_many_options(scale, chance)


def _chance_value(shown: MeasureRecord, bias: Bias) -> float | None:
    """Value of a measure for judges that choose at random. For consistency and accuracy, these
    judges are assumed to give ties as often as the judges shown. None for entropy, for measures
    of which neither high nor low values are better, and if the value is unknown."""
    chance = shown.chance(bias.max_options)
    if chance is None or not math.isfinite(chance) or not shown.better or shown.key == ENTROPY.key:
        return None
    if shown.key == CONSISTENCY.key:
        return consistency_by_chance(bias)
    observed = bias.accuracy_by_chance if shown.key == ACCURACY.key else None
    return chance if observed is None else observed


def _chance_note(shown: MeasureRecord, bias: Bias) -> str:
    """Text at the end of the colour scale: the value at chance; "" if `_chance_value` is None."""
    chance, options = _chance_value(shown, bias), bias.max_options
    if chance is None:
        return ""
    where = "" if options == 2 else f" at N = {options}:"
    if shown.style == "decimal":
        return f"chance{where} {chance:.2f}"
    return f"chance{where} {share(chance, 0 if chance >= 0.1 else 1)}"


def position_paper_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table for a paper of position bias, one row for each judge and prompt; None without model
    judges."""
    frame = choice_rows(filtered.measured_judge_rows)
    if frame.empty or filtered.has_only_people:
        return None
    found = records.estimate_position_measures(frame, ["judge", "prompt"])
    shown = [
        one
        for one in records.records_listed_by("paper")
        if any(cell[one.key].value is not None for cell in found.values())
    ]  # a column without values is left out, and so is its definition
    columns = [
        TypedColumn(
            "",
            itemgetter(one.key),
            STYLES[one.style],
            one.column_head,
            interval=one.style == "percent",
        )
        for one in shown
    ]
    columns.append(TypedColumn("", lambda cell: cell["consistency"].n, paper="n", interval=False))
    names = load_bias(filtered).names
    rows = [ValueRow(names[key[0], key[1]], found[key]) for key in rater_names(frame)]
    leans = [row for row in flip_leans(load_bias(filtered)) if row.pairs]
    named = join_names([row.name for row in leans if row.is_significant], len(leans)) or "no row"
    test = f" The sign test of flips, adjusted for all rows, is significant for {named}."
    definitions = " ".join(f"{one.column_head}: {one.description}." for one in shown)
    caption = (
        f"Position bias on {filtered.name}. {definitions} {describe_items_and_filters(filtered)} "
        "95 % intervals over items, not adjusted for several rows; n: comparisons with a verdict "
        f"in every order.{test if leans else ''}"
    )
    head = paper_head(rater_column_head(names), columns)
    return PaperTable("Position bias", caption, head, paper_rows(columns, rows))
