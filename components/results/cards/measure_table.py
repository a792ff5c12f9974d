"""The table of measures on a report card: values, intervals, chance, other judges and people.

The catalogue of measures lists the rows, with their names, definitions, formats and links; this
module adds the facts that only a card has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from components.html import format as formats
from components.html.format import points, share
from components.html.markup import Markup
from components.html.tables.forest_cells import Axis, forest_html
from components.html.tables.value_table import STYLES, NumberStyle
from components.html.templates import macros
from components.results.bias.pair_tests import p_value_clause
from components.results.cards.report_card import ReportCard
from metrics.catalogue import answer_records, nudge_records, option_records, records, twin_records
from metrics.catalogue.record import MeasureRecord, Question
from metrics.estimation.prompt_kinds import NO_PICKS_NOTE
from metrics.position.position_measures import chance_accuracy
from metrics.remedies.remedy_study import COMPARED_PART
from studies.domain import Estimate

QUESTION_ORDER: Final[tuple[Question, ...]] = (
    "position", "agreement", "nudges", "ranking", "remedies",
)  # fmt: skip
CARD_STYLES: Final = {**STYLES, "decimal": NumberStyle(3)}
"""Number formats of a card; entropies near 1 differ in the third decimal."""


@dataclass(frozen=True)
class CardMeasure:
    """One row of the table: a measure of the judge, with the values to compare it with: that of
    random choices (`chance`), of other raters (`others`: judges, each with a prompt) and of people
    (`people`)."""

    record: MeasureRecord
    estimate: Estimate
    note: str = ""
    """Text that the card adds to the definition."""
    chance: float | None = None
    others: Sequence[float] = ()
    people: Estimate | None = None
    drawn: Estimate | None = None
    """Share that is drawn instead of the estimate."""
    link: dict[str, Any] | None = field(default=None, compare=False)

    about: str = ""
    """Name shown after the name of the measure: for the effect of twins, their family; for the
    position term among N options, the position; else empty."""

    @property
    def label(self) -> str:
        return f"{self.record.name}: {self.about}" if self.about else self.record.name

    @property
    def description(self) -> str:
        return "; ".join(part for part in (self.record.description, self.note) if part)

    @property
    def value_text(self) -> str:
        if self.record.style == "percent":
            return share(self.estimate.value, 1)
        if self.record.style == "points" and self.estimate.value is not None:
            return points(CARD_STYLES["points"].text(self.estimate.value))
        return CARD_STYLES[self.record.style].text(self.estimate.value)

    @property
    def interval_text(self) -> str:
        return CARD_STYLES[self.record.style].interval(self.estimate)

    @property
    def forest_plot(self) -> Markup:
        estimate, axis = self.drawn or self.estimate, Axis(chance=self.chance)
        return forest_html(estimate, axis, people=self.people, others=self.others)

    @property
    def hover_text(self) -> str:
        one = self.drawn or self.estimate
        where = f"n {formats.count(one.n)}, {formats.count(one.items, 'item')}"
        return "\n".join(part for part in (self.label, where, one.method, one.note) if part)


def show_measures(card: ReportCard) -> Markup:
    """HTML table of the measures that have a value, then a list of the measures without a value."""
    rows = card_measures(card)
    known = [row for row in rows if (row.drawn or row.estimate).value is not None]
    missing = [row for row in rows if row not in known]
    template = macros("results/cards/card.html")
    judges, prompts = (len({name[k] for name in card.raters.names.values()}) for k in (0, 1))
    others = " or ".join(["other judges"] * (judges > 1) + ["other prompts"] * (prompts > 1))
    return template.measures(card.judge, card.prompt, others, known, missing)


def card_measures(card: ReportCard) -> list[CardMeasure]:
    """All measures that apply to the judge, in the order of the table, including those without a
    value; unusable replies come last."""
    applies = {
        answer_records.ACCURACY.key: card.raters.known_answer_source == "design",
        answer_records.OTHER_JUDGES.key: len(card.raters.names) > 1,
        answer_records.TIES_AGREEMENT.key: card.raters.has_people,
        nudge_records.OWN_FAMILY: card.own_family_win_rate_excess.value is not None,
        twin_records.TWIN_PREFERENCE.key: card.largest_twin_effect_beyond_floor[1],
    }
    listed = records.records_listed_by("card", card.max_options)
    rows = [_card_measure(card, one) for one in listed if applies.get(one.key, True)]

    def table_order(row: CardMeasure) -> tuple[bool, int]:
        last = row.record.key == answer_records.UNUSABLE.key
        return last, QUESTION_ORDER.index(row.record.question)

    return sorted(rows, key=table_order)


def _card_measure(card: ReportCard, record: MeasureRecord) -> CardMeasure:
    """Row of a measure in the table of a report card: the judge's value, that of chance, those of
    the other judges shown, and the link to the judgements that it counts."""
    by_rater = card.measure_by_rater(record)
    estimate = by_rater.pop(card.rater, Estimate(None))
    facts: dict[str, Any] = {
        "estimate": estimate,
        "chance": record.chance(card.max_options) if record.style == "percent" else None,
        "others": [
            one.value
            for name, one in by_rater.items()
            if one.value is not None and name in card.raters.filtered_rater_names
        ],
        **_card_fields_for_measure(card, record.key, estimate),
    }
    if card.scores_only and estimate.value is None and record.key != answer_records.AGREEMENT.key:
        facts |= {"estimate": replace(estimate, note=NO_PICKS_NOTE), "drawn": None}
    by_people = "unlike" not in record.selection or card.agreement_with_people.value is not None
    link = {**card.inspect_filters, **record.selection} if record.selection and by_people else None
    return CardMeasure(record, link=link, **facts)


def _shift_preference_to_share(preference: Estimate) -> Estimate:
    """The estimate of a preference, 0 if there is none, plus ½, so that it can be drawn on the same
    axis as shares. Value and ends of the interval are cut off at 0 and 1."""
    ends = (preference.value, preference.low, preference.high)
    value, low, high = (None if end is None else min(max(end + 0.5, 0.0), 1.0) for end in ends)
    return replace(preference, value=value, low=low, high=high)


def _card_fields_for_measure(card: ReportCard, key: str, estimate: Estimate) -> dict[str, Any]:
    """Facts that a report card adds to the record of the measure `key`, as field of CardMeasure ->
    value; empty if it adds none."""
    even = 1 / card.max_options
    if key == "consistency":
        return {"chance": card.chance_consistency, "note": _consistency_note(card)}
    if key == "first_share":
        return {"note": f"no preference is {share(even, 0)}"}
    if key in ("position_term", option_records.SLOT_EFFECTS.key):
        (term, equal, position), p = card.position_term, card.facts["lean_p"]
        among = "two" if card.compares_pairs else str(card.max_options)
        won = f"the one shown {position} would win {share(equal.value, 0)} of verdicts"
        test = "not tested" if p is None else f"{p_value_clause(p, card.p_is_bound)}, adjusted"
        note = f"of {among} equally good answers, {won}{'' if card.compares_pairs else f'; {test}'}"
        about = "" if card.compares_pairs or term.value is None else f"{position} position"
        shown = {"estimate": term, "drawn": equal, "note": note, "about": about}
        return {**shown, "chance": even, "others": ()}
    if key == twin_records.TWIN_PREFERENCE.key:
        family = card.largest_twin_effect_beyond_floor[1]
        note = f"largest effect: {family}, beyond its floor, adjusted"
        drawn = _shift_preference_to_share(estimate)
        return {"drawn": drawn, "chance": 0.5, "note": note, "about": family}
    if key == "entropy":
        return {"note": "interpret it only together with consistency"}
    if key == answer_records.AGREEMENT.key:
        voted = card.agreement_with_people.value is not None
        person = card.voter_agreement.one_person if voted else Estimate(None)
        note = f"one person agrees with the majority of the others in {share(person.value, 0)}"
        note += ", not on the same comparisons"
        wider = "comparisons count, not verdicts as in the accuracy, so the interval may be wider"
        wider *= card.measures["accuracy"].value is not None
        notes = (_counted_comparisons_note(card), wider, "" if person.value is None else note)
        return {"people": person, "note": "; ".join(filter(None, notes))}
    if key == answer_records.TIES_AGREEMENT.key:
        pair = card.voter_agreement.pair.share
        part = share(pair.value, 0)
        equal_votes = f"two people's votes on the same pair are equal in {part} of cases"
        known = {} if estimate.value is not None else {"chance": None}
        return {"people": pair, "note": "" if pair.value is None else equal_votes, **known}
    if key == answer_records.ACCURACY.key:
        chance = chance_accuracy(estimate, card.accuracy_lead)
        return {"chance": chance, "note": "chance is that of a judge with as many ties"}
    if key == nudge_records.OWN_FAMILY:
        return {"drawn": _shift_preference_to_share(estimate), "chance": 0.5}
    return {}


def _counted_comparisons_note(card: ReportCard) -> str:
    """Text on the comparisons that the agreement counts, which are those that every judge and
    prompt judged in both orders; "" if no comparison is left out. Accuracy, in contrast, counts all
    comparisons of this judge."""
    study = card.raters.remedies
    left = study.left_out["incomplete"] if study.grid.size else 0
    size = formats.count(study.grid.size, "comparison")
    return f"on the {size} {COMPARED_PART}, {left:,} left out" * bool(left)


def _consistency_note(card: ReportCard) -> str:
    noise, chance = card.measures["noise_floor"].value, card.chance_consistency
    repeats = f"{share(noise, 0)} of verdicts change on a repeat"
    floor = "verdicts were not repeated in the same order" if noise is None else repeats
    random = "a judge that chooses at random, each position equally often, has"
    return f"{random} {share(chance, 0)}; {floor}"
