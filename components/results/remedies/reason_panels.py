"""Panels that explain the recommendation: patterns of the two verdicts, and other judges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from components.html.format import NARROW_SPACE, count, number
from components.html.markup import EMPTY, Markup, fill, inline_markup, join
from components.results.remedies.computed import RemedyResults
from components.results.remedies.panel_pieces import (
    Axis,
    axis_place,
    button,
    panel,
)
from metrics.remedies.recommendation import gain_text, is_above_zero, points
from metrics.remedies.rule_table import RuleEstimate

HALF_SIGNS: Final = {1.0: "1", 0.75: "¾", 0.5: "½", 0.25: "¼", 0.0: "0"}


def patterns_panel(results: RemedyResults) -> Markup:
    """HTML table of the patterns of the two orders' verdicts (same winner, opposite, ties), with
    the credit that each rule gives to each pattern."""
    found = results.patterns
    if found is None:
        return EMPTY
    rows = (
        ("The right winner twice", found.same_right, (1.0, 1.0, 1.0), False),
        ("The wrong winner twice", found.same_wrong, (0.0, 0.0, 0.0), False),
        ("Opposite winners", found.opposite, (0.5, 0.5, 0.5), False),
        ("Tie twice", found.tie_twice, (0.5, 0.5, 0.5), False),
        (
            "A tie in one order, the right winner in the other",
            found.tie_once_right,
            (0.75, 1.0, 0.5),
            True,
        ),
        (
            "A tie in one order, the wrong winner in the other",
            found.tie_once_wrong,
            (0.25, 0.0, 0.5),
            True,
        ),
    )
    body = join(_pattern_row(*row) for row in rows)
    table = fill(
        '<table class="eh-rules tight"><thead><tr><th class="l">In the two orders {} gave</th>'
        "<th>Comparisons</th><th>One call</th><th>Added up</th><th>Must agree</th></tr></thead>"
        "<tbody>{}</tbody></table>",
        results.judge,
        body,
    )
    sentence = (
        "“Added up” and “must agree” give each comparison the same credit as one call, except in "
        "the two bold rows: there the credit is ¼ higher or lower. Compared with one call, “added "
        "up” therefore changes agreement by "
        f"100 × ({count(found.tie_once_right)} − {count(found.tie_once_wrong)}) ÷ 4 ÷ "
        f"{count(found.comparisons)} = **{points(found.gain)} points**. “Must agree” changes it by "
        f"{points(-found.gain)} points. More agreement needs another kind of reply (those tried "
        "are in the table above) or another judge."
    )
    return panel(
        "Why a second call in the other order gains so little",
        f"credit of each rule per comparison (right 1, undecided ½, wrong 0), "
        f"{count(found.comparisons, 'comparison')} of {results.judge}",
        table,
        fill('<p class="eh-small eh-after">{}</p>', inline_markup(sentence)),
    )


def _pattern_row(name: str, cases: int, credits: Sequence[float], bold: bool) -> Markup:
    cells = join(fill("<td>{}</td>", HALF_SIGNS[value]) for value in credits)
    kind = fill(' class="b"') if bold else EMPTY
    return fill('<tr{}><td class="l">{}</td><td>{}</td>{}</tr>', kind, name, count(cases), cells)


# -- other judges ----------------------------------------------------------------------------------


def other_judges_panel(results: RemedyResults) -> Markup:
    """HTML comparison of all judges by the agreement of one call, shown if no rule helps."""
    if len(results.others) < 2:
        return EMPTY
    ranked = sorted(results.others, key=lambda line: -(line.agreement.value or 0))
    bounds = [line.agreement for line in ranked]
    axis = (
        min([0.45, *(one.low or 0.5 for one in bounds)]),
        max([0.8, *(one.high or 0.5 for one in bounds)]),
    )
    rows = join(_judge_row(results, line, axis) for line in ranked)
    best = ranked[0]
    offer = EMPTY
    name = best.rule.members[0][0]
    if best.adjusted is not None and is_above_zero(best.adjusted):
        title = (
            f"One call of {name} agrees with the known better answers significantly more often "
            f"than one call of {results.judge}"
        )
        text = f"Difference in agreement: {gain_text(best.adjusted)}."
        show = button(f"Show remedies for {name}", {"show": name})
        offer = fill('<div class="eh-empty"><b>{}</b>{}<br>{}</div>', title, text, show)
    return panel(
        "How often each judge agrees with the known better answers",
        "agreement of one call with the known better answers, on the same comparisons; "
        f"95{NARROW_SPACE}% CI; dashed: chance",
        fill('<div class="eh-judges">{}</div>', rows),
        offer,
    )


def _judge_row(results: RemedyResults, line: RuleEstimate, axis: Axis) -> Markup:
    name, got = line.rule.members[0][0], line.agreement
    low, high = got.low or got.value or 0.5, got.high or got.value or 0.5
    return fill(
        '<span class="{}">{}</span><div class="dd"><i class="z" style="left:{}"></i>'
        '<i class="w" style="left:{};width:{:.2f}%"></i><i class="p" style="left:{}"></i></div>'
        "<b>{}</b>",
        "me" if name == results.judge else "",
        name,
        axis_place(axis, 0.5),
        axis_place(axis, low),
        100 * (high - low) / (axis[1] - axis[0]),
        axis_place(axis, got.value or 0.5),
        number(100 * (got.value or 0), 1),
    )
