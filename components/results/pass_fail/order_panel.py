"""Panel on the order of the options "pass" and "fail": pass rates in both orders, and their
difference; for all answers, by model and by category."""

from __future__ import annotations

import json
from typing import Any, Final

from components.html.format import CLICK_HINT, MIN_COLOURED_ITEMS, count, decimal, percent, share
from components.html.heatmap import scale_html
from components.html.markup import EMPTY, Markup, attributes, fill, join
from components.html.panel import notice_html, wrap
from components.html.scales import ColourScale
from components.html.tables.value_table import (
    PERCENT,
    ColumnHead,
    name_cell,
    value_cell,
    value_table,
)
from components.results.pass_fail.computed import GROUP_WORDS, PassFailResults
from metrics.estimation.multiple_comparisons import simultaneous_interval
from metrics.labels.option_order import OptionOrder
from metrics.labels.pass_by_order import PassByOrder
from studies.domain import Estimate

SHIFT_SCALE: Final = ColourScale(
    "Shift",
    "b",
    0,
    0.2,
    (
        "no colour: no significant difference between the two orders",
        "full colour: pass rates of the two orders differ by 20 points or more",
    ),
    1,
    unit="points",
    signed=True,
    is_two_sided=True,
)
"""Colour scale of the difference between the two pass rates."""
ALL_ANSWERS: Final = "All answers"


def order_panel(results: PassFailResults) -> Markup:
    """HTML on the effect of listing "pass" or "fail" first, if both orders were used."""
    found = results.order.get(results.cell or ("", ""))
    if found is None:
        return notice_html(
            "calm",
            "Pass and fail were listed in one order only. To measure the effect of their "
            "order, set `options: rotations` in the study file.",
        )
    return wrap(_shift_table(results), join(fill("<p>{}</p>", text) for text in _texts(found)))


def _texts(found: OptionOrder) -> list[str]:
    texts = [
        f"Answers whose verdict changes with the order of the options: {percent(found.changed)}.",
        f"Share of verdicts that change when repeated in the same order: "
        f"{percent(found.noise_floor) if found.noise_floor.value is not None else 'not measured'}.",
        f"Share of verdicts for the option listed first: {percent(found.first_place)}; expected "
        f"without an order effect: {share(found.expected_first.value)}.",
    ]
    if found.letter:
        texts.append(
            f"Share of verdicts for the option with the letter A: {percent(found.letter.share)}; "
            f"expected without a preference for A: {share(found.letter.expected.value)}."
        )
    if len(found.shift) > 2:  # also letters were varied: the table pools them
        texts += [
            f"Pass rate (0 to 1) with the options in the order {name.replace(' ', ', ')} minus "
            f"pass rate in the other orders: {decimal(shift, 3)}."
            for name, shift in found.shift.items()
        ]
    return texts


def _shift_table(results: PassFailResults) -> Markup:
    """HTML table: pass rate with pass listed first, with fail listed first, and their difference;
    one row for all answers, for each model and for each category."""
    if results.shift is None or results.cell is None:
        return EMPTY
    judge, prompt = results.cell
    whole: dict[str, Any] = {"judge": judge, "prompt": prompt}
    groups = [
        (name, column, one)
        for column, parts in results.shift_parts.items()
        for name, one in parts.items()
    ]
    heads = [
        ColumnHead("Answers", numeric=False),
        ColumnHead("Pass first, %"),
        ColumnHead("Fail first, %"),
        ColumnHead("Shift, points"),
    ]
    rows = [_shift_row(ALL_ANSWERS, "", results.shift, whole, 1)]
    rows += [
        _shift_row(name, GROUP_WORDS[column], one, {**whole, column: name}, len(groups))
        for name, column, one in groups
    ]
    table = value_table(heads, rows, label="Pass rates by the option listed first")
    return table + scale_html(SHIFT_SCALE)


def _shift_row(
    name: str, note: str, found: PassByOrder, select: dict[str, Any], tests: int
) -> list[Markup]:
    return [
        name_cell(name, note=note),
        value_cell(found.pass_first, PERCENT, who=name),
        value_cell(found.fail_first, PERCENT, who=name),
        _shift_cell(name, found.shift, select, tests),
    ]


def _shift_cell(name: str, shift: Estimate, select: dict[str, Any], tests: int) -> Markup:
    """HTML button with the difference `shift` of the group `name`; a click opens the replies of the
    group. "≈ same" is added if the difference, adjusted for `tests` groups, is not significant."""
    if shift.value is None:
        return value_cell(shift, PERCENT, who=name)
    value, bounds = SHIFT_SCALE.text(shift.value), SHIFT_SCALE.bounds(shift)
    same = "" if differs(shift, tests) else " ≈ same"
    lines = [
        f"{value} points {bounds}{same}",
        f"{name}: pass rate with pass listed first minus pass rate with fail listed first",
        f"{count(shift.items, 'item')}, n {count(shift.n)}",
        CLICK_HINT,
    ]
    coloured = shift.items >= MIN_COLOURED_ITEMS
    colour = SHIFT_SCALE.css_class(0.0 if same else shift.value)
    made = attributes(
        {
            "type": "button",
            "class": f"eh-shift {colour if coloured else 'few'}",
            "data-select": json.dumps(select),
            "data-tip": "\n".join(lines),
            "aria-label": ". ".join(lines),
        }
    )
    return fill("<button{}><b>{}</b><small>{}{}</small></button>", made, value, bounds, same)


def differs(shift: Estimate, tests: int) -> bool:
    """Whether the difference `shift` is significant, adjusted for the number of `tests`."""
    wide = simultaneous_interval(shift, max(tests, 1))
    return wide.low is not None and wide.high is not None and not wide.low <= 0 <= wide.high
