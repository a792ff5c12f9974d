"""MT-Bench's numbers: adjusted win rates, and conflicts between the two games of a pair.

A game is one order of a pair with its verdict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import machine_rows
from components.html.format import count, number, share
from components.html.markup import EMPTY, Markup, fill, inline_markup
from components.html.panel import Axis, Kpi, empty_state, wrap
from components.html.tables.value_table import (
    PERCENT,
    ColumnHead,
    count_cell,
    forest_cell,
    name_cell,
    value_cell,
    value_table,
)
from components.results.protocol.mt_bench.single_ratings import load_rating_rows
from components.results.protocol.sections import protocol_rows
from metrics.agreement.majority_agreement import CASE_KEY
from metrics.estimation.measures import GroupedFrame
from metrics.estimation.row_selection import (
    group_codes,
    observed_combinations,
    select_pairs,
    select_rows,
)
from metrics.protocols.creation_levels import PromptRatings, ratings_by_prompt
from metrics.win_rates.win_rates import win_loss_record, win_rate


def load_game_rows(filtered: FilteredStudy) -> pd.DataFrame:
    rows = machine_rows(protocol_rows(filtered, "pairwise", "five-level"))
    return select_pairs(rows)


# -- adjusted win rates --------------------------------------------------------------------------


def show_win_rates(filtered: FilteredStudy) -> Markup:
    """HTML table of wins, losses, ties and adjusted win rate, (wins + ties/2) / all outcomes. The
    two games of a pair are combined by the counting rule of the study or filter."""
    rows = load_game_rows(filtered)
    combine, unreadable = filtered.rule
    found = win_rate(rows, combine, unreadable) if len(rows) else {}
    rates = {model: rate for model, rate in found.items() if rate.n}
    if not rates:
        return empty_state("No usable verdicts on pairs yet.", "Win rates need pairs of answers.")
    counts = win_loss_record(rows, combine, unreadable)
    axis = Axis(chance=0.5)
    heads = [
        ColumnHead("Model", numeric=False),
        ColumnHead("Adjusted win rate, %"),
        ColumnHead("", axis=axis),
        ColumnHead("Wins"),
        ColumnHead("Losses"),
        ColumnHead("Ties"),
        ColumnHead("Matches"),
    ]
    lines = []
    for model, rate in rates.items():
        own, select = counts[model], {"contestant": model}
        who = f"adjusted win rate of {model}"
        lines.append(
            [
                name_cell(model, select),
                value_cell(rate, PERCENT, who=who, select=select),
                forest_cell(rate, axis, PERCENT, who, select),
                count_cell(own["wins"]),
                count_cell(own["losses"]),
                count_cell(own["ties"]),
                count_cell(own["matches"]),
            ]
        )
    return value_table(heads, lines, label="Adjusted win rates")


@dataclass(frozen=True, slots=True)
class GameConflicts:
    """Numbers of pairs whose two games agree or conflict, for one judge and prompt."""

    judge: str
    prompt: str
    pairs: int
    """Pairs with a usable verdict in both games."""
    agree: int
    both_first: int
    """Pairs where the answer shown first was chosen in both games."""
    both_second: int
    one_tie: int
    toward_first: int
    """`both_first`, plus pairs with one tie in which the other game went to the first position."""
    toward_second: int
    dropped_pairs: int
    """Number of pairs left out because one game, or both, has no usable verdict."""

    @property
    def unequal_pairs(self) -> int:
        return self.both_first + self.both_second + self.one_tie


def game_conflicts(filtered: FilteredStudy) -> list[GameConflicts]:
    """Conflicts between games for each judge and prompt, over pairs judged in both orders."""
    rows = load_game_rows(filtered)
    rows = select_rows(rows, ~rows["noise"].to_numpy() & (rows["orders"] > 1).to_numpy())
    found = []
    for judge, prompt in observed_combinations(rows, ("judge", "prompt")):
        mine = select_rows(rows, (rows["judge"] == judge) & (rows["prompt"] == prompt))
        found.append(_count_conflicts(str(judge), str(prompt), mine))
    return [one for one in found if one.pairs + one.dropped_pairs]


def _count_conflicts(judge: str, prompt: str, rows: pd.DataFrame) -> GameConflicts:
    pairs = group_codes(rows, CASE_KEY)[1]
    sets = GroupedFrame(rows).order_sets
    lean = sets["lean"].to_numpy()
    hard, flips = sets["hard"].to_numpy(), ~sets["consistent"].to_numpy()
    return GameConflicts(
        judge=judge,
        prompt=prompt,
        pairs=len(sets),
        agree=int(sets["consistent"].sum()),
        both_first=int((hard & (lean > 0)).sum()),
        both_second=int((hard & (lean < 0)).sum()),
        one_tie=int(sets["soft"].sum()),
        toward_first=int((flips & (lean > 0)).sum()),
        toward_second=int((flips & (lean < 0)).sum()),
        dropped_pairs=pairs - len(sets),
    )


def show_conflicts(found: Sequence[GameConflicts]) -> Markup:
    if not found:
        return empty_state("No pair was judged in both orders.", "Conflicts need two games.")
    heads = [
        ColumnHead("Judge, prompt", numeric=False),
        ColumnHead("Pairs"),
        ColumnHead("Pairs whose games agree"),
        ColumnHead("First position won both"),
        ColumnHead("Second position won both"),
        ColumnHead("One tie, one win"),
        ColumnHead("Pairs dropped", tip="pairs without a usable verdict in one game or in both"),
    ]
    lines = []
    for one in found:
        select = {"judge": one.judge, "prompt": one.prompt}
        flips = {**select, "flipped": True}
        lines.append(
            [
                name_cell(one.judge, select, one.prompt),
                count(one.pairs),
                fill("{} {}", count(one.agree), _percent_html(one.agree, one.pairs)),
                count_cell(one.both_first, _flips_hint("first", one), {**flips, "toward": "first"}),
                count_cell(
                    one.both_second, _flips_hint("second", one), {**flips, "toward": "second"}
                ),
                count_cell(one.one_tie, "a win in one game, a tie in the other", flips),
                count_cell(
                    one.dropped_pairs, "no verdict in a game", {**select, "status": "failures"}
                ),
            ]
        )
    return value_table(heads, lines, label="Conflicts between the two games (orders) of a pair")


def _flips_hint(side: str, one: GameConflicts) -> str:
    """Hover text for the number `both_first` or `both_second`; `side`: "first" or "second"."""
    leaning = one.toward_first if side == "first" else one.toward_second
    won = f"the {side} position won both games"
    return f"{won}\nClick to open all {leaning} flips toward the {side} position"


def _percent_html(part: int, whole: int) -> Markup:
    return fill('<span class="eh-ci">{}</span>', share(part / whole, 0)) if whole else EMPTY


# -- headline and key numbers --------------------------------------------------------------------


MAX_TITLE_RATINGS: Final = 2
"""Maximum number of prompts whose best model the headline names."""


def _ratings_title(found: Mapping[str, PromptRatings]) -> str:
    """Headline: the model with the highest rating, for each prompt if there are several."""
    parts = []
    for prompt, ratings in found.items():
        means = ratings.means
        best = max(means, key=lambda model: means[model].value or 0.0)
        end = f" of {ratings.scale.high:g}" if math.isfinite(ratings.scale.high) else ""
        by = f" by {prompt}" if len(found) > 1 else ""
        parts.append(f"{best} has the highest rating{by}: {number(means[best].value, 2)}{end}.")
    return " ".join(parts[:MAX_TITLE_RATINGS])


def games_finding(filtered: FilteredStudy) -> tuple[str, str]:
    rows = load_game_rows(filtered)
    rates = win_rate(rows, *filtered.rule) if len(rows) else {}
    rates = {model: rate for model, rate in rates.items() if rate.value is not None}
    if not rates:
        ratings = load_rating_rows(filtered)
        if found := ratings_by_prompt(ratings) if len(ratings) else {}:
            return _ratings_title(found), "Ratings are averaged for each item, then over items."
        return "No verdicts yet.", "Results appear here while the study runs."
    best = next(iter(rates))
    conflicts = game_conflicts(filtered)
    unequal = sum(one.unequal_pairs for one in conflicts)
    pairs = sum(one.pairs for one in conflicts)
    lead = (
        "Adjusted win rate: (wins + half the ties) / all pairs, with the two orders of a pair "
        "combined."
    )
    if pairs:
        lead = (
            f"{count(unequal)} of {count(pairs)} pairs have different results in their two orders "
            f"(games). {lead}"
        )
    return f"{best} has the highest adjusted win rate: {share(rates[best].value)}.", lead


def game_kpis(filtered: FilteredStudy) -> list[Kpi]:
    rows = load_game_rows(filtered)
    rates = win_rate(rows, *filtered.rule) if len(rows) else {}
    kpis = []
    best = next((model for model, rate in rates.items() if rate.value is not None), None)
    if best is not None:
        note = f"{best} {PERCENT.bounds(rates[best])}, n {count(rates[best].n)}"
        kpis.append(Kpi("Adjusted win rate", share(rates[best].value), note=note))
    conflicts = game_conflicts(filtered)
    pairs = sum(one.pairs for one in conflicts)
    if pairs:
        first = count(sum(one.both_first for one in conflicts))
        second = count(sum(one.both_second for one in conflicts))
        of = f"of {count(pairs)}"
        kpis += [
            Kpi("First position won both games", first, of, "pairs judged in both orders"),
            Kpi("Second position won both games", second, of, "pairs judged in both orders"),
        ]
    return kpis


def unequal_games_html(found: Sequence[GameConflicts]) -> Markup:
    """HTML line on the number of pairs whose two games conflict."""
    pairs, unequal = sum(one.pairs for one in found), sum(one.unequal_pairs for one in found)
    if not pairs:
        return EMPTY
    first, second = sum(o.both_first for o in found), sum(o.both_second for o in found)
    text = (
        f"**{count(unequal)} of {count(pairs)}** pairs have different results in the two "
        f"orders: the first position won both games in {count(first, 'pair')}, the second in "
        f"{count(second, 'pair')}; in the rest of these pairs, one game is a win and the other a "
        "tie."
    )
    return wrap(fill('<p class="eh-small">{}</p>', inline_markup(text)))
