"""A plain table: words and numbers in rows, nothing drawn, nothing to click."""

from __future__ import annotations

from collections.abc import Sequence

from components.drawing.pieces import wrap
from components.format import safe


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    heads = "".join(f"<th>{safe(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{safe(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return wrap(
        f'<div class="eh-tbl-box"><table class="eh-tbl plain"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
