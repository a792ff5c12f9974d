"""The measures of a report card: value and interval, beside chance, other judges and people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from components.html.format import (
    NARROW_SPACE,
    count,
    decimal,
    inline_markup,
    interval,
    number,
    share,
)
from components.html.panel import Axis, forest_html, legend_key
from components.html.range_table import TableCell, TableRow, range_table, select_link
from components.inspect.url_selection import FAILURES
from components.results.cards.report_card import ReportCard
from metrics.agreement.pairwise_agreement import PEOPLE
from studies.domain import Estimate

SHARE_AXIS: Final = Axis()
"""0 to 100 %: every measure of a card is a share of something."""

MEASURE_SELECTIONS: Final[Mapping[str, Mapping[str, object]]] = {
    "Consistency": {"flipped": True},
    "First-slot share": {"slot": 0},
    "Agreement with people": {"unlike": PEOPLE},
    "Replies without a verdict": {"status": FAILURES},
}
"""What a click on a measure shows of the judge in Inspect."""


@dataclass(frozen=True, slots=True)
class CardMeasure:
    """One measure of the card; `said` is what stands in the value column."""

    label: str
    description: str
    value_text: str
    bounds: str
    estimate: Estimate
    chance: float | None = None
    others: Sequence[float] = ()
    people: float | None = None


def show_measures(card: ReportCard) -> str:
    """The table of measures, each beside chance, the others and the people."""
    lines = card_measures(card)
    shown = [line for line in lines if line.estimate.value is not None]
    missing = [line for line in lines if line.estimate.value is None]
    keys = "".join(
        [
            legend_key("dot", card.judge),
            legend_key("tick", "other judges or prompts"),
            legend_key("chance", "chance"),
            legend_key("diamond", "people"),
        ]
    )
    heads = [
        TableCell("Measure", "nm"), TableCell(f"Value, 95{NARROW_SPACE}% CI", "num"),
        TableCell(f'<div class="eh-row">{keys}</div>', "trk"),
    ]  # fmt: skip
    rows = [
        TableRow(
            [
                TableCell(
                    f'<b>{_label_html(card, line)}</b><span class="eh-small eh-mute">'
                    f"{inline_markup(line.description)}</span>",
                    "nm",
                ),
                TableCell(
                    f'<b class="v">{line.value_text}</b><span class="eh-small eh-mute">{line.bounds}'
                    "</span>",
                    "num",
                ),
                TableCell(_forest_html(line), "trk"),
            ],
            tip=_hover_text(line),
        )
        for line in shown
    ]
    scale = "".join(f'<span style="left:{place}%">{place}</span>' for place in (0, 50, 100))
    foot = TableRow(
        [
            TableCell("", "nm"),
            TableCell("", "num"),
            TableCell(f'<div class="eh-axis">{scale}</div>', "trk"),
        ],
        kind="axis",
    )
    made = range_table(heads, [*rows, foot], "card", f"Measures of {card.judge}")
    return made + _unknown_html(missing)


def _label_html(card: ReportCard, line: CardMeasure) -> str:
    own = {"judge": card.judge, "prompt": card.prompt}
    return select_link(
        line.label,
        own | dict(MEASURE_SELECTIONS[line.label]) if line.label in MEASURE_SELECTIONS else None,
    )


def _forest_html(line: CardMeasure) -> str:
    axis = Axis(ticks=SHARE_AXIS.ticks, chance=line.chance)
    return forest_html(line.estimate, axis, people=line.people, others=line.others)


def _hover_text(line: CardMeasure) -> str:
    estimate = line.estimate
    where = f"n {count(estimate.n)}, {count(estimate.items, 'item')}"
    return "\n".join(part for part in (line.label, where, estimate.method, estimate.note) if part)


def _unknown_html(lines: Sequence[CardMeasure]) -> str:
    if not lines:
        return ""
    said = "; ".join(
        f"{line.label.lower()} ({line.estimate.note or 'not asked'})" for line in lines
    )
    return f'<p class="eh-small eh-mute eh-under">Not known: {inline_markup(said)}.</p>'


def card_measures(card: ReportCard) -> list[CardMeasure]:
    """The measures in the order of the sheet; what is not known is named under it."""
    even = 1 / card.options
    measures = card.measures
    lines = [
        _share_measure(
            "Consistency",
            _consistency_description(card),
            measures["consistency"],
            measures["chance"].value,
            card.others("consistency"),
        ),
        _share_measure(
            "First-slot share",
            f"of decisive verdicts; even is {share(even, 0)}",
            measures["first_share"],
            even,
            card.others("first_share"),
        ),
        _position_term_measure(card, even),
        _entropy_measure(card),
        _share_measure(
            "Agreement with people",
            _people_description(card),
            card.people,
            _people_chance(card),
            _other_raters_agreement(card),
            card.among_voters.pair.share.value,
        ),
        _share_measure(
            "Agreement with the others",
            "same verdict on the same ask, all others pooled",
            card.same_as_others,
        ),
    ]
    if card.raters.truth == "design":
        known = measures["accuracy"]
        lines.append(
            _share_measure(
                "Right on known answers",
                "the better one by design; a tie is wrong",
                known,
                even,
                card.others("accuracy"),
            )
        )
    if card.pairs:
        lines.append(_longer_measure(card))
    own, people, names = card.own_family
    if names:
        told = f"win rate of {', '.join(names)} against the others"
        told += f"; people give {share(people.value, 1)}" if people.value is not None else ""
        lines.append(_share_measure("Its own family's answers", told, own, people=people.value))
    lines.append(
        _share_measure(
            "Replies without a verdict",
            "unreadable, empty or failed; never counted as ties",
            card.unreadable,
        )
    )
    return lines


def _longer_measure(card: ReportCard) -> CardMeasure:
    rest = [e.value for name, e in card.longer_shares.items() if name != card.rater]
    return _share_measure(
        "Picks the longer answer", "of decisive verdicts, by characters",
        card.longer_shares.get(card.rater, Estimate(None)), 0.5, [x for x in rest if x is not None],
    )  # fmt: skip


def _share_measure(
    label: str,
    told: str,
    estimate: Estimate,
    chance: float | None = None,
    others: Sequence[float] = (),
    people: float | None = None,
) -> CardMeasure:
    bounds = interval(estimate, 1, scale=100)
    return CardMeasure(
        label, told, share(estimate.value, 1), bounds, estimate, chance, others, people
    )


def _consistency_description(card: ReportCard) -> str:
    noise = card.measures["noise_floor"].value
    chance = card.measures["chance"].value
    told = "verdicts that survive a new order"
    if chance is not None:
        told += f"; its slot shares alone give {share(chance, 0)}"
    floor = "noise floor not asked" if noise is None else f"noise floor {share(noise, 0)}"
    return f"{told}; {floor}"


def _position_term_measure(card: ReportCard, even: float) -> CardMeasure:
    term, equal, p, place = card.position_term
    who = (
        "the first of two equal answers" if card.pairs else f"the {place} of {card.options} equals"
    )
    told = f"{who} wins {share(equal.value, 0)}; {_test_text(p)}"
    return CardMeasure(
        "Position term", told, number(term.value, 2, signed=True), interval(term, 2), equal, even
    )


def _test_text(p: float | None) -> str:
    if p is None:
        return "not tested"
    return "p < .001" if p < 0.001 else f"p = {number(p, 3)}"


def _entropy_measure(card: ReportCard) -> CardMeasure:
    got = card.measures["entropy"]
    said = decimal(got, 3, n=False).split(" ")[0]
    told = "1 is even; read it only beside consistency"
    return CardMeasure(
        "Entropy of places", told, said, interval(got, 3), got, None, card.others("entropy")
    )


def _people_description(card: ReportCard) -> str:
    told = "same verdict as their majority, ties count"
    pair = card.among_voters.pair.share.value
    return told if pair is None else f"{told}; two people {share(pair, 0)}"


def _people_chance(card: ReportCard) -> float | None:
    return None if card.people.value is None else 1 / (card.options + 1)


def _other_raters_agreement(card: ReportCard) -> list[float]:
    found = (card.with_people(name).value for name in card.raters.in_view if name != card.rater)
    return [value for value in found if value is not None]
