"""Every value put into HTML is escaped: checked in the source of components."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from components.html.format import escape, escape_plot, inline_markup
from tests.components.html.html_sinks import Function, Sink, functions, toasts, unescaped

COMPONENTS = Path(__file__).parents[3] / "components"
HTML_VARIABLES = {
    "aside", "bars", "below", "body", "boxes", "buttons", "cell", "cell.html", "cols", "columns",
    "control", "head", "heads", "html", "inner", "inside", "keys", "marks", "pairs", "part",
    "ranks", "top", "''.join(cards)", "''.join(marks)", "''.join(more)", "''.join(parts)",
    "''.join(side)",
}  # fmt: skip
"""Names of finished HTML that one function passes to another; the function that makes it is checked
as well."""
FIXED_WORDS = {
    "cell.kind", "kind", "level", "mark", "scale.kind", "status", "what", "word",
    "ballot.mode", "str(k == 0).lower()",
}  # fmt: skip
"""CSS classes and words from fixed lists in the source."""
CHECKED_BY_HAND = {
    ("charts/figure_parts.py", "hover_card", "value"): "a formatted number",
    ("html/forest_cells.py", "value_html", "bounds"): "formatted numbers",
    ("html/forest_cells.py", "value_html", "value"): "a formatted number",
    ("html/heatmap.py", "_scale_html", "ends[0]"): "escaped, then a narrow space put in",
    ("html/heatmap.py", "_scale_html", "ends[1]"): "escaped, then a narrow space put in",
    ("html/heatmap.py", "_tall_table", "''.join((made[row, column.name] for row in rows))"):
        "results of _cell_html",
    ("html/heatmap.py", "_wide_table", "''.join(inside)"): "results of _cell_html",
    ("html/pieces.py", "verdict_chip", "pick + 1"): "a number",
    ("html/static_matrix.py", "scale_html", "after"): "fixed words and numbers",
    ("html/static_matrix.py", "scale_html", "ends[0]"): "escaped, then a narrow space put in",
    ("html/static_matrix.py", "scale_html", "ends[1]"): "escaped, then a narrow space put in",
    ("inspect/comparison_html.py", "_details", "name"): "a fixed heading",
    ("inspect/comparison_html.py", "_details", "value"): "escaped in the dictionary above it",
    ("inspect/comparison_html.py", "_navigation_button", "text"): "an arrow or a fixed word",
    ("inspect/comparison_html.py", "_order_table", "name"): "a fixed heading",
    ("inspect/comparison_html.py", "_order_table", "row[name]"): "escaped in _order_facts",
    ("inspect/comparison_html.py", "_order_table",
     "''.join((f'<td>{row[name]}</td>' for row in rows))"): "escaped in _order_facts",
    ("inspect/list_html.py", "_page_button", "text"): "an arrow or fixed words",
    ("inspect/replies_html.py", "_highlight_verdict", "slot"): "first, second or tie",
    ("layout/theme.py", "head_html", "icon"): "a file of assets/",
    ("layout/theme.py", "head_html", "script"): "a file of assets/",
    ("results/agreement/dispute_list.py", "_judge_counts_html", "one.judge_count"): "a number",
    ("results/agreement/dispute_list.py", "_reference_html", "many"): "numbers",
    ("results/agreement/dispute_list.py", "_reference_html", "counts"): "escaped name by name",
    ("results/agreement/voters_panel.py", "_labelled_cell", "value"):
        "formatted numbers in fixed tags",
    ("results/cards/measure_table.py", "_measure_row", "line.bounds"): "formatted numbers",
    ("results/cards/measure_table.py", "_measure_row", "line.value_text"): "a formatted number",
    ("results/contrasts/item_differences.py", "difference_histogram", "n or ''"): "a number",
    ("results/ranking/panels.py", "_order_dumbbell", "number_of"): "a number",
    ("results/ranking/panels.py", "_order_row", "text"): "a rank",
    ("run/past_runs.py", "_run_time", "started"): "a date",
    ("run/past_runs.py", "state_badge", "glyph"): "a sign from _STATE_BADGES",
    ("share/report.py", "_json_tag", "name"): "metrics, figure-1, figure-2, …",
    ("share/report.py", "_json_tag", "text"): "JSON with every < replaced by its escape",
    ("share/report.py", "report_html", "plotly_js"): "Plotly's own script",
    ("vote/ballot_html.py", "_answer_box", "name"): "Answer, A, B, 1, 2, …",
    ("vote/ballot_html.py", "_answer_switch", "k"): "a number",
    ("vote/ballot_html.py", "_answer_switch", "name"): "A, B, 1, 2, …",
    ("vote/ballot_html.py", "_context_drawers", "title"): "a fixed heading",
    ("vote/ballot_html.py", "_progress_html", "noun"): "the plural of a fixed word",
}  # fmt: skip


@pytest.fixture(scope="module")
def sinks() -> set[Sink]:
    return unescaped(COMPONENTS)


def test_every_value_in_html_is_escaped_or_checked_by_hand(sinks):
    found = {
        sink
        for sink in sinks
        if sink.value not in HTML_VARIABLES | FIXED_WORDS
        and (sink.file, sink.function, sink.value) not in CHECKED_BY_HAND
    }
    lines = "\n".join(sorted(map(str, found)))
    assert not found, f"use escape() or inline_markup(), or add it here with a reason:\n{lines}"


def test_the_lists_name_only_values_that_occur(sinks):
    assert CHECKED_BY_HAND.keys() - {(s.file, s.function, s.value) for s in sinks} == set()
    assert {sink.value for sink in sinks} >= HTML_VARIABLES | FIXED_WORDS


LEAKS = [
    "def show(name: str) -> str:\n    return f'<b>{name}</b>'",
    "def show(one) -> str:\n    return f'<b title=\"{one.title}\">{escape(one.name)}</b>'",
    "def show(rows) -> str:\n    made = ''.join(row.name for row in rows)\n"
    "    return f'<p>{made}</p>'",
    "def show(rows) -> str:\n    return ''.join(f'<li>{name}</li>' for name in rows)",
    "def show(a: str) -> str:\n    a = escape(a) if a else a\n    return f'<p>{a}</p>'",
]
CLOSED = [
    "def show(name: str) -> str:\n    return f'<b>{escape(name)}</b>'",
    "def show(rows) -> str:\n    made = ''.join(escape(row) for row in rows)\n"
    "    return f'<p>{made}</p>'",
    "def show(n: int) -> str:\n    return f'<i style=\"--n:{n}\"></i>'",
    "def show(name: str) -> str:\n    return f'{name} has no tag beside it'",
]


def leaks_of(source: str) -> list[str]:
    (function,) = functions(ast.parse(source))
    return list(Function(function, set()).unescaped())


@pytest.mark.parametrize("source", LEAKS)
def test_an_unescaped_value_is_found(source):
    assert leaks_of(source)


@pytest.mark.parametrize("source", CLOSED)
def test_escaped_text_is_accepted(source):
    assert leaks_of(source) == []


def test_messages_on_the_page_are_escaped():
    """Gradio shows them as HTML: an image in one would be a request to a foreign server."""
    found = {
        (path.name, text)
        for path in COMPONENTS.rglob("*.py")
        if path.name != "api_tab.py"  # its errors go to programs, as plain text
        for _, text in toasts(path)
    }
    assert found == set()


HOSTILE = "<img src=x onerror=alert(1)>\"'`&$x$ **b** %{y} </script>"


def test_the_three_escaping_functions():
    for made in (escape(HOSTILE), inline_markup(HOSTILE), escape_plot(HOSTILE)):
        assert "<img" not in made and "</script>" not in made
    assert not set(escape(HOSTILE)) & set("<>\"'")
    assert not set(escape_plot(HOSTILE)) & set("<>${")
    assert (
        inline_markup(HOSTILE).count("<")
        == inline_markup(HOSTILE).count("<b>") + inline_markup(HOSTILE).count("</b>")
        == 2
    )
