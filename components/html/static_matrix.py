"""A matrix without clickable cells, for published numbers and numbers of other studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.html.format import DASH
from components.html.heatmap import ColourScale
from components.html.markup import Markup, attributes, escape, fill, join
from components.html.panel import wrap
from studies.domain import Estimate


@dataclass(frozen=True, slots=True)
class StaticCell:
    """One cell: value, lines of the hover card, number of marked corners, text below the value."""

    value: float
    lines: tuple[str, ...] = ()
    flag_level: int = 0
    below: str = ""

    @classmethod
    def of(cls, estimate: Estimate, scale: ColourScale, *lines: str) -> StaticCell | None:
        """The cell of an estimate; None without a value."""
        if estimate.value is None:
            return None
        return cls(estimate.value, lines, below=scale.bounds(estimate))


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
    """The matrix of rows and columns (name, note); the Tab key reaches each cell's hover card."""
    heads = join(
        fill('<th scope="col">{}<small>{}</small></th>', text, note) for text, note in columns
    )
    body = join(
        fill(
            '<tr><th scope="row">{}</th>{}</tr>',
            row,
            join(_cell_html(cells.get((row, column)), scale) for column, _ in columns),
        )
        for row in rows
    )
    made = attributes(
        {"class": "eh-heat still" + (" mini" if small else ""), "aria-label": title or scale.name}
    )
    head = fill('<p class="eh-still-title">{}</p>', title) if title else ""
    box = attributes({"class": "eh-heat-box", "style": f"--lab: {label_width}px"})
    return wrap(
        fill(
            '{}<div{}><table{}><colgroup><col class="lab">{}'
            "</colgroup><thead><tr><td></td>{}</tr></thead><tbody>{}</tbody></table></div>",
            head,
            box,
            made,
            Markup("<col>") * len(columns),
            heads,
            body,
        )
    )


def _cell_html(cell: StaticCell | None, scale: ColourScale) -> Markup:
    if cell is None:
        return fill('<td class="none"><span>{}</span></td>', DASH)
    corners = ("", "flag", "flag flag2")[cell.flag_level]
    tip = "\n".join((scale.text(cell.value), *cell.lines))
    made = attributes({"class": scale.css_class(cell.value), "tabindex": "0", "data-tip": tip})
    below = fill("<small>{}</small>", cell.below) if cell.below else ""
    box = attributes({"class": corners or None})
    return fill("<td{}><span{}><b>{}</b>{}</span></td>", box, made, scale.text(cell.value), below)


def scale_html(scale: ColourScale, after: str = "") -> Markup:
    """The colour scale with the meaning of both ends; `after` is finished HTML of further legend
    entries."""
    ends = [escape(end).replace(" %", "\u202f%") for end in scale.ends]
    return wrap(
        fill(
            '<div class="eh-scale"><span>{}</span><i class="{}"></i>'
            '<span>{}</span><span class="eh-grow"></span>{}</div>',
            ends[0],
            scale.kind,
            ends[1],
            after,
        )
    )
