"""Report card: the measures of a judge, and the values and words inserted into its sentences."""

from dataclasses import dataclass
from typing import Final

from components.html.format import (
    number,
    points,
    rounded_shares,
    share,
    slot_ordinal,
    spaced_ci,
    unproven_lean_text,
)
from components.results.bias.computed import Bias, load_bias
from components.results.bias.flip_leans import FlipLean, flip_leans
from components.results.bias.option_tests import (
    adjusted_option_p_values,
    load_option_models_of_all_raters,
)
from components.results.cards.card_measures import CardMeasures
from components.results.view.unreadable_share import unreadable_share
from metrics.catalogue import position_records
from metrics.catalogue.nudge_records import LONGER
from metrics.estimation import row_selection
from metrics.estimation.multiple_comparisons import simultaneous_interval
from metrics.position.position_measures import chance_accuracy
from studies.domain import Estimate
from studies.lazy_values import cached_property

SEE_REMEDIES: Final = "The view Remedies compares remedies by the known better answers."
COMPARE_LATER: Final = " To compare this with other remedies, the better answers must be known."
PAIR_WORDS: Final = "each pair", "both orders", "average the two verdicts"
OPTION_WORDS: Final = "each set of answers", "every order", "take the answer chosen most often"
WARM: Final = 0.5
STEADY: Final = 0.02
"""At a temperature of WARM or more, a warning is shown if the whole interval of the changes on a
repeat lies below STEADY."""


@dataclass(frozen=True)
class ReportCard(CardMeasures):
    """Report card of one rater (a judge with a prompt): its measures, and the facts on which its
    sentences depend."""

    @property
    def preferred_position(self) -> str:
        """Name of the preferred position, such as "first". For pairs, it is the position toward
        which more flips go, "first" if as many go toward each; for more options, that which is
        chosen most. It need not be significant."""
        if not self.compares_pairs:
            return slot_ordinal(self._top_slot)
        return "first" if self.flips["toward_first"] >= self.flips["toward_second"] else "second"

    @property
    def _top_slot(self) -> int:
        shares = [one.value or 0.0 for one in self.decisive_shares_by_slot]
        return shares.index(max(shares))

    @property
    def p_is_bound(self) -> bool:
        """Whether the p-value of the permutation test among N options is only an upper bound: no
        random permutation was as uneven as the choices. False for pairs."""
        if self.compares_pairs:
            return False
        rows = load_option_models_of_all_raters(self.raters.filtered)
        mine = (row for row in rows if (row.judge, row.prompt) == (self.judge, self.prompt))
        return any(row.permutation.p_is_bound for row in mine)

    @property
    def chance_consistency(self) -> float:
        """Consistency of a judge that chooses at random and ties as often, as in the view
        Position."""
        return position_records.chance_consistency(
            self.max_options, self.measures["tie_rate"].value or 0.0
        )

    @cached_property
    def facts(self) -> dict[str, float | None]:
        """Key of CARD_FACTS -> number, None if unknown. The rules of the card's sentences compare
        these numbers with thresholds and insert them."""
        measures, flips = self.measures, self.measures["conflict"].value
        noise = measures["noise_floor"].value
        by_design = self.raters.known_answer_source == "design"
        known = measures["accuracy"] if by_design else Estimate(None)
        advantage = self.voter_replacement.advantage if self.voter_replacement else Estimate(None)
        differences = (self.accuracy_lead, advantage, self.order_effect, self.repeat_dependence)
        lead, beside, effect, memory = map(self._widen_for_all_cards, differences)
        kappa = self._widen_for_all_cards(measures["kappa"])
        longer = self.measure_by_rater(LONGER).get(self.rater, Estimate(None))
        p, lopsided = self._position_preference()
        slot, label = self._slot_and_label_deviations_from_half()
        advice, no_advice = self.recommendation, 0 if self.has_too_many_rows_for_remedies else None
        readable = row_selection.select_readable_without_noise(self.rows)
        read = readable if self.scores_only else row_selection.select_picks(self.rows)
        calls = self.raters.call_agreement if self.scores_only else {}
        planned = self.rows_without_noise_repeats
        failed = row_selection.count_failed_calls(planned)
        return {
            "replies": len(planned) - failed,
            "failed": failed,
            "read": len(read),
            "scored": len(read) if self.scores_only else 0,
            "items": read["item"].nunique(),
            "orders": int(planned["orders"].max()) if len(planned) else 0,
            "sets": None if self.scores_only else measures["consistency"].n,
            "flips": flips,
            "noise": noise,
            "chance_flips": 1 - self.chance_consistency,
            "order_low": effect.low,
            "memory_low": memory.low,
            "known_low": lead.low,
            "known_high": lead.high,
            "stand_in_low": beside.low,
            "stand_in_high": beside.high,
            "lean_p": p,
            "lean_read": self._lean.p if self._lean else None,
            "lean_least": self._lean.least_p if self._lean else None,
            "missing": self._lean.missing if self._lean else None,
            "lopsided": lopsided,
            "label_pull": label,
            "label_low": self._label_interval_distance_from_half(),
            "label_lead": None if label is None or slot is None else label - slot,
            "kappa_high": kappa.high,
            "unusable": self.unusable_share.value,
            "unreadable": unreadable_share(self.rows),
            "known": known.value,
            "agreement": calls.get((self.judge, self.prompt), Estimate(None)).value,
            "chance_right": chance_accuracy(known, lead),
            "people": self.agreement_with_people.value,
            "stand_in_reach": _largest_absolute_bound(
                simultaneous_interval(advantage, self._bias.bonferroni_factor, 0.9)
            ),
            "longer": longer.value,
            "longer_low": longer.low,
            "others": self.agreement_with_other_raters.value,
            "remedies": len(advice.prices) if advice else no_advice,
            "remedy_low": advice.chosen.gain.low if advice and advice.chosen else None,
        }

    @cached_property
    def _bias(self) -> Bias:
        return load_bias(self.raters.filtered)

    @cached_property
    def _lean(self) -> FlipLean | None:
        """Number of the rater's flips toward the first and the second position; None for more
        than two options."""
        leans = flip_leans(self._bias) if self.compares_pairs else ()
        mine = (row for row in leans if (row.judge, row.prompt) == (self.judge, self.prompt))
        return next(mine, None)

    def _widen_for_all_cards(self, estimate: Estimate) -> Estimate:
        """The estimate (a share or a difference of shares) with its interval widened by the
        Bonferroni correction over all report cards."""
        return simultaneous_interval(estimate, self._bias.bonferroni_factor, bounds=(-1.0, 1.0))

    def _label_interval_distance_from_half(self) -> float | None:
        """Distance from ½ to the nearer end of the interval of the first label's share, adjusted
        for all cards. Negative if the interval contains ½. None unless each label was used in
        both positions."""
        label = self._widen_for_all_cards(self.slot_label_effects["label"])
        if label.low is None or label.high is None:
            return None
        return max(label.low - 0.5, 0.5 - label.high)

    def _slot_and_label_deviations_from_half(self) -> tuple[float | None, float | None]:
        """(|share of the first position − ½|, |share of the first label − ½|); None for both
        unless each label was used in both positions."""
        shares = (self.slot_label_effects[name].value for name in ("slot", "label"))
        slot, label = (None if share is None else abs(share - 0.5) for share in shares)
        return slot, label

    @property
    def text_by_key(self) -> dict[str, str]:
        """Key of SENTENCE_WORDS -> text that is inserted for {key} into the card's sentences."""
        kind = PAIR_WORDS if self.compares_pairs else OPTION_WORDS
        known = self.has_known_answers
        return {
            "repeat": self._repeat_changes_text(),
            "cache": self._cached_repeats_warning(),
            "known_split": self._right_wrong_tied_text(),
            "lead": self._accuracy_above_chance_text(),
            "remedy": self.recommendation.sentence if self.recommendation else SEE_REMEDIES,
            "lean": unproven_lean_text(self.measures["fairness"]) if self.compares_pairs else "",
            "more_often": self._preferred_position_clause(),
            "toward": self.preferred_position,
            "label": self._lean.label_text if self._lean else "",
            "order_effect": self._difference_text(self.order_effect),
            "memory": self._difference_text(self.repeat_dependence),
            "beside_person": self._difference_from_person_text(),
            **dict(zip(("each", "orders_wanted", "then_merge"), kind, strict=True)),
            "unknown": "" if known else ", and no better answers are known",
            "compare": "" if known else COMPARE_LATER,
        }

    def _difference_from_person_text(self) -> str:
        """Clause on the verdicts equal to another voter's, of the judge and of the person it
        replaces, on the same pairs: both shares, the difference in points with its interval, and a
        note if it is not significant; "" without votes."""
        if (replaced := self.voter_replacement) is None:
            return ""
        judge, person = share(replaced.with_judge.value, 0), share(replaced.with_person.value, 0)
        advantage = self._widen_for_all_cards(replaced.advantage)
        unclear = "" if advantage.excludes_zero else ", no significant difference"
        return (
            "Where two people or more voted, it gives the same verdict as another voter, ties "
            f"included, in {judge}, the person it replaces in {person}: "
            f"{_points_and_interval(advantage, 100, 1)}, adjusted{unclear}"
        )

    def _difference_text(self, plain: Estimate, scale: float = 100, decimals: int = 0) -> str:
        """Text of a difference, multiplied by `scale`, with its interval; "" if it is unknown. The
        interval is not adjusted, as in the view of the difference. A note is added if the
        difference is not significant after the adjustment for all judges and prompts."""
        if plain.value is None:
            return ""
        text = _points_and_interval(plain, scale, decimals)
        if plain.excludes_zero and not self._widen_for_all_cards(plain).excludes_zero:
            text += ", not significant after adjustment for all judges and prompts"
        return text

    def _repeat_changes_text(self) -> str:
        """Clause on the changes on a repeat, without which flips cannot be judged; empty without
        repeats."""
        noise = self.measures["noise_floor"].value
        return "" if noise is None else f" ({share(noise, 0)} change on a repeat in the same order)"

    def _cached_repeats_warning(self) -> str:
        """Warning that repeats may come from a cache, if the upper end of the interval of the
        changes on a repeat is at most STEADY although the judge's temperature is at least WARM; ""
        otherwise, and if one of the two is unknown."""
        warm, high = self.raters.temperatures.get(self.judge), self.measures["noise_floor"].high
        if warm is None or warm < WARM or high is None or high > STEADY:
            return ""
        return (
            f" Repeats hardly ever differ although the temperature is {number(warm, 1)}: check "
            "that they were not served from a cache."
        )

    def _right_wrong_tied_text(self) -> str:
        """Text on the shares of right, wrong and tied verdicts, on comparisons with a known better
        answer; "" if there are none."""
        right, ties = self.measures["accuracy"].value, self.tie_share_with_known_answer
        if right is None or ties is None:
            return ""
        won, lost, tied = rounded_shares((right, max(1 - right - ties, 0.0), ties))
        if not ties:
            return f"right in **{won}** and wrong in {lost}"
        return f"right in **{won}**, wrong in {lost} and undecided (tie) in {tied}"

    def _accuracy_above_chance_text(self) -> str:
        """Lead of the accuracy over chance with its interval; for pairs, twice this lead is the
        share of right verdicts minus that of wrong ones."""
        scale, name = (200, "right − wrong") if self.compares_pairs else (100, "accuracy − chance")
        return f"{name} {self._difference_text(self.accuracy_lead, scale, 1)}"

    def _preferred_position_clause(self) -> str:
        """Clause on the preferred position. Among more than two options, flips have no single
        direction, so the clause gives the position's share of the choices, as the view Position
        does."""
        toward = self.preferred_position
        if self.compares_pairs:
            return f"flips go more often toward the answer shown {toward} than away from it"
        picks = share(self.decisive_shares_by_slot[self._top_slot].value, 0)
        even = share(1 / self.max_options, 0)
        return (
            f"it prefers a position: the answer shown {toward} gets {picks} of its choices (an "
            f"even share is {even})"
        )

    def _position_preference(self) -> tuple[float | None, float | None]:
        """(p-value of the test that no position is preferred, share of the flips that go toward the
        preferred position); None for each that is unknown. The p-value is that of the view
        Position; the share is unknown for more than two options."""
        rater = (self.judge, self.prompt)
        if not self.compares_pairs:
            found = adjusted_option_p_values(
                self._bias, load_option_models_of_all_raters(self.raters.filtered)
            )
            return found.get(rater), None
        first, second = self.flips["toward_first"], self.flips["toward_second"]
        p = max(self._lean.p, self._lean.worst_p or 0.0) if self._lean else None
        return p, max(first, second) / (first + second) if first + second else None


def _points_and_interval(difference: Estimate, scale: float, decimals: int) -> str:
    """Text of a difference, multiplied by `scale`, with its interval."""
    size = number(scale * (difference.value or 0.0), decimals, signed=True)
    return f"{points(size)}{spaced_ci(difference, decimals, scale=scale)}"


def _largest_absolute_bound(estimate: Estimate) -> float | None:
    if estimate.low is None or estimate.high is None:
        return None
    return max(abs(estimate.low), abs(estimate.high))
