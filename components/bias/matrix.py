"""The bias matrix: one measure by judge, prompt and category, with its companions in the card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import pandas as pd

from components.bias.counts import CELL, Bias
from components.drawing import matrix as heat
from components.drawing.pieces import empty
from components.format import NARROW, count, number, share
from metrics.grade import G_RANDOM
from metrics.measures import Cell
from metrics.position_term import position_term, share_if_equal
from studies.records import Estimate

BY_CATEGORY: Final = "By category"
BY_PROMPT: Final = "By prompt"
LAYOUTS: Final = (BY_CATEGORY, BY_PROMPT)
_CI: Final = f"95{NARROW}% CI"


@dataclass(frozen=True, slots=True)
class Shown:
    """A measure as the matrix shows it."""

    key: str
    scale: heat.Scale
    subtitle: str
    of: Literal["pairs", "options", "both"] = "both"
    verdicts: bool = False
    """Its n counts verdicts: under 4 N of them a cell says nothing."""


MEASURES: Final = {
    "Grade": Shown(
        "grade", heat.GRADE, f"harmonic mean of entropy and choice, over items; {_CI}", "options"
    ),
    "Consistency": Shown(
        "consistency", heat.CONSISTENCY,
        f"% of comparisons whose verdict survives a new order; {_CI}",
    ),
    "Entropy": Shown(
        "entropy", heat.ENTROPY,
        f"of the slot chosen, 1 = no slot preferred; below it what survives; {_CI}", verdicts=True,
    ),
    "Choice": Shown(
        "grade:choice", heat.CHOICE,
        f"share of an item's trials that name its most chosen answer; {_CI}", "options",
    ),
    "Lean": Shown(
        "lean", heat.LEAN, f"% of pairs: flips toward first minus toward second; {_CI}", "pairs"
    ),
    "First-slot share": Shown(
        "first_share", heat.FIRST_SHARE,
        f"% of decisive verdicts for the answer shown first; {_CI}", verdicts=True,
    ),
    "Position term": Shown(
        "position_term", heat.POSITION_TERM,
        f"logit by which being shown first helps, strengths apart; {_CI}", "pairs",
    ),
    "Accuracy": Shown(
        "accuracy", heat.RIGHT,
        f"% right where the better answer is known, by design or from most people; {_CI}",
    ),
}  # fmt: skip
SUBTITLES: Final = {name: shown.subtitle for name, shown in MEASURES.items()}


def measures_for(options: int) -> list[str]:
    """What can be shown of pairs, or of choices among more."""
    kind = "pairs" if options == 2 else "options"
    return [name for name, shown in MEASURES.items() if shown.of in (kind, "both")]


def matrix_of(
    bias: Bias, measure: str, layout: str = BY_CATEGORY, frame: pd.DataFrame | None = None
) -> str:
    """The matrix; `frame` is needed for the position term alone, which is fitted to battles."""
    if not bias.asked:
        return empty("Nothing to show yet.", "No judgement of this selection has been stored.")
    known = measures_for(bias.options)
    shown = MEASURES[measure if measure in known else known[0]]
    made = _by_prompt(bias) if layout == BY_PROMPT else _by_category(bias)
    if shown.key == "position_term":
        cells = made.fitted(frame) if frame is not None else {}
    else:
        cells = made.of(shown.key)
    kept = made.of("consistency")
    return heat.matrix(
        made.rows, made.columns, cells, shown.scale, total=True, label_width=168,
        select=made.selects, more=_cards(made, shown.key, cells),
        beside=_beside(kept) if shown.key == "entropy" else None,
        least=4 * bias.options if shown.verdicts else 0,
        aside=_coin(shown.key, bias.options),
        keys=("row", "prompt" if layout == BY_PROMPT else "category"),
    )  # fmt: skip


@dataclass(frozen=True)
class _Grid:
    """Rows and columns of one layout, and which cell of the counts each of its cells is."""

    bias: Bias
    rows: list[str]
    columns: list[heat.Column]
    whole: dict[str, Cell]
    """Row -> the cell of its first column, "All"."""
    parts: dict[tuple[str, str], Cell]
    layout: str

    def of(self, key: str) -> dict[tuple[str, str], Estimate]:
        """(row, column) -> the measure."""
        if key == "lean":
            return {cell: _mirrored(one) for cell, one in self.of("fairness").items()}
        if self.layout == BY_PROMPT:
            whole, parts = self.bias.by_judge(key), self.bias.each(key)
        else:
            whole, parts = self.bias.each(key), self.bias.by_category(key)
        cells = {(row, "All"): whole[cell] for row, cell in self.whole.items() if cell in whole}
        return cells | {place: parts[cell] for place, cell in self.parts.items() if cell in parts}

    def fitted(self, frame: pd.DataFrame) -> dict[tuple[str, str], Estimate]:
        """The position term of every cell, each fitted to its own battles."""
        columns = ("judge", "prompt") if self.layout == BY_PROMPT else CELL
        fine, coarse = (
            self.bias.keep(("terms", names), lambda names=names: _terms(frame, names))
            for names in (columns, columns[:-1])
        )
        cells = {(row, "All"): coarse[cell] for row, cell in self.whole.items() if cell in coarse}
        return cells | {place: fine[cell] for place, cell in self.parts.items() if cell in fine}

    @property
    def selects(self) -> dict[tuple[str, str], dict[str, str]]:
        """What a click opens: the judge, prompt and category behind a cell, by their own names."""
        names = ("judge", "prompt") if self.layout == BY_PROMPT else CELL
        found = {(row, "All"): _named(names, cell) for row, cell in self.whole.items()}
        return found | {place: _named(names, cell) for place, cell in self.parts.items()}


def _named(names: Sequence[str], cell: Cell) -> dict[str, str]:
    return dict(zip(names, cell, strict=False))


def _by_category(bias: Bias) -> _Grid:
    names: dict[str, Cell] = {name: row for row, name in bias.names.items()}
    head = heat.Column("All", count(bias.items, "item"))
    columns = [heat.Column(name, str(size)) for name, size in bias.categories.items()]
    parts = {
        (name, column.name): (*row, column.name)
        for name, row in names.items()
        for column in columns
    }
    return _Grid(bias, list(names), [head, *columns], names, parts, BY_CATEGORY)


def _by_prompt(bias: Bias) -> _Grid:
    judges: dict[str, Cell] = {judge: (judge,) for (judge,) in bias.sorted(bias.by_judge)}
    head = heat.Column("All", count(bias.items, "item"))
    prompts = sorted({prompt for _, prompt in bias.names})
    parts: dict[tuple[str, str], Cell] = {
        (judge, prompt): (judge, prompt) for judge in judges for prompt in prompts
    }
    columns = [head, *(heat.Column(prompt) for prompt in prompts)]
    return _Grid(bias, list(judges), columns, judges, parts, BY_PROMPT)


def _mirrored(estimate: Estimate) -> Estimate:
    """Fairness is recency − primacy; the lean is the other way round: + is toward first."""
    value, low, high = (
        None if x is None else -x for x in (estimate.value, estimate.high, estimate.low)
    )
    return replace(estimate, value=value, low=low, high=high)


def _terms(frame: pd.DataFrame, columns: Sequence[str]) -> dict[Cell, Estimate]:
    pairs = frame[frame["options"] == 2]
    groups = pairs.groupby(list(columns), observed=True, sort=False)
    return {tuple(str(part) for part in cell): position_term(rows) for cell, rows in groups}


def _cards(
    grid: _Grid, key: str, cells: Mapping[tuple[str, str], Estimate]
) -> dict[tuple[str, str], list[str]]:
    """Entropy, first share and flips stand together: one of them alone misleads."""
    entropy, first, flips = grid.of("entropy"), grid.of("first_share"), grid.of("conflict")
    noise = grid.of("noise_floor")
    grades = {part: grid.of(part) for part in GRADES} if grid.bias.options > 2 else {}
    found = {}
    for place, one in cells.items():
        lines = [_together(entropy.get(place), first.get(place), flips.get(place))]
        floor = noise.get(place)
        if floor is not None and floor.value is not None:
            lines.append(f"{share(floor.value, 0)} flip without any swap (noise floor)")
        if grades:
            lines.append(_grade_line({part: of.get(place) for part, of in grades.items()}))
        if key == "position_term" and one.value is not None:
            lines.append(f"Of equal answers the first wins {share(share_if_equal(one).value, 0)}")
        found[place] = [line for line in lines if line]
    return found


GRADES: Final = ("grade", "grade:entropy", "grade:choice")


def _together(entropy: Estimate | None, first: Estimate | None, flips: Estimate | None) -> str:
    parts = []
    if entropy is not None and entropy.value is not None:
        parts.append(f"entropy {number(entropy.value, 2)}")
    if first is not None and first.value is not None:
        parts.append(f"{share(first.value, 0)} first")
    if flips is not None and flips.value is not None:
        parts.append(f"{share(flips.value, 0)} flip")
    text = ", ".join(parts)
    return text[:1].upper() + text[1:]


def _grade_line(parts: Mapping[str, Estimate | None]) -> str:
    grade, entropy, choice = (parts.get(name) for name in GRADES)
    if grade is None or grade.value is None or entropy is None or choice is None:
        return ""
    return (
        f"Grade {number(grade.value, 2)}: items' entropy {number(entropy.value, 2)}, "
        f"choice {number(choice.value, 2)}"
    )


def _beside(kept: Mapping[tuple[str, str], Estimate]) -> dict[tuple[str, str], str]:
    return {
        place: f"kept {number(100 * one.value)}"
        for place, one in kept.items()
        if one.value is not None
    }


def _coin(key: str, options: int) -> str:
    """What a coin would have, named where the number stands."""
    if key == "grade" and options in G_RANDOM:
        return f"coin at N = {options}: {G_RANDOM[options]:.2f}"
    if key == "consistency":
        return f"coin {share((1 / options) ** (options - 1), 0)}"
    if key == "accuracy":
        return f"coin {share(1 / options, 0)}"
    return ""
