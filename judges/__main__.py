"""python -m judges {run,plan,check}: a study file asked from the command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from judges.check import check
from judges.models.embedded import EmbeddedUnavailable
from judges.models.weights import WeightsMissing
from judges.plan import forecast, make_plan, save_plan
from judges.progress import duration, follow, summary
from judges.runs import Engine
from studies.errors import EvenhandError
from studies.store import Changed, Store
from studies.study import load


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except (EvenhandError, EmbeddedUnavailable, WeightsMissing) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m judges", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, command, told in (
        ("run", run, "ask what is missing, or resume"),
        ("plan", plan, "count asks, tokens, dollars; ask nothing"),
        ("check", check_judges, "ask each judge once and show reply, reading and latency"),
    ):
        sub = commands.add_parser(name, help=told, description=told)
        sub.add_argument("study", type=Path, help="a study file (YAML)")
        sub.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
        sub.set_defaults(command=command)
    return parser


def run(options: argparse.Namespace) -> int:
    """0 only if no ask is pending or ended in `error`."""
    made = make_plan(load(options.study))
    store = Store(options.store)
    _tell(save_plan(made, store))
    engine = Engine()
    try:
        snapshot = follow(engine.start(made, store))
    finally:
        engine.close()
    print(summary(snapshot, store.tokens(made.study.name)))
    store.close()
    left = snapshot.counts.get("pending", 0) + snapshot.counts.get("error", 0)
    return 1 if left else 0


def plan(options: argparse.Namespace) -> int:
    made = make_plan(load(options.study))
    whole = forecast(made)
    print(f"{made.study.name}: {len(made.items)} items, {len(made.study.judges)} judges, "
          f"{len(made.prompts)} prompts")  # fmt: skip
    print(f"  asks     {whole.asks:,}, of which noise floor {whole.noise:,}")
    print(f"  tokens   about {whole.prompt_tokens:,} in, {whole.completion_tokens:,} out")
    print(f"  dollars  {_dollars(whole.dollars)}")
    print(f"  time     about {duration(whole.seconds or 0)}")
    return 0


def check_judges(options: argparse.Namespace) -> int:
    made = make_plan(load(options.study))
    results = [check(made, judge) for judge in made.study.judges]
    for result in results:
        read = result.read
        print(f"{result.judge} ({result.model or 'no reply'}), {result.seconds:.2f} s")
        print(f"  reply    {result.reply!r}")
        print(f"  reading  {read.status}, rule {read.rule}: {read.verdict or read.detail}")
    return 0 if all(result.read.status == "ok" for result in results) else 1


def _tell(changed: Changed) -> None:
    if changed.dropped:
        print(
            f"the study changed: {changed.kept:,} asks are still asked for, {changed.dropped:,} no "
            f"longer (their judgements stay in the store), {changed.added:,} are new",
            file=sys.stderr,
        )


def _dollars(value: float | None) -> str:
    return "unknown: give the judge a price" if value is None else f"about ${value:.2f}"


if __name__ == "__main__":
    sys.exit(main())
