"""python -m metrics RESULTS: every number of a store or a battles CSV, for people or as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import pandas as pd

from metrics.summary import WITHOUT_SUSPECTS, measure
from metrics.wins import Combine, Unreadable
from studies.formulas import OURS, bare
from studies.frame import frame_from_battles
from studies.terminal import ended, plain

SPLITS = ("judge", "prompt", "category")
SMALLEST = 1e-4
"""No p is printed as zero."""
SQLITE = b"SQLite format 3\x00"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    return ended(lambda: _printed(options), ValueError)


def _printed(options: argparse.Namespace) -> int:
    by = [name.strip() for name in options.by.split(",") if name.strip()]
    result = _measured(options.results, options.study, by, options.quick)
    if options.json:
        print(json.dumps(result, ensure_ascii=False, allow_nan=False))
    else:
        print(plain("\n".join(tables(result))))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m metrics", description=__doc__)
    parser.add_argument("results", type=Path, help="a store, or a CSV of battles")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--study", help="which study of the store")
    parser.add_argument("--by", default="", help=f"split by any of {','.join(SPLITS)}")
    parser.add_argument(
        "--quick", action="store_true", help="online Elo in plan order only, no band, no interval"
    )
    return parser


def _measured(
    results: Path, study: str | None, by: Sequence[str], quick: bool = False
) -> dict[str, Any]:
    wrong = set(by) - set(SPLITS)
    if wrong:
        raise ValueError(f"cannot split by {', '.join(sorted(wrong))}; known: {', '.join(SPLITS)}")
    if not results.exists():
        raise ValueError(f"no such file: {results}; name a store or a CSV of battles")
    if results.is_dir():
        raise ValueError(f"{results} is a folder; name a store or a CSV of battles")
    if _is_store(results):
        return _from_store(results, study, by, quick)
    return measure(_battles(results), by, quick=quick)


def _is_store(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def _battles(path: Path) -> pd.DataFrame:
    """A battles table; an empty category or item is a value, a missing winner is an error."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is neither a store nor a CSV of battles: {error}") from error
    try:
        return frame_from_battles(table.map(bare) if tuple(table.columns) in OURS else table)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _from_store(path: Path, study: str | None, by: Sequence[str], quick: bool) -> dict[str, Any]:
    from studies.errors import EvenhandError
    from studies.store import Store
    from studies.verified import checks_of

    try:
        store = Store(path)
    except EvenhandError as error:  # here the store is no option but the argument itself
        raise ValueError(str(error).replace(" with --store", "")) from error
    try:
        frame = store.frame(study)
        name = study or str(frame["study"].iloc[0]) if len(frame) else study
        if name is None:
            return measure(frame, by, quick=quick)
        spec = store.study(name)
        planned = store.counts(name)["planned"] or len(frame)
        combine, unreadable = cast(Combine, spec.combine), cast(Unreadable, spec.unreadable)
        return measure(
            frame, by, planned=planned, combine=combine, unreadable=unreadable, quick=quick,
            checks=checks_of(store, name),
        )  # fmt: skip
    except EvenhandError as error:
        raise ValueError(str(error)) from error
    finally:
        store.close()


# -- tables for people ---------------------------------------------------------------------------

MINUS, SPACE = "−", "\u2009"


def number(got: dict[str, Any]) -> str:
    """A value with its interval and n, or the reason why there is none."""
    if got["value"] is None:
        return f"– ({got['note']})" if got["note"] else "–"
    digits = 0 if got["unit"] == "Elo" else 3
    shown = _end(got) + _signed(got["value"], digits)
    if got["low"] is not None and got["high"] is not None:
        shown += f" [{_signed(got['low'], digits)}, {_signed(got['high'], digits)}]"
    return f"{shown}  n {got['n']:,}" + (f"  ({got['note']})" if got["note"] else "")


def _end(got: dict[str, Any]) -> str:
    """≥ or ≤ where the number is the one end of an interval that has no other."""
    if (got["low"] is None) == (got["high"] is None):
        return ""
    return "≥ " if got["high"] is None else "≤ "


def _signed(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}".replace("-", MINUS)


def _p(p: float | None) -> str:
    if p is None:
        return ""
    return f"p {p:.4f}" if p >= SMALLEST else f"p < {SMALLEST:.4f}"


def is_estimate(value: object) -> bool:
    """An estimate as plain data."""
    return isinstance(value, dict) and {"value", "low", "high"} <= value.keys()


def tables(result: dict[str, Any], title: str = "") -> Iterable[str]:
    """Each part under its heading; nested keys become one line each."""
    for name, part in result.items():
        heading = f"{title} · {name}" if title else name
        if name == "by":
            yield from _cells(part, ())
            continue
        if name == WITHOUT_SUSPECTS:
            yield from tables(part, "without injection suspects")
            continue
        yield f"\n## {heading}"
        yield from _lines(part, ())


def _cells(nested: dict[str, Any], path: tuple[str, ...]) -> Iterable[str]:
    for key, value in nested.items():
        if "counts" in value and "elo" in value:
            yield from tables(value, " / ".join((*path, key)))
        else:
            yield from _cells(value, (*path, key))


def _lines(value: Any, path: tuple[str, ...]) -> Iterable[str]:
    label = "  ".join(path)
    if is_estimate(value):
        yield f"{label:<48} {number(value)}"
    elif isinstance(value, dict):
        if "p" in value and "statistic" in value:
            yield f"{label:<48} {_p(value['p']) or '– (' + value['note'] + ')'}"
            return
        for key, one in value.items():
            yield from _lines(one, (*path, str(key)))
    elif isinstance(value, list) and value and is_estimate(value[0]):
        for place, one in enumerate(value, start=1):
            yield from _lines(one, (*path, f"slot {place}"))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        if "reason" in value[0]:  # a voter's flags
            told = (one["reason"].replace("\u202f", " ") for one in value)  # a terminal's space
            yield from (f"{label:<48} {reason}" for reason in told)
            return
        for one in value:
            name = f"{one['measure']}: {one['left']} {MINUS} {one['right']}"
            yield f"{name:<48} {number(one['raw'])}"
            low, high = one["adjusted"]["low"], one["adjusted"]["high"]
            if low is not None:
                yield f"{'':<48} adjusted [{_signed(low, 3)}, {_signed(high, 3)}]"
    else:
        yield f"{label:<48} {value}"


if __name__ == "__main__":
    sys.exit(main())
