"""Text from outside reaches HTML through one place, and this is read in the source itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from components.html.format import escape, escape_plot, inline_markup
from tests.components.html.html_sinks import Function, functions, toasts, unescaped

COMPONENTS = Path(__file__).parents[3] / "components"
HTML_OF_OURS = {
    "aside", "bars", "below", "body", "boxes", "buttons", "cell", "cell.html", "cols", "columns",
    "control", "head", "heads", "html", "inner", "inside", "keys", "marks", "pairs", "part",
    "ranks", "top", "''.join(cards)", "''.join(marks)", "''.join(more)", "''.join(parts)",
    "''.join(side)",
}  # fmt: skip
"""What a piece of HTML is called where one function hands it to another: the maker is read too."""
WORDS_OF_OURS = {
    "cell.kind", "kind", "level", "mark", "scale.kind", "status", "what", "word",
    "ballot.mode", "str(k == 0).lower()",
}  # fmt: skip
"""Classes and words out of a fixed list of ours."""
READ_BY_HAND = {
    ("agreement/list.py", "_counted", "one.heard"): "a number",
    ("agreement/list.py", "_theirs", "many"): "numbers",
    ("agreement/list.py", "_theirs", "said"): "escaped name by name",
    ("agreement/voters.py", "_labelled", "value"): "a number in words",
    ("cards/measures.py", "show_measures", "line.bounds"): "numbers in words",
    ("cards/measures.py", "show_measures", "line.said"): "a number in words",
    ("contrasts/items.py", "histogram", "n or ''"): "a number",
    ("drawing/forest_rows.py", "value_text", "bounds"): "numbers in words",
    ("drawing/forest_rows.py", "value_text", "value"): "a number in words",
    ("inspect/opened.py", "_details", "name"): "our own heads",
    ("inspect/opened.py", "_details", "value"): "escaped where they are made",
    ("inspect/opened.py", "_order_table", "name"): "our own heads",
    ("inspect/opened.py", "_order_table", "row[name]"): "escaped where they are made",
    ("inspect/opened.py", "_order_table", "''.join((f'<td>{row[name]}</td>' for row in rows))"):
        "the same",
    ("inspect/opened.py", "_step", "text"): "an arrow",
    ("inspect/view.py", "_menu", "name"): "a field's name",
    ("inspect/view.py", "_turn", "text"): "an arrow",
    ("drawing/marks.py", "hover_card", "value"): "a number in words",
    ("drawing/matrix.py", "_tall", "''.join((made[row, column.name] for row in rows))"):
        "cells as _cell makes them",
    ("drawing/matrix.py", "_wide", "''.join(inside)"): "cells as _cell makes them",
    ("drawing/matrix.py", "_strip", "ends[0]"): "a number in words",
    ("drawing/matrix.py", "_strip", "ends[1]"): "a number in words",
    ("drawing/pieces.py", "verdict_chip", "pick + 1"): "a number",
    ("drawing/progress.py", "progress_bar", "done"): "a number in words",
    ("ranking/view.py", "_dumbbell", "number_of"): "a number",
    ("ranking/view.py", "_order_line", "text"): "a rank",
    ("report.py", "_json_tag", "name"): "figure-1, figure-2, …",
    ("report.py", "_json_tag", "text"): "JSON in which no < is left",
    ("report.py", "report_html", "plotly_js"): "the library's own script",
    ("run/past.py", "_when", "started"): "a date",
    ("drawing/still.py", "strip", "after"): "numbers",
    ("drawing/still.py", "strip", "ends[0]"): "a number in words",
    ("drawing/still.py", "strip", "ends[1]"): "a number in words",
    ("theme.py", "head", "icon"): "our own file",
    ("theme.py", "head", "script"): "our own file",
    ("vote/card.py", "_box", "name"): "A, B, 1, 2, …",
    ("vote/card.py", "_drawers", "title"): "our own heads",
    ("vote/card.py", "_switch", "k"): "a number",
    ("vote/card.py", "_switch", "name"): "A, B, 1, 2, …",
    ("vote/card.py", "_top", "noun"): "a word of ours",
}  # fmt: skip


def test_what_is_put_into_html_is_escaped_or_was_read_by_hand():
    found = {
        sink
        for sink in unescaped(COMPONENTS)
        if sink.value not in HTML_OF_OURS | WORDS_OF_OURS
        and (sink.file, sink.function, sink.value) not in READ_BY_HAND
    }
    told = "\n".join(sorted(map(str, found)))
    assert not found, f"put it through safe() or rich(), or say here why it needs none:\n{told}"


LEAKS = [
    "def show(name: str) -> str:\n    return f'<b>{name}</b>'",
    "def show(one) -> str:\n    return f'<b title=\"{one.title}\">{safe(one.name)}</b>'",
    "def show(rows) -> str:\n    made = ''.join(row.name for row in rows)\n"
    "    return f'<p>{made}</p>'",
    "def show(rows) -> str:\n    return ''.join(f'<li>{name}</li>' for name in rows)",
    "def show(a: str) -> str:\n    a = safe(a) if a else a\n    return f'<p>{a}</p>'",
]
CLOSED = [
    "def show(name: str) -> str:\n    return f'<b>{safe(name)}</b>'",
    "def show(rows) -> str:\n    made = ''.join(safe(row) for row in rows)\n"
    "    return f'<p>{made}</p>'",
    "def show(n: int) -> str:\n    return f'<i style=\"--n:{n}\"></i>'",
    "def show(name: str) -> str:\n    return f'{name} has no tag beside it'",
]


def leaks_of(source: str) -> list[str]:
    (function,) = functions(ast.parse(source))
    return list(Function(function, set()).unescaped())


@pytest.mark.parametrize("source", LEAKS)
def test_the_reader_sees_a_leak(source):
    assert leaks_of(source)


@pytest.mark.parametrize("source", CLOSED)
def test_the_reader_lets_escaped_text_pass(source):
    assert leaks_of(source) == []


def test_messages_on_the_page_are_escaped():
    """Gradio shows them as HTML: an image in one is a request to somebody else's server."""
    found = {
        (path.name, text)
        for path in COMPONENTS.rglob("*.py")
        if path.name != "api_tab.py"  # answers a program, which gets the words as they are
        for _, text in toasts(path)
    }
    assert found == set()


HOSTILE = "<img src=x onerror=alert(1)>\"'`&$x$ **b** %{y} </script>"


def test_the_three_ways_through():
    for made in (escape(HOSTILE), inline_markup(HOSTILE), escape_plot(HOSTILE)):
        assert "<img" not in made and "</script>" not in made
    assert not set(escape(HOSTILE)) & set("<>\"'")
    assert not set(escape_plot(HOSTILE)) & set("<>${")
    assert (
        inline_markup(HOSTILE).count("<")
        == inline_markup(HOSTILE).count("<b>") + inline_markup(HOSTILE).count("</b>")
        == 2
    )
