"""Actions of the card "Improve the prompt": ask the judge to write rules, try candidates (changed
prompts) on hold-out items, adopt a candidate, undo this.

A labelled case is a comparison, or a single answer, whose right verdict is known."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.results.pass_fail.scores.computed import has_comparisons
from components.results.remedies.computed import load_remedies
from components.results.remedies.point_remedies_panel import load_single_answer_rules
from judges.operations import align_prompt
from judges.operations.align_command import adopt_compared_candidate, undo_adopted_candidate
from judges.operations.prompt_candidates import read_rules
from judges.planning.plan import load_stored_plan, plan_for_current_visitor, save_plan
from judges.rendering.prompt_library import prompts_folder
from studies.errors import StudyError
from studies.people.label_split import Look, record_prompt_comparison, stored_split
from studies.spec.derived_names import candidate_study_name, writer_study_name
from studies.store.store import Store

MAX_CASES: Final = 20_000
"""Number of labelled cases above which the card is not drawn: reading them takes seconds."""


def judge_and_prompt_to_improve(filtered: FilteredStudy) -> tuple[str, str] | None:
    """Judge and prompt that the card "Improve the prompt" is about; None without labels, or with
    more than MAX_CASES labelled cases. For comparisons, they are those that the view Remedies
    shows; for single answers, those with the most labelled answers."""
    if has_comparisons(filtered):
        results = load_remedies(filtered)
        if results.rater is not None:
            few = 0 < results.comparison_count <= MAX_CASES
            return (results.judge, results.prompt) if few else None
    for rater, found in load_single_answer_rules(filtered).items():
        return rater if found.rules[0].value.n <= MAX_CASES else None
    return None


def saved_prompts_folder(store: Store) -> Path:
    """Folder of the prompts that were saved on the page."""
    return prompts_folder(store.folder / "store")


def written_rules_and_problem(
    store: Store, name: str, judge: str, prompt: str
) -> tuple[tuple[str, ...], str]:
    """(rules that the judge wrote for the prompt, problem of its reply). The problem is "" if
    there is none. ((), "") if the judge was not asked for rules or has not replied yet."""
    study = writer_study_name(name, prompt, judge)
    if study not in store.study_file_texts():
        return (), ""
    cases = store.items(study)["mistakes"].instruction
    for reply in store.judgements(study):
        if reply.status == "ok":
            got = read_rules(reply.reply, cases)
            return got.rules, got.problem
        return (), f"{judge} wrote no rules: {reply.detail or reply.status}"
    return (), ""


def perform_improve_action(filtered: FilteredStudy, send: Mapping[str, Any]) -> tuple[str, str]:
    """Perform the action of a button of the card "Improve the prompt". `send["improve"]` names it:
    "write" (ask the judge for rules), "try", "adopt" or "undo"; another value does nothing.

    Return (name of the study whose calls now wait in Run, message for the user); "" in place of
    each if there is no such study, or no message. Raise StudyError if the visitor may not change
    the study, or if it has no labels or more than MAX_CASES labelled cases."""
    store, name = filtered.store, filtered.name
    if not store.owns(name) or store.read_only:
        raise StudyError(f"only the owner of {name!r} can improve its prompts")
    rater = judge_and_prompt_to_improve(filtered)
    if rater is None:
        raise StudyError(f"{name!r} has no labels to improve a prompt from")
    task = align_prompt.split_and_find_mistakes(load_stored_plan(store, name), store, *rater)
    asked = str(send.get("improve", ""))
    if asked in ("adopt", "undo"):
        change = adopt_compared_candidate if asked == "adopt" else undo_adopted_candidate
        saved = change(task, store, str(send.get("kind", "")), saved_prompts_folder(store))
        return "", f"Saved as {saved.name}@{saved.version}. Choose it in Study, step Prompts."
    if asked == "write":
        plan = align_prompt.build_rule_writing_plan(task, task.judge, task.plan.study.budget_usd)
        plan = plan_for_current_visitor(plan, store)
        save_plan(plan, store)
        return plan.study.name, ""
    if asked == "try":
        fields = send.get("fields")
        return _save_candidates_and_record_look(
            store, task, fields if isinstance(fields, Mapping) else {}
        ), ""
    return "", ""


def _save_candidates_and_record_look(
    store: Store, task: align_prompt.AlignTask, fields: Mapping[str, Any]
) -> str:
    """Save a study that tries candidates, made from the texts "rules" and "criteria" in `fields`
    (field of the form -> value), on the hold-out items; return its name. Its calls then wait in
    Run.

    The trial is recorded as a "look" at the hold-out items, because differences are adjusted
    for the number of looks. It is not recorded again if the latest look has the same candidates,
    and it replaces the latest look if that has no reply yet."""
    name = task.plan.study.name
    rules = [line.lstrip("-*• ").strip() for line in str(fields.get("rules", "")).splitlines()]
    rules = [line for line in rules if line]
    criteria = str(fields.get("criteria", "")).strip()
    kinds = ["examples"] + (["rules", "both"] if rules else []) + (["criteria"] if criteria else [])
    written = written_rules_and_problem(store, name, task.judge.name, task.prompt.name)[0]
    writer = task.judge.name if written and tuple(rules) == written else ""
    made = align_prompt.build_candidates(task, kinds, rules=rules, writer=writer, criteria=criteria)
    plan = plan_for_current_visitor(
        align_prompt.build_candidate_plan(task, made, task.plan.study.budget_usd), store
    )
    unseen = _no_candidate_has_reply(store, name, task)
    save_plan(plan, store)
    look = Look(task.judge.name, task.prompt.name, tuple(one.record for one in made))
    record_prompt_comparison(store, name, look, replaces_unseen=unseen)
    return plan.study.name


def _no_candidate_has_reply(store: Store, name: str, task: align_prompt.AlignTask) -> bool:
    """Whether the latest look (trial of candidates on the hold-out items) for this judge and
    prompt has no reply yet; False if there was no look."""
    split = stored_split(store, name)
    last = (
        split.last_prompt_comparison(task.judge.name, task.prompt.name)
        if split is not None
        else None
    )
    if last is None:
        return False
    names = {one.name for one in last.candidates}
    study = candidate_study_name(name, task.judge.name, task.prompt.name)
    if study not in store.study_file_texts():
        return True
    return not any(one.ask.prompt in names for one in store.judgements(study))
