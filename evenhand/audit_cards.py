"""Cards of the judges of a study without a store: for each judge with a prompt the sentences that
the page shows, and the main measures."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from components.filtering.filtered_study import FilteredStudy, Value
from components.filtering.raters import Raters
from components.html.format import NARROW_SPACE
from components.results.cards import point_card, report_card, sentence_rules
from evenhand.study_table import JudgedStudy
from metrics.catalogue import records
from metrics.remedies import known_winners, remedy_study
from metrics.twins.twin_effects import TwinEffect
from studies.domain import Estimate
from studies.frames.frame import has_known_answers
from studies.frames.known_answers import KnownAnswerSource
from studies.lazy_values import cached_property
from studies.store.store import Store


@dataclass(frozen=True)
class UnsavedStudy(FilteredStudy):
    """A study in memory, without a store, in the form that the computations of the page take.
    `judgements` is its table of judgements, `computed` keeps results for reuse. Effects of twins
    (changed copies of answers) are not computed."""

    store: Store = field(init=False, repr=False)
    judgements: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)

    computed: dict[tuple[Hashable, ...], Any] = field(default_factory=dict, repr=False)

    @property
    def whole_frame_by_person(self) -> pd.DataFrame:
        return self.judgements

    @property
    def twin_effects(self) -> list[TwinEffect]:
        return []

    def memoise(self, key: tuple[Hashable, ...], compute: Callable[[], Value]) -> Value:
        if key not in self.computed:
            self.computed[key] = compute()
        found: Value = self.computed[key]
        return found


@dataclass(frozen=True)
class UnsavedRaters(Raters):
    """The raters (judges, each with a prompt) of a study without a store. `source` states how the
    better answers are known: by design, from people's votes, or not. `winners` is the source of
    the better answers by which remedies are measured; None for the default."""

    source: KnownAnswerSource = "none"
    winners: known_winners.WinnerSource | None = None

    @cached_property
    def known_answer_source(self) -> KnownAnswerSource:
        return self.source if has_known_answers(self.rows) else "none"

    @cached_property
    def temperatures(self) -> Mapping[str, float | None]:
        return {}

    @cached_property
    def remedies(self) -> remedy_study.RemedyStudy:
        return remedy_study.build_remedy_study(
            self.filtered.whole_frame_by_person, (), self.winners
        )

    @cached_property
    def call_agreement(self) -> dict[tuple[str, str], Estimate]:
        return remedy_study.estimate_call_agreement(
            remedy_study.add_call_credits(self.filtered.whole_frame_by_person, self.remedies)
        )


@dataclass(frozen=True)
class JudgeCard:
    """Report on one judge with one prompt: sentences on its biases, and its measures."""

    judge: str
    prompt: str
    sentences: tuple[str, ...]
    measures: dict[str, Estimate]
    """Label -> estimate, in the order of the card."""


def judge_cards(study: JudgedStudy) -> Iterator[JudgeCard]:
    """Yield what is reported on each judge with each prompt of a study (sentences and measures).
    People who judged are left out."""
    filtered = UnsavedStudy(study.name, judgements=study.frame)
    raters = UnsavedRaters(filtered, study.known_answer_source, study.measured.remedies.source)
    for rater in raters.filtered_rater_names:
        card = report_card.ReportCard(raters, rater)
        if (card.rows["options"] == 1).all():
            points = point_card.PointCard(card.rows)
            said, measures = points.sentences, _point_measures(points)
        else:
            said = [one.text for one in sentence_rules.card_sentences(card.facts, card.text_by_key)]
            measures = dict(_comparison_measures(card, study.known_answer_source))
        yield JudgeCard(card.judge, card.prompt, tuple(map(_plain_sentence, said)), measures)


def _plain_sentence(text: str) -> str:
    """Return a sentence without bold marks and narrow spaces, so that any terminal can show it."""
    return text.replace("**", "").replace(NARROW_SPACE, " ")


def _point_measures(card: point_card.PointCard) -> dict[str, Estimate]:
    """Return name -> value of each measure of a judge that judges single answers; measures without
    a value are left out."""
    return {label: one for label, _, one, _ in card.measures if one.value is not None}


def _comparison_measures(
    card: report_card.ReportCard, source: KnownAnswerSource
) -> Iterator[tuple[str, Estimate]]:
    """Yield (name, estimate) for each measure of a judge that compares answers; measures without a
    value are left out. Accuracy is left out too if the better answers are known from people's
    votes, because the measure of agreement with people is then the same."""
    for record in records.records_listed_by("library", card.max_options):
        estimate = card.measure_by_rater(record).get(card.rater)
        by_people = record.key == "accuracy" and source == "people"  # agreement says it
        if estimate is not None and estimate.value is not None and not by_people:
            yield record.name, estimate
