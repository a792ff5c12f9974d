"""Builders of HTML tables and matrices; plain texts are escaped, Markup is not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from components.html.markup import EMPTY, Markup, attributes, fill, join
from components.html.pieces import wrap


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell: its content; its CSS class `kind` (nm row name, num number, trk plot, bd badge); the
    text `tip` of its hover card; and the column head that a phone shows beside it."""

    content: str | Markup
    kind: str = "num"
    tip: str = ""
    head: str = ""
    is_name: bool | None = None
    """Whether the cell names its row for screen readers; None: only if its class is nm."""

    @property
    def is_row_name(self) -> bool:
        return self.kind == "nm" if self.is_name is None else self.is_name

    def html(self, scope: str | None) -> Markup:
        values = {"class": self.kind, "scope": scope, "data-tip": self.tip, "data-head": self.head}
        made = attributes({name: value or None for name, value in values.items()})
        if scope:
            return fill("<th{}>{}</th>", made, self.content)
        return fill("<td{}>{}</td>", made, self.content)


Cells = Sequence[TableCell | str]


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of cells, with an optional hover card and CSS class."""

    cells: Cells
    tip: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; a cell given as text instead of TableCell gets the CSS class of its column. `kind`:
    CSS classes of the table; `label`: its accessible name; `box`: CSS class of the scrolling box
    around it; `data`: further attributes of the table element."""

    columns: Cells
    rows: Iterable[TableRow | Cells]
    kind: str = ""
    label: str = ""
    box: str = "eh-tbl-box"
    data: Mapping[str, object] = field(default_factory=dict)
    below: Markup = EMPTY
    """Finished HTML of further rows, placed last."""

    def html(self) -> Markup:
        """HTML of the table, inside a scrolling box unless `box` is empty."""
        columns = [
            one if isinstance(one, TableCell) else TableCell(one, "") for one in self.columns
        ]
        kinds = [column.kind for column in columns]
        made = {"class": self.kind or None, "aria-label": self.label or None, **self.data}
        table = fill(
            "<table{}><thead><tr>{}</tr></thead><tbody>{}{}</tbody></table>",
            attributes(made),
            join([column.html("col") for column in columns]),
            join([_row_html(row, kinds) for row in self.rows]),
            self.below,
        )
        return fill('<div class="{}">{}</div>', self.box, table) if self.box else table

    def wrapped_html(self) -> Markup:
        """HTML of the table inside the element that sets the page's fonts and spacing."""
        return wrap(self.html())


def _row_html(row: TableRow | Cells, kinds: Sequence[str]) -> Markup:
    if not isinstance(row, TableRow):
        row = TableRow(row)
    made = attributes({"class": row.kind or None, "data-tip": row.tip or None})
    cells = [
        cell.html("row" if cell.is_row_name else None)
        if isinstance(cell, TableCell)
        else TableCell(cell, kind).html(None)
        for cell, kind in zip(row.cells, kinds, strict=True)
    ]
    return fill("<tr{}>{}</tr>", made, join(cells))


def row_name_cell(content: str | Markup, kind: str = "") -> TableCell:
    """A row's first cell, which names the row for screen readers; unlike cells of the CSS class nm,
    it has no fixed width."""
    return TableCell(content, kind, is_name=True)


def plain_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    """HTML table of texts only, without plots and links."""
    return Table(head, rows, "eh-tbl plain").wrapped_html()


@dataclass(frozen=True, slots=True)
class Matrix:
    """A grid of coloured cells, with a name before each row."""

    heads: Sequence[Markup]
    """HTML of the column heads (`th`); an empty `td` stands for a gap between columns."""
    rows: Iterable[tuple[str | Markup, Sequence[Markup]]]
    """The name of each row and its `td` elements."""
    kind: str
    label: str
    gaps: Collection[int] = ()
    """Indexes in `heads` of the empty columns that are drawn as narrow gaps."""

    def html(self) -> Markup:
        columns = join(
            Markup('<col class="gap">') if place in self.gaps else Markup("<col>")
            for place in range(len(self.heads))
        )
        body = join(
            fill('<tr><th scope="row">{}</th>{}</tr>', name, join(cells))
            for name, cells in self.rows
        )
        return fill(
            '<table class="eh-heat {}" aria-label="{}"><colgroup><col class="lab">{}'
            "</colgroup><thead><tr><td></td>{}</tr></thead><tbody>{}</tbody></table>",
            *(self.kind, self.label, columns, join(self.heads), body),
        )
