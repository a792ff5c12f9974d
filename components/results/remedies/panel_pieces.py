"""Shared parts of the panels of the Remedies view: frame, button, numbers, axis coordinates."""

from __future__ import annotations

import json

from components.html.format import NARROW_SPACE, number
from components.html.markup import Markup, fill, join
from metrics.remedies.rule_sets import Rule
from studies.domain import Estimate

Axis = tuple[float, float]
"""Lowest and highest value of an axis."""


def wrapped(*parts: object) -> Markup:
    return fill('<div class="eh">{}</div>', join(parts))


def panel(title: str, subtitle: str, *body: object) -> Markup:
    return fill(
        '<section class="eh-panel"><header class="eh-head"><div><h2>{}</h2><p>{}</p></div></header>'
        "{}</section>",
        title,
        subtitle,
        join(body),
    )


def button(label: str, send: dict[str, str], primary: bool = False) -> Markup:
    return fill(
        '<button type="button" class="{}" data-select="{}">{}</button>',
        "eh-btn primary" if primary else "eh-btn",
        json.dumps(send),
        label,
    )


def calls_text(rule: Rule) -> str:
    return f"{rule.price:g} call{'' if rule.price == 1 else 's'}"


def percent_text(got: Estimate, decimals: int = 1) -> str:
    return "–" if got.value is None else f"{number(100 * got.value, decimals)}{NARROW_SPACE}%"


def interval_text(got: Estimate | None, decimals: int = 1) -> str:
    if got is None or got.low is None or got.high is None:
        return ""
    return f"[{number(100 * got.low, decimals)}, {number(100 * got.high, decimals)}]"


def axis_place(axis: Axis, value: float) -> str:
    return f"{100 * (value - axis[0]) / (axis[1] - axis[0]):.2f}%"
