"""Values that the sentence rules of a report card test and insert, with words and formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from components.html.format import NARROW_SPACE, count, number, share


@dataclass(frozen=True, slots=True)
class CardFact:
    """Description and number format of a value that rules test, for sentences and hover texts."""

    words: str
    write: Callable[[float], str]


def _whole_percent(value: float) -> str:
    return share(value, 0)


def _points(value: float) -> str:
    text = number(100 * value)
    return f"{text} point" if text.lstrip("−") == "1" else f"{text} points"


def _decimal(value: float) -> str:
    return number(value, 2)


CARD_FACTS: Final[dict[str, CardFact]] = {
    "replies": CardFact("replies", lambda value: count(int(value))),
    "read": CardFact("replies with a verdict", lambda value: count(int(value))),
    "items": CardFact("items with a verdict", lambda value: count(int(value), "item")),
    "orders": CardFact("orders", lambda value: count(int(value))),
    "sets": CardFact(
        "comparisons with a verdict in all orders", lambda value: count(int(value), "comparison")
    ),
    "flips": CardFact("flips", _whole_percent),
    "noise": CardFact("changes on a repeat", _whole_percent),
    "chance_flips": CardFact("flips expected by chance", _whole_percent),
    "order_effect": CardFact("disagreement between orders minus changes on a repeat", _points),
    "order_low": CardFact(
        "disagreement between orders minus changes on a repeat, lower end of CI", _points
    ),
    "order_high": CardFact(
        "disagreement between orders minus changes on a repeat, upper end of CI", _points
    ),
    "memory": CardFact(
        "changes between repeats further apart minus changes between consecutive repeats", _points
    ),
    "memory_low": CardFact(
        "changes between repeats further apart minus changes between consecutive repeats, lower "
        "end of CI",
        _points,
    ),
    "memory_high": CardFact(
        "changes between repeats further apart minus changes between consecutive repeats, upper "
        "end of CI",
        _points,
    ),
    "lean_p": CardFact("p-value of the test for a preferred position", _decimal),
    "lopsided": CardFact("share of flips toward the preferred position", _whole_percent),
    "label_pull": CardFact(
        "share of verdicts for the preferred label minus an even share", _points
    ),
    "label_low": CardFact(
        "share of verdicts for the preferred label minus an even share, lower end of CI", _points
    ),
    "label_lead": CardFact(
        "share of verdicts for the preferred label minus that for the preferred position", _points
    ),
    "kappa_high": CardFact(
        "agreement beyond chance (κ) between the judge's verdicts in the two orders, upper end of "
        "CI",
        _decimal,
    ),
    "unreadable": CardFact("unusable replies", _whole_percent),
    "known": CardFact("accuracy where the better answer is known", _whole_percent),
    "chance_right": CardFact(
        "accuracy of a judge that ties as often and otherwise chooses at random", _whole_percent
    ),
    "known_low": CardFact(
        "accuracy where the better answer is known, minus chance, lower end of CI", _points
    ),
    "known_high": CardFact(
        "accuracy where the better answer is known, minus chance, upper end of CI", _points
    ),
    "people": CardFact("share of verdicts equal to the people's majority", _whole_percent),
    "stand_in": CardFact(
        "agreement of the judge with the other voters, in a person's place", _whole_percent
    ),
    "person": CardFact("agreement of the replaced person with the other voters", _whole_percent),
    "stand_in_low": CardFact(
        "agreement with the other voters, judge minus replaced person, lower end of CI", _points
    ),
    "stand_in_high": CardFact(
        "agreement with the other voters, judge minus replaced person, upper end of CI", _points
    ),
    "stand_in_reach": CardFact(
        "agreement with the other voters, judge minus replaced person: end of the "
        f"90{NARROW_SPACE}% CI that is farther from 0",
        _points,
    ),
    "longer": CardFact("share of verdicts for the longer answer", _whole_percent),
    "longer_low": CardFact(
        "share of verdicts for the longer answer, lower end of CI", _whole_percent
    ),
    "others": CardFact(
        "share of equal verdicts, over all pairs of this judge's verdict and another judge's on "
        "the same answers in the same order",
        _whole_percent,
    ),
    "remedies": CardFact(
        "remedies compared with known better answers", lambda value: count(int(value))
    ),
    "remedy_low": CardFact("gain by the recommended remedy, lower end of CI", _points),
}
