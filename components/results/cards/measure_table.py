"""The table of measures on a report card: values, intervals, chance, other judges and people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from components.html.format import NARROW_SPACE, count, decimal, interval, number, share
from components.html.markup import EMPTY, Markup, fill, inline_markup, join, link
from components.html.panel import Axis, forest_html, legend_key
from components.html.tables.range_table import range_table
from components.html.tables.table import TableCell, TableRow
from components.inspect.url_selection import FAILURES
from components.results.cards.report_card import ReportCard
from metrics.agreement.pairwise_agreement import PEOPLE
from metrics.position.position_measures import chance_accuracy
from studies.domain import Estimate

SHARE_AXIS: Final = Axis()
"""Axis from 0 to 100 %: every measure of a card is a share."""

MEASURE_SELECTIONS: Final[Mapping[str, Mapping[str, object]]] = {
    "Consistency": {"flipped": True},
    "First-position share": {"slot": 0},
    "Agreement with people": {"unlike": PEOPLE},
    "Unusable replies": {"status": FAILURES},
}
"""Measure -> filters of Inspect that a click on the measure's label sets."""


@dataclass(frozen=True, slots=True)
class CardMeasure:
    """One row of the table: a measure of the judge, and its values by chance, for the other raters
    and for people."""

    label: str
    description: str
    value_text: str
    bounds: str
    estimate: Estimate
    chance: float | None = None
    others: Sequence[float] = ()
    people: float | None = None


def show_measures(card: ReportCard) -> Markup:
    """HTML table of the measures that have a value, then a list of the measures without a value."""
    lines = card_measures(card)
    shown = [line for line in lines if line.estimate.value is not None]
    missing = [line for line in lines if line.estimate.value is None]
    keys = join(
        [
            legend_key("dot", card.judge),
            legend_key("tick", "other judges or prompts"),
            legend_key("chance", "chance"),
            legend_key("diamond", "people"),
        ]
    )
    heads = [
        TableCell("Measure", "nm"),
        TableCell(f"Value, 95{NARROW_SPACE}% CI", "num"),
        TableCell(fill('<div class="eh-row">{}</div>', keys), "trk"),
    ]
    rows = [_measure_row(card, line) for line in shown]
    scale = join(fill('<span style="left:{}%">{}</span>', place, place) for place in (0, 50, 100))
    foot = TableRow(
        [
            TableCell("", "nm"),
            TableCell("", "num"),
            TableCell(fill('<div class="eh-axis">{}</div>', scale), "trk"),
        ],
        kind="axis",
    )
    made = range_table(heads, [*rows, foot], "card", f"Measures of {card.judge}")
    return made + _unknown_html(missing)


def _measure_row(card: ReportCard, line: CardMeasure) -> TableRow:
    label = fill(
        '<b>{}</b><span class="eh-small eh-mute">{}</span>',
        _label_html(card, line),
        inline_markup(line.description),
    )
    value = fill(
        '<b class="v">{}</b><span class="eh-small eh-mute">{}</span>', line.value_text, line.bounds
    )
    cells = [TableCell(label, "nm"), TableCell(value, "num"), TableCell(_forest_html(line), "trk")]
    return TableRow(cells, tip=_hover_text(line))


def _label_html(card: ReportCard, line: CardMeasure) -> Markup:
    own = {"judge": card.judge, "prompt": card.prompt}
    return link(
        line.label,
        own | dict(MEASURE_SELECTIONS[line.label]) if line.label in MEASURE_SELECTIONS else None,
    )


def _forest_html(line: CardMeasure) -> Markup:
    axis = Axis(ticks=SHARE_AXIS.ticks, chance=line.chance)
    return forest_html(line.estimate, axis, people=line.people, others=line.others)


def _hover_text(line: CardMeasure) -> str:
    estimate = line.estimate
    where = f"n {count(estimate.n)}, {count(estimate.items, 'item')}"
    return "\n".join(part for part in (line.label, where, estimate.method, estimate.note) if part)


def _unknown_html(lines: Sequence[CardMeasure]) -> Markup:
    if not lines:
        return EMPTY
    listed = "; ".join(
        f"{line.label.lower()} ({line.estimate.note or 'not measured'})" for line in lines
    )
    return fill('<p class="eh-small eh-mute eh-under">No value: {}.</p>', inline_markup(listed))


def card_measures(card: ReportCard) -> list[CardMeasure]:
    """All measures in the order of the table, including those without a value."""
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
            "First-position share",
            "% of verdicts for the answer shown first, ties left out; no preference is "
            f"{share(even, 0)}",
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
            "Agreement with other judges",
            "% of verdicts equal to those of other judges and prompts in the same order",
            card.same_as_others,
        ),
    ]
    if card.raters.truth == "design":
        known = measures["accuracy"]
        lines.append(
            _share_measure(
                "Accuracy where the better answer is known",
                "% of verdicts for the answer that is better by design; a tie counts as wrong, and "
                "chance is that of a judge with as many ties",
                known,
                chance_accuracy(known, card.accuracy_lead),
                card.others("accuracy"),
            )
        )
    if card.pairs:
        lines.append(_longer_measure(card))
    own, people, names = card.own_family
    if names:
        text = f"win rate, %, that this judge gives {', '.join(names)} against other models"
        text += f"; people give {share(people.value, 1)}" if people.value is not None else ""
        text += _excess_text(card.own_excess) + _term_text(card.own_term)
        lines.append(
            _share_measure("Win rate of the judge's model family", text, own, people=people.value)
        )
    lines.append(
        _share_measure(
            "Unusable replies",
            "% of replies without a verdict: unreadable, empty or failed",
            card.unreadable,
        )
    )
    return lines


def _longer_measure(card: ReportCard) -> CardMeasure:
    rest = [e.value for name, e in card.longer_shares.items() if name != card.rater]
    return _share_measure(
        "Share of verdicts for the longer answer",
        "% of verdicts for the longer answer (by characters), ties left out",
        card.longer_shares.get(card.rater, Estimate(None)),
        0.5,
        [x for x in rest if x is not None],
    )


def _share_measure(
    label: str,
    description: str,
    estimate: Estimate,
    chance: float | None = None,
    others: Sequence[float] = (),
    people: float | None = None,
) -> CardMeasure:
    bounds = interval(estimate, 1, scale=100)
    return CardMeasure(
        label, description, share(estimate.value, 1), bounds, estimate, chance, others, people
    )


def _excess_text(excess: Estimate) -> str:
    """Text on self-preference compared with judges of other model families; empty if unknown."""
    if excess.value is None:
        return ""
    size = number(100 * excess.value, 1, signed=True)
    return (
        f"; compared with the win rate that judges of other families give: {size} points "
        f"{interval(excess, 1, scale=100)}"
    )


def _term_text(term: Estimate) -> str:
    """Text on self-preference in logits (`CardMeasures.own_term`); empty if it is unknown."""
    if term.value is None:
        return ""
    size = number(term.value, 2, signed=True)
    return (
        f"; with all judges pooled, the log-odds of winning change by {size} {interval(term, 2)} "
        "if judge and answer are of the same family"
    )


def _consistency_description(card: ReportCard) -> str:
    noise = card.measures["noise_floor"].value
    chance = card.measures["chance"].value
    swapped = "% of comparisons with the same verdict in every order"
    if chance is not None:
        swapped += (
            f"; a judge that chooses at random with the same position shares has {share(chance, 0)}"
        )
    repeats = f"{share(noise, 0)} of verdicts change on a repeat"
    floor = "verdicts were not repeated in the same order" if noise is None else repeats
    return f"{swapped}; {floor}"


def _position_term_measure(card: ReportCard, even: float) -> CardMeasure:
    term, equal, p, position = card.position_term
    among = "two" if card.pairs else str(card.options)
    wins = (
        f"of {among} equally good answers, the one shown {position} would win "
        f"{share(equal.value, 0)} of verdicts"
    )
    text = f"{wins}; {_test_text(p)}"
    return CardMeasure(
        "Position term", text, number(term.value, 2, signed=True), interval(term, 2), equal, even
    )


def _test_text(p: float | None) -> str:
    if p is None:
        return "not tested"
    return "p < .001" if p < 0.001 else f"p = {number(p, 3)}"


def _entropy_measure(card: ReportCard) -> CardMeasure:
    got = card.measures["entropy"]
    value = decimal(got, 3, n=False).split(" ")[0]
    text = (
        "1 means that all positions are chosen equally often; interpret entropy only together "
        "with consistency"
    )
    return CardMeasure(
        "Entropy of positions", text, value, interval(got, 3), got, None, card.others("entropy")
    )


def _people_description(card: ReportCard) -> str:
    text = "% of verdicts equal to the majority of people, ties included"
    pair = card.among_voters.pair.share.value
    if pair is None:
        return text
    return f"{text}; two people's votes on the same pair are equal in {share(pair, 0)} of cases"


def _people_chance(card: ReportCard) -> float | None:
    return None if card.people.value is None else 1 / (card.options + 1)


def _other_raters_agreement(card: ReportCard) -> list[float]:
    found = (card.with_people(name).value for name in card.raters.in_view if name != card.rater)
    return [value for value in found if value is not None]
