"""A matrix that opens nothing: numbers that others printed, or that another study holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.drawing.matrix import Scale
from components.drawing.panels import wrap
from components.format import NONE, attributes, safe
from studies.records import Estimate


@dataclass(frozen=True, slots=True)
class Still:
    """One cell: a value, what its hover card says, how many corners are folded."""

    value: float
    lines: tuple[str, ...] = ()
    corners: int = 0
    below: str = ""

    @classmethod
    def of(cls, estimate: Estimate, scale: Scale, *lines: str) -> Still | None:
        """From an estimate that may know nothing."""
        if estimate.value is None:
            return None
        return cls(estimate.value, lines, below=scale.bounds(estimate))


def still_matrix(
    rows: Sequence[str],
    columns: Sequence[tuple[str, str]],
    cells: Mapping[tuple[str, str], Still | None],
    scale: Scale,
    *,
    title: str = "",
    small: bool = True,
    label_width: int = 132,
) -> str:
    """Rows by columns (name, note); cells can be reached with the Tab key for their hover card."""
    heads = "".join(
        f'<th scope="col">{safe(text)}<small>{safe(note)}</small></th>' for text, note in columns
    )
    body = "".join(
        f'<tr><th scope="row">{safe(row)}</th>'
        f"{''.join(_cell(cells.get((row, column)), scale) for column, _ in columns)}</tr>"
        for row in rows
    )
    made = attributes(
        {"class": "eh-heat still" + (" mini" if small else ""), "aria-label": title or scale.name}
    )
    head = f'<p class="eh-still-title">{safe(title)}</p>' if title else ""
    box = attributes({"class": "eh-heat-box", "style": f"--lab: {label_width}px"})
    return wrap(
        f'{head}<div{box}><table{made}><colgroup><col class="lab">{"<col>" * len(columns)}'
        f"</colgroup><thead><tr><td></td>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(cell: Still | None, scale: Scale) -> str:
    if cell is None:
        return f'<td class="none"><span>{NONE}</span></td>'
    corners = ("", "flag", "flag flag2")[cell.corners]
    tip = "\n".join((scale.text(cell.value), *cell.lines))
    made = attributes({"class": scale.bin(cell.value), "tabindex": "0", "data-tip": tip})
    below = f"<small>{safe(cell.below)}</small>" if cell.below else ""
    box = attributes({"class": corners or None})
    return f"<td{box}><span{made}><b>{scale.text(cell.value)}</b>{below}</span></td>"


def strip(scale: Scale, after: str = "") -> str:
    """The scale with both ends in words, and what else must be known to read the cells."""
    ends = [safe(end).replace(" %", "\u202f%") for end in scale.ends]
    return wrap(
        f'<div class="eh-scale"><span>{ends[0]}</span><i class="{scale.kind}"></i>'
        f'<span>{ends[1]}</span><span class="eh-grow"></span>{after}</div>'
    )
