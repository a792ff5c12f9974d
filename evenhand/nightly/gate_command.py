"""Compare a judge with its baseline, every night or for a pull request; exit code 0 if ok, 1 if
worse, 2 if it cannot tell."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Final

from evenhand.nightly.gate_check import ALPHA, DROP, gate
from evenhand.nightly.gate_outputs import badge, junit
from evenhand.nightly.gate_result import markdown
from evenhand.running.study_runs import run
from evenhand.study_table import JudgedStudy, read
from studies.errors import StudyError, write_error
from studies.terminal import escape_control, run_command

STUDY_SUFFIXES: Final = (".yaml", ".yml")


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    return run_command(lambda: _gate(options), ValueError)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="evenhand gate", description=__doc__)
    parser.add_argument(
        "study",
        type=Path,
        help="a study file (YAML), which is run with new calls; or a store, CSV or log to compare",
    )
    parser.add_argument(
        "--against", type=Path, required=True, help="the baseline (JSON) with its nights so far"
    )
    parser.add_argument(
        "--save-baseline",
        action="store_true",
        help="add this night to the baseline as a good one, without a test; do this on five good "
        "nights: with fewer, drops are often missed",
    )
    parser.add_argument("--no-record", action="store_true", help="leave the baseline file as it is")
    parser.add_argument("--name", default=None, help="name of the study in a store with several")
    parser.add_argument("--store", type=Path, help="a new SQLite file for the replies of tonight")
    parser.add_argument(
        "--drop", type=float, default=100 * DROP, help="points that an ok must exclude (default 10)"
    )
    parser.add_argument(
        "--alpha", type=float, default=ALPHA, help="alarms per series without change (default 0.05)"
    )
    parser.add_argument(
        "--same-version", action="store_true", help="fail if the reported model version changes"
    )
    parser.add_argument(
        "--anchors",
        default="",
        metavar="CATEGORY",
        help="category of items with the same questions and answers every night: they tell a "
        "change of the judge from a change of the system judged",
    )
    parser.add_argument("--markdown", type=Path, help="write the result as Markdown")
    parser.add_argument("--junit", type=Path, help="write the result as JUnit XML")
    parser.add_argument("--badge", type=Path, help="write the outcome as an SVG badge")
    return parser


def _gate(options: argparse.Namespace) -> int:
    if options.study.suffix.casefold() not in STUDY_SUFFIXES:
        return _compare(read(options.study, options.name), options)
    if options.store is not None:
        if options.store.exists():
            raise StudyError(
                f"{options.store} exists, and its replies would be used again; name a new file"
            )
        return _compare(run(options.study, store=options.store), options)
    with tempfile.TemporaryDirectory() as folder:
        return _compare(run(options.study, store=Path(folder) / "tonight.db"), options)


def _compare(study: JudgedStudy, options: argparse.Namespace) -> int:
    result = gate(
        study,
        options.against,
        save=options.save_baseline,
        record=not options.no_record,
        drop=options.drop / 100,
        alpha=options.alpha,
        same_version=options.same_version,
        anchors=options.anchors,
    )
    print(escape_control(markdown(result)))
    _write(options.markdown, markdown(result))
    _write(options.junit, junit(result))
    _write(options.badge, badge(result))
    return result.exit_code


def _write(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise write_error(path, error) from None
