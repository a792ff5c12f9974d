"""Known answers with which verdicts are compared: better answers of comparisons, labels of answers.

They are given by the design of the data (gold), else by the majority of people.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from studies.domain import BY_DESIGN, FAIL, GOLD, PASS, UNRELATED, AnswerLabel, Preference

KnownAnswerSource = Literal["design", "people", "none"]
"""Source of the known answers of a study: the design of its data, votes by people, or no source."""
TrueWinner = str | Literal["tie"] | None
"""The contestant with the better answer, "tie", or None if it is unknown."""


def better_answer(preferences: Iterable[Preference], x: str, y: str) -> TrueWinner:
    """Return the better of the answers `x` and `y`: by design if this is known, else by the most
    frequent vote of people. It is a tie if two results are equally frequent, None if no preference
    compares the two answers.

    An answer to another question (`@unrelated`) is worse than any other by construction.
    """
    if UNRELATED in (x, y):
        return y if x == UNRELATED else x
    votes = [(p.judge, vote) for p in preferences if (vote := _pairwise_vote(p, x, y)) is not None]
    if not votes:
        return None
    design = [vote for judge, vote in votes if judge == BY_DESIGN]
    counts = Counter(design or [vote for _, vote in votes])
    (first, most), *rest = counts.most_common(2)
    return "tie" if rest and rest[0][1] == most else first


def best_answer(preferences: Sequence[Preference], options: Sequence[str]) -> TrueWinner:
    """Return the option that beats every other option in pairwise votes. If there is none: None if
    the result of any pair is unknown; else the option that no other beats, if there is exactly one;
    else "tie"."""
    if len(options) == 2:
        return better_answer(preferences, options[0], options[1])
    pairs = list(itertools.combinations(options, 2))
    winners = [better_answer(preferences, x, y) for x, y in pairs]
    wins = Counter(winner for winner in winners if winner not in (None, "tie"))
    for name, count in wins.items():
        if count == len(options) - 1:
            return name
    if None in winners:
        return None
    decided = [
        (pair, winner) for pair, winner in zip(pairs, winners, strict=True) if winner != "tie"
    ]
    beaten = {y if winner == x else x for (x, y), winner in decided}
    unbeaten = [name for name in options if name not in beaten]
    return unbeaten[0] if len(unbeaten) == 1 else "tie"


def best_answers(preferences: Sequence[Preference], options: Sequence[str]) -> tuple[str, ...]:
    """Return all options that count as a right choice: the result of `best_answer` or, if this is
    "tie", all options that no other option beats.

    Empty if the best answer is unknown. Also empty if all options tie with one another or
    each is beaten by another, because then no choice is right or wrong."""
    single = best_answer(preferences, options)
    if single is None or single != "tie":
        return (single,) if single else ()
    winners = {
        (x, y): better_answer(preferences, x, y) for x, y in itertools.combinations(options, 2)
    }
    beaten = {y if winner == x else x for (x, y), winner in winners.items() if winner != "tie"}
    unbeaten = tuple(name for name in options if name not in beaten)
    return unbeaten if beaten and unbeaten else ()


def _pairwise_vote(preference: Preference, x: str, y: str) -> str | None:
    """Return the winner of x and y by one preference, or "tie"; None if it does not compare them.

    An answer picked out of several beats each of the others. If it is unknown which answers were
    shown, the pick beats all other answers of the item.
    """
    if preference.ranks:
        return _winner_by_rank(preference.ranks.get(x), preference.ranks.get(y), x, y)
    seen = preference.shown is None or {x, y} <= set(preference.shown)
    return preference.picked if seen and preference.picked in (x, y, "tie") else None


def _winner_by_rank(rank_x: int | None, rank_y: int | None, x: str, y: str) -> str | None:
    if rank_x is None or rank_y is None:
        return None
    return "tie" if rank_x == rank_y else x if rank_x < rank_y else y


def right_rubric_levels(labels: Sequence[AnswerLabel]) -> dict[str, dict[str, float]]:
    """Return contestant -> criterion -> right level, from the `labels` of one item, for answers
    with a labelled rubric.

    Gold labels take precedence over people's. If several labels give a level of the same criterion,
    their mean counts.
    """
    found: dict[str, dict[str, float]] = {}
    for contestant in dict.fromkeys(label.contestant for label in labels if label.levels):
        own = [one for one in labels if one.contestant == contestant and one.levels]
        own = [one for one in own if one.source == GOLD] or own
        given: dict[str, list[float]] = {}
        for one in own:
            for name, level in one.levels:
                given.setdefault(name, []).append(level)
        found[contestant] = {name: sum(levels) / len(levels) for name, levels in given.items()}
    return found


def right_verdicts(labels: Sequence[AnswerLabel]) -> dict[str, float | str]:
    """Return contestant -> right verdict on the contestant's answer, for all labelled answers.

    Gold labels take precedence over people's. If an answer has several pass/fail labels the
    majority counts (no verdict if even), if it has several scores their mean. An answer with both
    pass/fail labels and scores has no verdict.
    """
    found: dict[str, float | str] = {}
    for contestant in dict.fromkeys(label.contestant for label in labels):
        own = [label for label in labels if label.contestant == contestant]
        values = [one.value for one in own if one.source == GOLD] or [one.value for one in own]
        scores = [value for value in values if not isinstance(value, str)]
        passes = values.count(PASS) - values.count(FAIL)
        if len(scores) == len(values):
            found[contestant] = sum(scores) / len(scores)
        elif not scores and passes:
            found[contestant] = PASS if passes > 0 else FAIL
    return found
