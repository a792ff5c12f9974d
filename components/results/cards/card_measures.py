"""Measures on a report card: one judge with one prompt, compared with other raters and people.

A flip is a comparison whose verdict changes with the order of the answers."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.raters import Raters
from components.html.format import slot_ordinal
from metrics.agreement import pairwise_agreement
from metrics.agreement.judge_as_annotator import JudgeAsAnnotator, judges_as_annotators
from metrics.catalogue import (
    answer_records,
    nudge_records,
    option_records,
    position_records,
    twin_records,
)
from metrics.catalogue.record import MeasureRecord
from metrics.catalogue.records import estimate_position_measures
from metrics.estimation import prompt_kinds, row_selection
from metrics.estimation.all_measures import estimate_all
from metrics.estimation.intervals import proportions, sum_by_item, unknown_estimate
from metrics.estimation.measures import GroupedFrame
from metrics.position import position_measures
from metrics.position.label_effect import slot_and_label_effects
from metrics.position.order_effect import consecutive_repeat_similarity, order_effect
from metrics.position.position_tallies import picks_with_known_answer
from metrics.ratings.choice_model import ChoiceModel, fit_choice_model
from metrics.ratings.position_term import PositionModel, fit_position_model
from metrics.remedies.known_winners import PEOPLE as PEOPLES_MAJORITY
from metrics.remedies.recommendation import Recommendation
from metrics.twins.twin_sentence import effects_of_irrelevant_changes
from metrics.win_rates.own_family_excess import own_family_excess
from studies.domain import Estimate
from studies.frames.frame import TIE
from studies.lazy_values import cached_property
from studies.store.queries.judge_spending import JudgeSpending, judge_spending

SEED: Final = 20_24
MAX_ADVICE_ROWS: Final = 20_000
"""Maximum number of verdicts for which a card or Summary computes the recommended remedy; with
more they refer to the view Remedies, because computing takes seconds."""
NO_FAMILY: Final = "no answer was written by a model of the judge's own family"


@dataclass(frozen=True)
class CardMeasures:
    """Measures of one rater (a judge with a prompt), each computed on first use."""

    raters: Raters
    rater: str

    @property
    def judge(self) -> str:
        return self.raters.names[self.rater][0]

    @property
    def prompt(self) -> str:
        return self.raters.names[self.rater][1]

    @property
    def inspect_filters(self) -> dict[str, object]:
        """Filters that make the Inspect tab list this rater's judgements: its judge and prompt."""
        return {"judge": self.judge, "prompt": self.prompt}

    @cached_property
    def rows(self) -> pd.DataFrame:
        return self.raters.rows_of_rater(self.rater)

    @cached_property
    def rows_without_noise_repeats(self) -> pd.DataFrame:
        """The rater's rows, without the calls that were repeated in the same order only to measure
        how many verdicts change on a repeat."""
        return row_selection.select_rows(self.rows, ~self.rows["noise"])

    @cached_property
    def max_options(self) -> int:
        return int(self.rows["options"].max()) if len(self.rows) else 2

    @cached_property
    def scores_only(self) -> bool:
        """Whether the prompt asks for a score of each answer, and not for the better answer."""
        return bool(prompt_kinds.scoring_mask(self.rows).any())

    @property
    def compares_pairs(self) -> bool:
        """Whether the judge chooses between two answers, not among more."""
        return self.max_options <= 2

    @cached_property
    def position_measures_by_rater(self) -> dict[str, dict[str, Estimate]]:
        """Rater -> key of a measure of position bias -> its estimate, for all model judges with
        their prompts. The card draws the values of other raters than its own as grey ticks."""
        found = estimate_position_measures(self.raters.rows_of_model_judges, ["judge"])
        return {judge: got for (judge,), got in found.items()}

    @cached_property
    def measures(self) -> dict[str, Estimate]:
        """This rater's measures of position bias: key in the catalogue of measures, such as
        "consistency", -> estimate."""
        own = self.position_measures_by_rater.get(self.rater)
        return own or estimate_position_measures(self.rows)[()]

    @cached_property
    def largest_twin_effect_beyond_floor(self) -> tuple[Estimate, str]:
        """(effect, kind) of the twins with the largest effect on this rater. A twin is an answer
        with one change that should not matter; the kind is that of the change, such as "padding".
        From the effect, its floor is subtracted, the effect of a change that cannot matter; its
        interval is adjusted. Without twins, the effect has no value, and the kind is ""."""
        effects, rater = self.raters.filtered.twin_effects, (self.judge, self.prompt)
        own = [one for one in effects if (one.judge, one.prompt) == rater]
        largest = next(iter(effects_of_irrelevant_changes(own)), None)
        return (largest.adjusted, largest.family) if largest else (Estimate(None), "")

    def measure_by_rater(self, record: MeasureRecord) -> dict[str, Estimate]:
        """Rater -> estimate of the measure that `record` describes. Some measures, such as the
        position term, are computed for this rater only."""
        own = {
            answer_records.OTHER_JUDGES.key: lambda: self.agreement_with_other_raters,
            nudge_records.OWN_FAMILY: lambda: self.own_family_win_rate_excess,
            position_records.TERM.key: lambda: self.position_term[0],
            option_records.SLOT_EFFECTS.key: lambda: self.position_term[0],
            twin_records.TWIN_PREFERENCE.key: lambda: self.largest_twin_effect_beyond_floor[0],
        }
        if record.key in own:
            return {self.rater: own[record.key]()}
        if record.key == answer_records.AGREEMENT.key:
            agreed, names = self.raters.call_agreement, self.raters.names
            return {name: agreed[one] for name, one in names.items() if one in agreed}
        if record.key == answer_records.TIES_AGREEMENT.key:
            shown = (self.rater, *self.raters.filtered_rater_names)
            return {name: self.agreement_share_with_people(name) for name in shown}
        if record.key in self.measures:
            found = {name: got[record.key] for name, got in self.position_measures_by_rater.items()}
            return {**found, self.rater: self.measures[record.key]}
        measure = record.estimator
        by_cell = estimate_all([measure], self.raters.rows_of_model_judges, ["judge"])[measure.name]
        return {judge: estimate for (judge,), estimate in by_cell.items()}

    @cached_property
    def flips(self) -> dict[str, int]:
        """Counts of this rater's verdicts: "pairs" judged in both orders, "flips", and flips
        "toward_first" and "toward_second"; the same keys as in `flip_counts`."""
        return position_measures.flip_counts(self.rows)

    @cached_property
    def decisive_shares_by_slot(self) -> list[Estimate]:
        return position_measures.slot_shares(self.rows, self.max_options)

    @cached_property
    def tie_share(self) -> Estimate:
        return position_measures.tie_rate(self.rows)

    @cached_property
    def fitted_position_model(self) -> PositionModel:
        own = self.rows.assign(judge=pd.Categorical([self.rater] * len(self.rows)))
        return fit_position_model(own)

    @cached_property
    def fitted_choice_model(self) -> ChoiceModel:
        return fit_choice_model(self.rows, min_options=self.max_options)

    @cached_property
    def position_term(self) -> tuple[Estimate, Estimate, str]:
        """Effect of one position on the choice: (effect in logits, share of verdicts that this
        position would win among equally good answers, its name, such as "first").

        For pairs, it is the first position; for more options, the most preferred one. If the
        effect is unknown, both estimates have no value, and the name is not meaningful."""
        if self.compares_pairs:
            pairs = self.fitted_position_model
            gamma = pairs.gamma.get(self.rater, unknown_estimate("no usable verdict", "logit"))
            equal = pairs.first_if_equal.get(self.rater, unknown_estimate(gamma.note, "share"))
            return gamma, equal, "first"
        model = self.fitted_choice_model
        terms = model.slots.get(self.max_options, ())
        if not terms:
            note = model.note or (
                "the effect of the position cannot be separated from the quality of the answers"
            )
            none = unknown_estimate(note, "logit")
            return none, none, "first"
        top = max(range(len(terms)), key=lambda slot: round(terms[slot].value or 0.0, 12))
        return terms[top], model.share_if_equal[self.max_options][top], slot_ordinal(top)

    @cached_property
    def unusable_share(self) -> Estimate:
        return answer_records.UNUSABLE.estimator.estimate(self.rows)

    @cached_property
    def verdicts_by_call(self) -> pairwise_agreement.VerdictGrid:
        return pairwise_agreement.build_verdict_grid(self.raters.frame)

    @cached_property
    def agreement_with_people(self) -> Estimate:
        """Share of comparisons in which this rater agrees with the majority of people. It has no
        value without votes. For pairs, it also has no value if the better answers are known by
        the design of the data, because accuracy then uses these."""
        if not self.compares_pairs:
            return self.agreement_share_with_people(self.rater)
        by_people = self.raters.remedies.call_grid.source == PEOPLES_MAJORITY
        found = self.raters.call_agreement.get((self.judge, self.prompt)) if by_people else None
        return found or unknown_estimate("no votes by people", "share")

    def agreement_share_with_people(self, rater: str) -> Estimate:
        """Share of a rater's verdicts that equal the people's majority; no value without votes."""
        if not {pairwise_agreement.PEOPLE, rater} <= set(self.verdicts_by_call.raters):
            return unknown_estimate("no votes by people", "share")
        return self.verdicts_by_call.agreement_between(rater, pairwise_agreement.PEOPLE).share

    @cached_property
    def voter_agreement(self) -> pairwise_agreement.PeopleAgreement:
        return pairwise_agreement.agreement_among_people(self.raters.frame)

    @cached_property
    def voter_replacement(self) -> JudgeAsAnnotator | None:
        """Result of this rater in the place of a voter: agreement with the other voters, compared
        with that of the voter; None without votes, or without a usable verdict of this rater."""
        if not self.raters.has_people:
            return None
        found = judges_as_annotators(self.raters.frame, np.random.default_rng(SEED), rounds=1)
        return next((one for one in found if one.judge == self.rater), None)

    @cached_property
    def agreement_with_other_raters(self) -> Estimate:
        """Share of equal verdicts of this rater and other raters (judges with their prompts), over
        all pairs of verdicts on the same answers in the same order; no value without any."""
        own = (pairwise_agreement.PEOPLE, self.rater)
        names = [name for name in self.verdicts_by_call.raters if name not in own]
        if self.rater not in self.verdicts_by_call.raters or not names:
            return unknown_estimate("no other judge or prompt with these filters", "share")
        mine = self.verdicts_by_call.picks[self.verdicts_by_call.raters.index(self.rater)]
        theirs = self.verdicts_by_call.picks[
            [self.verdicts_by_call.raters.index(name) for name in names]
        ]
        both = (mine >= -1) & (theirs >= -1)
        counts = np.stack([((theirs == mine) & both).sum(axis=0), both.sum(axis=0)], axis=1)
        _, sums = sum_by_item(counts.astype(np.float64), self.verdicts_by_call.item)
        note = "" if both.any() else "no other rater judged the same comparisons in the same order"
        one = np.zeros(len(sums), np.int64)
        return proportions(sums[:, 0], sums[:, 1], one, 1, note=note)[0]

    @cached_property
    def own_family_win_rate_excess(self) -> Estimate:
        """Win rate that this judge gives to models of its model family, minus the win rate that
        outsiders (judges of other model families) give to these models on the same items; no value
        if no answer is of the judge's family."""
        machine = self.raters.rows_of_model_judges
        found = own_family_excess(machine).get(self.rater) if "family" in machine else None
        return found.excess if found else unknown_estimate(NO_FAMILY, "difference of shares")

    @cached_property
    def consistency_by_category(self) -> dict[str, Estimate]:
        """Category -> consistency of this rater in it."""
        got = position_measures.CONSISTENCY.by_cell(GroupedFrame(self.rows, ["category"]))
        return {cell[0]: estimate for cell, estimate in got.items() if cell[0]}

    @cached_property
    def rater_spending(self) -> JudgeSpending:
        filtered = self.raters.filtered
        return judge_spending(filtered.store, filtered.name, self.judge, self.prompt)

    @cached_property
    def order_effect(self) -> Estimate:
        """Disagreement between orders minus disagreement between repeats in the same order."""
        return order_effect(self.rows)

    @cached_property
    def repeat_dependence(self) -> Estimate:
        """Share of differing verdicts among repeats further apart, minus that among consecutive
        repeats. It is positive if a reply resembles the one before it."""
        return consecutive_repeat_similarity(self.rows)

    @cached_property
    def accuracy_lead(self) -> Estimate:
        """Accuracy minus chance; no value unless the better answers are known by design."""
        known = self.raters.known_answer_source == "design"
        return position_measures.accuracy_lead(self.rows) if known else Estimate(None)

    @cached_property
    def tie_share_with_known_answer(self) -> float | None:
        """Share of ties among the verdicts on comparisons whose better answer is known; None
        without such verdicts."""
        rows, _ = picks_with_known_answer(GroupedFrame(self.rows))
        return float((rows["pick"] == TIE).mean()) if len(rows) else None

    @property
    def has_known_answers(self) -> bool:
        """Whether better answers are known, by design or from people."""
        return self.raters.has_people or self.measures["accuracy"].value is not None

    @property
    def has_too_many_rows_for_remedies(self) -> bool:
        """Whether remedies could be compared for this judge's pairs, but the study has more than
        MAX_ADVICE_ROWS verdicts, so that this would take too long for a report card."""
        many = len(self.raters.filtered.whole_frame_by_person) > MAX_ADVICE_ROWS
        return many and self.compares_pairs and self.has_known_answers

    @cached_property
    def recommendation(self) -> Recommendation | None:
        """The remedy that the view Remedies recommends for this rater. None if no comparison has
        a known better answer and usable replies in both orders, or if the study has more than
        MAX_ADVICE_ROWS verdicts."""
        if len(self.raters.filtered.whole_frame_by_person) > MAX_ADVICE_ROWS:
            return None
        study = self.raters.remedies
        index = study.rater_index(self.judge, self.prompt) if study.grid.size else None
        return None if index is None else study.advice(index)

    @cached_property
    def slot_label_effects(self) -> dict[str, Estimate]:
        return slot_and_label_effects(self.rows)
