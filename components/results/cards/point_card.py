"""Report card of a judge that passes, fails or scores single answers: sentences and measures."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.html.format import NARROW_SPACE, count, number, on_scale, share, spaced_ci
from components.results.cards.sentence_rules import CARD_FACTS, NO_REPLY_RULES, UNUSABLE_RULES
from components.results.view.unreadable_share import FORMAT_ADVICE, MANY_UNUSABLE, unreadable_share
from metrics.catalogue.record import Style
from metrics.catalogue.records import RECORDS, text_measure_records
from metrics.estimation import row_selection
from metrics.estimation.intervals import proportion
from metrics.labels.label_sections import PassFailResult, pass_fail_results, pass_fail_sentence
from metrics.labels.labelled_rows import score_rows_by_rater, scores_or_nan_if_unusable
from metrics.labels.option_order import OptionOrder, OrderEffect, option_order_effects
from metrics.labels.point_rules import compare_single_answer_rules_with_one_call
from metrics.labels.scores.criteria_order import CriteriaOrder, criteria_order_effects
from metrics.labels.scores.score_agreement import ScoreAgreement, score_agreement
from metrics.labels.scores.score_distribution import ScoreDistribution, score_distributions
from metrics.labels.true_pass_rate import is_by_labels, why_not_correctable
from metrics.remedies.rule_names import advised_rule_text
from studies.domain import Estimate
from studies.frames.point_columns import GOLD_COLUMN
from studies.lazy_values import cached_property

FEW_LABELS: Final = 30
PERCENT: Final[Style] = "percent"
SCORE: Final[Style] = "decimal"
SHIFT: Final[Style] = "logit"
"""Number format of a difference in scale points: two decimals and a sign, as for log-odds."""


@dataclass(frozen=True)
class PointCard:
    """Measures of one judge with one prompt that asks for verdicts on single answers."""

    rows: pd.DataFrame

    @cached_property
    def rows_without_noise_repeats(self) -> pd.DataFrame:
        """The rows without the calls that were repeated in the same order only to measure how many
        verdicts change on a repeat."""
        return row_selection.select_rows(self.rows, ~self.rows["noise"])

    @cached_property
    def pass_fail_result(self) -> PassFailResult | None:
        return next(iter(pass_fail_results(self.rows).values()), None)

    @cached_property
    def scores(self) -> ScoreDistribution | None:
        return next(iter(score_distributions(self.rows).values()), None)

    @cached_property
    def option_order_effect(self) -> OptionOrder | None:
        return next(iter(option_order_effects(self.rows).values()), None)

    @cached_property
    def criteria_order_effect(self) -> CriteriaOrder | None:
        return next(iter(criteria_order_effects(self.rows).values()), None)

    @cached_property
    def label_agreement(self) -> ScoreAgreement | None:
        """Agreement of scores with labels; None for pass/fail verdicts or without labels."""
        found = next(iter(score_rows_by_rater(self.rows).values()), None)
        if found is None:
            return None
        made = score_agreement(found.score, found.label, found.item, found.scale)
        return made if made.mae.value is not None else None

    @cached_property
    def unusable_share(self) -> Estimate:
        failed = ~row_selection.usable_status_mask(self.rows_without_noise_repeats)
        return proportion(failed, row_selection.item_codes(self.rows_without_noise_repeats))

    @property
    def usable_count(self) -> int:
        """Number of replies with a usable verdict."""
        return int(row_selection.usable_status_mask(self.rows_without_noise_repeats).sum())

    @property
    def arrangement_count(self) -> int:
        """Number of arrangements (orders of the options and criteria) in which answers were
        judged."""
        return int(self.rows_without_noise_repeats["labels"].nunique())

    # ------------------------------------------------------------------ sentences

    @property
    def sentences(self) -> list[str]:
        """Sentences on the quality of the verdicts, on unusable replies if these are many, on the
        effect of the order, and on what to do. If no reply is usable, only sentences on that."""
        failed = row_selection.count_failed_calls(rows := self.rows_without_noise_repeats)
        values = {"unusable": self.unusable_share.value, "failed": failed}
        if failed == len(rows):
            return [rule.text.format(failed=count(failed, "call")) for rule in NO_REPLY_RULES]
        if not self.usable_count:
            return [
                f"None of this judge's {count(len(rows), row_selection.reply_noun(rows))} has a "
                "verdict.",
                "Read the replies: this judge may not be able to use the prompt's verdict format.",
            ]
        told = [self._quality_sentence, self._order_sentence, self._advice_sentence]
        texts = {name: CARD_FACTS[name].write(value or 0.0) for name, value in values.items()}
        said = [rule.text.format(**texts) for rule in UNUSABLE_RULES if rule.applies(values)]
        return [*told[:1], *said[:1], *told[1:]]

    @property
    def _quality_sentence(self) -> str:
        if self.pass_fail_result is not None:
            return pass_fail_sentence(self.pass_fail_result)
        mean = self.scores.mean if self.scores else Estimate(None)
        start = f"The mean score of this judge is **{number(mean.value, 2)}**{spaced_ci(mean, 2)}"
        start += on_scale(mean)
        if self.label_agreement is None:
            return f"{start}; no answer has a score as label."
        bias = self.label_agreement.bias
        return (
            f"{start}; the mean distance of its scores to the labels is "
            f"{number(self.label_agreement.mae.value, 2)} (on average, score minus label is "
            f"{number(bias.value, 2, signed=True)}{spaced_ci(bias, 2)})."
        )

    @property
    def _order_sentence(self) -> str:
        found = {
            what: one for what, one in self._order_effects.items() if one.changed.value is not None
        }
        if not found:
            return (
                "No answer has verdicts in different orders of options or criteria, so the effect "
                "of their order is unknown."
            )
        parts = [
            f"**{share(one.changed.value, 0)}** of answers get another verdict in another order "
            f"of the {what}"
            for what, one in found.items()
        ]
        noise = next(iter(found.values())).noise_floor.value
        floor = "no order was repeated" if noise is None else f"{share(noise, 0)} of repeats differ"
        both = {"options": self.option_order_effect, "criteria": self.criteria_order_effect}
        unshown = [what for what, one in both.items() if what in found and one and not one.is_shown]
        denied = f"; no effect of the order of the {' or '.join(unshown)} is shown"
        return f"{' and '.join(parts)} ({floor}){denied if unshown else ''}."

    @property
    def _order_effects(self) -> dict[str, OrderEffect]:
        """Effects of the orders that were varied: of the options, of the criteria."""
        options, criteria = self.option_order_effect, self.criteria_order_effect
        found = {"options": options, "criteria": criteria.overall if criteria else None}
        return {what: one for what, one in found.items() if one is not None}

    @property
    def _advice_sentence(self) -> str:
        if unreadable_share(self.rows) >= MANY_UNUSABLE:
            return FORMAT_ADVICE
        if self._label_count == 0:
            what = "Label" if self.pass_fail_result else "Give scores as labels to"
            people = "let people judge them on the Vote tab, to measure the judge's errors."
            return f"{what} some answers, or {people}"
        if self.pass_fail_result is not None and why_not_correctable(self.pass_fail_result.rates):
            return (
                "This judge was not shown to separate good answers from bad ones: label more "
                "answers, or use another judge or prompt."
            )
        remedies = next(iter(compare_single_answer_rules_with_one_call(self.rows).values()), None)
        if remedies is not None and (advice := remedies.advice) is not None:
            rule = advised_rule_text(advice.rule, advice.calls, advice.fitted)
            return f"Use {rule}: see the view Remedies."
        if self._label_count < FEW_LABELS:
            labels = count(self._label_count, "label")
            return f"Label more answers: with {labels}, intervals are wide."
        if self.pass_fail_result and is_by_labels(self.pass_fail_result.true_pass_rate):
            return "Every answer has a pass/fail label: report the labels' rate, not the observed."
        if self.pass_fail_result is not None:
            return (
                "Report the true pass rate, which is corrected for the judge's errors, instead of "
                "the observed one."
            )
        return "No remedy compared in the view Remedies was shown to bring scores closer to labels."

    @property
    def _label_count(self) -> int:
        """Number of answers with a label and at least one usable verdict."""
        rows = self.rows_without_noise_repeats
        if GOLD_COLUMN not in rows:
            return 0
        compared = rows[GOLD_COLUMN].notna() & np.isfinite(scores_or_nan_if_unusable(rows))
        return len(rows.loc[compared, ["item", "shown"]].drop_duplicates())

    # ------------------------------------------------------------------ measures

    @property
    def measures(self) -> list[tuple[str, str, Estimate, Style]]:
        """Name (of its record, if any), description, estimate and number format of each measure."""
        found: list[tuple[str, str, Estimate, Style]] = []
        if self.pass_fail_result is not None:
            rates = self.pass_fail_result.rates
            true = "estimate: observed pass rate, corrected for the judge's errors"
            if is_by_labels(self.pass_fail_result.true_pass_rate):
                true = "% of verdicts on answers that are good by their label; all have one"
            found += [
                ("pass_fail.sensitivity", "% of good answers that pass",
                 rates.sensitivity, PERCENT),
                ("pass_fail.specificity", "% of bad answers that fail", rates.specificity, PERCENT),
                ("point_right", _agreement_description(rates.base_rate),
                 rates.agreement, PERCENT),
                ("pass_fail.kappa", "agreement with the labels beyond chance; 0 is chance level",
                 rates.kappa, SCORE),
                ("pass_fail.observed_pass_rate", "% of all verdicts that are a pass",
                 rates.observed_pass_rate, PERCENT),
                ("true_pass_rate", true, self.pass_fail_result.true_pass_rate, PERCENT),
            ]  # fmt: skip
        elif self.scores is not None:
            used = f"effective number of scores {number(self.scores.effective_values, 1)}"
            used = f"mean{on_scale(self.scores.mean)}; {used}"
            found.append(("Mean score", used, self.scores.mean, SCORE))
            if self.scores.expected is not None:
                found += [
                    ("Expected score",
                     "mean of a reply's possible scores, weighted by their probabilities",
                     self.scores.expected.mean, SCORE),
                    ("Spread of the score",
                     "standard deviation of a reply's possible scores, mean over replies",
                     self.scores.expected.spread, SCORE),
                ]  # fmt: skip
        if self.label_agreement is not None:
            mae, shift = self.label_agreement.mae, self.label_agreement.bias
            high = "mean of score minus label, scale points; above 0: the judge scores too high"
            found += [
                ("scores.mae", "mean |score − label|, scale points", mae, SCORE),
                ("scores.bias", high, shift, SHIFT),
                ("scores.spearman", "rank correlation", self.label_agreement.spearman, SCORE),
            ]
        for what, effect in self._order_effects.items():
            words = f"% of answers with another verdict in another order of the {what}"
            key = f"{what.removesuffix('s')}_order.changed"
            found.append((key, words, effect.changed, PERCENT))
        if self.option_order_effect is not None:
            even = share(self.option_order_effect.expected_first.value, 0)
            note = f"% of verdicts for the option listed first; {even} without an order effect"
            first = self.option_order_effect.first_place
            found.append(("option_order.first", note, first, PERCENT))
            repeated = "% of verdicts that change when repeated in the same order"
            floor = self.option_order_effect.noise_floor
            found.append(("option_order.noise_floor", repeated, floor, PERCENT))
        unusable = "% of replies without a verdict"
        found.append(("Unusable replies", unusable, self.unusable_share, PERCENT))
        for record in text_measure_records("card"):
            if record.measure is None:
                continue
            estimate = record.measure.estimate(self.rows_without_noise_repeats)
            if estimate.value is not None:
                found.append((record.name, record.description, estimate, record.style))
        return [
            (RECORDS[key].name if key in RECORDS else key, words, value, style)
            for key, words, value, style in found
        ]

    @property
    def how_computed_text(self) -> str:
        """Text of the part "How is this computed?"."""
        return (
            f"{count(len(self.rows_without_noise_repeats), 'reply')}, {count(self.usable_count)} "
            f"with a verdict, in {count(self.arrangement_count, 'arrangement')} of options and "
            f"criteria. Intervals: 95{NARROW_SPACE}%, by item."
        )


def _agreement_description(base_rate: Estimate) -> str:
    text = "% of verdicts equal to the label"
    always = f"; a judge that always passes: {share(base_rate.value, 0)}"
    return text if base_rate.value is None else text + always
