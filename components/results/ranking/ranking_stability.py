"""Comparison of the rankings by the two orders of the answers, in words: does the ranking hold?

A pair of models counts as reversed only if the two orders rank it in opposite directions, each
significantly, with intervals adjusted for all pairs of models. Any other change of rank is reported
as not significant, or as significant in one order only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final, Literal

from components.filtering.filtered_study import FilteredStudy
from components.html.format import MIN_COLOURED_ITEMS, count, join_names
from components.results.bias.computed import load_bias
from components.results.bias.sentences import MIN_COMPARISONS, is_too_small, missing_orders_text
from components.results.ranking.computed import Ranking, load_ranking
from metrics.ratings.bradley_terry import Leaderboard

Answer = Literal["Yes", "No", "In part", "Not known"]
TOO_SMALL: Final = f"fewer than {MIN_COMPARISONS} comparisons in every order are too few to tell."
HOLD_RULE: Final = (
    "A difference of two ratings is significant if its interval, adjusted for all pairs of "
    "models (max-t), excludes 0. The ranking does not hold if the two orders rank a pair of "
    "models in opposite ways and both differences are significant."
)


@dataclass(frozen=True, slots=True)
class RankingStability:
    """Answer to "does the ranking hold in both orders?" ("Yes", "No", "In part" or "Not known"),
    and a text with the reason."""

    answer: Answer
    text: str

    @property
    def sentence(self) -> str:
        return f"{self.answer}: {self.text}"


def does_ranking_hold(filtered: FilteredStudy) -> RankingStability:
    """Tell whether the ranking holds in both orders; not known if the study is too small for
    conclusions about its judges."""
    if is_too_small(load_bias(filtered)):
        return RankingStability("Not known", TOO_SMALL)
    return compare_rankings_of_both_orders(load_ranking(filtered))


def compare_rankings_of_both_orders(ranking: Ranking) -> RankingStability:
    """Tell whether the rankings from the first and from the second order of the answers agree."""
    one, two, both = ranking.first_order, ranking.second_order, ranking.largest_group_leaderboard
    if both is None:
        return _unknown_stability(ranking.why_empty)
    if one is None or two is None:
        return _unknown_stability(missing_orders_text(ranking.orders))
    here = [name for name in one.names if name in two.names]
    there = [name for name in two.names if name in one.names]
    if len(here) < 2:
        return RankingStability("Not known", "fewer than two models were judged in both orders.")
    changed = [(a, b) for a, b in combinations(here, 2) if there.index(a) > there.index(b)]
    significant = [
        (one.is_significantly_better(a, b), two.is_significantly_better(b, a)) for a, b in changed
    ]
    reversed_pairs = [
        pair for pair, orders in zip(changed, significant, strict=True) if all(orders)
    ]
    if reversed_pairs:
        return RankingStability("No", _reversal_text(reversed_pairs))
    if both.items < MIN_COLOURED_ITEMS:
        return RankingStability(
            "Not known", f"{count(both.items, 'item')} cannot show it; rate at least "
            f"{MIN_COLOURED_ITEMS}, better 30."
        )  # fmt: skip
    if not changed:
        order = [name for name in both.names if name in here]
        settled = any(both.is_significantly_better(*pair) for pair in pairwise(order))
        told = f"both orders give the same ranking{_unseparated_neighbours_clause(both, here)}."
        return RankingStability("Yes" if settled else "Not known", told)
    return _stability_of_changed_places(here, there, changed, any(map(any, significant)))


def _unknown_stability(why: str) -> RankingStability:
    return RankingStability("Not known", f"{why[0].lower()}{why[1:]}")


def _reversal_text(pairs: Sequence[tuple[str, str]]) -> str:
    (above, below), more = pairs[0], len(pairs) - 1
    many = "one more pair" if more == 1 else f"{more} more pairs"
    others = f" The same holds for {many} of models." if more else ""
    return (
        f"{above} is significantly above {below} in one order and significantly below {below} in "
        f"the other.{others}"
    )


def _unseparated_neighbours_clause(both: Leaderboard, names: Sequence[str]) -> str:
    """Clause on the models in `names` that are neighbours in the ranking `both`, from both orders
    together: which neighbours, or how many, do not differ significantly, or that all do."""
    order = [name for name in both.names if name in names]
    unclear = [pair for pair in pairwise(order) if not both.is_significantly_better(*pair)]
    if not unclear:
        return "; with both orders together, each model is significantly above the next"
    if len(unclear) == 1:
        above, below = unclear[0]
        return f"; with both orders together, {above} and {below} do not differ significantly"
    return (
        f"; with both orders together, {len(unclear)} of {len(order) - 1} pairs of neighbours in "
        "the ranking do not differ significantly"
    )


def _stability_of_changed_places(
    here: Sequence[str], there: Sequence[str], changed: Sequence[tuple[str, str]], significant: bool
) -> RankingStability:
    """The result if the two orders rank some models differently, but no pair of models differs
    significantly in opposite directions. `here`, `there`: models by rank in the first and in
    the second order; `changed`: pairs ranked oppositely; `significant`: whether one of these
    pairs differs significantly in at least one order."""
    kept = [str(place + 1) for place in range(len(here)) if here[place] == there[place]]
    answer: Answer = "In part" if kept else "Not known"
    if len(changed) == 1:
        return RankingStability(answer, _only_change_text(changed[0], bool(kept), significant))
    moved = [str(place + 1) for place in range(len(here)) if here[place] != there[place]]
    certainty = (
        "At least one pair of models that the two orders rank oppositely differs significantly in "
        "one order. No such pair differs significantly in both orders."
        if significant
        else "No pair of models that the two orders rank oppositely differs significantly in "
        "either order."
    )
    if not kept:
        text = f"every rank is held by different models in the two orders. {certainty}"
        return RankingStability(answer, text)
    what, verb = ("rank", "is") if len(kept) == 1 else ("ranks", "are")
    text = (
        f"{what} {join_names(kept, len(kept))} {verb} held by the same model in both orders; "
        f"ranks {join_names(moved, len(moved))} are held by different models. {certainty}"
    )
    return RankingStability(answer, text)


def _only_change_text(pair: tuple[str, str], has_others: bool, significant: bool) -> str:
    """Text for the case that only the two models in `pair` change places. `has_others`: whether
    there are other models; `significant`: whether the two differ significantly in one order."""
    others = "; all others keep their places" if has_others else ""
    orders = "one order only" if significant else "neither order"
    return (
        f"{pair[0]} and {pair[1]} change places between the two orders{others}. "
        f"These two models differ significantly in {orders}."
    )
