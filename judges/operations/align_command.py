"""Command `align`: improve a prompt with labelled items (items whose right verdict is known), in
two steps.

The first step writes candidates (new versions of the prompt) as files, and prints them with the
price of comparing them. The second, with --ask, calls the judge with each candidate on the
hold-out (labelled items that the candidates were not made from) and prints the comparison. With
--adopt, a candidate becomes the next version of the prompt; --undo saves the earlier text as a
version again."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from judges.engine.engine import Engine
from judges.judge_errors import PlanError
from judges.operations.align_prompt import (
    AlignRuns,
    AlignTask,
    build_candidate_plan,
    build_candidates,
    build_rule_writing_plan,
    check_budget_suffices,
    forecast_missing_calls,
    split_and_find_mistakes,
)
from judges.operations.prompt_candidates import (
    EXAMPLES,
    KINDS,
    Candidate,
    added_lines,
    adopt_candidate,
    read_candidate,
    undo_adoption,
    write_candidate,
)
from judges.operations.terminal_progress import supervise_run
from judges.planning.forecast import Forecast
from judges.planning.plan import make_plan, save_plan
from judges.rendering.prompt import Prompt, parse_prompt
from judges.rendering.prompt_library import prompt_path
from judges.security import key_consents
from studies.domain import count_calls_left
from studies.people.label_split import SEED
from studies.people.study_labels import PAIRS
from studies.spec.derived_names import candidate_study_name
from studies.spec.study import load_study
from studies.store.store import Store

WITH_RULES: Final = frozenset({"rules", "both"})
_MISTAKES: Final = {
    "pairs": "decided against the label",
    "pass": "with another verdict than the label",
    "score": "with a score more than one step from the label",
}
"""Kind of labels -> words for a mistake."""
Report = Callable[[Store, str, str, str], str]
"""Function of store, study, judge and prompt that returns the comparison as text."""


def add_align_command(commands: Any, report: Report) -> None:
    """Add the command `align` to the parser's `commands`. `report` is called with store, study,
    judge and prompt, and returns the comparison of the candidates as text."""
    summary = "improve a prompt from corrections, and show the gain on held-out items"
    sub = commands.add_parser("align", help=summary, description=summary)
    sub.add_argument("study", type=Path, help="a study file (YAML) that has been run")
    sub.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
    sub.add_argument("--judge", default="", help="a judge of the study; default: the first")
    sub.add_argument("--prompt", default="", help="a prompt of the study; default: the first")
    sub.add_argument(
        "--candidates",
        default="examples,rules,both",
        help=f"any of {','.join(KINDS)}; default: examples,rules,both",
    )
    sub.add_argument("--examples", type=int, default=EXAMPLES, help="number of corrected cases")
    sub.add_argument("--writer", default="", help="judge that writes the rules; default: --judge")
    sub.add_argument("--budget", type=float, default=None, help="dollars that may be spent")
    sub.add_argument("--seed", type=int, default=SEED, help="seed of the split, used once")
    sub.add_argument("--folder", type=Path, default=None, help="folder of the candidates' files")
    sub.add_argument(
        "--ask", action="store_true", help="ask the written candidates on the hold-out"
    )
    sub.add_argument("--again", action="store_true", help="write the candidates' files anew")
    sub.add_argument(
        "--adopt", default="", metavar="KIND", help="save this candidate as the next version"
    )
    sub.add_argument(
        "--undo", default="", metavar="KIND", help="save the text before --adopt as a new version"
    )
    key_consents.add_allow_keys_option(sub)
    sub.set_defaults(command=lambda options: run_align_command(options, report))


def run_align_command(options: argparse.Namespace, report: Report) -> int:
    """Do what the options ask for: write candidates (new versions of a prompt), compare them on the
    hold-out (labelled items set apart), adopt one of them, or undo an adoption. Return exit code
    1 if calls with the candidates got no reply, else 0."""
    made = make_plan(load_study(options.study))
    store = Store(options.store)
    try:
        save_plan(made, store)
        task = split_and_find_mistakes(made, store, options.judge, options.prompt, options.seed)
        if options.adopt or options.undo:
            change = adopt_compared_candidate if options.adopt else undo_adopted_candidate
            folder = options.study.parent
            saved = change(task, store, options.adopt or options.undo, folder)
            print(f"{saved.name}, version {saved.version}: {prompt_path(saved, folder)}")
            return 0
        _print_split_and_mistakes(task)
        folder = options.folder or options.study.with_name(f"{options.study.stem}-candidates")
        kinds = _parse_candidate_kinds(options.candidates)
        key_consents.obtain_study_key_consents(made.study, options)
        engine = Engine()
        try:
            runs = AlignRuns(store, engine, watch=supervise_run)
            return _write_or_compare_candidates(task, kinds, folder, runs, options, report)
        finally:
            engine.close()
    finally:
        store.close()


def _parse_candidate_kinds(text: str) -> list[str]:
    kinds = list(dict.fromkeys(one.strip() for one in text.split(",") if one.strip()))
    unknown = [one for one in kinds if one not in KINDS]
    if unknown or not kinds:
        raise PlanError(f"--candidates {text!r}: expected any of {', '.join(KINDS)}")
    return kinds


def _print_split_and_mistakes(task: AlignTask) -> None:
    split, looks, kind = task.split, len(task.split.looks), task.labels.kind
    cases = "comparisons" if kind == PAIRS else "answers"
    print(
        f"{task.plan.study.name}: {task.judge.name} with {task.prompt.name}\n"
        f"  split     learn {len(split.learn)} items, hold-out {len(split.hold_out)} items, seed "
        f"{split.seed}; hold-out looked at {looks} times\n"
        f"  mistakes  {len(task.mistakes)} of {len(task.cases)} learn {cases} {_MISTAKES[kind]}"
    )
    if task.labels.disputed:
        print(f"  no label  {len(task.labels.disputed)} {cases} with {task.labels.why_unlabelled}")
    if split.hold_out_items_still_needed:
        needed = f"{split.hold_out_items_still_needed} more labelled items"
        print(f"  labels    {needed} are needed for a recommendation")


def _write_or_compare_candidates(
    task: AlignTask,
    kinds: Sequence[str],
    folder: Path,
    runs: AlignRuns,
    options: argparse.Namespace,
    report: Report,
) -> int:
    """Without --ask: write the candidates (new versions of the prompt) that have no file yet; with
    --again, write all of them. In any case, print the price of comparing the candidates. With
    --ask, call the judge with the candidates that have a file, and print the comparison (made by
    `report`). Without --ask, do so only if all files existed before and the user agrees. Return
    exit code 1 if calls got no reply, else 0.

    PlanError if --ask finds no file or comes with --again, if no candidate could be made, or if
    the budget is too small."""
    paths = {kind: folder / f"{kind}.yaml" for kind in kinds}
    unwritten = [kind for kind, path in paths.items() if options.again or not path.exists()]
    written = not unwritten
    if options.ask and options.again:
        raise PlanError("--again writes new candidates: first run the command without --ask, and "
                        "read what it writes")  # fmt: skip
    if options.ask and len(unwritten) == len(kinds):
        raise PlanError(f"--ask: no candidate is written at {', '.join(map(str, paths.values()))}; "
                        "first run the command without --ask, and read what it writes")  # fmt: skip
    if options.ask and unwritten:
        print(f"not written and not asked: {', '.join(unwritten)}", file=sys.stderr)
    if not options.ask:
        for candidate in _build_requested_candidates(task, unwritten, runs, options):
            path = write_candidate(candidate, folder)
            print(f"\n{path}: added to {task.prompt.name}")
            print(_mark_lines_as_added(added_lines(candidate.prompt, task.prompt)))
    read = [read_candidate(path, task.prompt) for path in paths.values() if path.exists()]
    if not read:
        raise PlanError("no candidate could be made; see the reasons above")
    plan = build_candidate_plan(task, read, options.budget)
    forecast = forecast_missing_calls(plan, runs.store)
    print(f"\n  price     {_format_forecast_price(forecast)}")
    check_budget_suffices(forecast, options.budget, "the candidates")
    if not options.ask and not (written and _confirm_candidate_calls()):
        print("Nothing was sent. Edit the files if needed, then run the command again with --ask.")
        return 0
    run = runs.start_and_record_hold_out_run(task, read, plan)
    snapshot = supervise_run(run)
    print(report(runs.store, task.plan.study.name, task.judge.name, task.prompt.name))
    left = count_calls_left(snapshot.counts)
    if left:
        print(
            f"{left:,} calls have no reply ({snapshot.reason or snapshot.state}); the others are "
            "stored. Run the command again to make them.",
            file=sys.stderr,
        )
    return 1 if left else 0


def _build_requested_candidates(
    task: AlignTask, kinds: Sequence[str], runs: AlignRuns, options: argparse.Namespace
) -> list[Candidate]:
    """Build a candidate (a new version of the prompt) of each of `kinds`. If a kind contains rules,
    print the price of writing them and ask the judge --writer for them; if its reply has no
    rule, the kinds with rules are left out. PlanError if the judge is unknown or the budget too
    small."""
    rules: tuple[str, ...] = ()
    writer = options.writer or task.judge.name
    kinds = list(kinds)
    if WITH_RULES & set(kinds):
        known = {judge.name: judge for judge in task.plan.study.judges}
        if writer not in known:
            raise PlanError(f"--writer {writer!r}: no such judge; known: {', '.join(known)}")
        plan = build_rule_writing_plan(task, known[writer], options.budget)
        forecast = forecast_missing_calls(plan, runs.store)
        print(f"  rules     written by {writer}: {_format_forecast_price(forecast)}")
        check_budget_suffices(forecast, options.budget, "the rules")
        got = runs.write_rules(task, known[writer], options.budget)
        rules = got.rules
        if got.problem:
            print(got.problem, file=sys.stderr)
        if not rules:
            left_out = [kind for kind in kinds if kind in WITH_RULES]
            print(f"left out: {', '.join(left_out)}", file=sys.stderr)
            kinds = [kind for kind in kinds if kind not in WITH_RULES]
    return build_candidates(task, kinds, rules=rules, writer=writer, examples=options.examples)


def _format_forecast_price(forecast: Forecast) -> str:
    dollars = "dollars unknown" if forecast.dollars is None else f"about ${forecast.dollars:.4f}"
    tokens = forecast.prompt_tokens + forecast.completion_tokens
    return f"{forecast.asks:,} calls, about {tokens:,} tokens, {dollars}"


def _mark_lines_as_added(text: str) -> str:
    return "\n".join(f"  + {line}" for line in text.splitlines())


def _confirm_candidate_calls() -> bool:
    """Ask the user in the terminal whether to call the judge with the candidates, whose files an
    earlier command has written; return the answer. False without a terminal."""
    if not sys.stdin.isatty():
        return False
    return input("Ask these candidates on the hold-out? [y/N] ").strip().lower() in ("y", "yes")


def adopt_compared_candidate(task: AlignTask, store: Store, kind: str, folder: Path) -> Prompt:
    """Save the candidate of the kind `kind`, which must have been compared on the hold-out, as the
    next version of the prompt in `folder`; return this version."""
    return adopt_candidate(_find_compared_candidate(task, store, kind), task.prompt, folder)


def undo_adopted_candidate(task: AlignTask, store: Store, kind: str, folder: Path) -> Prompt:
    """Undo the adoption of the candidate of the kind `kind`: save the earlier text as the next
    version of the prompt in `folder`; return this version."""
    return undo_adoption(_find_compared_candidate(task, store, kind), task.prompt, folder)


def _find_compared_candidate(task: AlignTask, store: Store, kind: str) -> Prompt:
    """Return the candidate of a kind from the latest comparison on the hold-out; raise PlanError if
    it was not compared there, or if its text is no longer in the store."""
    look = task.split.last_prompt_comparison(task.judge.name, task.prompt.name)
    names = {one.kind: one.name for one in look.candidates} if look is not None else {}
    if kind not in names:
        known = ", ".join(names) or "none yet"
        raise PlanError(f"{kind!r} was not asked on the hold-out; asked were: {known}")
    study = candidate_study_name(task.plan.study.name, task.judge.name, task.prompt.name)
    for text in store.planned_prompt_texts(store.name_to_save_under(study)):
        prompt = parse_prompt(text)
        if prompt.name == names[kind]:
            return prompt
    raise PlanError(f"the text of {names[kind]} is no longer in the store; ask it again")
