"""Panels "Improve the prompt" of the Remedies view: split, mistakes by kind, candidates, result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.html.markup import EMPTY, Markup
from components.html.panel import Axis
from components.html.tables.typed_columns import TypedColumn, ValueRow, measure_column, page_table
from components.html.tables.value_table import ROUND_PERCENT, STYLES
from components.html.templates import macros
from components.results.pass_fail.scores.computed import has_comparisons
from components.results.remedies.computed import RemedyResults, load_remedies
from judges.operations.align_command import adopt_asked, undo_asked
from judges.operations.align_prompt import (
    AlignTask,
    build_candidates,
    candidate_plan,
    prepare_task,
    writer_plan,
)
from judges.operations.prompt_candidates import (
    EXAMPLES,
    adopted_version,
    block_text,
    read_rules,
)
from judges.planning.plan import assign_owner, load_stored_plan, save_plan
from judges.rendering.prompt import Prompt, parse_prompt
from judges.rendering.prompt_library import last_version, prompts_folder
from metrics.summary.alignment.candidate_table import CandidateLine, CandidateTable
from metrics.summary.alignment.learn_mistakes import judge_mistakes
from metrics.summary.alignment.prompt_advice import PromptAdvice
from metrics.summary.alignment.alignment_section import (
    LookResult,
    candidate_result,
    read_alignment_inputs,
)
from metrics.summary.alignment.alignment_text import status_words, twin_words
from studies.domain import Estimate
from studies.errors import StudyError
from studies.people.label_split import (
    LEAST_HOLD_OUT,
    LabelSplit,
    Look,
    PairKey,
    StudyLabels,
    candidate_study,
    draw_split,
    read_labels,
    record_look,
    stored_split,
    writer_study,
)
from studies.store.store import Store

TEMPLATE: Final = "results/remedies/improve.html"
MAX_COMPARISONS: Final = 20_000
"""Number of labelled comparisons above which the card is not drawn: reading them takes seconds."""
HOW: Final = (
    "Labelled items are split once, by seed, into learn and hold-out; the parts are stored with "
    "the study and never reshuffled. Candidates are today's prompt with one more block, made "
    "from learn items only. Agreement is the credit of one call (right 1, tie ½, wrong 0), the "
    "mean of both orders. Differences are paired by item and adjusted for all candidates "
    "(max-t) and for the number of looks at the hold-out (Bonferroni). A candidate that gains "
    "and significantly adds flips, position, length or unusable replies is not recommended. "
    "Length is the share of verdicts for the longer answer minus the share of known answers "
    "that are the longer one."
)


@dataclass(frozen=True)
class ImproveCard:
    """Values of the card: sizes of the split, mistakes, texts of the form, and the result."""

    judge: str
    prompt: str
    comparisons: int
    truth: str
    truth_words: str
    split: LabelSplit
    mistakes: list[tuple[str, Estimate]]
    disputed: tuple[PairKey, ...]
    mistaken: int
    calls: int
    owned: bool
    blocked: str
    rules: str
    writer: str
    problem: str
    criteria: str
    advice: PromptAdvice | None = None
    adopt: str = ""
    adopted: str = ""
    adopt_kind: str = ""
    block: tuple[str, ...] = ()
    block_of: str = ""
    least: int = LEAST_HOLD_OUT
    examples: int = EXAMPLES

    @property
    def learn(self) -> int:
        return len(self.split.learn)

    @property
    def held(self) -> int:
        return len(self.split.hold_out)

    @property
    def seed(self) -> int:
        return self.split.seed

    @property
    def looks(self) -> int:
        return len(self.split.looks)

    @property
    def times(self) -> str:
        return {1: "once", 2: "twice"}.get(self.looks, f"{self.looks} times")

    @property
    def missing(self) -> int:
        return self.split.missing

    @property
    def looked(self) -> bool:
        return self.advice is not None


def labels_and_split(store: Store, name: str) -> tuple[StudyLabels, LabelSplit]:
    """Labels of a study and its split: the stored one with items labelled since, not stored yet."""

    def work() -> tuple[StudyLabels, LabelSplit]:
        labels = read_labels(store, name)
        return labels, draw_split(store.items(name), labels.items, stored_split(store, name))

    found: tuple[StudyLabels, LabelSplit] = store.memoised(name, ("labels_and_split",), work)
    stored = stored_split(store, name)
    if stored is not None and stored.looks != found[1].looks:
        return found[0], draw_split(store.items(name), found[0].items, stored)
    return found


def build_card(results: RemedyResults) -> tuple[ImproveCard, Markup] | None:
    """Build the card of the judge and prompt shown, and the table of its latest candidates; None
    if the better answer of no comparison is known."""
    filtered = results.filtered
    store, name = filtered.store, filtered.name
    if results.cell is None or not 0 < results.comparisons <= MAX_COMPARISONS:
        return None
    labels, split = labels_and_split(store, name)
    judge, prompt = results.judge, results.prompt
    learn = labels.on(split.learn)
    found = judge_mistakes(filtered.stored_frame, judge, prompt, learn)
    mistakes: list[tuple[str, Estimate]] = []
    if found is not None:
        mistakes = [("all verdicts", found.all)]
        mistakes += [(f"better answer shown {k}", one) for k, one in found.by_position.items()]
        mistakes += list(found.by_category.items())
    known = {spec.name for spec in filtered.study.judges}
    blocked = "" if judge in known else (
        f"{judge} is recorded and cannot be asked here; add it in Study, step Judges, to try "
        "candidates."
    )  # fmt: skip
    written = _written_rules(store, name, judge, prompt)
    by_people = any(one.votes for one in labels.comparisons)
    inputs = read_alignment_inputs(store, name) if split.looks else None
    result = None if inputs is None else candidate_result(inputs, judge, prompt)
    shown, more = EMPTY, {}
    if result is not None:
        latest, table, advice = result
        shown = EMPTY if table is None else candidates_table(table, latest)
        more = _result_values(store, name, latest.look, advice)
    card = ImproveCard(
        judge=judge,
        prompt=prompt,
        comparisons=len(labels.comparisons),
        truth="a majority of people" if by_people else "a known better answer",
        truth_words="the majority of people" if by_people else "known answers",
        split=split,
        mistakes=mistakes,
        disputed=labels.disputed,
        mistaken=round((found.all.value or 0) * found.all.n) if found is not None else 0,
        calls=2 * len(labels.on(split.hold_out)),
        owned=store.owns(name) and not store.read_only,
        blocked=blocked,
        rules="\n".join(written[0]),
        writer=judge if written[0] else "",
        problem=written[1],
        criteria=filtered.study.criteria,
        **more,
    )
    return card, shown


def _result_values(store: Store, name: str, look: Look, advice: PromptAdvice) -> dict[str, Any]:
    """Values of the card on the result of the latest look: advice, its button, and its block."""
    found: dict[str, Any] = {"advice": advice}
    kinds = {one.name: one.kind for one in look.candidates}
    shown = advice.prompt or next(iter(kinds), "")
    prompts = _asked_prompts(store, name, look)
    today = prompts.get(look.prompt.partition("@")[0])
    if today is not None and shown in prompts:
        found["block"] = tuple(block_text(prompts[shown], today).splitlines())
        found["block_of"] = shown
        if advice.advice == "adopt":
            last = last_version(today.name, _folder(store)) or today
            found["adopt_kind"] = kinds[shown]
            found["adopt"] = f"{today.name}@{max(last.version, today.version) + 1}"
            if adopted_version(prompts[shown], today, _folder(store)) is not None:
                found["adopted"] = f"{today.name}@{last.version}"
    return found


def _folder(store: Store) -> Path:
    """Folder of the prompts that were saved on the page."""
    return prompts_folder(store.folder / "store")


def _asked_prompts(store: Store, name: str, look: Look) -> dict[str, Prompt]:
    study = candidate_study(name, look.judge, look.prompt)
    parsed = [parse_prompt(text) for text in store.planned_prompts(study)]
    return {one.name: one for one in parsed}


def _written_rules(store: Store, name: str, judge: str, prompt: str) -> tuple[tuple[str, ...], str]:
    """Return the rules that the judge wrote before, and the problem of its reply, if any."""
    study = writer_study(name, prompt, judge)
    if study not in store.study_files():
        return (), ""
    cases = store.items(study)["mistakes"].instruction
    for reply in store.judgements(study):
        if reply.status == "ok":
            got = read_rules(reply.reply, cases)
            return got.rules, got.problem
        return (), f"{judge} wrote no rules: {reply.detail or reply.status}"
    return (), ""


COLUMNS: Final = (
    TypedColumn("", lambda line: line.agreement, axis=Axis()),
    measure_column("candidate_agreement", "agreement", "Agreement"),
    measure_column("candidate_difference", "difference", "Difference"),
    TypedColumn("Flips", lambda line: line.effects["flips"], ROUND_PERCENT),
    TypedColumn("First position", lambda line: line.effects["first_share"], ROUND_PERCENT),
    TypedColumn("Length, points", lambda line: line.effects["length_excess"], STYLES["points"]),
)
STATUS: Final = TypedColumn("", lambda line: "" if line.status == "today" else status_words(line))


def candidates_table(table: CandidateTable, result: LookResult) -> Markup:
    """HTML table of today's prompt and its candidates on the hold-out; the effects of twins if
    twins were asked."""

    def tokens(line: CandidateLine) -> int | None:
        found = result.call_tokens(line.prompt)
        return None if found is None else round(found)

    def row(line: CandidateLine) -> ValueRow:
        if line.status == "today":
            return ValueRow(line.prompt, line, note="today")
        return ValueRow(f"+ {line.prompt.rpartition('+')[2]}", line)

    more = [TypedColumn("Tokens", tokens, tip="mean tokens of a call, prompt and reply")]
    if result.twins:
        tip = "largest effect beyond its floor, 95 % CI adjusted for all families and prompts"
        more.append(TypedColumn("Twins", lambda line: twin_words(line.prompt, result), tip=tip))
    columns = (*COLUMNS, *more, STATUS)
    return page_table("Prompt", columns, map(row, table.lines), "Candidates on the hold-out")


def draw_improve(filtered: FilteredStudy) -> Markup | None:
    """Draw the card, and above it the result of the latest look; None without a known better
    answer."""
    found = build_card(load_remedies(filtered)) if has_comparisons(filtered) else None
    if found is None:
        return None
    card, table = found
    template = macros(TEMPLATE)
    drawn: Markup = template.improve(card)
    return drawn if card.advice is None else template.result(card, table) + drawn


# ------------------------------------------------------------------------------ actions


def act_on_prompt(filtered: FilteredStudy, send: Mapping[str, Any]) -> tuple[str, str]:
    """Do what a button of the card asks. Return the name of a study that now waits in Run (empty
    if none), and a message for the user (empty if none)."""
    store, name = filtered.store, filtered.name
    if not store.owns(name) or store.read_only:
        raise StudyError(f"only the owner of {name!r} can improve its prompts")
    results = load_remedies(filtered)
    task = prepare_task(load_stored_plan(store, name), store, results.judge, results.prompt)
    asked = str(send.get("improve", ""))
    if asked in ("adopt", "undo"):
        change = adopt_asked if asked == "adopt" else undo_asked
        saved = change(task, store, str(send.get("kind", "")), _folder(store))
        return "", f"Saved as {saved.name}@{saved.version}. Choose it in Study, step Prompts."
    if asked == "write":
        plan = writer_plan(task, task.judge, task.plan.study.budget_usd)
        plan = assign_owner(plan, store)
        save_plan(plan, store)
        return plan.study.name, ""
    if asked == "try":
        fields = send.get("fields")
        return _save_candidates(store, task, fields if isinstance(fields, Mapping) else {}), ""
    return "", ""


def _save_candidates(store: Store, task: AlignTask, fields: Mapping[str, Any]) -> str:
    """Save the study of the candidates, whose calls then wait in Run, and record the look."""
    name = task.plan.study.name
    rules = [line.lstrip("-*• ").strip() for line in str(fields.get("rules", "")).splitlines()]
    rules = [line for line in rules if line]
    criteria = str(fields.get("criteria", "")).strip()
    kinds = ["examples"] + (["rules", "both"] if rules else []) + (["criteria"] if criteria else [])
    written = _written_rules(store, name, task.judge.name, task.prompt.name)[0]
    writer = task.judge.name if written and tuple(rules) == written else ""
    made = build_candidates(task, kinds, rules=rules, writer=writer, criteria=criteria)
    plan = assign_owner(candidate_plan(task, made, task.plan.study.budget_usd), store)
    unseen = _is_unseen(store, name, task)
    save_plan(plan, store)
    look = Look(task.judge.name, task.prompt.name, tuple(one.record for one in made))
    record_look(store, name, look, replaces_unseen=unseen)
    return plan.study.name


def _is_unseen(store: Store, name: str, task: AlignTask) -> bool:
    """Whether no candidate of the latest look for this judge and prompt has a reply."""
    split = stored_split(store, name)
    last = split.last_look(task.judge.name, task.prompt.name) if split is not None else None
    if last is None:
        return False
    names = {one.name for one in last.candidates}
    study = candidate_study(name, task.judge.name, task.prompt.name)
    if study not in store.study_files():
        return True
    return not any(one.ask.prompt in names for one in store.judgements(study))
