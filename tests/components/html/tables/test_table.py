"""Tables: heads of rows and columns, CSS classes, hover cards."""

from __future__ import annotations

from operator import itemgetter

import pytest

from components.html.markup import Markup
from components.html.tables.table import Table, TableCell, TableRow, row_name_cell
from components.html.tables.typed_columns import TypedColumn, ValueRow, paper_head, paper_rows
from studies.domain import Estimate


@pytest.mark.parametrize(
    ("cell", "html"),
    [
        (TableCell("a", "nm"), '<th class="nm" scope="row">a</th>'),
        (TableCell("a", "nm", is_name=False), '<td class="nm">a</td>'),
        (TableCell("a", "num", is_name=True), '<th class="num" scope="row">a</th>'),
        (TableCell("a"), '<td class="num">a</td>'),
        (row_name_cell("<a>"), '<th scope="row">&lt;a&gt;</th>'),
        ("<a>", '<td class="trk">&lt;a&gt;</td>'),
        (TableCell(Markup("<b>1</b>"), "bd", "why", "n"),
         '<td class="bd" data-tip="why" data-head="n"><b>1</b></td>'),
    ],
)  # fmt: skip
def test_the_cell_with_the_name_of_a_row_is_its_head(cell, html):
    """A text gets the class of its column."""
    made = Table([TableCell("column", "trk")], [TableRow([cell], "tip", "lead")]).html()
    assert f'<tr class="lead" data-tip="tip">{html}</tr>' in made
    assert '<th class="trk" scope="col">column</th>' in made


def test_a_table_has_a_box_unless_it_says_so_and_its_last_rows_below():
    last = Markup("<tr><td>sum</td></tr>")
    made = Table(["a"], [["1"]], "eh-tbl", "Rates", data={"data-n": 1}, below=last).html()
    assert made.startswith('<div class="eh-tbl-box"><table')
    assert 'class="eh-tbl"' in made and 'aria-label="Rates"' in made and 'data-n="1"' in made
    assert made.endswith(f"<tr><td>1</td></tr>{last}</tbody></table></div>")
    bare = Table(["a"], [["1"]], box="").html()
    assert bare.startswith("<table><thead>") and "div" not in bare


def test_a_row_of_a_paper_has_a_text_below_each_head_whatever_its_value():
    columns = [TypedColumn("", itemgetter("x"), paper="x", interval=one) for one in (True, False)]
    values = (Estimate(0.5, 0.25, 0.75), Estimate(None), None, 3, "few")
    rows = paper_rows(columns, [ValueRow("row", {"x": value}) for value in values])
    assert {len(row) for row in rows} == {len(paper_head("Judge", columns))}
    assert [row[1:] for row in rows] == [
        ("50.0", "[25.0, 75.0]", "50.0"), ("–", "", "–"), ("–", "", "–"), ("3", "", "3"),
        ("few", "", "few"),
    ]  # fmt: skip
