"""Table of the Remedies view: all rules on the same comparisons; then rules with people's votes,
rules on fewer comparisons, and rules of pilots."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Final

from components.html.format import count, dollars, number
from components.html.markup import EMPTY, Markup, fill, join
from components.results.remedies.computed import PilotLine, RemedyResults, line_dollars
from components.results.remedies.panel_pieces import Axis, axis_place, interval_text
from metrics.remedies.changed_comparisons import rule_key
from metrics.remedies.recommendation import points
from metrics.remedies.rule_names import rule_words
from metrics.remedies.rule_table import RuleEstimate
from metrics.summary.remedy_section import RemedyInputs, rule_cost


def rules_table(results: RemedyResults) -> Markup:
    """HTML table of the rules in five groups: rules on all comparisons, with intervals adjusted for
    their number; rules with people's votes; rules on fewer comparisons; rules of pilots; rules that
    cannot be computed, with the reason."""
    groups: dict[str, list[RuleEstimate]] = {"": [], PEOPLE_PART: [], FEWER_PART: []}
    for line in results.table:
        part = FEWER_PART if not line.complete else PEOPLE_PART if line.rule.votes else ""
        groups[part].append(line)
    axis = _difference_axis(results.table)
    best = results.frontier(by_dollars=False)
    rows: list[Markup] = []
    place = 0
    for part, lines in groups.items():
        if part and lines:
            rows.append(_divider(results, part))
        for line in lines:
            place += 1
            rows.append(_row(results, line, place, axis, line in best))
    if results.pilot_lines:
        rows.append(_divider(results, PILOT_PART))
        rows += [
            _pilot_row(results, one, place, axis)
            for place, one in enumerate(results.pilot_lines, start=1)
        ]
    if results.missing_rules:
        rows.append(_divider(results, MISSING_PART))
        rows += [_missing_row(results, *one) for one in results.missing_rules.items()]
    return fill(
        '<div class="eh-tbl-box"><table class="{}"><thead><tr>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>",
        "eh-rules many" if _columns(results) > 10 else "eh-rules",
        _heads(results, axis),
        join(rows),
    )


PEOPLE_PART: Final = "Rules that use votes of people (intervals not adjusted for number of rules)"
FEWER_PART: Final = (
    "Rules computed on fewer comparisons than the others (intervals not adjusted for number of "
    "rules)"
)
MISSING_PART: Final = "Rules that cannot be computed from the stored replies"
PILOT_PART: Final = "Rules from pilots, measured on the pilot's comparisons"


def _difference_axis(lines: Sequence[RuleEstimate]) -> Axis:
    known = [line.adjusted for line in lines if line.adjusted is not None]
    lows = [one.low for one in known if one.low is not None]
    highs = [one.high for one in known if one.high is not None]
    return min([-0.02, *lows]) - 0.005, max([0.02, *highs]) + 0.005


MAX_TICKS: Final = 4
"""Maximum number of tick labels for which the plot of the differences has room."""


def axis_ticks(axis: Axis) -> list[float]:
    """Ticks of the axis of differences: 0 and multiples of a round number of points."""
    low, high = axis

    def ticks(step: float) -> list[float]:
        return [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]

    steps = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
    return next((found for step in steps if len(found := ticks(step)) <= MAX_TICKS), [0.0])


def _tick_text(tick: float) -> str:
    return number(100 * tick, signed=True) if tick else "0"


def _heads(results: RemedyResults, axis: Axis) -> Markup:
    ticks = join(
        fill('<span style="left:{}">{}</span>', axis_place(axis, tick), _tick_text(tick))
        for tick in axis_ticks(axis)
    )
    money = fill("<th>$ per<br>1,000</th>") if results.priced else EMPTY
    tokens = fill("<th>Tokens</th>") if results.inputs.tokens else EMPTY
    return join(
        [
            fill('<th class="l"></th><th class="l">Rule</th><th>Calls</th>'),
            tokens,
            money,
            fill("<th>Agreement,<br>95 % CI</th>"),
            fill('<th class="l trk"><div class="eh-axis">{}</div></th>', ticks),
            fill("<th>Gain over one call,<br>adjusted CI, points</th>"),
            fill("<th>Decided,<br>%</th><th>Right when<br>decided, %</th>"),
            fill('<th><span class="eh-vh">Comparisons</span></th>'),
        ]
    )


def _divider(results: RemedyResults, text: str) -> Markup:
    return fill('<tr class="part"><td colspan="{}">{}</td></tr>', _columns(results), text)


def _columns(results: RemedyResults) -> int:
    return 9 + results.priced + bool(results.inputs.tokens)


PUBLISHED: Final = {
    "agree": "published effect of this rule on agreement: +0.7 to +4.7 points on MT-Bench, −1.5 to "
    "−11.1 points on LLMBar (arXiv 2604.23178)",
    "graded": "published: this rule raised the accuracy of small judges from 56.7 % to 73.1 % "
    "(arXiv 2503.03064)",
    "calibrated": "published method: PriDe (arXiv 2309.03882)",
    "jury-both": "published: nine judges were worth about two independent ones (arXiv 2605.29800)",
}
"""Id of a rule -> published effect of the rule, for its hover text."""


def _row(results: RemedyResults, line: RuleEstimate, place: int, axis: Axis, best: bool) -> Markup:
    words = rule_words(line.rule)
    chosen = results.advice.chosen if results.advice else None
    picked = chosen is not None and rule_key(chosen.rule) == rule_key(line.rule)
    partners = " (with the judges of highest agreement)" if line.rule.picked else ""
    detail = words.explanation + partners
    note = line.agreement.note
    return fill(
        '<tr class="{}" data-rule="{}"><td class="l c1"><span class="no{}">{}</span></td>'
        '<td class="l c2"{}><b>{}</b><small>{}</small></td>{}<td class="op">{}</td></tr>',
        "pick" if picked else "",
        place,
        fill(" f") if best else EMPTY,
        place,
        _published(line),
        words.title,
        f"{detail}; {note}" if note else detail,
        _number_cells(results, line, axis, results.inputs),
        _open_link(results, line),
    )


def _published(line: RuleEstimate) -> Markup:
    known = PUBLISHED.get(line.rule.id)
    return fill(' data-tip="{}"', known) if known else EMPTY


def _missing_row(results: RemedyResults, title: str, reason: str) -> Markup:
    return fill(
        '<tr class="none"><td class="l c1"></td><td class="l c2" colspan="{}"><b>{}</b>'
        "<small>{}</small></td></tr>",
        _columns(results) - 1,
        title,
        reason,
    )


def _pilot_row(results: RemedyResults, pilot: PilotLine, place: int, axis: Axis) -> Markup:
    detail = f"{pilot.kind}: {count(pilot.line.agreement.n, 'comparison')}"
    return fill(
        '<tr data-rule="P{}"><td class="l c1"><span class="no p">P{}</span></td>'
        '<td class="l c2"><b>{}</b><small>{}</small></td>{}<td></td></tr>',
        place,
        place,
        rule_words(pilot.line.rule).title,
        detail,
        _number_cells(results, pilot.line, axis, pilot.inputs),
    )


def _number_cells(
    results: RemedyResults, line: RuleEstimate, axis: Axis, inputs: RemedyInputs
) -> Markup:
    money = tokens = EMPTY
    if results.priced:
        price = line_dollars(line, inputs)
        money = fill('<td class="wide">{}</td>', "–" if price is None else dollars(price))
    if results.inputs.tokens:
        used = rule_cost(line, inputs.tokens)
        tokens = fill('<td class="wide">{}</td>', "–" if used is None else count(round(used)))
    votes = f" + {line.rule.votes:g} vote" if line.rule.votes else ""
    return join(
        [
            fill('<td class="wide">{}{}</td>', f"{line.rule.price:g}", votes),
            tokens,
            money,
            fill(
                '<td class="c3"><b>{}</b> <span class="ci">{}</span></td>',
                number(100 * (line.agreement.value or 0), 1),
                interval_text(line.agreement),
            ),
            fill('<td class="wide trk">{}</td>', _track(line, axis)),
            fill('<td class="c4">{}</td>', _difference(line)),
            fill('<td class="wide">{}</td>', number(100 * (line.decided.value or 0))),
            fill('<td class="wide">{}</td>', _right(line)),
        ]
    )


def _right(line: RuleEstimate) -> str:
    value = line.right_when_decided.value
    return "–" if value is None else number(100 * value)


def _difference(line: RuleEstimate) -> Markup:
    if line.adjusted is None:
        return fill('<span class="eh-mute">{}</span>', "baseline")
    same = (line.adjusted.low or 0) <= 0 <= (line.adjusted.high or 0)
    badge = fill(' <span class="eh-badge s-unreadable">≈ same</span>') if same else EMPTY
    bounds = line.adjusted
    ends = [points(value).replace("+", "") for value in (bounds.low, bounds.high)]
    return fill('<b>{}</b> <span class="ci">[{}, {}]</span>{}', points(bounds.value), *ends, badge)


def _track(line: RuleEstimate, axis: Axis) -> Markup:
    zero = fill('<i class="z" style="left:{}"></i>', axis_place(axis, 0))
    got = line.adjusted
    if got is None or got.low is None or got.high is None or got.value is None:
        return fill('<div class="dd">{}</div>', zero)
    width = 100 * (got.high - got.low) / (axis[1] - axis[0])
    return fill(
        '<div class="dd">{}<i class="w" style="left:{};width:{:.2f}%"></i>'
        '<i class="p" style="left:{}"></i></div>',
        zero,
        axis_place(axis, got.low),
        width,
        axis_place(axis, got.value),
    )


def _open_link(results: RemedyResults, line: RuleEstimate) -> Markup:
    if not line.changed:
        return EMPTY
    send = {"rule": rule_key(line.rule), "judge": results.judge, "prompt": results.prompt}
    return fill(
        '<button type="button" class="eh-link" data-select="{}">Open {}</button>',
        json.dumps(send),
        count(line.changed),
    )
