"""A plain HTML table of texts, without plots and links."""

from __future__ import annotations

from collections.abc import Sequence

from components.html.markup import Markup, fill, join
from components.html.pieces import wrap


def plain_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    heads = join(fill("<th>{}</th>", cell) for cell in head)
    body = join(
        Markup("<tr>") + join(fill("<td>{}</td>", cell) for cell in row) + Markup("</tr>")
        for row in rows
    )
    return wrap(
        fill(
            '<div class="eh-tbl-box"><table class="eh-tbl plain"><thead><tr>{}</tr></thead>'
            "<tbody>{}</tbody></table></div>",
            heads,
            body,
        )
    )
