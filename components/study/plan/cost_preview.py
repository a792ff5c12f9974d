"""Calls, tokens, dollars and time of a study, computed at every change of the form.

The number of calls is exact. Tokens and prices come from all calls of a small plan; for a large
plan, from a sample of items spread evenly over the slice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from components.html.format import DASH, NARROW_SPACE, count, dollars, duration, share, tokens
from components.html.markup import Markup
from components.html.pieces import Kpi, kpi_strip
from judges.engine.pending_asks import CostQuote
from judges.planning.forecast import Forecast, forecast_asks, limit_by_judge, total_run_seconds
from judges.planning.plan import Plan, PlannedAsk, asks_of, load_stored_plan, plan_sha
from judges.planning.plan_checks import presentation_lister_for, skip_reason
from metrics.estimation.planning.power import design_effect, detectable_share
from studies.domain import REFERENCE, Item, count_calls_left
from studies.spec.presentations import (
    all_answers_presentations,
    pair_presentations,
    resolve_contestants,
    single_presentations,
)
from studies.spec.study import Study
from studies.store.store import Store

MAX_EXACT_ASKS: Final = 3000
"""Maximum calls of a plan whose tokens are all counted; with more, a sample is counted."""
SAMPLE_ASKS: Final = 1500
ASSUMED_CORRELATION: Final = 0.1
"""Correlation assumed between verdicts on the same item before there are replies; measured in the
PRD data (Peer Rank and Discussion): −.04 to .30, depending on the judge."""


@dataclass(frozen=True, slots=True)
class ForecastByJudge:
    """Forecast of a plan's calls, by judge. Tokens, dollars and seconds count only calls without a
    stored reply. `sampled_asks`: number of calls from which they were estimated; 0 if all calls
    were counted."""

    asks: int
    """Number of all calls of the plan, with or without a stored reply."""
    noise: int
    """Number of noise-floor repeats among all calls."""
    by_judge: Mapping[str, Forecast]
    sampled_asks: int = 0
    stored: int = 0
    """Number of calls with a stored reply, which are not made again."""
    limits: Mapping[str, str] = field(default_factory=dict)
    """Judge -> text that is equal for judges whose calls share a limit on simultaneous calls."""

    @property
    def new_asks(self) -> int:
        """Number of calls without a stored reply."""
        return self.asks - self.stored

    @property
    def prompt_tokens(self) -> int:
        return sum(one.prompt_tokens for one in self.by_judge.values())

    @property
    def completion_tokens(self) -> int:
        return sum(one.completion_tokens for one in self.by_judge.values())

    @property
    def cached_tokens(self) -> int:
        return sum(one.cached_tokens for one in self.by_judge.values())

    @property
    def dollars(self) -> float | None:
        """Dollars of the calls without a stored reply; None if a price is unknown."""
        costs = [one.dollars for one in self.by_judge.values()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    @property
    def seconds(self) -> float | None:
        """Seconds of a run of the calls without a stored reply: judges are called in parallel, but
        the times of judges that share a limit (`limits`) add up. Judges whose time is unknown are
        left out; None if it is unknown for all."""
        times = {
            name: one.seconds for name, one in self.by_judge.items() if one.seconds is not None
        }
        return total_run_seconds(times, self.limits) if times else None


# ------------------------------------------------------------------------------ the numbers


def count_asks_and_noise_repeats(plan: Plan) -> tuple[int, int]:
    """Number of all calls of a plan; and number of those that are repeated only to measure how
    often verdicts change by chance (noise-floor repeats)."""
    asks = noise = 0
    shown: dict[Any, dict[str, tuple[int, int]]] = {
        presentation_lister_for(prompt): {} for prompt in plan.prompts
    }
    for shows, by_item in shown.items():
        for showing in shows(plan.study, plan.items):
            total, again = by_item.get(showing.item.id, (0, 0))
            by_item[showing.item.id] = (total + 1, again + showing.noise)
    for prompt in plan.prompts:
        by_item = shown[presentation_lister_for(prompt)]
        for item in plan.items:
            if not skip_reason(prompt, item, plan.prompts):
                total, again = by_item.get(item.id, (0, 0))
                asks, noise = asks + total, noise + again
    judges = len(plan.study.judges)
    return asks * judges, noise * judges


def forecast_by_judge(plan: Plan, store: Store | None = None) -> ForecastByJudge:
    """Forecast of the calls, tokens, dollars and seconds that each judge still needs: of its calls
    without a reply in the store or, if `store` is None, of all its calls."""
    asks, noise = count_asks_and_noise_repeats(plan)
    part = plan if asks <= MAX_EXACT_ASKS else _plan_with_item_sample(plan, asks)
    planned = list(asks_of(part))
    answered = store.answered_keys_among([one.ask.key for one in planned]) if store else set()
    new: dict[str, list[PlannedAsk]] = {judge.name: [] for judge in plan.study.judges}
    for one in planned:
        if one.ask.key not in answered:
            new[one.ask.judge].append(one)
    found = {
        judge.name: forecast_asks(replace(plan.study, judges=(judge,)), new[judge.name], store)
        for judge in plan.study.judges
    }
    limits = limit_by_judge(plan.study)
    if part is plan:
        return ForecastByJudge(asks, noise, found, 0, len(answered), limits)
    by = asks / max(1, len(planned))
    scaled = {name: _scale_forecast(one, by) for name, one in found.items()}
    stored = _count_stored_asks(plan, store, asks)
    if stored is None:
        stored = round(len(answered) * by)
    return ForecastByJudge(asks, noise, scaled, len(planned), stored, limits)


def stored_plan_quote(store: Store, name: str) -> CostQuote:
    """Number and forecast cost of all calls of a stored study, as if none had been made."""
    numbers = forecast_by_judge(load_stored_plan(store, name))
    return CostQuote(numbers.asks, numbers.dollars)


def _count_stored_asks(plan: Plan, store: Store | None, asks: int) -> int | None:
    """Number of the plan's calls with a stored reply, from the counts of the store; None without a
    store, or if the stored study has another plan. `asks`: number of all calls of the plan."""
    if store is None or store.plan_sha(plan.study.name) != plan_sha(plan):
        return None
    counts = store.status_counts(plan.study.name)
    return asks - count_calls_left(counts)


def _plan_with_item_sample(plan: Plan, asks: int) -> Plan:
    """The plan with only a sample of its items, spread evenly over the slice, so that about
    SAMPLE_ASKS of its `asks` calls are left."""
    wanted = max(2, round(len(plan.items) * SAMPLE_ASKS / asks))
    return replace(plan, items=sample_evenly(plan.items, wanted))


def sample_evenly(items: Sequence[Item], wanted: int) -> tuple[Item, ...]:
    """`wanted` of the items, spread evenly over the list; all if there are fewer."""
    step = max(1.0, len(items) / wanted)
    return tuple(items[int(k * step)] for k in range(min(wanted, len(items))))


def _scale_forecast(forecast: Forecast, factor: float) -> Forecast:
    return replace(
        forecast,
        asks=round(forecast.asks * factor),
        prompt_tokens=round(forecast.prompt_tokens * factor),
        completion_tokens=round(forecast.completion_tokens * factor),
        cached_tokens=round(forecast.cached_tokens * factor),
        dollars=None if forecast.dollars is None else forecast.dollars * factor,
        seconds=None if forecast.seconds is None else forecast.seconds * factor,
    )


# -------------------------------------------------------------------------------- in words


def plan_kpis(plan: Plan, numbers: ForecastByJudge) -> Markup:
    """HTML key figures of the plan that Run would use: calls, tokens, dollars and minutes."""
    study = plan.study
    again = f"{count(numbers.asks - numbers.noise)} + {count(numbers.noise, 'repeat')}"
    again = again if numbers.noise else "no repeats"
    if numbers.stored:
        again = f"new; {count(numbers.stored)} of {count(numbers.asks)} are stored"
    amount, _, unit = tokens(numbers.prompt_tokens + numbers.completion_tokens).partition(" ")
    sent, back = tokens(numbers.prompt_tokens), tokens(numbers.completion_tokens)
    if numbers.cached_tokens:
        sent += f" (about {tokens(numbers.cached_tokens)} cached)"
    part = f", estimated from {count(numbers.sampled_asks)} calls" if numbers.sampled_asks else ""
    return kpi_strip(
        [
            Kpi("Calls", count(numbers.new_asks), note=again),
            Kpi("Tokens", amount, unit, f"{sent} in, {back} out{part}"),
            _dollars_kpi(study, numbers),
            _time_kpi(numbers),
        ]
    )


def detectable_first_slot_share_kpi(plan: Plan, numbers: ForecastByJudge) -> Kpi:
    """Key figure: the smallest first-position share (share of verdicts for the answer shown first)
    above 50 % that is detected with 80 % power, for one judge with one prompt. The verdicts on one
    item are assumed to have the correlation ASSUMED_CORRELATION. A dash if even 100 % is not
    detected."""
    items = len(plan.items)
    rows = max(len(plan.study.judges) * len(plan.prompts), 1)
    per_item = max((numbers.asks - numbers.noise) / rows / max(items, 1), 1.0)
    counted = items * per_item / design_effect(per_item, ASSUMED_CORRELATION)
    found = detectable_share(counted)
    label = "Smallest first-position share detected as position bias"
    if found is None:
        return Kpi(
            label,
            DASH,
            note=f"with {count(items, 'item')}, position bias is not detected even in a judge that "
            "always chooses the first position",
        )
    note = (
        f"{count(items, 'item')}, {count(round(per_item), 'verdict')} each; "
        f"80{NARROW_SPACE}% power, correlation {ASSUMED_CORRELATION} assumed"
    )
    return Kpi(label, share(found, 0), f"against {share(0.5, 0)}", note)


def _dollars_kpi(study: Study, numbers: ForecastByJudge) -> Kpi:
    cost, budget = numbers.dollars, study.budget_usd
    unknown = [name for name, one in numbers.by_judge.items() if one.dollars is None]
    if cost is None:
        return Kpi("Dollars", "unknown", note=f"no price is known for {', '.join(unknown)}")
    note = _cost_by_judge_text(numbers) or "on this machine"
    if budget is None:
        return Kpi("Dollars", dollars(cost), note=note if not cost else f"{note}; no budget set")
    if cost > budget:
        note = (
            "the expected cost is above the budget: the run stops before it costs more than "
            f"{dollars(budget)}"
        )
    part = min(1.0, cost / budget) if budget else 1.0
    return Kpi("Dollars", dollars(cost), f"of {dollars(budget)}", note, meter=(part, part))


def _cost_by_judge_text(numbers: ForecastByJudge) -> str:
    paid = {name: one.dollars for name, one in numbers.by_judge.items() if one.dollars}
    free = [name for name in numbers.by_judge if name not in paid]
    if not paid:
        return ""
    told_free = f"; {', '.join(free)} free" if free else ""
    if len(paid) == 1:
        return f"all for {next(iter(paid))}{told_free}"
    return ", ".join(f"{name} {dollars(cost)}" for name, cost in paid.items()) + told_free


def _time_kpi(numbers: ForecastByJudge) -> Kpi:
    parts = [
        f"{name} {duration(one.seconds)}"
        for name, one in numbers.by_judge.items()
        if one.seconds is not None
    ]
    limits = {numbers.limits.get(name, name) for name in numbers.by_judge}
    side = (", in parallel" if len(limits) > 1 else ", in turn") if len(parts) > 1 else ""
    amount, _, unit = duration(numbers.seconds).partition(" ")
    return Kpi("Time", f"about {amount}", unit, ", ".join(parts) + side)


def run_button_text(numbers: ForecastByJudge) -> str:
    """Label of the run button: number of new calls, number of stored calls, and price; or that all
    calls are stored."""
    if not numbers.stored:
        return f"Run {count(numbers.asks, 'call')}, {dollars(numbers.dollars)}"
    if not numbers.new_asks:
        return f"All {count(numbers.asks, 'call')} stored: show them"
    return (
        f"Run {count(numbers.new_asks, 'new call')} ({count(numbers.stored)} stored), "
        f"{dollars(numbers.dollars)}"
    )


# ------------------------------------------------------------------------------- a try-out


def one_item_plan(plan: Plan) -> Plan:
    """Plan of a cheap trial of a study: each judge and prompt gets one item, with two of its
    answers (all, if a prompt shows all at once), without twins (changed copies of answers) and
    repeats."""
    item, models = _choose_trial_item_and_models(plan)
    kept = plan.study.pairing == "baseline" and plan.study.baseline in models
    study = replace(
        plan.study,
        name=f"{plan.study.name}, one item",
        data=replace(plan.study.data, where={"id": (item.id,)}, count=0, per={}, categories=(),
                     options=0),
        contestants=models, pairing="baseline" if kept else "all",
        baseline=plan.study.baseline if kept else "", new="", reference_games=0,
        twins=None, unrelated="none", noise_floor=0.0, repeats=1,
    )  # fmt: skip
    return replace(plan, study=study, items=(item,), recorded=())


def _choose_trial_item_and_models(plan: Plan) -> tuple[Item, tuple[str, ...]]:
    """Item and models for a trial: those of the study's first comparison, if possible on an item
    that no prompt skips. If the prompts judge single answers: the item of the first call, and two
    models that have an answer to it."""
    items = sorted(
        plan.items, key=lambda i: any(skip_reason(p, i, plan.prompts) for p in plan.prompts)
    )
    study = replace(plan.study, twins=None, unrelated="none")
    used = [presentation_lister_for(prompt) for prompt in plan.prompts]
    kinds = (all_answers_presentations, pair_presentations, single_presentations)
    first = next(one for kind in kinds if kind in used for one in kind(study, items))
    names = dict.fromkeys((*resolve_contestants(plan.study, plan.items), *first.shown))
    if len(first.shown) == 1:
        return first.item, tuple(n for n in names if _has_answer(first.item, n))[:2]
    return first.item, tuple(name for name in names if name in first.shown)


def _has_answer(item: Item, name: str) -> bool:
    return bool((item.reference if name == REFERENCE else item.responses.get(name, "")).strip())
