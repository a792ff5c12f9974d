"""Sentences of the ranking view: leading model, significance, people's ranking, single orders."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from components.html import format
from components.results.bias.sentences import NO_PREFERENCES
from components.results.ranking.computed import Ranking
from metrics.estimation.planning.power import further_verdicts_to_separate
from metrics.ratings.bradley_terry import NO_WIN_CHAIN_NOTE, Leaderboard
from studies.domain import Estimate


def ranking_headline(ranking: Ranking) -> tuple[str, str]:
    """Headline and the sentence below: the leading model, and whether its lead is significant; a
    message without pairs."""
    board = ranking.largest_group_leaderboard
    if board is None:
        return "No ranking here.", ranking.why_empty
    return (
        f"{_leader_sentence(board, ranking)}{_people_ranking_clause(board, ranking)}.",
        _sentence_below_headline(board, ranking),
    )


def win_rate_headline(
    rates: Mapping[str, Estimate], difference: Callable[[str, str], Estimate]
) -> tuple[str, str]:
    """Headline and the sentence below it for a study in which each comparison has three or more
    answers: the two models with the highest win rates, or all models that share the highest
    one. `difference` takes two models and estimates win rate of the first minus win rate of
    the second."""
    known = {name: rate for name, rate in rates.items() if rate.value is not None}
    if len(known) < 2:
        return "No ranking here.", NO_PREFERENCES
    (first, rate), (second, other) = list(known.items())[:2]
    why = "Ratings need pairwise comparisons, so models are compared by their win rates."
    best = rate.value or 0.0
    equal = [name for name, one in known.items() if abs((one.value or 0.0) - best) < 1e-9]
    if len(equal) > 1:
        return f"{format.join_names(equal)} have the same win rate, {format.share(best, 0)}.", why
    both = _rate_text(rate), _rate_text(other)
    if is_significantly_above(difference(first, second)):
        return f"{first} has the highest win rate, {both[0]}; {second} {both[1]}.", why
    same = f"No significant difference between {first} and {second}"
    return f"{same}: win rates of {both[0]} and {both[1]}.", why


def _rate_text(rate: Estimate) -> str:
    return f"{format.share(rate.value, 0)}{format.spaced_ci(rate, 0, scale=100)}"


def is_significantly_above(gap: Estimate) -> bool:
    """Whether the whole interval of a difference is above zero."""
    return gap.low is not None and gap.low > 0


def _is_significantly_ahead(board: Leaderboard, above: str, below: str) -> bool:
    """Whether `above` is rated significantly higher than `below`: two intervals of the difference
    must be above 0, the one without adjustment and the one adjusted for all pairs of models, as for
    the range of ranks."""
    return is_significantly_above(board.gap(above, below)) and board.is_significantly_better(
        above, below
    )


def _leader_sentence(board: Leaderboard, ranking: Ranking) -> str:
    first, second = board.names[:2]
    if not _is_significantly_ahead(board, first, second):
        return unclear_leader_sentence(board)
    if ranking.judges == (first,):
        return f"{first} ranks itself first"
    return f"{first} leads {second} by {_lead_text(board.gap(first, second))}"


def _lead_text(gap: Estimate) -> str:
    """The lead in Elo points with its interval, such as "at least 279 Elo points"."""
    if gap.high is None:
        return f"at least {format.points(format.number(gap.low), 'Elo')}"
    return f"{format.points(format.number(gap.value), 'Elo')}{format.spaced_ci(gap, 0)}"


def unclear_leader_sentence(board: Leaderboard) -> str:
    """Headline for the case that the first model is not significantly above the second."""
    first, second = board.names[:2]
    gap = board.gap(first, second)
    if gap.value is None and gap.note == NO_WIN_CHAIN_NOTE:
        return f"{first} and {second} cannot be compared yet: no chain of wins connects them"
    if board.strong_component[0] != board.strong_component[1] and gap.high is None:
        return f"The group of models with {first} won every battle against the group with {second}"
    if is_significantly_above(gap):
        lead = f"{first} leads {second} by {_lead_text(gap)}"
        return f"{lead}, not significant after adjustment for all pairs of models"
    return f"No significant difference between {first} and {second} yet"


def _people_ranking_clause(board: Leaderboard, ranking: Ranking) -> str:
    people = ranking.people
    if people is None or set(people.names) != set(board.names):
        return ""
    if are_all_gaps_significant(board) and are_all_gaps_significant(people):
        if people.names == board.names:
            return ", and people's votes give the same ranking"
        if people.names[0] == board.names[0]:
            return "; people's votes put the same model first and rank the others differently"
    voted = format.count(int(people.counts.verdicts.sum()), "comparison")
    told = f"; people's votes on {voted} put"
    if _is_in_rating_order(people, people.names[1::-1]):  # the first two have the same rating
        return f"{told} no model first"
    if _is_in_rating_order(board, people.names):
        order = "; people's votes give the same order of estimates"
        return f"{order}, but {_unsettled_places_clause(board, people)}"
    first, other = board.names[0], people.names[0]
    if other == first:
        order = f"{told} {first} first in the estimates and rank the others differently"
        return f"{order}, but {_unsettled_places_clause(board, people)}"
    if _is_significantly_ahead(people, other, first):
        return f"; people put {other} above {first}"
    return f"{told} {other} first, but not significantly above {first}"


def _is_in_rating_order(board: Leaderboard, names: Sequence[str]) -> bool:
    """Whether the models `names` are sorted by descending rating on the leaderboard; ratings are
    rounded to whole points, so equal ones may be in either order."""
    ratings = [round(board.ratings[name].value or 0) for name in names]
    return ratings == sorted(ratings, reverse=True)


def _unsettled_places_clause(board: Leaderboard, people: Leaderboard) -> str:
    """Clause on the places that two or more models may have, such as "places 3 to 5 of this
    ranking and places 1, 2, 4 and 5 of people's ranking are not settled"."""
    found = []
    for whose, ranks in (("this", board.ranks), ("people's", people.ranks)):
        places = sorted({p for rank in ranks.values() if rank.low < rank.high
                         for p in range(rank.low, rank.high + 1)})  # fmt: skip
        named = format.join_names([*map(str, places)], len(places))
        if places and places[-1] - places[0] < len(places):
            named = f"{places[0]} to {places[-1]}"
        found += [f"places {named} of {whose} ranking"] if places else []
    return f"{' and '.join(found) or 'some places'} are not settled"


def are_all_gaps_significant(board: Leaderboard) -> bool:
    """Whether each model on the leaderboard is significantly above the next."""
    return all(_is_significantly_ahead(board, *both) for both in pairwise(board.names))


def _sentence_below_headline(board: Leaderboard, ranking: Ranking) -> str:
    parts = [_unseparated_models_sentence(board), _single_order_leader_sentence(ranking)]
    default = (
        "Bradley–Terry ratings on the Elo scale; a difference is significant if its interval "
        "excludes 0."
    )
    return " ".join(part for part in parts if part) or default


def _unseparated_models_sentence(board: Leaderboard) -> str:
    """Sentence on the first two neighbours on the leaderboard that do not differ significantly,
    and on how many items would separate them; "" if all neighbours differ significantly."""
    for place, (above, below) in enumerate(pairwise(board.names)):
        gap = board.gap(above, below)
        if gap.low is None or gap.high is None or _is_significantly_ahead(board, above, below):
            continue
        places = f"{_ordinal_word(place)} and {_ordinal_word(place + 1).lower()} place"
        size = f"{format.points(format.number(gap.value))}{format.spaced_ci(gap, 0)}"
        needed = _items_needed_clause(board.adjusted_gap(above, below))
        alone = is_significantly_above(gap)
        if not place and alone:  # the headline has the rest
            return f"{needed[2:3].upper()}{needed[3:]}." if needed else ""
        if not place:
            return f"The difference is {size}{needed}."
        why = "not significant after adjustment for all pairs of models"
        told = f"{size}, {why}" if alone else f"no significant difference ({size})"
        return f"{places}: {told}{needed}."
    return ""


def _items_needed_clause(gap: Estimate) -> str:
    """Clause on about how many more items would show a difference as large as the observed one,
    `gap`; "" if this is unknown."""
    more = further_verdicts_to_separate(gap)
    if not more or not gap.items:
        return ""
    needed = format.more_items_text(more, gap).partition(", ")[0]
    return f"; about {needed} would probably show a difference of this size"


def _ordinal_word(place: int) -> str:
    return format.slot_ordinal(place).capitalize()


def _single_order_leader_sentence(ranking: Ranking) -> str:
    """Sentence that another model would lead if only the verdicts of one order counted. "" unless
    this model is significantly above the leader in that order."""
    one, two, both = ranking.first_order, ranking.second_order, ranking.largest_group_leaderboard
    if one is None or two is None or both is None:
        return ""
    first = both.names[0]
    for which, board in (("first", one), ("second", two)):
        leader = board.names[0]
        known = leader != first and first in board.names
        if known and _is_significantly_ahead(board, leader, first):
            return f"With the verdicts of the {which} order alone, {leader} would lead."
    return ""
