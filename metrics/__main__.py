"""Print all measures of verdicts, as tables or as JSON.

The input is a store, a CSV of battles, or a table of verdicts with the right label of each answer.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import pandas as pd

from metrics.summary.remedy_section import RemedyInputs
from metrics.summary.remedy_tables import render_remedies
from metrics.summary.summary import WITHOUT_SUSPECTS, summarise_frame
from metrics.win_rates.win_rates import UnreadableRule, counting_rule
from studies.files.spreadsheet_guard import OWN_CSV_HEADERS, unguard_formula
from studies.frames.battle_frame import frame_from_battles
from studies.terminal import escape_control, run_command

SPLIT_COLUMNS = ("judge", "prompt", "category")
MIN_PRINTED_P = 1e-4
"""Smallest p-value printed as a number; smaller ones are printed as "p < …"."""
HEADER_BYTES = 65_536
SQLITE_HEADER = b"SQLite format 3\x00"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    return run_command(lambda: _print_results(options), ValueError)


def _print_results(options: argparse.Namespace) -> int:
    by = [name.strip() for name in options.by.split(",") if name.strip()]
    juries = [tuple(name.strip() for name in jury.split(",")) for jury in options.jury]
    result = _measure_file(options.results, options.study, by, options.quick, juries)
    if options.json:
        print(json.dumps(result, ensure_ascii=False, allow_nan=False))
    else:
        print(escape_control("\n".join(render_tables(result))))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m metrics", description=__doc__)
    parser.add_argument(
        "results",
        type=Path,
        help="path of a store, or of a CSV of battles or of verdicts and labels",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object instead of tables"
    )
    parser.add_argument("--study", help="name of the study in the store")
    parser.add_argument("--by", default="", help=f"split by any of {','.join(SPLIT_COLUMNS)}")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="run online Elo once, in plan order, without band and interval",
    )
    parser.add_argument(
        "--jury",
        action="append",
        default=[],
        metavar="A,B,C",
        help="compute the remedies of this jury too; may be given several times",
    )
    return parser


def _measure_file(
    results: Path,
    study: str | None,
    by: Sequence[str],
    quick: bool = False,
    juries: Sequence[tuple[str, ...]] = (),
) -> dict[str, Any]:
    wrong = set(by) - set(SPLIT_COLUMNS)
    if wrong:
        raise ValueError(
            f"cannot split by {', '.join(sorted(wrong))}; known: {', '.join(SPLIT_COLUMNS)}"
        )
    if not results.exists():
        raise ValueError(f"no such file: {results}; name a store or a CSV of battles")
    if results.is_dir():
        raise ValueError(f"{results} is a folder; name a store or a CSV of battles")
    if _is_store(results):
        return _measure_store(results, study, by, quick, juries)
    if _holds_labels(results):
        return _measure_labels(results, by, quick)
    inputs = RemedyInputs(juries=tuple(juries))
    return summarise_frame(_read_battles(results), by, quick=quick, remedies=inputs)


def _is_store(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(SQLITE_HEADER)) == SQLITE_HEADER


def _holds_labels(path: Path) -> bool:
    """Whether a file's header names `verdict` and `label` but not `winner` (a column of
    battles)."""
    with path.open("rb") as file:
        first = file.readline(HEADER_BYTES).decode("utf-8-sig", "replace").casefold()
    names = {name.strip(" \t\r\n\"'") for name in re.split(r"[,;\t:{]", first)}
    return {"verdict", "label"} <= names and "winner" not in names


def _measure_labels(path: Path, by: Sequence[str], quick: bool) -> dict[str, Any]:
    """Compute the measures of a table of verdicts and labels, by importing it into a temporary
    store."""
    from studies.errors import EvenhandError
    from studies.exchange.recorded_studies import import_verdicts
    from studies.sources.option_names import use_option_names
    from studies.store.store import Store

    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "labels.db")
        try:
            import_verdicts(store, path.resolve(), "labels")
        except EvenhandError as error:
            raise ValueError(use_option_names(str(error))) from error
        finally:
            store.close()
        return _measure_store(store.path, "labels", by, quick)


def _read_battles(path: Path) -> pd.DataFrame:
    """Read a CSV of battles as a frame. Empty texts are kept as values (an item or category without
    a name); a missing winner is an error."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is neither a store nor a CSV of battles: {error}; check the path, or see "
            "docs/formats.md"
        ) from error
    try:
        return frame_from_battles(
            table.map(unguard_formula) if tuple(table.columns) in OWN_CSV_HEADERS else table
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _measure_store(
    path: Path,
    study: str | None,
    by: Sequence[str],
    quick: bool,
    juries: Sequence[tuple[str, ...]] = (),
) -> dict[str, Any]:
    from metrics.summary.study_inputs import remedy_inputs
    from studies.errors import EvenhandError
    from studies.people.verifications import current_checks
    from studies.store.store import Store

    try:
        store = Store(path)
    except EvenhandError as error:  # here the store is the argument, not --store
        raise ValueError(str(error).replace(" with --store", "")) from error
    try:
        frame = store.frame(study)
        name = study or str(frame["study"].iloc[0]) if len(frame) else study
        if name is None:
            return summarise_frame(frame, by, quick=quick)
        spec = store.study(name)
        planned = store.counts(name)["planned"] or len(frame)
        combine, unreadable = counting_rule(spec.combine), cast(UnreadableRule, spec.unreadable)
        return summarise_frame(
            frame,
            by,
            planned=planned,
            combine=combine,
            unreadable=unreadable,
            quick=quick,
            checks=current_checks(store, name),
            remedies=remedy_inputs(store, name, juries),
        )
    except EvenhandError as error:
        raise ValueError(str(error)) from error
    finally:
        store.close()


# -- plain-text tables ---------------------------------------------------------------------------

MINUS, THIN_SPACE = "−", "\u2009"


def format_estimate(got: dict[str, Any]) -> str:
    """Format an estimate as value, interval and n; without a value, as a dash and the reason."""
    if got["value"] is None:
        return f"– ({got['note']})" if got["note"] else "–"
    digits = 0 if got["unit"] == "Elo" else 3
    shown = _bound_sign(got) + _format_number(got["value"], digits)
    if got["low"] is not None and got["high"] is not None:
        shown += f" [{_format_number(got['low'], digits)}, {_format_number(got['high'], digits)}]"
    return f"{shown}  n {got['n']:,}" + (f"  ({got['note']})" if got["note"] else "")


def _bound_sign(got: dict[str, Any]) -> str:
    """Return the sign ≥ or ≤ if the interval has only one limit, else an empty text."""
    if (got["low"] is None) == (got["high"] is None):
        return ""
    return "≥ " if got["high"] is None else "≤ "


def _format_number(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}".replace("-", MINUS)


def _format_p(p: float | None) -> str:
    if p is None:
        return ""
    return f"p {p:.4f}" if p >= MIN_PRINTED_P else f"p < {MIN_PRINTED_P:.4f}"


def is_estimate(value: object) -> bool:
    """Whether a value is an estimate in the form of a dictionary (value, low, high, …)."""
    return isinstance(value, dict) and {"value", "low", "high"} <= value.keys()


def render_tables(result: dict[str, Any], title: str = "") -> Iterable[str]:
    """Yield the lines of the printed tables: a heading for each section, then a line for each
    value.

    Sections without a number come last, so that the ratings come first if a file has nothing else.
    """
    for name, part in sorted(result.items(), key=lambda section: _lacks_numbers(section[1])):
        heading = f"{title} · {name}" if title else name
        if name == "by":
            yield from _render_cells(part, ())
            continue
        if name == WITHOUT_SUSPECTS:
            yield from render_tables(part, "without injection suspects")
            continue
        yield f"\n## {heading}"
        if name == "remedies":
            yield from render_remedies(part)
            continue
        yield from _render_lines(part, ())


def _lacks_numbers(part: Any) -> bool:
    """Whether a section is empty, or has estimates and none of them has a value."""
    estimates = list(_list_estimates(part))
    return part in ({}, []) or (bool(estimates) and all(e["value"] is None for e in estimates))


def _list_estimates(value: Any) -> Iterable[dict[str, Any]]:
    if is_estimate(value):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _list_estimates(inner)


def _render_cells(nested: dict[str, Any], path: tuple[str, ...]) -> Iterable[str]:
    for key, value in nested.items():
        if "counts" in value and "elo" in value:
            yield from render_tables(value, " / ".join((*path, key)))
        else:
            yield from _render_cells(value, (*path, key))


def _render_lines(value: Any, path: tuple[str, ...]) -> Iterable[str]:
    label = "  ".join(path)
    if is_estimate(value):
        yield f"{label:<48} {format_estimate(value)}"
    elif isinstance(value, dict):
        if "p" in value and "statistic" in value:
            yield f"{label:<48} {_format_p(value['p']) or '– (' + value['note'] + ')'}"
            return
        for key, one in value.items():
            yield from _render_lines(one, (*path, str(key)))
    elif isinstance(value, list) and value and is_estimate(value[0]):
        for place, one in enumerate(value, start=1):
            yield from _render_lines(one, (*path, f"slot {place}"))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        if "reason" in value[0]:  # a voter's flags
            # The page's narrow spaces do not show in every terminal.
            reasons = (one["reason"].replace("\u202f", " ") for one in value)
            yield from (f"{label:<48} {reason}" for reason in reasons)
            return
        for one in value:
            name = f"{one['measure']}: {one['left']} {MINUS} {one['right']}"
            yield f"{name:<48} {format_estimate(one['raw'])}"
            low, high = one["adjusted"]["low"], one["adjusted"]["high"]
            if low is not None:
                yield f"{'':<48} adjusted [{_format_number(low, 3)}, {_format_number(high, 3)}]"
    else:
        yield f"{label:<48} {value}"


if __name__ == "__main__":
    sys.exit(main())
