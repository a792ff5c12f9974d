"""Command line of the page: write a study as a report, a read-only page or a Hugging Face Space;
build, extend and verify a board (a static page that compares judges); print the limits of a private
and of a public page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from components.server import access
from components.share.board import board_files, record_tree
from components.share.publish import push_space, write_frozen_page, write_space_folder
from components.share.report import write_report
from studies import errors, settings, terminal
from studies.store.store import Store, open_store_of_command


def main(arguments: list[str] | None = None) -> int:
    options = _build_parser().parse_args(arguments)
    return terminal.run_command(lambda: _run_command(options))


def _run_command(options: argparse.Namespace) -> int:
    if options.command is print_access_table:
        print_access_table()
        return 0
    if options.command in (build_board, add_to_board, print_board_verification):
        code: int = options.command(options)
        return code
    store = open_store_of_command(options.store)
    options.command(store, options)
    store.close()
    return 0


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m components", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, command, description, target in (
        ("report", make_report, "write a study as one HTML file that opens offline", "file"),
        ("freeze", write_and_push_frozen_page,
         "write a read-only page of one study with its data; no judge can be run there", "folder"),
        ("publish", write_and_push_space,
         "write a Hugging Face Space with the whole app and one study", "folder"),
    ):  # fmt: skip
        sub = commands.add_parser(name, help=description, description=description)
        sub.add_argument("study", help="the study's name")
        sub.add_argument("target", type=Path, help=f"the {target} to write")
        sub.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
        if name != "report":
            sub.add_argument("--push", default="", help="upload to this Space (owner/name)")
        sub.set_defaults(command=command)
    _add_board_commands(commands)
    description = (
        "print the table of limits in docs/security.md: values on your machine and on a public page"
    )
    table = commands.add_parser("access", help=description, description=description)
    table.set_defaults(command=print_access_table)
    return parser


def _add_board_commands(commands: Any) -> None:
    """Add `board build`, `board add` and `board verify`."""
    description = "compare judges on one offline page, with the records of every number"
    board = commands.add_parser("board", help=description, description=description)
    actions = board.add_subparsers(required=True)
    build = actions.add_parser("build", help="write a new board", description=build_board.__doc__)
    build.add_argument("study", nargs="+", help=_STUDY_HELP)
    build.add_argument("--out", type=Path, required=True, help="the folder to write, new or empty")
    build.add_argument("--title", default="", help="the board's title")
    build.add_argument("--push", default="", help="upload the board to this Space (owner/name)")
    add = actions.add_parser("add", help="add a study", description=add_to_board.__doc__)
    add.add_argument("board", type=Path, help="the board's folder")
    add.add_argument("study", help=_STUDY_HELP)
    for sub, command in ((build, build_board), (add, add_to_board)):
        sub.add_argument("--by", default="", help="who ran the study, as the board shows it")
        sub.add_argument(
            "--identity",
            action="append",
            default=[],
            metavar="JUDGE=TEXT",
            help="what identifies a judge whose weights are not here: embedded:SHA256",
        )
        sub.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
        sub.set_defaults(command=command)
    verify = actions.add_parser(
        "verify", help="check a board", description=print_board_verification.__doc__
    )
    verify.add_argument("board", type=Path, help="the board's folder")
    verify.add_argument(
        "--manifest",
        default="",
        metavar="SHA256",
        help="the hash that the manifest must have, as the page's footer showed it",
    )
    verify.set_defaults(command=print_board_verification)


_STUDY_HELP = "a study's name, or a study file with its exported judgements beside it (x.jsonl)"


def build_board(options: argparse.Namespace) -> int:
    """Write a new board of one or more studies: a static page that compares their judges."""
    found = (_load_board_records(options, name) for name in options.study)
    board = board_files.write_board(found, options.out, options.title)
    print(
        f"wrote {options.out}: {len(board['rows'])} rows, {board['verdicts']:,} verdicts; open "
        f"{options.out / 'index.html'}"
    )
    _push_space_if_requested(options, options.out, sdk="static")
    return 0


def add_to_board(options: argparse.Namespace) -> int:
    """Add the judges of one study to a board, and compute the board's numbers again."""
    board = board_files.add_study(options.board, _load_board_records(options, options.study))
    print(f"{options.board}: {len(board['rows'])} rows, {board['verdicts']:,} verdicts")
    return 0


def print_board_verification(options: argparse.Namespace) -> int:
    """Compute every number of a board again from its stored judgements, and compare; exit code 1 at
    the first difference."""
    try:
        print(board_files.verify_board(options.board, options.manifest))
    except (record_tree.BoardError, errors.SourceError) as error:
        print(f"difference: {terminal.escape_control(str(error))}", file=sys.stderr)
        return 1
    return 0


def _load_board_records(options: argparse.Namespace, name: str) -> record_tree.StudyRecords:
    """Load the records of one study: from the study file `name` if it ends in .yaml or .yml, else
    from the study of this name in the store."""
    if name.endswith((".yaml", ".yml")):
        pairs = (one.partition("=") for one in options.identity)
        identities = {judge: text for judge, _, text in pairs}
        return record_tree.records_of_file(Path(name), identities, options.by)
    store = open_store_of_command(options.store)
    try:
        return record_tree.records_of_store(store, name, options.by)
    finally:
        store.close()


def print_access_table() -> None:
    print(access.access_table())


def make_report(store: Store, options: argparse.Namespace) -> None:
    size = write_report(store, options.study, options.target)
    print(f"wrote {options.target}: {size / 1e6:.1f} MB; it opens in any browser, also offline")


def write_and_push_frozen_page(store: Store, options: argparse.Namespace) -> None:
    write_frozen_page(store, options.study, options.target)
    print(
        f"wrote {options.target}; to start the page, run in that folder: "
        "pip install -r requirements.txt && python app.py"
    )
    _push_space_if_requested(options, options.target)


def write_and_push_space(store: Store, options: argparse.Namespace) -> None:
    write_space_folder(store, options.study, options.target)
    print(f"wrote {options.target}: a Hugging Face Space, ready to upload")
    _push_space_if_requested(options, options.target)


def _push_space_if_requested(
    options: argparse.Namespace, folder: Path, sdk: str = "gradio"
) -> None:
    if options.push:
        print(push_space(folder, options.push, settings.HUB_TOKEN.read() or None, sdk=sdk))


if __name__ == "__main__":
    sys.exit(main())
