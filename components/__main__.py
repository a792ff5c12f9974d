"""python -m components {report,freeze,publish,access}: a study as a file, a folder, a Space; what
the page allows."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from components.server import access
from components.share.publish import freeze, publish, push_space
from components.share.report import write_report
from studies.store.store import Store, open_existing_store
from studies.terminal import run_command


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    return run_command(lambda: _run_command(options))


def _run_command(options: argparse.Namespace) -> int:
    if options.command is print_access:
        print_access()
        return 0
    store = open_existing_store(options.store)
    options.command(store, options)
    store.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m components", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, command, told, target in (
        ("report", make_report, "one HTML file that opens offline", "the file to write"),
        (
            "freeze",
            make_frozen_page,
            "a read-only page with its data, no judges",
            "the folder to make",
        ),
        ("publish", make_space, "a Space: front matter, app, the study", "the folder to make"),
    ):
        sub = commands.add_parser(name, help=told, description=told)
        sub.add_argument("study", help="the study's name")
        sub.add_argument("target", type=Path, help=target)
        sub.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
        if name != "report":
            sub.add_argument("--push", default="", help="owner/name of a Space to push it to")
        sub.set_defaults(command=command)
    told = "what is allowed on one's own machine and in public, as the table of the README"
    commands.add_parser("access", help=told, description=told).set_defaults(command=print_access)
    return parser


def print_access() -> None:
    print(access.access_table())


def make_report(store: Store, options: argparse.Namespace) -> None:
    size = write_report(store, options.study, options.target)
    print(f"{options.target}: {size / 1e6:.1f} MB, opens in any browser without a network")


def make_frozen_page(store: Store, options: argparse.Namespace) -> None:
    freeze(store, options.study, options.target)
    print(f"{options.target}: pip install -r requirements.txt && python app.py")
    _push_if_named(options)


def make_space(store: Store, options: argparse.Namespace) -> None:
    publish(store, options.study, options.target)
    print(f"{options.target}: a Space, ready to push")
    _push_if_named(options)


def _push_if_named(options: argparse.Namespace) -> None:
    if options.push:
        print(push_space(options.target, options.push, token=os.environ.get("HF_TOKEN")))


if __name__ == "__main__":
    sys.exit(main())
