"""Values from which the precision of a planned study is computed: numbers of items, judges and
repeats, forecast of the calls, and variance of the verdicts."""

from dataclasses import dataclass, replace
from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.results.wins.precision_panel import plan_leader_precision
from components.study.form.data_step.records_report import count_planned_orders
from components.study.plan.cost_preview import (
    ASSUMED_CORRELATION,
    ForecastByJudge,
    forecast_by_judge,
)
from components.study.plan.study_preview import StudyPreview, read_data_spec
from judges.planning.plan import Plan
from judges.verdicts.verdict_formats import PASS_FAIL_FORMAT
from metrics.estimation.planning.variance_components import VarianceComponents
from metrics.win_rates.planned_width import (
    PlannedWidth,
    StudySize,
    assumed_components,
    planned_width,
)
from metrics.win_rates.precision_plan import PrecisionPlan
from studies.domain import count_stored_replies
from studies.lazy_values import cached_property
from studies.spec.presentations import resolve_contestants
from studies.spec.study import Study
from studies.store.store import Store

MAX_MEASURED: Final = 200_000
"""Maximum stored verdicts from which the form measures variances; with more, they are assumed."""
_PAIRED: Final = frozenset({"pairwise", "five-level", "factuality"})


@dataclass(frozen=True)
class PlannedStudy:
    """A plan with its forecast, number of available questions, and measured variance components."""

    plan: Plan
    numbers: ForecastByJudge
    available: int
    """Number of questions that pass the filters, whether or not they are in the sample."""
    measured: PrecisionPlan | None = None
    """Variance components measured on the stored verdicts of the study; None with too few verdicts,
    more than MAX_MEASURED, or no variance."""
    stored: int = 0
    """Number of stored replies from which `measured` was computed; 0 if it is None."""

    @property
    def compares_pairs(self) -> bool:
        return all(prompt.protocol in _PAIRED for prompt in self.plan.prompts)

    @property
    def planned_measure_name(self) -> str:
        """The share whose interval is planned, in words, such as "win rate"."""
        if self.compares_pairs:
            return "win rate"
        if not self.plan.judges_single_answers:
            return "share near 50 %"
        if any(prompt.verdict == PASS_FAIL_FORMAT for prompt in self.plan.prompts):
            return "pass rate"
        return "share of answers above a given score"

    @cached_property
    def size(self) -> StudySize:
        """Numbers of items, judges, prompts, orders, repeats and opponents of a model in the
        plan."""
        study, models = self.plan.study, resolve_contestants(self.plan.study, self.plan.items)
        opponents = 1
        if self.compares_pairs and models:
            per_model = 2 * comparisons_per_question(self.plan, self.numbers) / len(models)
            opponents = max(1, round(per_model))
        return StudySize(
            items=max(1, len(self.plan.items)),
            judges=max(1, len(study.judges)),
            prompts=max(1, len(self.plan.prompts)),
            orders=1 if self.plan.judges_single_answers else _count_pair_orders(study),
            repeats=study.repeats,
            opponents=opponents,
        )

    @cached_property
    def verdict_variance_components(self) -> VarianceComponents:
        """Variance components of the verdicts: measured if possible, else assumed."""
        if self.measured is not None:
            return self.measured.components
        return assumed_components(self.size, ASSUMED_CORRELATION)

    def width(self, **changes: Any) -> PlannedWidth:
        """Expected width of the interval of the planned measure. `changes`: other sizes than the
        plan's, such as `items=200`."""
        return planned_width(self.verdict_variance_components, replace(self.size, **changes))

    @cached_property
    def call_price(self) -> float | None:
        """Mean dollars of a call; None if a price is unknown."""
        # A plan whose calls are all stored costs nothing; further calls would.
        priced = self.numbers if self.numbers.new_asks else forecast_by_judge(self.plan)
        return None if priced.dollars is None else priced.dollars / max(1, priced.new_asks)

    def cost_of(self, calls: float) -> float | None:
        return None if self.call_price is None else self.call_price * calls


def planned_study(
    preview: StudyPreview, plan: Plan, numbers: ForecastByJudge, store: Store, name: str
) -> PlannedStudy:
    """Collect the inputs of a plan's precision: forecast, available questions, and verdicts stored
    under the study's `name`."""
    measured, stored = _stored_precision_and_reply_count(store, name)
    return PlannedStudy(plan, numbers, _count_available_questions(preview), measured, stored)


def _count_available_questions(preview: StudyPreview) -> int:
    if preview.records is None:
        return len(preview.items)
    spec = read_data_spec(preview.lenient_study)
    if spec.per or not spec.count:
        return len(preview.items)
    return len(preview.records.select_slice(replace(spec, count=0)).items)


def _stored_precision_and_reply_count(store: Store, name: str) -> tuple[PrecisionPlan | None, int]:
    """Precision measured on the stored verdicts of a study, and the number of stored replies.

    (None, 0) if there is no such study, if it has too few or too many replies, or if the verdicts
    show no variance that further items would reduce: equal verdicts on a few items do not prove
    that all would be equal."""
    if not name or not any(line.name == name for line in store.studies()):
        return None, 0
    stored = count_stored_replies(store.status_counts(name))
    if not 0 < stored <= MAX_MEASURED:
        return None, 0
    found = plan_leader_precision(FilteredStudy(store, name))
    if found is None or found.components.error_variance() <= 0:
        return None, 0
    return found, stored


def comparisons_per_question(plan: Plan, numbers: ForecastByJudge) -> float:
    """Mean number of comparisons (or of single answers judged) of one judge with one prompt on one
    question, at least 1; a pair in both orders, with its repeats, is one comparison."""
    rows = max(1, len(plan.study.judges) * len(plan.prompts))
    asked = (numbers.asks - numbers.noise) / rows / max(1, len(plan.items))
    orders = _count_pair_orders(plan.study)
    if plan.prompts[0].protocol == "choice" or plan.judges_single_answers:
        orders = count_planned_orders(plan)  # N rotations of N options are one comparison
    return max(asked / orders / max(1, plan.study.repeats), 1.0)


def _count_pair_orders(study: Study) -> int:
    return 2 if study.pair_orders == "both" else 1
