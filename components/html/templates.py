"""Templates of the page: HTML of more than one element is a Jinja template beside the module that
fills it.

A template file contains macros; `macros` returns them as functions. Values are escaped where they
go in, an unknown name is an error, and no template may switch the escaping off (a test reads all
templates). Number formats of the page are filters: `{{ value|percent }}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

import jinja2

from components.html import format as formats
from components.html.markup import (
    Markup,
    attributes,
    bold_and_code_html,
    fill,
    join,
    link,
    measure_attribute,
)
from metrics.catalogue.record import CHANCE
from studies.domain import Estimate

TEMPLATE_FOLDER: Final = Path(__file__).resolve().parents[1]
"""Folder that template names are relative to: `components`."""
_INTERVAL: Final = re.compile(r"\[[+−-]?[\d.,]+, [+−-]?[\d.,]+\]")


def percent_number(value: float | None, decimals: int = 1, signed: bool = False) -> str:
    """Format a share as a percentage without the sign %: 0.691 gives "69.1"; a dash if it is
    unknown."""
    return formats.number(None if value is None else 100 * value, decimals, signed=signed)


def percent_bounds(estimate: Estimate | None, decimals: int = 1) -> str:
    """The interval of a share in percent; empty if it is unknown."""
    return "" if estimate is None else formats.interval(estimate, decimals, scale=100)


def html_id(field: str) -> str:
    """The HTML `id` of the control for a field of the form: "data.count" -> "f-data-count"."""
    return "f-" + re.sub(r"[^a-z0-9]+", "-", field.lower()).strip("-")


def grey_intervals(text: Markup) -> Markup:
    """A sentence with its intervals, such as [44, 49], in grey and never broken over two lines."""
    pieces, end = [], 0
    for found in _INTERVAL.finditer(text):
        pieces += [text[end : found.start()], fill('<span class="eh-ci">{}</span>', found.group())]
        end = found.end()
    return join([*pieces, text[end:]])


def with_chance(text: str, style: str | None = None) -> Markup:
    """HTML of a text; if it names the value by chance, with the definition of chance on hover."""
    tip = {"data-tip": CHANCE, "tabindex": "0"} if "chance" in text else {}
    return fill("<span{}>{}</span>", attributes({"style": style, **tip}), bold_and_code_html(text))


class Macros(Protocol):
    """The macros of a template, as attributes."""

    def __getattr__(self, name: str) -> Callable[..., Markup]: ...


ENVIRONMENT: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TEMPLATE_FOLDER),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
    auto_reload=False,
)
ENVIRONMENT.filters |= {
    "number": formats.number,
    "count": formats.count,
    "share": formats.share,
    "dollars": formats.dollars,
    "duration": formats.duration,
    "interval": formats.interval,
    "percent": percent_number,
    "percent_bounds": percent_bounds,
    "json": json.dumps,
    "rich": bold_and_code_html,
    "with_chance": with_chance,
    "grey_intervals": grey_intervals,
    "html_id": html_id,
    "shorten": formats.truncate,
    "tokens": formats.tokens,
    "attributes": attributes,
    "link": link,
    "measured": measure_attribute,
}


def macros(template: str) -> Macros:
    """The macros of a template, as attributes: functions that return Markup. `template` is its path
    inside `components`, such as "results/remedies/remedies.html"."""
    return ENVIRONMENT.get_template(template).module  # type: ignore[return-value]
