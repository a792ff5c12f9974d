"""The measures of a report card: value and interval, beside chance, other judges and people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from components.cards.facts import Card
from components.drawing.panels import Axis, forest_row, key
from components.drawing.tracks import Cell, Row, link, table
from components.format import NARROW, count, decimal, interval, number, rich, share
from components.inspect.selection import FAILURES
from metrics.concord import PEOPLE
from studies.records import Estimate

WHOLE: Final = Axis()
"""0 to 100 %: every measure of a card is a share of something."""

OPENS: Final[Mapping[str, Mapping[str, object]]] = {
    "Consistency": {"flipped": True},
    "First-slot share": {"slot": 0},
    "Agreement with people": {"unlike": PEOPLE},
    "Replies without a verdict": {"status": FAILURES},
}
"""What a click on a measure shows of the judge in Inspect."""


@dataclass(frozen=True, slots=True)
class Line:
    """One measure of the card; `said` is what stands in the value column."""

    label: str
    told: str
    said: str
    bounds: str
    estimate: Estimate
    chance: float | None = None
    others: Sequence[float] = ()
    people: float | None = None


def show_measures(card: Card) -> str:
    """The table of measures, each beside chance, the others and the people."""
    lines = measure_lines(card)
    shown = [line for line in lines if line.estimate.value is not None]
    missing = [line for line in lines if line.estimate.value is None]
    keys = "".join(
        [
            key("dot", card.judge), key("tick", "other judges or prompts"), key("chance", "chance"),
            key("diamond", "people"),
        ]
    )  # fmt: skip
    heads = [
        Cell("Measure", "nm"), Cell(f"Value, 95{NARROW}% CI", "num"),
        Cell(f'<div class="eh-row">{keys}</div>', "trk"),
    ]  # fmt: skip
    rows = [
        Row(
            [
                Cell(f'<b>{_label(card, line)}</b><span class="eh-small eh-mute">'
                     f"{rich(line.told)}</span>", "nm"),
                Cell(f'<b class="v">{line.said}</b><span class="eh-small eh-mute">{line.bounds}'
                     "</span>", "num"),
                Cell(_forest(line), "trk"),
            ],
            tip=_tip(line),
        )
        for line in shown
    ]  # fmt: skip
    scale = "".join(f'<span style="left:{place}%">{place}</span>' for place in (0, 50, 100))
    foot = Row(
        [Cell("", "nm"), Cell("", "num"), Cell(f'<div class="eh-axis">{scale}</div>', "trk")],
        kind="axis",
    )
    made = table(heads, [*rows, foot], "card", f"Measures of {card.judge}")
    return made + _unknown(missing)


def _label(card: Card, line: Line) -> str:
    own = {"judge": card.judge, "prompt": card.prompt}
    return link(line.label, own | dict(OPENS[line.label]) if line.label in OPENS else None)


def _forest(line: Line) -> str:
    axis = Axis(ticks=WHOLE.ticks, chance=line.chance)
    return forest_row(line.estimate, axis, people=line.people, others=line.others)


def _tip(line: Line) -> str:
    estimate = line.estimate
    where = f"n {count(estimate.n)}, {count(estimate.items, 'item')}"
    return "\n".join(part for part in (line.label, where, estimate.method, estimate.note) if part)


def _unknown(lines: Sequence[Line]) -> str:
    if not lines:
        return ""
    said = "; ".join(
        f"{line.label.lower()} ({line.estimate.note or 'not asked'})" for line in lines
    )
    return f'<p class="eh-small eh-mute eh-under">Not known: {rich(said)}.</p>'


def measure_lines(card: Card) -> list[Line]:
    """The measures in the order of the sheet; what is not known is named under it."""
    even = 1 / card.options
    measures = card.measures
    lines = [
        _share("Consistency", _consistency_told(card), measures["consistency"],
               measures["chance"].value, card.others("consistency")),
        _share("First-slot share", f"of decisive verdicts; even is {share(even, 0)}",
               measures["first_share"], even, card.others("first_share")),
        _term(card, even),
        _entropy(card),
        _share("Agreement with people", _people_told(card), card.people, _people_chance(card),
               _other_people(card), card.persons.pair.share.value),
        _share("Agreement with the others", "same verdict on the same ask, all others pooled",
               card.same_as_others),
    ]  # fmt: skip
    if card.voices.truth == "design":
        known = measures["accuracy"]
        lines.append(
            _share("Right on known answers", "the better one by design; a tie is wrong", known,
                   even, card.others("accuracy"))
        )  # fmt: skip
    if card.pairs:
        lines.append(_longer(card))
    own, people, names = card.own_family
    if names:
        told = f"win rate of {', '.join(names)} against the others"
        told += f"; people give {share(people.value, 1)}" if people.value is not None else ""
        lines.append(_share("Its own family's answers", told, own, people=people.value))
    lines.append(
        _share("Replies without a verdict", "unreadable, empty or failed; never counted as ties",
               card.unreadable)
    )  # fmt: skip
    return lines


def _longer(card: Card) -> Line:
    rest = [e.value for name, e in card.longer.items() if name != card.voice]
    return _share(
        "Picks the longer answer", "of decisive verdicts, by characters",
        card.longer.get(card.voice, Estimate(None)), 0.5, [x for x in rest if x is not None],
    )  # fmt: skip


def _share(
    label: str,
    told: str,
    estimate: Estimate,
    chance: float | None = None,
    others: Sequence[float] = (),
    people: float | None = None,
) -> Line:
    bounds = interval(estimate, 1, scale=100)
    return Line(label, told, share(estimate.value, 1), bounds, estimate, chance, others, people)


def _consistency_told(card: Card) -> str:
    noise = card.measures["noise_floor"].value
    chance = card.measures["chance"].value
    told = "verdicts that survive a new order"
    if chance is not None:
        told += f"; its slot shares alone give {share(chance, 0)}"
    floor = "noise floor not asked" if noise is None else f"noise floor {share(noise, 0)}"
    return f"{told}; {floor}"


def _term(card: Card, even: float) -> Line:
    term, equal, p, place = card.term
    who = (
        "the first of two equal answers" if card.pairs else f"the {place} of {card.options} equals"
    )
    told = f"{who} wins {share(equal.value, 0)}; {_test(p)}"
    return Line(
        "Position term", told, number(term.value, 2, signed=True), interval(term, 2), equal, even
    )


def _test(p: float | None) -> str:
    if p is None:
        return "not tested"
    return "p < .001" if p < 0.001 else f"p = {number(p, 3)}"


def _entropy(card: Card) -> Line:
    got = card.measures["entropy"]
    said = decimal(got, 3, n=False).split(" ")[0]
    told = "1 is even; read it only beside consistency"
    return Line(
        "Entropy of places", told, said, interval(got, 3), got, None, card.others("entropy")
    )


def _people_told(card: Card) -> str:
    told = "same verdict as their majority, ties count"
    pair = card.persons.pair.share.value
    return told if pair is None else f"{told}; two people {share(pair, 0)}"


def _people_chance(card: Card) -> float | None:
    return None if card.people.value is None else 1 / (card.options + 1)


def _other_people(card: Card) -> list[float]:
    found = (card.with_people(name).value for name in card.voices.heard if name != card.voice)
    return [value for value in found if value is not None]
