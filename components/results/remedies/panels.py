"""Panels of the Remedies view: recommendation, table of rules, verdict patterns, other judges,
pilots."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from components.html.format import NARROW_SPACE, count, dollars, number
from components.html.markup import EMPTY, Markup, fill, inline_markup, join
from components.results.remedies.computed import RemedyView
from components.results.remedies.pilots import Pilot, offered_pilots
from metrics.remedies.changed_comparisons import rule_key
from metrics.remedies.recommendation import PriceGain, points
from metrics.remedies.rule_names import join_names, number_word, rule_words
from metrics.remedies.rule_sets import Rule
from metrics.remedies.rule_table import RuleEstimate
from studies.domain import Estimate

APPLICABLE: Final = {"single": "single", "pool": "pool", "agree": "agree", "graded": "graded"}
"""Rules that can become the combination rule of a study (`combine` in its file)."""
COMBINED_AS: Final = {"pooled": "single", "strict": "agree", "majority": "pool"}
"""For older values of `combine`, the rule with the same meaning."""
BUDGET: Final = 40.0
"""Example budget in dollars: the recommendation states how many comparisons it buys."""
HALF_SIGNS: Final = {1.0: "1", 0.75: "¾", 0.5: "½", 0.25: "¼", 0.0: "0"}


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


# -- recommendation --------------------------------------------------------------------------------


def remedy_finding(view: RemedyView) -> tuple[str, str]:
    """Headline and the sentence below it: the recommended rule, and the gain or loss of the usual
    rule (undecided unless both orders agree); or the reason why no rule is recommended."""
    advice = view.advice
    if advice is None:
        return "Remedies need known answers or a majority of people.", (
            "Every judge must have judged the same comparisons in both orders."
        )
    if advice.chosen is None:
        reason = (
            "one call is not distinguishable from a coin"
            if advice.coin
            else "no difference to one call is significantly above zero"
        )
        return (
            f"No remedy helps {view.judge} here.",
            f"{view.judge}: {reason}. Asking twice would double the price and change little.",
        )
    agree = next(line for line in view.table if line.rule.id == "agree")
    lead = ""
    if advice.chosen.rule.id != "agree" and agree.difference is not None:
        value = round(agree.difference.value or 0.0, 3)
        gain = f"{'loses' if value < 0 else 'gains'} {points(abs(value)).lstrip('+')} points"
        lead = (
            "The usual rule, undecided unless both orders agree, needs 2 calls and "
            f"{gain if value else 'gains nothing'}."
        )
    return advice.sentence, lead


def recommendation_panel(view: RemedyView) -> Markup:
    """HTML of the recommendation: gain on held-out items, gain of the next more expensive rule,
    agreement of one call, and the button that applies the rule."""
    advice = view.advice
    if advice is None or advice.chosen is None:
        return EMPTY
    figures = [_gain_figure(f"Recommended at {_calls(advice.chosen.rule)}", advice.chosen)]
    if view.next_price is not None:
        rule = view.next_price.rule
        more = "With more judges" if len(rule.members) > 1 else "With more calls"
        figures.append(_gain_figure(f"{more}, {_calls(rule)}", view.next_price, name=True))
    single = view.table[0].agreement
    chance = f"{_interval(single)}, n {count(single.n)}; chance: 50{NARROW_SPACE}%"
    figures.append(_figure("One call today", _percent(single), "", chance))
    return wrapped(
        fill(
            '<section class="eh-panel eh-rec"><ul>{}</ul><div class="act">{}</div>{}</section>',
            join(figures),
            _apply_button(view, advice.chosen.rule),
            _budget_line(view, advice.chosen.rule),
        )
    )


def _budget_line(view: RemedyView, rule: Rule) -> Markup:
    """HTML on the number of comparisons that a budget buys; empty if prices are unknown or zero."""
    prices = {rule_key(line.rule): view.dollars(line) for line in view.table}
    chosen, single = prices.get(rule_key(rule)), view.dollars(view.table[0])
    if not chosen or not single:
        return EMPTY
    bought, once = (count(int(1000 * BUDGET / price)) for price in (chosen, single))
    text = f"{dollars(BUDGET)} buys {bought} comparisons with this rule, {once} with one call."
    return fill('<p class="eh-small budget">{}</p>', text)


def _gain_figure(label: str, one: PriceGain, name: bool = False) -> Markup:
    where = "on items not used to choose it"
    note = f"{_interval(one.gain)} {where if not name else ''}".strip()
    if name:
        note += f"; {rule_words(one.rule).title.lower()}: {_members(one.rule)}"
    return _figure(label, points(one.gain.value), "points", note)


def _members(rule: Rule) -> str:
    return join_names([judge for judge, _ in rule.members])


def _figure(label: str, value: str, unit: str, note: str) -> Markup:
    return fill(
        '<li><div class="k">{}</div><div class="v">{} <small>{}</small></div>'
        '<div class="n">{}</div></li>',
        label,
        value,
        unit,
        note,
    )


def _apply_button(view: RemedyView, rule: Rule) -> Markup:
    """HTML button that applies the recommended rule; if that rule cannot be applied here, the next
    more expensive one, named on the button."""
    words, note = "Use this rule", "No new call: the replies are stored"
    if rule.id not in APPLICABLE and view.next_price and view.next_price.rule.id in APPLICABLE:
        rule = view.next_price.rule
        words = f"Use this rule: {rule_words(rule).title}"
        note = f"The recommended rule cannot be applied here. {note}"
    elif rule.id not in APPLICABLE:
        return fill("<p>{}</p>", "This rule cannot be applied here: use it in your own pipeline.")
    title = rule_words(rule).title
    if rule_in_use(view) == rule.id:
        undo = button("Undo", {"use": "single"})
        where = f"{title}: in Ranking, Win rates and Share"
        return fill("<p><b>{}</b></p>{}<p>{}</p>", "In use", undo, where)
    apply = button(words, {"use": APPLICABLE[rule.id]}, primary=True)
    return fill("{}<p>{}</p>", apply, f"{title}. {note}")


def rule_in_use(view: RemedyView) -> str:
    """The rule by which the study now combines both orders."""
    combine = view.filtered.study.combine
    return COMBINED_AS.get(combine, combine)


def _calls(rule: Rule) -> str:
    return f"{rule.price:g} call{'' if rule.price == 1 else 's'}"


def _percent(got: Estimate, decimals: int = 1) -> str:
    return "–" if got.value is None else f"{number(100 * got.value, decimals)}{NARROW_SPACE}%"


def _interval(got: Estimate | None, decimals: int = 1) -> str:
    if got is None or got.low is None or got.high is None:
        return ""
    return f"[{number(100 * got.low, decimals)}, {number(100 * got.high, decimals)}]"


# -- table -----------------------------------------------------------------------------------------


def rules_table(view: RemedyView) -> Markup:
    """HTML table of all rules on the same comparisons; below it, rules outside the adjustment, and
    pilots."""
    groups: dict[str, list[RuleEstimate]] = {"": [], PEOPLE_PART: [], FEWER_PART: []}
    for line in view.table:
        part = FEWER_PART if not line.complete else PEOPLE_PART if line.rule.votes else ""
        groups[part].append(line)
    axis = _difference_axis(view.table)
    best = view.frontier(by_dollars=False)
    rows: list[Markup] = []
    place = 0
    for part, lines in groups.items():
        if part and lines:
            rows.append(_divider(view, part))
        for line in lines:
            place += 1
            rows.append(_row(view, line, place, axis, line in best))
    if view.pilot_lines:
        rows.append(_divider(view, PILOT_PART))
        rows += [_pilot_row(view, name, line, axis) for name, line in view.pilot_lines]
    return fill(
        '<div class="eh-tbl-box"><table class="eh-rules"><thead><tr>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>",
        _heads(view, axis),
        join(rows),
    )


PEOPLE_PART: Final = "With votes of people, outside the adjustment"
FEWER_PART: Final = "On fewer comparisons, outside the adjustment"
PILOT_PART: Final = "From pilots, on their own comparisons"
Axis = tuple[float, float]


def _difference_axis(lines: Sequence[RuleEstimate]) -> Axis:
    known = [line.adjusted for line in lines if line.adjusted is not None]
    lows = [one.low for one in known if one.low is not None]
    highs = [one.high for one in known if one.high is not None]
    return min([-0.02, *lows]) - 0.005, max([0.02, *highs]) + 0.005


def _left(axis: Axis, value: float) -> str:
    return f"{100 * (value - axis[0]) / (axis[1] - axis[0]):.2f}%"


def _heads(view: RemedyView, axis: Axis) -> Markup:
    zero = fill('<div class="eh-axis"><span style="left:{}">0</span></div>', _left(axis, 0))
    money = fill("<th>$ per<br>1,000</th>") if view.priced else EMPTY
    return join(
        [
            fill('<th class="l"></th><th class="l">Rule</th><th>Calls</th>'),
            money,
            fill("<th>Agreement,<br>95 % CI</th>"),
            fill('<th class="l trk">{}</th>', zero),
            fill("<th>Difference to one call,<br>adjusted CI, points</th>"),
            fill("<th>Decided,<br>%</th><th>Right when<br>decided, %</th>"),
            fill('<th><span class="eh-vh">Comparisons</span></th>'),
        ]
    )


def _divider(view: RemedyView, text: str) -> Markup:
    return fill('<tr class="part"><td colspan="{}">{}</td></tr>', 10 if view.priced else 9, text)


def _row(view: RemedyView, line: RuleEstimate, place: int, axis: Axis, best: bool) -> Markup:
    words = rule_words(line.rule)
    chosen = view.advice.chosen if view.advice else None
    picked = chosen is not None and rule_key(chosen.rule) == rule_key(line.rule)
    detail = words.explanation + (" (best partners here)" if line.rule.picked else "")
    note = line.agreement.note
    return fill(
        '<tr class="{}" data-rule="{}"><td class="l c1"><span class="no{}">{}</span></td>'
        '<td class="l c2"><b>{}</b><small>{}</small></td>{}<td class="op">{}</td></tr>',
        "pick" if picked else "",
        place,
        fill(" f") if best else EMPTY,
        place,
        words.title,
        f"{detail}; {note}" if note else detail,
        _number_cells(view, line, axis),
        _open_link(view, line),
    )


def _pilot_row(view: RemedyView, name: str, line: RuleEstimate, axis: Axis) -> Markup:
    detail = f"{name}: {count(line.agreement.n, 'comparison')}"
    return fill(
        '<tr><td class="l c1"><span class="no">P</span></td>'
        '<td class="l c2"><b>{}</b><small>{}</small></td>{}<td></td></tr>',
        rule_words(line.rule).title,
        detail,
        _number_cells(view, line, axis),
    )


def _number_cells(view: RemedyView, line: RuleEstimate, axis: Axis) -> Markup:
    money = EMPTY
    if view.priced:
        money = fill('<td class="wide">{}</td>', dollars(view.dollars(line)))
    votes = f" + {line.rule.votes:g} vote" if line.rule.votes else ""
    return join(
        [
            fill('<td class="wide">{}{}</td>', f"{line.rule.price:g}", votes),
            money,
            fill(
                '<td class="c3"><b>{}</b> <span class="ci">{}</span></td>',
                number(100 * (line.agreement.value or 0), 1),
                _interval(line.agreement),
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
    zero = fill('<i class="z" style="left:{}"></i>', _left(axis, 0))
    got = line.adjusted
    if got is None or got.low is None or got.high is None or got.value is None:
        return fill('<div class="dd">{}</div>', zero)
    width = 100 * (got.high - got.low) / (axis[1] - axis[0])
    return fill(
        '<div class="dd">{}<i class="w" style="left:{};width:{:.2f}%"></i>'
        '<i class="p" style="left:{}"></i></div>',
        zero,
        _left(axis, got.low),
        width,
        _left(axis, got.value),
    )


def _open_link(view: RemedyView, line: RuleEstimate) -> Markup:
    if not line.changed:
        return EMPTY
    send = {"rule": rule_key(line.rule), "judge": view.judge, "prompt": view.prompt}
    return fill(
        '<button type="button" class="eh-link" data-select="{}">Open {}</button>',
        json.dumps(send),
        count(line.changed),
    )


# -- order patterns --------------------------------------------------------------------------------


def patterns_panel(view: RemedyView) -> Markup:
    """HTML table of the patterns of two verdicts (same winner, opposite, ties), with the credit
    that each rule gives to them."""
    found = view.patterns
    if found is None:
        return EMPTY
    rows = (
        ("Same winner twice, and right", found.same_right, (1.0, 1.0, 1.0), False),
        ("Same winner twice, and wrong", found.same_wrong, (0.0, 0.0, 0.0), False),
        ("Opposite winners", found.opposite, (0.5, 0.5, 0.5), False),
        ("Tie twice", found.tie_twice, (0.5, 0.5, 0.5), False),
        ("Tie once, the other right", found.tie_once_right, (0.75, 1.0, 0.5), True),
        ("Tie once, the other wrong", found.tie_once_wrong, (0.25, 0.0, 0.5), True),
    )
    body = join(_pattern_row(*row) for row in rows)
    table = fill(
        '<table class="eh-rules tight"><thead><tr><th class="l">In the two orders {} gave</th>'
        "<th>Cases</th><th>One call</th><th>Added up</th><th>Must agree</th></tr></thead>"
        "<tbody>{}</tbody></table>",
        view.judge,
        body,
    )
    sentence = (
        f"Only the two bold rows differ: ({count(found.tie_once_right)} − "
        f"{count(found.tie_once_wrong)}) ÷ 4 ÷ {count(found.comparisons)} = "
        f"**{points(found.gain)} points** for adding up, and {points(-found.gain)} for “must "
        "agree”. More accuracy needs graded replies or another judge."
    )
    return panel(
        "Why asking twice gains so little",
        f"credit per comparison, {count(found.comparisons, 'comparison')} of {view.judge}",
        table,
        fill('<p class="eh-small eh-after">{}</p>', inline_markup(sentence)),
    )


def _pattern_row(name: str, cases: int, credits: Sequence[float], bold: bool) -> Markup:
    cells = join(fill("<td>{}</td>", HALF_SIGNS[value]) for value in credits)
    kind = fill(' class="b"') if bold else EMPTY
    return fill('<tr{}><td class="l">{}</td><td>{}</td>{}</tr>', kind, name, count(cases), cells)


# -- other judges ----------------------------------------------------------------------------------


def other_judges_panel(view: RemedyView) -> Markup:
    """HTML comparison of one call of every judge; another judge is the remedy if no rule helps."""
    if len(view.others) < 2:
        return EMPTY
    ranked = sorted(view.others, key=lambda line: -(line.agreement.value or 0))
    bounds = [line.agreement for line in ranked]
    axis = (
        min([0.45, *(one.low or 0.5 for one in bounds)]),
        max([0.8, *(one.high or 0.5 for one in bounds)]),
    )
    rows = join(_judge_row(view, line, axis) for line in ranked)
    best = ranked[0]
    offer = EMPTY
    name = best.rule.members[0][0]
    if best.difference is not None and (best.difference.low or 0) > 0:
        title = f"{name} with one call: {points(best.difference.value)} points"
        text = f"{_interval(best.difference)}, against one call of {view.judge}."
        show = button(f"Show remedies for {name}", {"show": name})
        offer = fill('<div class="eh-empty"><b>{}</b>{}<br>{}</div>', title, text, show)
    return panel(
        "What would help: another judge",
        f"one call each, same comparisons; 95{NARROW_SPACE}% CI; dashed: chance",
        fill('<div class="eh-judges">{}</div>', rows),
        offer,
    )


def _judge_row(view: RemedyView, line: RuleEstimate, axis: Axis) -> Markup:
    name, got = line.rule.members[0][0], line.agreement
    low, high = got.low or got.value or 0.5, got.high or got.value or 0.5
    return fill(
        '<span class="{}">{}</span><div class="dd"><i class="z" style="left:{}"></i>'
        '<i class="w" style="left:{};width:{:.2f}%"></i><i class="p" style="left:{}"></i></div>'
        "<b>{}</b>",
        "me" if name == view.judge else "",
        name,
        _left(axis, 0.5),
        _left(axis, low),
        100 * (high - low) / (axis[1] - axis[0]),
        _left(axis, got.value or 0.5),
        number(100 * (got.value or 0), 1),
    )


# -- pilots ----------------------------------------------------------------------------------------


def pilots_panel(view: RemedyView) -> Markup:
    """HTML of the remedies that need new replies, each with its calls, its price and a button."""
    found = offered_pilots(view)
    if not found:
        return EMPTY
    items = number_word(len(found))
    rows = join(map(_pilot_item, found))
    return panel(
        "Worth a pilot",
        f"{items} rules that need replies of another kind; one comparison for each of 40 items",
        rows,
    )


def _pilot_item(pilot: Pilot) -> Markup:
    return fill(
        '<div class="eh-pilot"><div><b>{}</b><div class="d">{}</div></div>'
        '<div class="c">{}</div>{}</div>',
        pilot.title,
        pilot.detail,
        pilot.price,
        button("Open pilot", {"pilot": pilot.kind}),
    )
