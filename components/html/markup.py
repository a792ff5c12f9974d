"""Safe HTML: the type `Markup`, and the functions that put texts and values into it.

A plain text is escaped whenever it goes into Markup. Only this module turns a computed text into
Markup; all others write a constant template and pass the values to `fill`, `join` or `tag`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, LiteralString

from markupsafe import Markup, escape

__all__ = [
    "EMPTY",
    "Markup",
    "PlotText",
    "attributes",
    "escape",
    "escape_plot",
    "fill",
    "fill_plot",
    "inline_markup",
    "join",
    "json_script",
    "link",
    "tag",
]

EMPTY: Final = Markup()
_UNCHANGED: Final = (Markup, int, float)
"""Types whose text has no special characters; numbers keep their type for format codes."""
_PLOT_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "{": "&#123;"}
_PLOT_SPECIAL: Final = re.compile(r"[&<>${]")
_BOLD: Final = re.compile(r"\*\*(.+?)\*\*")
_CODE: Final = re.compile(r"`([^`]+)`")


def fill(template: LiteralString, *values: object) -> Markup:
    """Fill the fields `{}` of a constant template; every value but Markup is escaped."""
    return Markup(
        template.format(*[one if isinstance(one, _UNCHANGED) else escape(one) for one in values])
    )


def join(parts: Iterable[object], separator: str = "") -> Markup:
    """Join parts to one piece of HTML; every part but Markup is escaped."""
    return Markup(escape(separator)).join(map(escape, parts))


def tag(name: LiteralString, *children: object, **values: object) -> Markup:
    """An element with escaped children and attributes; `class_` and `data_tip` are `class` and
    `data-tip`, and attributes that are None are omitted."""
    named = {key.rstrip("_").replace("_", "-"): value for key, value in values.items()}
    return Markup(f"<{name}{attributes(named)}>{join(children)}</{name}>")


def attributes(values: Mapping[str, object]) -> Markup:
    """HTML attributes with escaped values; those that are None are omitted."""
    present = [(name, value) for name, value in values.items() if value is not None]
    return Markup("".join([f' {name}="{escape(value)}"' for name, value in present]))


def link(text: str | Markup, select: Any, kind: str = "eh-link") -> Markup:
    """A button that opens the judgements of the selection `select`; the text alone without one."""
    if select is None:
        return escape(text)
    made = attributes({"type": "button", "class": kind, "data-select": json.dumps(select)})
    return fill("<button{}>{}</button>", made, text)


def inline_markup(text: object) -> Markup:
    """Escape a sentence, then turn **bold** and `code` into tags.

    Names from data in the sentence are escaped too; at worst their text becomes bold or code.
    """
    out = _BOLD.sub(r"<b>\1</b>", escape(text))
    return Markup(_CODE.sub(r"<code>\1</code>", out))


def json_script(name: str, value: Any) -> Markup:
    """JSON in a script tag, with every "<" escaped, so that no text can close the tag."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    data = Markup(text.replace("<", "\\u003c"))
    return fill('<script type="application/json" id="{}">{}</script>', name, data)


class PlotText(str):
    """Text in the markup of Plotly, whose names and values are escaped."""

    __slots__ = ()


def escape_plot(text: object) -> PlotText:
    """Escape text for Plotly, which interprets some HTML, TeX between `$` and templates `%{…}`."""
    if isinstance(text, PlotText):
        return text
    return PlotText(_PLOT_SPECIAL.sub(lambda match: _PLOT_ESCAPES[match.group()], str(text)))


def fill_plot(template: LiteralString, *values: object) -> PlotText:
    """Fill the fields `{}` of a constant Plotly text; every value but PlotText is escaped."""
    return PlotText(template.format(*map(escape_plot, values)))
