"""A plain HTML table of texts, without plots and links."""

from __future__ import annotations

from collections.abc import Sequence

from components.html.format import escape
from components.html.pieces import wrap


def plain_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return wrap(
        f'<div class="eh-tbl-box"><table class="eh-tbl plain"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
