"""Improve a prompt with labelled items (items whose right verdict is known). They are divided in
two parts. From one (learn) new versions of the prompt (candidates) are made; on the other
(hold-out) they are compared with today's prompt.

The calls of the writer (a model that writes rules from a judge's mistakes) and those with the
candidates are made by the engine like those of any study: same plan, store, budget and retries.
Stored replies of today's prompt are used again.

A case is a comparison, or a single answer, whose right verdict is known."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from judges.engine.engine import Engine
from judges.engine.run import Run
from judges.engine.run_state import RunSettings
from judges.judge_errors import PlanError
from judges.operations import learn_cases, prompt_candidates
from judges.planning.forecast import Forecast, forecast_plan
from judges.planning.plan import Plan, asks_of, plan_for_current_visitor, save_plan
from judges.planning.plan_checks import check_plan
from judges.rendering.prompt import Prompt, load_prompt, parse_prompt
from studies.domain import REFERENCE, Item, JudgeSpec
from studies.people import label_split
from studies.people.study_labels import PAIRS, PASS_FAIL, StudyLabels, keep_only_labelled_answers
from studies.spec.derived_names import candidate_study_name, writer_study_name
from studies.spec.study import Study
from studies.spec.study_fields import TwinSpec
from studies.store.store import Store

RULES_PROMPT: Final = "improve-rules"
Named = TypeVar("Named", JudgeSpec, Prompt)
RULE_TOKENS: Final = 1024


@dataclass(frozen=True)
class AlignTask:
    """Everything needed to improve a prompt for a judge with a study's labels (known right
    verdicts). `split` states which labelled items are for learning and which are set apart
    (hold-out). `cases` are the labelled comparisons or single answers of the learn items, with
    the judge's verdicts on them."""

    plan: Plan
    judge: JudgeSpec
    prompt: Prompt
    labels: StudyLabels
    split: label_split.LabelSplit
    cases: tuple[learn_cases.LearnCase, ...]

    @property
    def mistakes(self) -> tuple[learn_cases.LearnCase, ...]:
        """Learn cases on which the judge made a mistake (`LearnCase.mistakes`), those with the most
        mistakes first."""
        wrong = [case for case in self.cases if case.mistakes]
        return tuple(sorted(wrong, key=lambda case: (-case.mistakes, -case.distance_from_label)))


def split_and_find_mistakes(
    plan: Plan, store: Store, judge: str = "", prompt: str = "", seed: int = label_split.SEED
) -> AlignTask:
    """Divide the labelled items of a stored study into learn and hold-out, and find the mistakes of
    a judge with a prompt ("": the first of the study) on the learn items.

    A split that the store has is used again and extended by new items; otherwise items are drawn
    with `seed`. The split is stored if the visitor owns the study. PlanError if judge or prompt
    is missing, or if there are no labels, or no verdicts on the learn items."""
    study = plan.study
    if not study.judges:
        raise PlanError("the study has no judge that can be asked; add one in Study, step Judges")
    spec = _find_by_name_or_first(study.judges, judge, "judge")
    chosen = _find_by_name_or_first(plan.prompts, prompt, "prompt")
    labels, split = label_split.load_labels_and_extend_split(
        store, study.name, seed, learn_cases.label_kind(chosen)
    )
    if not labels.cases:
        raise PlanError(_no_labels_message(labels))
    items = {item.id: item for item in plan.items}
    learn = labels.select_items(split.learn)
    step = 0.5 if chosen.verdict == "grade-letter" else None  # the labels of its asks have no scale
    judged = learn_cases.count_verdicts_by_case(
        store, study.name, spec.name, chosen.name, learn, step
    )
    if learn.cases and not judged:
        raise PlanError(
            f"{spec.name} has no verdict with {chosen.name} on the learn items; run the study first"
        )
    return AlignTask(
        plan, spec, chosen, labels, split, tuple(learn_cases.list_learn_cases(items, learn, judged))
    )


def _no_labels_message(labels: StudyLabels) -> str:
    """Return the error message for a study that has no label from which its prompt can be improved:
    no comparison with a known better answer or, for a prompt that judges single answers, no
    answer with pass, fail or a score as its label."""
    without = f"; {len(labels.disputed)} with {labels.why_unlabelled}" * bool(labels.disputed)
    if labels.kind == PAIRS:
        return (
            f"no comparison of this study has a known better answer{without}. Correct some in "
            "Vote, or add `human` to the items"
        )
    what = "pass or fail as its label" if labels.kind == PASS_FAIL else "a score as its label"
    return (
        f"no answer of this study has {what}{without}. Judge some in Vote, or add `labels` to the "
        "items"
    )


def _find_by_name_or_first(among: Sequence[Named], name: str, kind: str) -> Named:
    for one in among:
        if name in ("", one.name):
            return one
    known = ", ".join(one.name for one in among) or "none"
    raise PlanError(f"no {kind} named {name!r} in this study. It has: {known}")


# ------------------------------------------------------------------------------ rules


def describe_mistakes(task: AlignTask) -> str:
    """Return a text with the judge's mistakes on learn items, at most MAX_CASES: question, answers,
    right verdict and the judge's verdict. A model (the writer) makes rules from it."""
    return learn_cases.describe_mistaken_cases(task.mistakes, task.labels.kind)


def build_rule_writing_plan(task: AlignTask, writer: JudgeSpec, budget: float | None) -> Plan:
    """Build the plan of the single call in which the writer (a model) reads the mistakes on learn
    items and writes rules. `budget` is in dollars; None for no limit. Raise PlanError if there are
    no mistakes, or the writer is simulated."""
    if writer.kind == "simulated":
        raise PlanError(
            f"judge {writer.name!r} is simulated and cannot write rules; choose another writer, or "
            "write the rules yourself"
        )
    if not task.mistakes:
        raise PlanError(
            f"{task.judge.name} made no mistake on the learn items, so that there is nothing to "
            "write rules from; leave out rules and both"
        )
    base = task.plan.study
    spec = replace(writer, read="text", max_tokens=min(writer.max_tokens, RULE_TOKENS))
    prompt = load_prompt(RULES_PROMPT)
    study = Study(
        writer_study_name(base.name, task.prompt.name, writer.name),
        base.data,
        judges=(spec,),
        prompts=(RULES_PROMPT,),
        budget_usd=budget,
        folder=base.folder,
    )
    item = Item("mistakes", describe_mistakes(task), {})
    return Plan(study, (item,), (prompt,), task.plan.images)


# ------------------------------------------------------------------------------ candidates


def build_candidates(
    task: AlignTask,
    kinds: Sequence[str],
    *,
    rules: Sequence[str] = (),
    writer: str = "",
    criteria: str = "",
    examples: int = prompt_candidates.EXAMPLES,
) -> list[prompt_candidates.Candidate]:
    """Build a new version of the prompt (a candidate) for each of `kinds` (see KINDS), from the
    learn items; PlanError if one cannot be made. `rules` are the rules to add, and `writer` is
    the judge that wrote them ("": the user). `criteria` is the text to add ("": that of the
    study). `examples` is the number of labelled cases to show with their right verdict."""
    shows = bool({"examples", "both"} & {*kinds})
    if shows and task.prompt.verdict == "rating-pair":
        raise PlanError(
            "examples: the right ratings of two answers are not known; leave out examples and both"
        )
    chosen = (
        learn_cases.choose_examples(task.cases, examples, task.split.seed, task.prompt)
        if shows
        else []
    )
    study, prefilled = task.plan.study, task.judge.read == "probabilities"
    turns = learn_cases.example_messages(task.prompt, chosen, prefilled=prefilled, study=study)
    shown = prompt_candidates.Examples(tuple(turns), tuple(case.item.id for case in chosen))
    if "criteria" in kinds and not criteria and "criteria" in task.prompt.variables:
        raise PlanError(
            f"criteria: {task.prompt.name} shows the criteria of the study already; give others, "
            "or leave this candidate out"
        )
    read = tuple(dict.fromkeys(case.item.id for case in task.mistakes[: learn_cases.MAX_CASES]))
    return [
        prompt_candidates.make_candidate(
            task.prompt,
            kind,
            rules=rules,
            criteria=criteria or study.criteria,
            examples=shown,
            learnt=read if kind in ("rules", "both") and writer else (),
            writer=writer,
            seed=task.split.seed,
        )
        for kind in kinds
    ]


def build_candidate_plan(
    task: AlignTask, candidates: Sequence[prompt_candidates.Candidate], budget: float | None = None
) -> Plan:
    """Build the plan that compares today's prompt with the candidates: the judge is called with
    each of them on the labelled cases of the hold-out. Comparisons are shown in both orders; for
    single answers, the options of the verdict in the orders that the study asks for. `budget` is
    in dollars; None for no limit. PlanError if the hold-out has no label."""
    base = task.plan.study
    held = set(task.split.hold_out)
    labels = task.labels.select_items(held)
    items = [
        keep_only_labelled_answers(item, labels) for item in task.plan.items if item.id in held
    ]
    kept = tuple(item for item in items if item.responses)
    if not kept:
        raise PlanError("the hold-out has no label; add labels to more items")
    today = parse_prompt(task.prompt.yaml)
    compared = {name for one in labels.comparisons for name in (one.first, one.second)}
    models = sorted({name for item in kept for name in item.responses})
    prompts = (today, *(one.prompt for one in candidates))
    study = replace(
        base,
        name=candidate_study_name(base.name, task.judge.name, task.prompt.name),
        preset="",
        judges=(task.judge,),
        prompts=tuple(one.name for one in prompts),
        protocol="",
        contestants=(*models, REFERENCE) if REFERENCE in compared else (),
        pairing="all",
        baseline="",
        new="",
        orders="both",
        unrelated="none",
        repeats=1,
        noise_floor=0.0,
        combine="pooled",
        twins=_hold_out_twin_spec(base.twins, kept),
        budget_usd=budget,
    )
    check_plan(study, kept, prompts)
    return Plan(study, kept, prompts, task.plan.images)


def _hold_out_twin_spec(twins: TwinSpec | None, items: Sequence[Item]) -> TwinSpec | None:
    """Return the settings by which the comparison of prompts makes twins (copies of an answer with
    one small change): those of the study, but for all hold-out items, and only for models with
    labelled answers. None if the study has no twins, or twins of other models only."""
    if twins is None:
        return None
    labelled = {name for item in items for name in item.responses}
    answers = tuple(name for name in twins.answers if name in labelled)
    return None if twins.answers and not answers else replace(twins, items=0, answers=answers)


def forecast_missing_calls(plan: Plan, store: Store) -> Forecast:
    """Forecast the calls of a plan that have no stored reply yet."""
    plan = plan_for_current_visitor(plan, store)
    keys = [planned.ask.key for planned in asks_of(plan)]
    return forecast_plan(plan, set(keys) - store.answered_keys_among(keys), store)


def check_budget_suffices(forecast: Forecast, budget: float | None, what: str) -> None:
    """Raise PlanError if the expected cost is known and exceeds `budget` (None: there is no
    budget). `what` names the calls in the message."""
    if budget is not None and forecast.dollars is not None and forecast.dollars > budget:
        raise PlanError(
            f"the budget of ${budget:g} does not reach: {what} need about ${forecast.dollars:.4f} "
            f"for {forecast.asks:,} calls. Raise the budget, or choose fewer candidates; nothing "
            "was sent"
        )


@dataclass(slots=True)
class AlignRuns:
    """Starts the two runs by which a prompt is improved: in the first, a judge (the writer) writes
    rules; in the second, the new versions of the prompt (candidates) are compared. `watch` is
    called with the first run when it has started, for example to show its progress. The caller
    waits for the second run."""

    store: Store
    engine: Engine
    keys: Mapping[str, str] = field(default_factory=dict)
    settings: RunSettings | None = None
    watch: Callable[[Run], object] = Run.wait

    def start(self, plan: Plan) -> Run:
        """Save a plan and start its missing calls."""
        plan = plan_for_current_visitor(plan, self.store)
        save_plan(plan, self.store)
        return self.engine.start(plan, self.store, keys=self.keys, settings=self.settings)

    def write_rules(
        self, task: AlignTask, writer: JudgeSpec, budget: float | None
    ) -> prompt_candidates.WrittenRules:
        """Let the judge `writer` write rules from the mistakes of the task, and read them from its
        reply. If its call fails or the reply has no rule, the result has no rules and states the
        problem. PlanError if the call was not made."""
        plan = build_rule_writing_plan(task, writer, budget)
        run = self.start(plan)
        self.watch(run)
        run.wait()
        replies = list(self.store.judgements(run.plan.study.name))
        if not replies:
            raise PlanError(f"{writer.name} was not asked for rules: {run.reason or run.state}")
        (reply,) = replies[:1]
        if reply.status != "ok":
            why = reply.detail or "its reply is empty"
            return prompt_candidates.WrittenRules(
                (), f"{writer.name} wrote no rules: {reply.status}: {why}"
            )
        return prompt_candidates.read_rules(reply.reply, describe_mistakes(task))

    def start_and_record_hold_out_run(
        self, task: AlignTask, candidates: Sequence[prompt_candidates.Candidate], plan: Plan
    ) -> Run:
        """Start the run that compares today's prompt with the candidates on the hold-out, and
        return it. The store records that the hold-out was used once more for such a comparison
        (a "look"), because each look makes a gain by chance more likely."""
        look = label_split.Look(
            task.judge.name, task.prompt.name, tuple(one.record for one in candidates)
        )
        run = self.start(plan)
        label_split.record_prompt_comparison(self.store, task.plan.study.name, look)
        return run
