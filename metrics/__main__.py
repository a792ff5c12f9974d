"""Print all measures of verdicts, as tables or as JSON.

The input is a store (the database of a project's studies), a CSV of battles (verdicts on two
answers), or a table of verdicts with the right label of each answer."""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from metrics.position.order_tests import NONE_AS_UNEVEN
from metrics.summary import measured_study, remedy_tables, summary
from studies.terminal import escape_control, run_command

SPLIT_COLUMNS = ("judge", "prompt", "category")
JSON_ONLY = {"contrast_families"}
"""Sections that are only in the JSON because their tables are too long to print."""
MIN_PRINTED_P = 1e-4
"""Smallest p-value printed as a number; smaller p-values are printed as "p < …"."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _build_parser().parse_args(arguments)
    return run_command(lambda: _print_results(options), ValueError)


def _print_results(options: argparse.Namespace) -> int:
    by = [name.strip() for name in options.by.split(",") if name.strip()]
    juries = [tuple(name.strip() for name in jury.split(",")) for jury in options.jury]
    wrong = set(by) - set(SPLIT_COLUMNS)
    if wrong:
        raise ValueError(
            f"cannot split by {', '.join(sorted(wrong))}; known: {', '.join(SPLIT_COLUMNS)}"
        )
    study = measured_study.read_results(options.results, options.study, juries)
    if study.unused_columns:  # of a table of battles; `evenhand import` can map them
        told = f"columns not used: {', '.join(study.unused_columns)} (docs/formats.md)"
        print(escape_control(told), file=sys.stderr)
    result = study.summarise(by, quick=options.quick)
    if options.json:
        print(json.dumps(result, ensure_ascii=False, allow_nan=False))
    else:
        print(escape_control("\n".join(render_tables(result))))
    return 0


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m metrics", description=__doc__)
    parser.add_argument(
        "results",
        type=Path,
        help="path of a store, or of a CSV file with battles or with verdicts and labels",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object instead of tables"
    )
    parser.add_argument("--study", help="name of the study in the store")
    parser.add_argument("--by", default="", help=f"split by any of {','.join(SPLIT_COLUMNS)}")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="run online Elo once, in plan order, without interval and range over orders",
    )
    parser.add_argument(
        "--jury",
        action="append",
        default=[],
        metavar="A,B,C",
        help="compute the remedies of this jury too; may be given several times",
    )
    return parser


# -- plain-text tables ---------------------------------------------------------------------------

MINUS, THIN_SPACE = "−", "\u2009"


def format_estimate(estimate: dict[str, Any]) -> str:
    """Format an estimate (dictionary: value, low, high, n, unit, note) as value, interval, n and
    note; without a value, as a dash and the note, which then gives the reason."""
    value, low, high, note = (estimate[name] for name in ("value", "low", "high", "note"))
    if value is None:
        return f"– ({note})" if note else "–"
    digits = 0 if estimate["unit"] == "Elo" else 3
    shown = _one_sided_limit_symbol(estimate) + _format_number(value, digits)
    if low is not None and high is not None:
        shown += f" [{_format_number(low, digits)}, {_format_number(high, digits)}]"
    return f"{shown}  n {estimate['n']:,}" + (f"  ({note})" if note else "")


def _one_sided_limit_symbol(estimate: dict[str, Any]) -> str:
    """Return "≥ " if the interval has only a lower limit, "≤ " if only an upper limit, else ""."""
    if (estimate["low"] is None) == (estimate["high"] is None):
        return ""
    return "≥ " if estimate["high"] is None else "≤ "


def _format_number(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}".replace("-", MINUS)


def _format_p_value(p: float | None, is_bound: bool = False) -> str:
    if p is None:
        return ""
    return f"p {'≤ ' * is_bound}{p:.4f}" if p >= MIN_PRINTED_P else f"p < {MIN_PRINTED_P:.4f}"


def is_estimate(value: object) -> bool:
    """Whether a value is an estimate in the form of a dictionary (value, low, high, …)."""
    return isinstance(value, dict) and {"value", "low", "high"} <= value.keys()


def render_tables(result: dict[str, Any], title: str = "") -> Iterable[str]:
    """Yield the lines of the printed tables of a summary (`result`: section name -> values): a
    heading for each section, after `title` if there is one, then a line for each value. Sections
    without any number come last, those in JSON_ONLY are left out."""
    for name, part in sorted(result.items(), key=lambda section: _lacks_numbers(section[1])):
        if name in JSON_ONLY:
            continue
        heading = f"{title} · {name}" if title else name
        if name == "by":
            yield from _render_nested_summaries(part, ())
            continue
        if name == summary.WITHOUT_SUSPECTS:
            yield from render_tables(part, "without injection suspects")
            continue
        yield f"\n## {heading}"
        if name == "remedies" and "truth" in part:  # a group has its agreement only
            yield from remedy_tables.render_remedies(part)
            continue
        yield from _render_lines(part, ())


def _lacks_numbers(part: Any) -> bool:
    """Whether a section is empty, or has estimates of which none has a value."""
    estimates = list(_estimates_inside(part))
    return part in ({}, []) or (bool(estimates) and all(e["value"] is None for e in estimates))


def _estimates_inside(value: Any) -> Iterable[dict[str, Any]]:
    if is_estimate(value):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _estimates_inside(inner)


def _render_nested_summaries(nested: dict[str, Any], path: tuple[str, ...]) -> Iterable[str]:
    """Yield the tables of each summary in a dict nested by the values of the columns that split
    the study; `path` has the values that lead to `nested`."""
    for key, value in nested.items():
        if "counts" in value and "elo" in value:
            yield from render_tables(value, " / ".join((*path, key)))
        else:
            yield from _render_nested_summaries(value, (*path, key))


def _render_lines(value: Any, path: tuple[str, ...]) -> Iterable[str]:
    """Yield a line for each estimate, test or other value inside `value`, labelled with the keys
    that lead to it, after those in `path`."""
    label = "  ".join(path)
    if is_estimate(value):
        yield f"{label:<48} {format_estimate(value)}"
    elif isinstance(value, dict):
        if "p" in value and "statistic" in value:
            bound = value["note"].endswith(NONE_AS_UNEVEN)
            told = _format_p_value(value["p"], bound)
            if value.get("adjusted") is not None:
                told += f", adjusted {_format_p_value(value['adjusted'], bound)}"
            yield f"{label:<48} {told or '– (' + value['note'] + ')'}"
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
        if "measure" not in value[0]:  # points of a curve
            for place, one in enumerate(value, start=1):
                yield from _render_lines(one, (*path, str(place)))
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
