"""Recommendation of the Remedies view: gain on held-out items, and buttons that apply a rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from components.html.format import NARROW_SPACE, count
from components.html.markup import EMPTY, Markup, fill, join
from components.results.remedies.budget_panel import once_text
from components.results.remedies.computed import RemedyResults
from components.results.remedies.panel_pieces import (
    button,
    calls_text,
    interval_text,
    percent_text,
    wrapped,
)
from metrics.remedies.changed_comparisons import rule_key
from metrics.remedies.recommendation import (
    PriceGain,
    gain_text,
    is_above_zero,
    points,
    power_text,
)
from metrics.remedies.rule_names import join_names, rule_words, words_of_id
from metrics.remedies.rule_sets import SINGLE, Rule
from studies.spec.combine_rules import is_combine_rule, parse_remedy

COMBINED_AS: Final = {"pooled": "single", "strict": "agree", "majority": "pool"}
"""Value of `combine` in a study file -> id of the remedy that means the same."""


def remedy_finding(results: RemedyResults) -> tuple[str, str]:
    """Headline and the sentence below it: the recommended rule, and the gain or loss of the usual
    rule "both orders must agree"; or the reason why no rule is recommended."""
    advice = results.advice
    if advice is None:
        return (
            "To compare remedies, the better answers must be known, by design or from people's "
            "majority.",
            "Every judge must have judged the same comparisons in both orders.",
        )
    if advice.chosen is None:
        reason = (
            "the agreement of one call with the known better answers is not significantly above "
            "chance"
            if advice.coin
            else "no rule agrees with the known better answers significantly more often than one "
            "call"
        )
        parts = (
            f"For {results.judge}, {reason}.{power_text(results.table)}",
            _usual_rule_text(results),
            once_text(results),
        )
        return (
            f"No remedy was shown to help the judge {results.judge}.",
            " ".join(filter(None, parts)),
        )
    return advice.sentence, "" if advice.chosen.rule.id == "agree" else _usual_rule_text(results)


def _usual_rule_text(results: RemedyResults) -> str:
    """Sentence on the price and the gain or loss of the rule "both orders must agree" against one
    call; empty if the two cannot be compared. A gain or loss is named only if its adjusted interval
    excludes zero."""
    change = next(line for line in results.table if line.rule.id == "agree").adjusted
    if change is None:
        return ""
    size = gain_text(change)
    found = f"no difference is shown ({size})"
    if is_above_zero(change):
        found = f"it gains agreement ({size})"
    elif change.high is not None and change.high < 0:
        found = f"it loses agreement ({size})"
    return (
        f"The usual rule (both orders must agree) needs 2 calls; compared with one call, {found}."
    )


def recommendation_panel(results: RemedyResults) -> Markup:
    """HTML of the recommendation: gain of the recommended rule and of the next more expensive rule
    on held-out items, agreement of the rule "one call", and buttons that apply the first two rules
    to the study."""
    advice = results.advice
    if advice is None or advice.chosen is None:
        return EMPTY
    rules = [advice.chosen.rule]
    figures = [
        _gain_figure(
            f"Gain in agreement over one call, if a rule of {calls_text(advice.chosen.rule)} is "
            "chosen in this way",
            advice.chosen,
        )
    ]
    if results.next_price is not None:
        rule = results.next_price.rule
        rules.append(rule)
        more = "The same with more judges" if len(rule.members) > 1 else "The same with more calls"
        figures.append(_gain_figure(f"{more}, {calls_text(rule)}", results.next_price, name=True))
    single = results.table[0].agreement
    chance = f"{interval_text(single)}, n {count(single.n)}; chance: 50{NARROW_SPACE}%"
    figures.append(_figure("Agreement of one call", percent_text(single), "", chance))
    return wrapped(
        fill(
            '<section class="eh-panel eh-rec"><ul>{}</ul><div class="act">{}</div></section>',
            join(figures),
            _apply_buttons(results, rules),
        )
    )


def _gain_figure(label: str, one: PriceGain, name: bool = False) -> Markup:
    where = "measured on items not used to choose the rule"
    note = f"{interval_text(one.gain)} {where if not name else ''}".strip()
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


def _apply_buttons(results: RemedyResults, rules: Sequence[Rule]) -> Markup:
    """HTML buttons that apply the recommended or the next more expensive rule, or undo the rule
    that the study uses now. Readers may not change the study: they see only the rule in use."""
    used = rule_in_use(results)
    if not results.filtered.store.owns(results.filtered.name):
        return EMPTY if used == SINGLE else _in_use(used, may_undo=False)
    parts = [_apply_button(rule, used, first=not place) for place, rule in enumerate(rules)]
    known = [*(rule_key(rule) for rule in rules), SINGLE]
    if used not in known:
        parts.append(_in_use(used))
    return join(parts)


def _apply_button(rule: Rule, used: str, first: bool) -> Markup:
    key, title = rule_key(rule), rule_words(rule).title
    if key == used:
        return _in_use(key)
    if not is_combine_rule(key):
        return fill("<p>{}</p>", _not_applicable(title))
    words = "Use this rule" if first else f"Use instead: {title}"
    apply = button(words, {"use": key}, primary=first)
    stored = f"{title}: this rule needs no new calls, as the replies are stored"
    note = fill("<p>{}</p>", stored) if first else EMPTY
    return join([apply, note])


def _not_applicable(title: str) -> str:
    """Text: why the rule `title` cannot be applied (a judge's name contains “|”), what to do."""
    return (
        f"{title} cannot be used: a judge's name contains “|”. Rename the judge, then use the rule."
    )


def _in_use(key: str, *, may_undo: bool = True) -> Markup:
    remedy = parse_remedy(key)
    title = words_of_id(remedy.id, remedy.judges).title if remedy else words_of_id(key, ()).title
    where = f"{title} is the rule now used in Ranking, Win rates and Share"
    undo = button("Undo", {"use": SINGLE}) if may_undo else EMPTY
    return fill("<p><b>{}</b></p>{}<p>{}</p>", "In use", undo, where)


def rule_in_use(results: RemedyResults) -> str:
    """Id of the rule by which the study combines both orders at present."""
    combine = results.filtered.study.combine
    return COMBINED_AS.get(combine, combine)
