"""Sentences and key figures of the win-rate view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import combine_text
from components.html.format import interval, join_names, number, share
from components.results.wins.panels import chance_win_rate, overall_gaps, study_win_rates
from metrics.estimation.multiple_comparisons import simultaneous_interval
from metrics.win_rates.win_rates import win_rates_by_cell
from studies.domain import Estimate

MIN_ITEMS: Final = 5
"""A model's win rate in a category is ignored if it comes from fewer items."""


def leading_categories(filtered: FilteredStudy, best: str) -> tuple[list[str], list[str]]:
    """Categories in which the model `best` leads significantly, and those in which it does not;
    categories with too few items are in neither list. It leads significantly if its interval is
    above those of all other models. Intervals are adjusted for the number of categories."""
    cells = win_rates_by_cell(filtered.outcomes, ["category"])
    ahead: list[str] = []
    behind: list[str] = []
    for (group,), rates in cells.items():
        known = {
            who: simultaneous_interval(rate, len(cells))
            for who, rate in rates.items()
            if rate.value is not None and rate.items >= MIN_ITEMS
        }
        if not group or best not in known or len(known) < 2:
            continue
        ends = {who: 1.0 if rate.high is None else rate.high for who, rate in known.items()}
        others = max(end for who, end in ends.items() if who != best)
        low = known[best].low
        (ahead if low is not None and low > others else behind).append(str(group))
    return sorted(ahead), sorted(behind)


def wins_finding(filtered: FilteredStudy) -> tuple[str, str]:
    """Headline (the leading model and the categories it leads), and the sentence below it (people's
    votes, or the counting rule)."""
    rates = study_win_rates(filtered)
    if not rates:
        return "No win yet.", "Win rates appear with the first usable verdicts."
    best = next(iter(rates))
    ahead, behind = leading_categories(filtered, best)
    even = chance_win_rate(filtered.outcomes)
    title = f"{best} wins {share(rates[best].value, 0)} of its verdicts"
    if even != 0.5:
        title += f" (an even share is {share(even, 0)})"
    chosen = {who: simultaneous_interval(rate, len(rates)) for who, rate in rates.items()}
    low = chosen[best].low
    if low is not None and low <= even:
        return unclear_leader_sentence(title, chosen, even), _lead_sentence(filtered)
    if len(ahead) + len(behind) > 1:
        title += _categories_clause(ahead, behind)
    return f"{title}.", _lead_sentence(filtered)


def unclear_leader_sentence(title: str, rates: Mapping[str, Estimate], even: float) -> str:
    """Headline if the highest win rate is not significantly above an even share (`even`); it names
    any other models significantly above an even share."""
    above = [name for name, rate in rates.items() if rate.low is not None and rate.low > even]
    even_share = "an even share (50\u202f%)" if even == 0.5 else "an even share"
    if not above:
        return f"{title}: no model wins significantly more than {even_share} of verdicts."
    return (
        f"{title}, which is not significantly above {even_share}. Models with a lower win rate, "
        f"but significantly above it because of a narrower interval: {join_names(above)}."
    )


def _categories_clause(ahead: list[str], behind: list[str]) -> str:
    whole = len(ahead) + len(behind)
    if not behind:
        return f" and leads significantly in all {whole} categories"
    if not ahead:
        return f" but leads significantly in none of {whole} categories"
    clause = f" and leads significantly in {len(ahead)} of {whole} categories"
    return f"{clause}, not in {' and '.join(behind)}" if len(behind) <= 2 else clause


def _lead_sentence(filtered: FilteredStudy) -> str:
    known = overall_gaps(filtered)
    if not known:
        combine, unreadable = filtered.rule
        lead = "Win rate: (wins + half the ties) / usable verdicts"
        if combine != "pooled":
            lead = f"Win rate: (wins + half the ties) / comparisons; {combine_text(combine)}"
        how = "are excluded" if unreadable == "exclude" else "count as ties"
        judges = filtered.outcomes["judge"].nunique()
        pooled = f" The verdicts of {judges} judges are pooled." if judges > 1 else ""
        return f"{lead}; unusable replies {how}.{pooled}"
    who, got = largest_gap(known)
    significant = got.low is not None and got.high is not None and not got.low <= 0 <= got.high
    size = f"{_points_text(got)} points {interval(got, scale=100)}".strip()
    end = "" if significant else "; this interval includes 0"
    chosen = (
        f" (interval adjusted for choosing the largest of {len(known)} differences)"
        if len(known) > 1
        else ""
    )
    return (
        f"Judges' and people's win rates on the same pairs differ most for {who}: "
        f"judges − people {size}{chosen}{end}."
    )


def largest_gap(known: Mapping[str, Estimate]) -> tuple[str, Estimate]:
    """The model with the largest difference between win rates by judges and by people, and this
    difference, with an interval adjusted for choosing the largest."""
    who = max(known, key=lambda one: abs(known[one].value or 0.0))
    return who, simultaneous_interval(known[who], len(known))


def _points_text(gap: Estimate) -> str:
    """Difference in percentage points as text with one decimal, so that 0.3 is not shown as 0."""
    return number(100 * (gap.value or 0.0), 1, signed=True)
