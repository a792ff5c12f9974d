"""A matrix without clickable cells, for published numbers and numbers of other studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.html.format import DASH, attributes, escape
from components.html.heatmap import ColourScale
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
) -> str:
    """The matrix of rows and columns (name, note); the Tab key reaches each cell's hover card."""
    heads = "".join(
        f'<th scope="col">{escape(text)}<small>{escape(note)}</small></th>'
        for text, note in columns
    )
    body = "".join(
        f'<tr><th scope="row">{escape(row)}</th>'
        f"{''.join(_cell_html(cells.get((row, column)), scale) for column, _ in columns)}</tr>"
        for row in rows
    )
    made = attributes(
        {"class": "eh-heat still" + (" mini" if small else ""), "aria-label": title or scale.name}
    )
    head = f'<p class="eh-still-title">{escape(title)}</p>' if title else ""
    box = attributes({"class": "eh-heat-box", "style": f"--lab: {label_width}px"})
    return wrap(
        f'{head}<div{box}><table{made}><colgroup><col class="lab">{"<col>" * len(columns)}'
        f"</colgroup><thead><tr><td></td>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell_html(cell: StaticCell | None, scale: ColourScale) -> str:
    if cell is None:
        return f'<td class="none"><span>{DASH}</span></td>'
    corners = ("", "flag", "flag flag2")[cell.flag_level]
    tip = "\n".join((scale.text(cell.value), *cell.lines))
    made = attributes({"class": scale.css_class(cell.value), "tabindex": "0", "data-tip": tip})
    below = f"<small>{escape(cell.below)}</small>" if cell.below else ""
    box = attributes({"class": corners or None})
    return f"<td{box}><span{made}><b>{scale.text(cell.value)}</b>{below}</span></td>"


def scale_html(scale: ColourScale, after: str = "") -> str:
    """The colour scale with the meaning of both ends; `after` is finished HTML of further legend
    entries."""
    ends = [escape(end).replace(" %", "\u202f%") for end in scale.ends]
    return wrap(
        f'<div class="eh-scale"><span>{ends[0]}</span><i class="{scale.kind}"></i>'
        f'<span>{ends[1]}</span><span class="eh-grow"></span>{after}</div>'
    )
