"""Command line of this package: plan and run studies, test judges, repeat failed calls, run
batches, read verdicts from stored replies again, make twins (answers with one small change),
describe images, and more."""

import argparse
import contextlib
import json
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from judges.bulk import batch_commands, ray_commands
from judges.engine.engine import Engine
from judges.engine.run_state import RunSettings
from judges.judge_errors import PlanError
from judges.models.embedded import EmbeddedUnavailable
from judges.models.weights import WeightsMissing
from judges.operations import align_command, image_descriptions, list_models
from judges.operations.check_judge import check_judge, reread_and_store_verdicts
from judges.operations.terminal_progress import format_duration, run_summary, supervise_run
from judges.planning import forecast, plan_checks
from judges.planning.plan import Plan, asks_of, load_stored_plan, make_plan, save_plan
from judges.rendering.prompt_library import prompt_path, read_judge_prompts, save_prompt
from judges.security import key_consents, key_store
from judges.twins.make_twins import add_twins, describe_twins, list_twins
from studies.domain import RETRYABLE_STATUSES, Verdict, count_calls_left
from studies.spec.study import load_study
from studies.store.queries.run_costs import attempt_totals
from studies.store.store import PlanChange, Store, open_store_of_command
from studies.terminal import run_command
from studies.texts.twin_families import is_twin


def main(arguments: list[str] | None = None) -> int:
    options = _build_parser().parse_args(arguments)
    # Masks keys in all output, including warnings of libraries and tracebacks.
    restore = key_store.install_redaction()
    try:
        with _treat_sigterm_as_interrupt():
            return run_command(
                lambda: int(options.command(options)), EmbeddedUnavailable, WeightsMissing
            )
    finally:
        restore()


@contextlib.contextmanager
def _treat_sigterm_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, so that a job ended by a scheduler stops cleanly; outside the main
    thread, nothing is changed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m judges", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, command, summary in (
        ("run", run_study, "make the missing calls of a study; also resumes a run"),
        ("plan", print_plan_forecast, "count calls, tokens and dollars, without any call"),
        ("check", check_judges, "call each judge once; show reply, verdict and latency"),
        ("reread", reread_study, "parse the stored replies again, without any call"),
        (
            "retry",
            retry_failed_and_make_missing,
            "repeat the calls with status error, empty, truncated, too_long or unsupported",
        ),
    ):
        sub = commands.add_parser(name, help=summary, description=summary)
        stored = name in ("reread", "retry")
        sub.add_argument(
            "study", type=Path, nargs="?" if stored else None, help="a study file (YAML)"
        )
        if stored:
            sub.add_argument("--study", dest="name", help="the name of a study in the store")
        sub.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
        sub.set_defaults(command=command)
        if name == "run":
            ray_commands.add_cluster_options(sub)
        if name in ("run", "check", "retry"):
            key_consents.add_allow_keys_option(sub)
    summary = "write the prompts of MT-Bench's judge_prompts.jsonl into a folder of prompt files"
    sub = commands.add_parser("import-prompts", help=summary, description=summary)
    sub.add_argument("file", type=Path, help="judge_prompts.jsonl")
    sub.add_argument("folder", type=Path, help="folder for the .yaml files; no file is overwritten")
    sub.set_defaults(command=import_prompts)
    summary = "write the twins of a study's answers, to be read before a run"
    sub = commands.add_parser("twins", help=summary, description=summary)
    sub.add_argument("study", type=Path, help="a study file (YAML) with twins")
    sub.add_argument("--out", type=Path, help="file of JSON lines; default: the terminal")
    sub.set_defaults(command=write_twins)
    _add_describe_command(commands)
    align_command.add_align_command(commands, _candidate_comparison_text)
    batch_commands.add_batch_commands(commands)
    key_consents.add_allow_command(commands)
    list_models.add_providers_command(commands)
    list_models.add_model_commands(commands)
    return parser


def _add_describe_command(commands: Any) -> None:
    summary = "describe the images with a judge, and write the items with their descriptions"
    sub = commands.add_parser("describe", help=summary, description=summary)
    sub.add_argument("study", type=Path, help="a study file (YAML)")
    sub.add_argument("--judge", required=True, help="a judge of the study with vision: true")
    sub.add_argument(
        "--prompt", default="creation-describe", help="a prompt with protocol: describe"
    )
    sub.add_argument(
        "--aspects-judge", default="", help="judge that lists the aspects; default: --judge"
    )
    sub.add_argument("--out", type=Path, required=True, help="the new items file (.jsonl)")
    sub.add_argument("--store", type=Path, help="the SQLite file; default: beside the new file")
    sub.add_argument("--retry", action="store_true", help="repeat calls that failed before")
    key_consents.add_allow_keys_option(sub)
    sub.set_defaults(command=describe_images)


def _candidate_comparison_text(store: Store, study: str, judge: str, prompt: str) -> str:
    from metrics.summary.alignment.alignment_text import alignment_text  # measures need pandas

    return alignment_text(store, study, judge, prompt)


def run_study(options: argparse.Namespace) -> int:
    """Run a study; return exit code 0 only if no call is pending and none has the status
    `error`."""
    cluster = ray_commands.parse_cluster_options(options)
    made = _build_plan_of_study_file(options.study)
    store = Store(options.store)
    key_consents.obtain_study_key_consents(made.study, options)
    _print_note_on_dropped_calls(save_plan(made, store))
    if cluster is not None:
        return ray_commands.run_on_cluster_and_close_store(made, store, cluster)
    return _run_print_summary_and_close(made, store, RunSettings())


def retry_failed_and_make_missing(options: argparse.Namespace) -> int:
    """Make the calls of a study that have not been made yet, and repeat those whose status is in
    RETRYABLE_STATUSES, such as error, empty or truncated. A stored reply is replaced only by a
    new reply, never by a failure. Returns exit code 0 only if no call is pending and none has
    the status `error`."""
    if options.study is not None:
        made, store = _build_plan_of_study_file(options.study), Store(options.store)
        key_consents.obtain_study_key_consents(made.study, options)
        _print_note_on_dropped_calls(save_plan(made, store))
    else:
        name, store = _study_name(options), open_store_of_command(options.store)
        made = load_stored_plan(store, name)
        key_consents.obtain_study_key_consents(made.study, options)
    return _run_print_summary_and_close(
        made, store, RunSettings(retry_statuses=frozenset(RETRYABLE_STATUSES))
    )


def _run_print_summary_and_close(made: Plan, store: Store, settings: RunSettings) -> int:
    engine = Engine()
    try:
        snapshot = supervise_run(engine.start(made, store, settings=settings))
    finally:
        engine.close()
    name = made.study.name
    print(run_summary(snapshot, store.token_totals(name), attempt_totals(store, name)))
    store.close()
    left = count_calls_left(snapshot.counts)
    return 1 if left else 0


def reread_study(options: argparse.Namespace) -> int:
    """Read the verdicts from the stored replies of a study again, without new calls; store them and
    print how many changed. They are read by the setting `reading` of the study file given on the
    command line or, without a file, of the study in the store. The exit code is always 0."""
    given = load_study(options.study) if options.study is not None else None
    name = given.name if given else _study_name(options)
    store = open_store_of_command(options.store)
    study = given or store.study(name)
    done = reread_and_store_verdicts(store, study.name, study.reading)
    changed = sum(done.changed.values())
    print(f"{study.name}: {done.read:,} replies parsed again, {changed:,} changed")
    for what, count in done.changed.most_common():
        print(f"  {what} {count:,}")
    if done.not_parsed:
        print(f"  {done.not_parsed:,} not parsed: their log-probabilities are not stored")
    store.close()
    return 0


def _study_name(options: argparse.Namespace) -> str:
    if not options.name:
        raise PlanError("name a study: give its file, or --study NAME for one in the store")
    return str(options.name)


def print_plan_forecast(options: argparse.Namespace) -> int:
    made = _build_plan_of_study_file(options.study)
    whole = forecast.forecast_plan(made, store=Store(options.store))
    print(
        f"{made.study.name}: {len(made.items)} items, {len(made.study.judges)} judges, "
        f"{len(made.prompts)} prompts"
    )
    print(f"  calls    {whole.asks:,}, of which {whole.noise:,} for the noise floor")
    cached = f" ({whole.cached_tokens:,} cached)" if whole.cached_tokens else ""
    print(f"  tokens   about {whole.prompt_tokens:,} in{cached}, {whole.completion_tokens:,} out")
    for left in plan_checks.skipped_items(made.prompts, made.items):
        print(f"  skipped  {left.items:,} items with {left.prompt}: {left.why}")
    if made.study.twins is not None:
        twin_calls = sum(any(map(is_twin, one.ask.shown)) for one in asks_of(made))
        print(f"  twins    {twin_calls:,} of the calls")
        plain = [replace(item, twins={}) for item in made.items]
        print("\n".join(describe_twins(add_twins(made.study, plain))))
    print(f"  dollars  {_format_dollars(whole.dollars)}")
    print(f"  time     about {format_duration(whole.seconds or 0)}")
    return 0


def write_twins(options: argparse.Namespace) -> int:
    """Make the twins of a study (copies of an answer with one small change) and write each with its
    original as a line of JSON, to the file `--out` or to the terminal. Print to standard error
    how many were made and skipped. PlanError if the study asks for no twins."""
    made = _build_plan_of_study_file(options.study)
    if made.study.twins is None:
        raise PlanError(f"{options.study}: no key twins; add for example 'twins: quick'")
    found = add_twins(made.study, [replace(item, twins={}) for item in made.items])
    lines = (json.dumps(one, ensure_ascii=False) for one in list_twins(found.items))
    if options.out is None:
        print("\n".join(lines))
    else:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(describe_twins(found)), file=sys.stderr)
    return 0


def check_judges(options: argparse.Namespace) -> int:
    made = make_plan(load_study(options.study))
    store = Store(options.store)
    key_consents.obtain_study_key_consents(made.study, options)
    consents = key_consents.user_consents()
    store.close()
    results = [check_judge(made, judge, consents=consents) for judge in made.study.judges]
    for result in results:
        read = result.read
        print(f"{result.judge} ({result.model or 'no reply'}), {result.seconds:.2f} s")
        print(f"  reply    {result.reply!r}")
        verdict = read.detail or (_describe_verdict(read.verdict) if read.verdict else "")
        print(f"  reading  {read.status}, rule {read.rule}: {verdict}")
    return 0 if all(result.read.status == "ok" for result in results) else 1


def _describe_verdict(verdict: Verdict) -> str:
    """Describe a verdict in words, such as "picks slot 2", "a tie" or "scores 7, 4"."""
    parts = []
    if verdict.pick is not None:
        much = " by far" if verdict.margin == 2 else ""
        parts.append("a tie" if verdict.pick == "tie" else f"picks slot {verdict.pick + 1}{much}")
    if verdict.scores:
        parts.append(f"scores {', '.join(f'{score:g}' for score in verdict.scores)}")
    if verdict.label_probabilities:
        chances = ", ".join(f"{chance:.2f}" for chance in verdict.label_probabilities)
        parts.append(f"label probabilities {chances}")
    return "; ".join(parts)


def import_prompts(options: argparse.Namespace) -> int:
    """Save the prompts of MT-Bench's judge_prompts.jsonl as prompt files in a folder, and print
    each; return exit code 1 if no line could be imported."""
    found = read_judge_prompts(options.file)
    for prompt in found.prompts:
        saved = save_prompt(prompt.yaml, options.folder)
        path = prompt_path(saved, options.folder)
        print(f"{saved.name}, version {saved.version}: {saved.protocol}, {saved.verdict}, {path}")
    for name, why in found.rejected:
        print(f"not imported: {name}: {why}", file=sys.stderr)
    return 0 if found.prompts else 1


def describe_images(options: argparse.Namespace) -> int:
    """Describe the images of a study with a judge and write the items with their descriptions to a
    new file; return exit code 0 only if no description failed."""
    study = load_study(options.study)
    store = Store(options.store or options.out.with_name(f"{options.out.name}.db"))
    key_consents.obtain_study_key_consents(study, options)
    again = frozenset(RETRYABLE_STATUSES) if options.retry else RunSettings().retry_statuses
    done = image_descriptions.describe_images_to_file(
        study,
        options.judge,
        options.prompt,
        options.out,
        store,
        aspects_judge=options.aspects_judge,
        settings=RunSettings(retry_statuses=again),
        watch=supervise_run,
    )
    store.close()
    print(
        f"{done.described:,} items described, {done.without_images:,} have no images, "
        f"{len(done.failed):,} failed; ${done.dollars:.4f} spent"
    )
    for item, why in done.failed.items():
        print(f"  {item}: {why}", file=sys.stderr)
    print(f"written: {done.out}" if done.out else f"nothing written: {done.reason}")
    return 1 if done.failed else 0


def _build_plan_of_study_file(file: Path) -> Plan:
    """Build the plan of a study file; print a note if the data contains verdicts that the study
    does not use."""
    made = make_plan(load_study(file))
    if made.ignored_verdicts:
        print(
            f"note: {made.study.name} calls its own judges and does not use the "
            f"{made.ignored_verdicts:,} verdicts in {made.study.data.source}; to use them, import "
            "the folder as a study: python -m studies import",
            file=sys.stderr,
        )
    return made


def _print_note_on_dropped_calls(changed: PlanChange) -> None:
    if changed.dropped:
        print(
            f"the study changed: {changed.kept:,} calls unchanged, {changed.dropped:,} no longer "
            f"planned (their judgements stay in the store), {changed.added:,} new",
            file=sys.stderr,
        )


def _format_dollars(value: float | None) -> str:
    return "unknown: set a price for each judge" if value is None else f"about ${value:.2f}"


if __name__ == "__main__":
    sys.exit(main())
