"""History of one stream (a judge, a prompt and a kind of score): outcomes of all nights (nightly
runs of a study) by item, and the evidence for a change so far.

An outcome is the score on an item, as text, or the verdicts on it as one text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from metrics.drift import baseline_contrast, exchangeable_tail
from metrics.drift.change_evidence import ChangeEvidence
from metrics.drift.night_scores import SCALE, Kind, has_verdicts, outcome_scores
from metrics.estimation.intervals import mean_estimate, unknown_estimate
from studies.domain import Estimate

OutcomeCounts = dict[str, dict[str, int]]
"""Item -> outcome -> number of nights."""


@dataclass(frozen=True)
class NightComparison:
    """Result of comparing tonight with all earlier nights, item by item."""

    value: float | None
    """Mean score tonight, from 0 to 1; None if no item was scored on an earlier night."""
    before: float | None
    """Mean score of the same items on the earlier nights; None if there are no such items."""
    difference: Estimate
    p: float
    """One-sided p-value: small if tonight's scores are lower than on the earlier nights."""
    evidence: ChangeEvidence
    strength: float
    """Evidence for a change. Of series without a change, at most a share α ever reaches 1/α."""


@dataclass(frozen=True)
class StreamHistory:
    """All nights of one stream: a judge, a prompt and a kind of score, such as accuracy."""

    kind: Kind
    bags: OutcomeCounts = field(default_factory=dict)
    evidence: ChangeEvidence = field(default_factory=ChangeEvidence)
    single: Mapping[str, str] = field(default_factory=dict)
    """Item -> outcome on the baseline night. Empty if several baseline nights were saved before the
    first night was tested."""
    baseline_nights: int = 0
    """Number of nights in the baseline: nights that were saved as good and not tested."""

    def with_baseline_night(self, tonight: Mapping[str, str]) -> StreamHistory:
        """Return the history with one more baseline night, which is not tested for a change;
        `tonight` is item -> outcome."""
        single = self.single if self.evidence.nights else {} if self.bags else tonight
        bags, nights = _add_night(self.bags, tonight), self.baseline_nights + 1
        return replace(self, bags=bags, single=single, baseline_nights=nights)

    def compare_night(self, tonight: Mapping[str, str]) -> tuple[NightComparison, StreamHistory]:
        """Compare a night (`tonight`: item -> outcome) with the earlier nights; return the
        comparison and the history with this night added."""
        common = [item for item in tonight if item in self.bags]
        bags = _add_night(self.bags, tonight)
        scores = {item: outcome_scores(self.kind, bags[item]) for item in common}
        ours = [scores[item][tonight[item]] for item in common]
        counts = [_nights_by_score(scores[item], bags[item]) for item in common]
        p = exchangeable_tail.lower_tail_probability(counts, ours)
        evidence = self.evidence.after_night(p)
        strength = self._strength_of_evidence(bags, evidence)
        earlier = [_mean_score(scores[item], self.bags[item]) for item in common]
        shown = NightComparison(
            float(np.mean(ours)) / SCALE if ours else None,
            float(np.mean(earlier)) / SCALE if earlier else None,
            _estimate_difference(ours, earlier),
            p,
            evidence,
            strength,
        )
        return shown, replace(self, bags=bags, evidence=evidence)

    def _strength_of_evidence(self, outcomes: OutcomeCounts, evidence: ChangeEvidence) -> float:
        """Return the evidence for a change, from the outcomes of all nights (`outcomes`, tonight
        included) and the `evidence` of the test of each night against all others. If the baseline
        is a single night, this is the stronger result of two tests, which share the allowed rate of
        false alarms: each night against all others and, on the nights in LOOKS only, the baseline
        night against all later ones."""
        if not self.single:
            return evidence.e_value
        strength = (1 - baseline_contrast.SHARE) * evidence.e_value
        if evidence.nights not in baseline_contrast.LOOKS:
            return strength
        counts, baseline = [], []
        sign = -1 if self.kind == "agreement" else 1  # a baseline unlike the others agrees less
        for item, outcome in self.single.items():
            scores = outcome_scores(self.kind, outcomes[item])
            counted = _nights_by_score(scores, outcomes[item])
            counts.append({sign * score: nights for score, nights in counted.items()})
            baseline.append(sign * scores[outcome])
        p = baseline_contrast.baseline_p_value(counts, baseline)
        return max(strength, baseline_contrast.e_value_of_baseline_p_value(evidence.nights, p))

    def to_json(self) -> dict[str, Any]:
        """Return the history as a JSON object, which `from_json` reads."""
        return {
            "kind": self.kind,
            "nights": self.evidence.nights,
            "baseline": self.baseline_nights,
            "evidence": list(self.evidence.started),
            "items": self.bags,
            "single": dict(self.single),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> StreamHistory:
        evidence = ChangeEvidence(int(data["nights"]), tuple(map(float, data["evidence"])))
        bags = {
            str(item): {str(outcome): int(count) for outcome, count in bag.items()}
            for item, bag in data["items"].items()
        }
        single = {str(item): str(outcome) for item, outcome in data.get("single", {}).items()}
        longest = max((sum(bag.values()) for bag in bags.values()), default=0)
        saved = int(
            data.get("baseline", max(0, longest - evidence.nights))
        )  # files of older versions
        if data["kind"] == "agreement":  # files of older versions name nights without a verdict
            bags = {item: {o: n for o, n in bag.items() if has_verdicts(o)}
                    for item, bag in bags.items()}  # fmt: skip
            bags = {item: bag for item, bag in bags.items() if bag}
            single = {item: outcome for item, outcome in single.items() if has_verdicts(outcome)}
        return StreamHistory(data["kind"], bags, evidence, single, saved)


def _add_night(counts: OutcomeCounts, tonight: Mapping[str, str]) -> OutcomeCounts:
    found = dict(counts)
    for item, outcome in tonight.items():
        own = found.get(item, {})
        found[item] = {**own, outcome: own.get(outcome, 0) + 1}
    return found


def _nights_by_score(scores: Mapping[str, int], outcomes: Mapping[str, int]) -> dict[int, int]:
    """Return score -> number of nights, from outcome -> score (`scores`) and outcome -> number of
    nights (`outcomes`)."""
    counts: dict[int, int] = {}
    for outcome, nights in outcomes.items():
        counts[scores[outcome]] = counts.get(scores[outcome], 0) + nights
    return counts


def _mean_score(scores: Mapping[str, int], outcomes: Mapping[str, int]) -> float:
    """Mean score over nights, from outcome -> score (`scores`) and outcome -> number of nights
    (`outcomes`)."""
    return sum(scores[one] * n for one, n in outcomes.items()) / sum(outcomes.values())


def _estimate_difference(tonight: list[int], earlier: list[float]) -> Estimate:
    """Estimate the mean over items of tonight's score (`tonight`) minus the mean score of earlier
    nights, with a t interval. The scores are in sixtieths, the estimate is on the scale from −1 to
    1; unknown without items."""
    if not tonight:
        return unknown_estimate("no item in common with the baseline", "share")
    gap = (np.array(tonight) - np.array(earlier)) / SCALE
    return mean_estimate(gap, np.arange(len(gap)), "share", (-1.0, 1.0))
