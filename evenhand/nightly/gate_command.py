"""Command that compares a judge's verdicts with those of earlier runs (the baseline), every night
or for a pull request. Exit code 0 if they are ok, 1 if worse, 2 if this cannot be told."""

import argparse
from pathlib import Path

from evenhand.nightly.gate_check import ALPHA, DROP, READABLE, gate, is_study_file
from evenhand.nightly.gate_outputs import junit_xml, svg_badge
from evenhand.nightly.gate_result import GateResult, markdown
from evenhand.study_table import read
from studies.errors import EvenhandError, build_write_error
from studies.terminal import escape_control, run_command


def main(arguments: list[str] | None = None) -> int:
    options = _build_parser().parse_args(arguments)
    return run_command(lambda: _run_gate(options), ValueError)


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="evenhand gate", description=__doc__)
    parser.add_argument(
        "study",
        type=Path,
        help="a study file (YAML), which is run with new calls; or a store, CSV or log to compare",
    )
    parser.add_argument(
        "--against",
        type=Path,
        help="the baseline (JSON) with its nights so far; default: STUDY.baseline.json",
    )
    parser.add_argument(
        "--save-baseline",
        action="store_true",
        help="add this night to the baseline as a good one, without a test; do this on five good "
        "nights: with fewer, drops are often missed",
    )
    parser.add_argument("--no-record", action="store_true", help="leave the baseline file as it is")
    parser.add_argument("--name", default=None, help="name of the study in a store with several")
    parser.add_argument(
        "--store",
        type=Path,
        help="a new SQLite file for the replies of tonight; default: STUDY-gate-TIME.db",
    )
    parser.add_argument(
        "--readable",
        type=float,
        default=100 * READABLE,
        help="per cent of the calls that must have a verdict in a baseline night (default 90)",
    )
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


def _run_gate(options: argparse.Namespace) -> int:
    study = options.study
    try:
        data = study if is_study_file(study) else read(study, options.name)
        result = gate(
            data,
            options.against,
            save=options.save_baseline,
            record=not options.no_record,
            drop=options.drop / 100,
            alpha=options.alpha,
            same_version=options.same_version,
            readable=options.readable / 100,
            store=options.store,
            anchors=options.anchors,
        )
    except (EvenhandError, ValueError, OSError) as error:
        _write_outputs(GateResult(study.stem, (), error=str(error)), options)
        raise
    print(escape_control(markdown(result)))
    _write_outputs(result, options)
    return result.exit_code


def _write_outputs(result: GateResult, options: argparse.Namespace) -> None:
    _write_file(options.markdown, markdown(result))
    _write_file(options.junit, junit_xml(result))
    _write_file(options.badge, svg_badge(result))


def _write_file(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise build_write_error(path, error) from None
