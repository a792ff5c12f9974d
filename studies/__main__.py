"""python -m studies {list,show,export,delete}: what a store holds."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

from studies.errors import EvenhandError, StoreUnusable
from studies.store import Store
from studies.study import dump


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        store = _existing(options.store)
        options.command(store, options)
        store.close()
        sys.stdout.flush()
    except EvenhandError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `… | head`: the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _existing(path: Path | None) -> Store:
    """Looking at a store must not make one where a name was mistyped."""
    if path is not None and not path.exists():
        raise StoreUnusable(f"there is no store at {path}; --store names the SQLite file")
    return Store(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, command, told in (
        ("list", list_studies, "the studies of a store"),
        ("show", show_study, "one study: its file and its counts"),
        ("export", export_study, "the judgements of a study as JSON lines, texts included"),
        ("delete", delete_study, "a study, and the judgements no other study asks for"),
    ):
        sub = commands.add_parser(name, help=told, description=told)
        if name != "list":
            sub.add_argument("study", help="the study's name")
        sub.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
        sub.set_defaults(command=command)
    return parser


def list_studies(store: Store, options: argparse.Namespace) -> None:
    lines = store.studies()
    for line in lines:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(line.updated))
        print(f"{line.name}\t{line.judged:,} of {line.planned:,} judged\t{day}")
    if not lines:
        print(f"no studies yet in {store.path}", file=sys.stderr)


def show_study(store: Store, options: argparse.Namespace) -> None:
    print(dump(store.study(options.study)))
    for name, count in store.counts(options.study).items():
        print(f"# {name} {count:,}")


def export_study(store: Store, options: argparse.Namespace) -> None:
    store.study(options.study)
    for judgement in store.judgements(options.study):
        print(json.dumps(asdict(judgement), ensure_ascii=False))


def delete_study(store: Store, options: argparse.Namespace) -> None:
    gone = store.delete_study(options.study)
    print(f"deleted {options.study} and {gone:,} judgements")


if __name__ == "__main__":
    sys.exit(main())
