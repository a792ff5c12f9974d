"""Safe HTML: the type `Markup`, and the functions that put texts and values into it.

A plain text is escaped whenever it is put into Markup. Computed text becomes Markup only here and
in the Jinja templates (components/html/templates.py); other modules pass their values to functions
of these two, such as `fill`, `join` and `tag`.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, LiteralString

from markupsafe import Markup as Markup

EMPTY: Final = Markup()
_UNCHANGED: Final = (Markup, int, float)
"""Types of values that `fill` does not escape."""
_PLOT_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "{": "&#123;"}
_SPECIAL: Final = re.compile("[&<>\"']")
_PLOT_SPECIAL: Final = re.compile(r"[&<>${]")
_PERCENT: Final = re.compile(r"(?<=\d) %")
_BOLD: Final = re.compile(r"\*\*(.+?)\*\*")
_CODE: Final = re.compile(r"`([^`]+)`")
_HEADING: Final = re.compile(r" {0,3}#{1,6} +(.*)")
_BULLET: Final = re.compile(r"^( *)[-*+] (?=\S)")
_MARKS: Final = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])")


def _mark_safe(text: str) -> Markup:
    """Mark a text as Markup without escaping it: it must already be safe. Three times as fast as
    Markup's constructor."""
    return str.__new__(Markup, text)


def _escape_text(value: object) -> str:
    """Escape a value as text, quickly if it has no special characters."""
    text = str(value)
    return html.escape(text) if _SPECIAL.search(text) else text


def escape(value: object) -> Markup:
    """Escape text from data or a model for HTML (gr.HTML has no sanitiser); Markup is returned
    unchanged."""
    return value if isinstance(value, Markup) else _mark_safe(_escape_text(value))


def fill(template: LiteralString, *values: object) -> Markup:
    """Fill the fields `{}` of a constant HTML template; values that are not Markup are escaped."""
    escaped = [one if isinstance(one, _UNCHANGED) else _escape_text(one) for one in values]
    return _mark_safe(template.format(*escaped))


def join(parts: Iterable[object], separator: str = "") -> Markup:
    """Join parts to one piece of HTML, with `separator` between them; each of these that is not
    Markup is escaped."""
    return _mark_safe(str(escape(separator)).join(map(escape, parts)))


def tag(name: LiteralString, *children: object, **values: object) -> Markup:
    """An HTML element with escaped children and attributes. `class_` and `data_tip` become `class`
    and `data-tip`; attributes that are None are omitted."""
    named = {key.rstrip("_").replace("_", "-"): value for key, value in values.items()}
    return _mark_safe(f"<{name}{attributes(named)}>{join(children)}</{name}>")


def attributes(values: Mapping[str, object]) -> Markup:
    """HTML attributes with escaped values; those that are None are omitted."""
    known = [(name, value) for name, value in values.items() if value is not None]
    return _mark_safe("".join([f' {name}="{_escape_text(value)}"' for name, value in known]))


def measure_attribute(key: str, *names: str) -> Markup:
    """HTML attribute `data-measure` for an element that prints a number: the measure's key in the
    catalogue, then `names`, usually judge and prompt. A test collects these attributes and checks
    that all places print the same number for one measure."""
    return attributes({"data-measure": json.dumps([key, *names], ensure_ascii=False)})


def link(text: str, select: Any) -> Markup:
    """HTML button that looks like a link and opens the judgements that match the filters `select`;
    with `select` None, only the escaped text."""
    if select is None:
        return escape(text)
    return link_button(text, {"data-select": json.dumps(select)})


def link_button(text: str, data: Mapping[str, object]) -> Markup:
    """HTML button that looks like a link; the page's script reads its attributes `data`."""
    made = attributes({"type": "button", "class": "eh-link", **data})
    return fill("<button{}>{}</button>", made, text)


def bold_and_code_html(text: object) -> Markup:
    """HTML of a sentence: escaped, with **bold** and `code` turned into tags, and with a % that
    never breaks away from its number. Names from data in the sentence are escaped too; the worst
    that they can do is to appear bold or as code."""
    out = _BOLD.sub(r"<b>\1</b>", _PERCENT.sub("\u202f%", html.escape(str(text))))
    return _mark_safe(_CODE.sub(r"<code>\1</code>", out))


ASSETS: Final = Path(__file__).resolve().parents[2] / "assets"
"""Folder of the program's stylesheet, scripts and pictures."""


def markdown_html(text: str) -> Markup:
    """HTML of a text that a model wrote in Markdown. Headings, bold, italics, code and bullets are
    shown as such; lines that begin or end a code block (```) are left out; links and images stay
    text. Everything is escaped."""
    lines: list[Markup] = []
    fenced = False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced:
            lines.append(tag("code", line))
        elif head := _HEADING.match(line):
            lines.append(tag("b", _inline_markdown(head[1])))
        else:
            lines.append(_inline_markdown(_BULLET.sub(r"\1• ", line)))
    return join(lines, "\n")


def _inline_markdown(line: str) -> Markup:
    parts, end = [], 0
    for found in _MARKS.finditer(line):
        code, bold, slanted = found.groups()
        name: LiteralString = "code" if code else "b" if bold else "i"
        parts += [escape(line[end : found.start()]), tag(name, code or bold or slanted)]
        end = found.end()
    return join([*parts, line[end:]])


def read_program_file(path: Path) -> Markup:
    """The text of one of the program's own stylesheets or scripts, unescaped."""
    return _mark_safe(path.read_text(encoding="utf-8"))


def json_script(name: str, value: Any) -> Markup:
    """Script tag with the id `name` that contains `value` as JSON, with every "<" escaped, so that
    no text can close the tag."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    data = _mark_safe(text.replace("<", "\\u003c"))
    return fill('<script type="application/json" id="{}">{}</script>', name, data)


class PlotText(str):
    """Text in Plotly's markup; the names and values in it are escaped."""

    __slots__ = ()


def escape_plot(text: object) -> PlotText:
    """Escape text for Plotly, which interprets some HTML, TeX between `$`, and templates `%{…}`;
    PlotText is returned unchanged."""
    if isinstance(text, PlotText):
        return text
    return PlotText(_PLOT_SPECIAL.sub(lambda match: _PLOT_ESCAPES[match.group()], str(text)))


def fill_plot(template: LiteralString, *values: object) -> PlotText:
    """Fill the fields `{}` of a constant Plotly text; values that are not PlotText are escaped."""
    return PlotText(template.format(*map(escape_plot, values)))
