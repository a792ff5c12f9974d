"""Recommended remedy of a judge, with a gain corrected for choosing the best of many rules.

The price of a rule is its number of judge calls per comparison, its credit 1 where it is right, ½
where it does not decide, 0 where it is wrong. For each price, the best rule up to this price is
chosen on half of the items, and its gain in credit over one call is measured on the other half; the
mean over several random halves, with both halves exchanged, is the *held-out* gain.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from scipy import stats

from metrics.estimation import intervals
from metrics.estimation.measures import first_over_last
from metrics.remedies.order_grid import OrderGrid
from metrics.remedies.rule_names import rater_text, rule_instruction, rule_kind, rule_texts
from metrics.remedies.rule_sets import Rule
from metrics.remedies.rule_table import RuleEstimate, credit_totals_by_item
from studies.domain import Estimate, Rater

REPETITIONS: Final = 20
COIN: Final = 0.5
SMALL_GAIN: Final = 0.02
"""Gain for which the probability of detection is stated if no remedy was shown to help."""
SAME_PRICE: Final = 1e-9
"""Prices closer than this are equal."""


@dataclass(frozen=True)
class PriceGain:
    """The best rule up to a price (judge calls per comparison), and its held-out gain over one
    call, measured on items not used to choose it. `credits` has the credit of each item by the rule
    that was best on other items."""

    price: float
    rule: Rule
    gain: Estimate
    credits: intervals.Floats = field(compare=False, repr=False)


@dataclass(frozen=True)
class Recommendation:
    """Recommended remedy for one judge and prompt; `chosen` is None if no remedy was shown to help.

    The gain of `chosen` is that of choosing a rule in this way, not of the named rule alone.
    `prices` are the best rules by price (judge calls per comparison), cheapest first. `coin` is
    true if the agreement of one call does not differ significantly from that of a coin toss.
    """

    judge: str
    prompt: str
    chosen: PriceGain | None
    prices: tuple[PriceGain, ...]
    coin: bool
    sentence: str


def recommend(
    grid: OrderGrid,
    table: Sequence[RuleEstimate],
    more_rules: Sequence[Rule],
    rng: np.random.Generator,
) -> Recommendation:
    """Recommend the cheapest rule whose held-out gain (on items not used to choose it) is
    significantly above zero.

    `table` has the estimates of a judge's rules, first "one call"; rules that ask people, or lack
    replies on some comparisons, are not recommended. `chosen` is None unless at least one rule of
    `table` that can be recommended has an adjusted interval of its difference from one call above
    zero. `more_rules` are rules outside `table` that can be recommended too.
    """
    baseline = table[0]
    candidates = [one.rule for one in _recommendable(table)]
    prices = held_out_gains(grid, [*candidates, *more_rules], rng)
    helped = any(interval_is_above_zero(one.adjusted) for one in _recommendable(table))
    chosen = next((one for one in prices if helped and interval_is_above_zero(one.gain)), None)
    coin = _interval_covers(baseline.agreement, COIN)
    judge, prompt = baseline.rule.members[0]
    who = rater_text((judge, prompt), grid.raters)
    sentence = _advice_text(chosen, grid.raters) if chosen else _no_advice_text(who, coin, table)
    return Recommendation(judge, prompt, chosen, prices, coin, sentence)


def _recommendable(table: Sequence[RuleEstimate]) -> list[RuleEstimate]:
    """Select the rules of a table that ask no people and have replies on all comparisons."""
    return [one for one in table if one.complete and not one.rule.votes]


def interval_is_above_zero(estimate: Estimate | None) -> bool:
    """Whether the whole interval of an estimate lies above zero."""
    return estimate is not None and estimate.low is not None and estimate.low > 0


def _interval_covers(estimate: Estimate, value: float) -> bool:
    """Whether the interval contains the value; true without an interval."""
    return estimate.low is None or estimate.high is None or estimate.low <= value <= estimate.high


def _advice_text(chosen: PriceGain, raters: Sequence[Rater]) -> str:
    rule, gain = rule_instruction(chosen.rule, raters), gain_text(chosen.gain)
    return f"{rule}. Rules chosen in this way gain {gain} on items not used to choose them."


def _no_advice_text(judge: str, coin: bool, table: Sequence[RuleEstimate]) -> str:
    reason = "no difference to one call is significantly above zero"
    if coin:
        reason = "the agreement of one call is not significantly different from chance"
    reason = no_room_for_gain_text(table) or reason
    tail = f"{compared_rules_clause(table)}: {reason}.{small_gain_detection_text(table)}"
    return f"No remedy was shown to help {judge}{tail}"


def compared_rules_clause(table: Sequence[RuleEstimate]) -> str:
    """Return a clause that counts the rules of `table` that were compared with one call, its first
    line, by kind: ", of the 9 rules compared (both orders 5, other prompts 4)". Rules that ask
    people or lack replies are left out; empty if there are no others."""
    rules = [one.rule for one in _recommendable(table[1:])]
    kinds = ", ".join(f"{kind} {count}" for kind, count in Counter(map(rule_kind, rules)).items())
    return f", of the {len(rules)} rules compared ({kinds})" if rules else ""


def no_room_for_gain_text(table: Sequence[RuleEstimate]) -> str:
    """Return a clause stating that one call, the first line of `table`, agrees so often that no
    rule can gain SMALL_GAIN; empty if there is room for such a gain."""
    agreement = table[0].agreement
    if agreement.value is None or agreement.value + SMALL_GAIN <= 1:
        return ""
    cases = f"{agreement.n:,} comparison{'s' * (agreement.n != 1)}"
    return (
        f"one call agrees in {100 * agreement.value:.1f} % of {cases}, so no rule can gain "
        f"{100 * SMALL_GAIN:g} points on {'them' if agreement.n != 1 else 'it'}"
    )


def is_room_for_gain_small(table: Sequence[RuleEstimate]) -> bool:
    """Whether one call, the first line of the table, agrees so often that no rule can gain
    SMALL_GAIN, also by the lower end of its interval."""
    low = table[0].agreement.low
    return low is not None and low + SMALL_GAIN > 1


def small_gain_detection_text(table: Sequence[RuleEstimate]) -> str:
    """Return a sentence on how often a gain of SMALL_GAIN would be found in studies like this one,
    by the intervals of the best rule in `table`. Empty if no such gain is possible or no rule
    qualifies: a rule must ask no people, have all replies and intervals, decide differently from
    one call, and not be significantly worse than it."""
    if no_room_for_gain_text(table):
        return ""
    found = [
        (one.difference.value or 0.0, rate, rule_texts(one.rule).title.lower())
        for one in _recommendable(table[1:])
        if one.changed
        and one.difference
        and one.adjusted
        and not (one.adjusted.high is not None and one.adjusted.high < 0)
        and (rate := detection_rate(one.difference, one.adjusted, SMALL_GAIN)) is not None
    ]
    if not found:
        return ""
    _, rate, title = max(found)
    return (
        f" If “{title}” gained {100 * SMALL_GAIN:g} points, this would have been found in "
        f"{_format_rate(rate)} of such studies."
    )


def _format_rate(rate: float) -> str:
    """Format an estimated probability in percent: "over 99 %" if it rounds to 100, "under 1 %" if
    it rounds to 0."""
    rounded = round(100 * rate)
    return "over 99 %" if rounded > 99 else "under 1 %" if rounded < 1 else f"{rounded} %"


def detection_rate(raw: Estimate, adjusted: Estimate, gain: float) -> float | None:
    """Probability that the adjusted interval of a difference lies above zero if the true difference
    is `gain` and the intervals are as wide as these; None if an interval is missing or has no
    width."""
    if raw.value is None or raw.low is None or raw.high is None or adjusted.low is None:
        return None
    error = (raw.high - raw.low) / 2 / float(intervals.student_t_quantile(raw.items))
    reach = raw.value - adjusted.low
    return float(stats.norm.cdf((gain - reach) / error)) if error > intervals.NO_SPREAD else None


def gain_text(gain: Estimate) -> str:
    """Format a gain with its interval, if it has one: "+4.6 points [1.2, 8.0]"."""
    text = f"{format_points(gain.value)} points"
    if gain.low is None or gain.high is None:
        return text
    digits = intervals.decimals_that_show_sign_of_interval(gain, 1, 100)
    low, high = (format_points(limit, digits).lstrip("+") for limit in (gain.low, gain.high))
    return f"{text} [{low}, {high}]"


def format_points(value: float | None, digits: int = 1) -> str:
    """Format a difference of shares as signed percentage points: "+4.6"; "0.0" without a sign if it
    rounds to zero, "–" for None."""
    if value is None:
        return "–"
    text = f"{100 * value:+.{digits}f}".replace("-", "−")
    return text.lstrip("+−") if not text.strip("+−0.") else text


def held_out_gains(
    grid: OrderGrid, rules: Sequence[Rule], rng: np.random.Generator
) -> tuple[PriceGain, ...]:
    """Estimate, for each price (judge calls per comparison), the gain of the best rule up to that
    price over the first rule (one call); empty with fewer than two rules or without comparisons.

    The best rule is chosen on half of the items, and its gain is measured on the other half.
    """
    if len(rules) < 2 or not grid.size:
        return ()
    totals = credit_totals_by_item(grid, rules)
    prices = [rule.calls_per_comparison for rule in rules]
    return tuple(
        PriceGain(price, rules[place], gain, held)
        for price, place, gain, held in gains_by_price(totals[:, :-1], totals[:, -1], prices, rng)
    )


def gains_by_price(
    credits: intervals.Floats,
    count: intervals.Floats,
    prices: Sequence[float],
    rng: np.random.Generator,
    unit: str = "share",
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> list[tuple[float, int, Estimate, intervals.Floats]]:
    """Return a tuple for each price at which at least two rules can be afforded: the price, the
    column of the best affordable rule, its held-out gain over column 0, and the credit that the
    held-out choice of a rule gives to each item.

    `credits` is [item, rule], summed over the comparisons of each item; `count` is the number of
    comparisons of each item.
    """
    found = []
    for price, place, held in held_out_credits(credits, prices, rng):
        if sum(one <= price + SAME_PRICE for one in prices) > 1:
            sums = np.stack([held - credits[:, 0], count], axis=1)
            n = round(float(count.sum()))
            gain = intervals.jackknife_estimate(
                sums, first_over_last, n, unit, bounds, effect=bounds[1]
            )
            found.append((price, place, gain, held))
    return found


def held_out_credits(
    credits: intervals.Floats, prices: Sequence[float], rng: np.random.Generator
) -> list[tuple[float, int, intervals.Floats]]:
    """Return, for each price: the price, the column of the best rule up to this price on all items,
    and the credit of each item by the rule that was best on other items (mean over random
    halves)."""
    credit = np.asfortranarray(credits)
    halves = random_halves(len(credit), rng)
    chosen_on = np.concatenate([halves @ credit, (1 - halves) @ credit])
    held_out = np.concatenate([1 - halves, halves])
    found = []
    for price in sorted(set(prices)):
        allowed = np.flatnonzero([one <= price + SAME_PRICE for one in prices])
        best = allowed[chosen_on[:, allowed].argmax(axis=1)]
        overall = int(allowed[credit[:, allowed].sum(axis=0).argmax()])
        found.append((price, overall, _held_out_credit(credit, best, held_out)))
    return found


def random_halves(items: int, rng: np.random.Generator) -> intervals.Floats:
    """Draw REPETITIONS random halves of the items, [half, item]: 1 for items in the half, else
    0."""
    rows = [rng.permutation(items) < items // 2 for _ in range(REPETITIONS)]
    return np.stack(rows).astype(np.float64)


def _held_out_credit(
    credit: intervals.Floats, best: intervals.Ints, held_out: intervals.Floats
) -> intervals.Floats:
    """Return the mean credit of each item over the halves that do not contain it. On half h the
    rule in column `best[h]` was the best; `held_out[h]` is 1 for the items outside this half."""
    found = np.zeros(len(credit))
    for column in np.unique(best):
        weight = held_out[best == column].sum(axis=0) / REPETITIONS
        found += weight * credit[:, column]
    return found
