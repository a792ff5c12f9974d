"""HTML of matrices whose cells cannot be clicked; further numbers are in their hover cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.html.format import DASH
from components.html.markup import EMPTY, Markup, attributes, fill
from components.html.pieces import wrap
from components.html.scales import ColourScale
from components.html.tables.table import Matrix
from studies.domain import Estimate


@dataclass(frozen=True, slots=True)
class StaticCell:
    """One cell of a matrix without clicks. `lines`: lines of its hover card; `flag_level`: how many
    of its corners are marked as a warning (0 to 2); `below`: text below the value."""

    value: float
    lines: tuple[str, ...] = ()
    flag_level: int = 0
    below: str = ""

    @classmethod
    def from_estimate(
        cls, estimate: Estimate, scale: ColourScale, *lines: str
    ) -> StaticCell | None:
        """Cell of an estimate, with its interval below; None if the estimate has no value."""
        if estimate.value is None:
            return None
        return cls(estimate.value, lines, below=scale.interval(estimate))


def static_matrix(
    rows: Sequence[str],
    columns: Sequence[tuple[str, str]],
    cells: Mapping[tuple[str, str], StaticCell | None],
    scale: ColourScale,
    *,
    title: str = "",
    small: bool = True,
    label_width: int = 132,
) -> Markup:
    """HTML of a matrix without clicks, under the optional `title`. `columns`: pairs (name, note);
    `cells`: (row, column name) -> cell, a dash if None or missing; `small`: small cells;
    `label_width`: pixels of the row names. Hover cards open on hover and on keyboard focus."""
    heads = [fill('<th scope="col">{}<small>{}</small></th>', text, note) for text, note in columns]
    lines = [
        (row, [_static_cell_html(cells.get((row, column)), scale) for column, _ in columns])
        for row in rows
    ]
    kind = "still mini" if small else "still"
    head = fill('<p class="eh-still-title">{}</p>', title) if title else EMPTY
    box = attributes({"class": "eh-heat-box", "style": f"--lab: {label_width}px"})
    made = Matrix(heads, lines, kind, title or scale.name).html()
    return wrap(fill("{}<div{}>{}</div>", head, box, made))


def _static_cell_html(cell: StaticCell | None, scale: ColourScale) -> Markup:
    if cell is None:
        return fill('<td class="none"><span>{}</span></td>', DASH)
    corners = ("", "flag", "flag flag2")[cell.flag_level]
    tip = "\n".join((scale.text(cell.value), *cell.lines))
    made = attributes({"class": scale.css_class(cell.value), "tabindex": "0", "data-tip": tip})
    below = fill("<small>{}</small>", cell.below) if cell.below else ""
    box = attributes({"class": corners or None})
    return fill("<td{}><span{}><b>{}</b>{}</span></td>", box, made, scale.text(cell.value), below)
