"""The win rates in words: who leads and where, and five numbers."""

from __future__ import annotations

from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.html.format import count, interval, number, share
from components.html.panel import Kpi, kpi_strip
from components.html.pieces import unusable_replies_kpi
from components.html.value_table import PERCENT
from components.results.wins.judges_vs_people import overall_gaps
from components.results.wins.panels import chance_win_rate, study_win_rates
from metrics.position.position_measures import tie_rate
from metrics.win_rates.length_effects import length_preference
from metrics.win_rates.win_rates import win_rates_by_cell
from studies.domain import Estimate

MIN_ITEMS: Final = 5
"""A category with fewer says nothing about who leads in it."""


def leading_categories(scene: FilteredStudy, best: str) -> tuple[list[str], list[str]]:
    """(categories in which it has the highest rate, those in which it has not)."""
    rows = scene.outcomes
    ahead, open_ = [], []
    for (group,), rates in win_rates_by_cell(rows, ["category"]).items():
        known = {w: e for w, e in rates.items() if e.value is not None and e.items >= MIN_ITEMS}
        if not group or best not in known or len(known) < 2:
            continue
        top = max(e.value or 0.0 for e in known.values())
        (ahead if (known[best].value or 0.0) >= top else open_).append(str(group))
    return sorted(ahead), sorted(open_)


def wins_finding(scene: FilteredStudy) -> tuple[str, str]:
    """Who leads and where; what people say, or what the rule is."""
    rates = study_win_rates(scene)
    if not rates:
        return "No win yet.", "Win rates need readable verdicts."
    best = next(iter(rates))
    ahead, open_ = leading_categories(scene, best)
    even = chance_win_rate(scene.outcomes)
    title = f"{best} wins {share(rates[best].value, 0)} of its verdicts"
    if even != 0.5:
        title += f", {share(even, 0)} being even"
    if rates[best].low is not None and rates[best].low <= even:
        return f"Nobody is above even for sure: {title}.", _lead_sentence(scene)
    if len(ahead) + len(open_) > 1:
        where = _categories_clause(ahead, open_)
        title = f"{title}{where}"
    return f"{title}.", _lead_sentence(scene)


def _categories_clause(ahead: list[str], open_: list[str]) -> str:
    whole = len(ahead) + len(open_)
    if not open_:
        return f" and has the highest rate in all {whole} categories"
    if not ahead:
        return " and has the highest rate in no category"
    said = f" and has the highest rate in {len(ahead)} of {whole} categories"
    return f"{said}, not in {' and '.join(open_)}" if len(open_) <= 2 else said


def _lead_sentence(scene: FilteredStudy) -> str:
    known = overall_gaps(scene)
    if not known:
        combine, unreadable = scene.rule
        lead = "(Wins + half the ties) / readable verdicts"
        if combine != "pooled":
            lead = "(Wins + half the ties) / head-to-heads, both orders merged"
        silent = "count for nobody" if unreadable == "exclude" else "count as ties"
        return f"{lead}; unreadable replies {silent}."
    who = max(known, key=lambda one: abs(known[one].value or 0.0))
    got = known[who]
    sure = got.low is not None and got.high is not None and not got.low <= 0 <= got.high
    size = f"{_points_text(got)} points {interval(got, scale=100)}".strip()
    end = f"picked from {len(known)}" if sure else "and its interval includes 0"
    return f"Against people's votes on the same pairs the largest gap is {size}: {who}, {end}."


def _points_text(gap: Estimate) -> str:
    """One decimal: a bound of 0.3 must not read as 0."""
    return number(100 * (gap.value or 0.0), 1, signed=True)


def show_kpis(scene: FilteredStudy) -> str:
    """Highest rate, ties, gap to people, length, failures."""
    rates = study_win_rates(scene)
    if not rates:
        return ""
    best = next(iter(rates))
    rate = rates[best]
    kpis = [
        Kpi(
            "Highest win rate",
            share(rate.value),
            note=f"{best} {PERCENT.bounds(rate)}, n {count(rate.n)}",
        ),
        *_tie_kpi(scene),
        *_people_kpi(scene),
        *_length_kpi(scene),
    ]
    kpis.append(unusable_replies_kpi(scene.failed, len(scene.machines)))
    return kpi_strip(kpis[-5:] if len(kpis) > 5 else kpis)


def _tie_kpi(scene: FilteredStudy) -> list[Kpi]:
    rate = tie_rate(scene.machines)
    if rate.value is None:
        return []
    note = f"{PERCENT.bounds(rate)}, n {count(rate.n)}"
    return [Kpi("Ties", share(rate.value), note=note)]


def _people_kpi(scene: FilteredStudy) -> list[Kpi]:
    known = overall_gaps(scene)
    if not known:
        return []
    who = max(known, key=lambda one: abs(known[one].value or 0.0))
    got = known[who]
    note = f"{who} {interval(got, scale=100)}"
    return [Kpi("Largest gap to people", _points_text(got), "points", note)]


def _length_kpi(scene: FilteredStudy) -> list[Kpi]:
    longer = length_preference(scene.machines)
    if longer.value is None:
        return []
    return [
        Kpi(
            "Longer answer wins",
            share(longer.value),
            note=f"{PERCENT.bounds(longer)}; even {share(0.5, 0)}",
        )
    ]
