"""Command line: export a study as a report, a read-only page or a Space; print the access table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from components.server import access
from components.share.publish import freeze, publish, push_space
from components.share.report import write_report
from studies import settings
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
    for name, command, description, target in (
        (
            "report",
            make_report,
            "write a study as one HTML file that opens offline",
            "the file to write",
        ),
        (
            "freeze",
            make_frozen_page,
            "write a read-only page of one study with its data; no judge can be run there",
            "the folder to write",
        ),
        (
            "publish",
            make_space,
            "write a Hugging Face Space with the whole app and one study",
            "the folder to write",
        ),
    ):
        sub = commands.add_parser(name, help=description, description=description)
        sub.add_argument("study", help="the study's name")
        sub.add_argument("target", type=Path, help=target)
        sub.add_argument(
            "--store", type=Path, default=None, help="the store to use (an SQLite file)"
        )
        if name != "report":
            sub.add_argument(
                "--push", default="", help="upload the files to this Space (owner/name)"
            )
        sub.set_defaults(command=command)
    description = (
        "print the table of limits in docs/security.md: values on your machine and on a public page"
    )
    table = commands.add_parser("access", help=description, description=description)
    table.set_defaults(command=print_access)
    return parser


def print_access() -> None:
    print(access.access_table())


def make_report(store: Store, options: argparse.Namespace) -> None:
    size = write_report(store, options.study, options.target)
    print(f"wrote {options.target}: {size / 1e6:.1f} MB; it opens in any browser, also offline")


def make_frozen_page(store: Store, options: argparse.Namespace) -> None:
    freeze(store, options.study, options.target)
    print(
        f"wrote {options.target}; to start the page, run in that folder: "
        "pip install -r requirements.txt && python app.py"
    )
    _push_if_named(options)


def make_space(store: Store, options: argparse.Namespace) -> None:
    publish(store, options.study, options.target)
    print(f"wrote {options.target}: a Hugging Face Space, ready to upload")
    _push_if_named(options)


def _push_if_named(options: argparse.Namespace) -> None:
    if options.push:
        print(push_space(options.target, options.push, token=settings.HUB_TOKEN.read() or None))


if __name__ == "__main__":
    sys.exit(main())
