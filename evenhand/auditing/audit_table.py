"""The summary of a study as one table: a row for each number of `evenhand metrics --json`."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

COLUMNS: Final = ["judge", "prompt", "measure", "value", "low", "high", "n", "items", "note"]
BY_JUDGE_AND_PROMPT: Final = frozenset(
    {
        ("position",), ("grade",), ("accuracies",), ("pass_fail",), ("scores",), ("option_order",),
        ("remedies", "rules"), ("remedies", "identity"), ("remedies", "recommendations"),
        ("remedies", "risk"), ("remedies", "certified"), ("error_placement",), ("criteria",),
        ("pass_by_order",), ("criteria_order",), ("score_distribution",), ("point_repeats",),
        ("reliability",), ("point_ranking",), ("point_remedies",), ("ranker",),
        ("alignment", "judges"), ("twins",),
    }
)  # fmt: skip
"""Sections of the summary (paths of keys) in which the next two keys are judge and prompt."""
BY_JUDGE: Final = frozenset(
    {("agreement", "people"), ("agreement", "merged_orders"), ("score_contradictions",)}
)
"""Sections (paths of keys) in which the next key is a judge."""
UNNAMED: Final = ("position",)
"""Section whose measures are named without it: `consistency`, not `position.consistency`."""

KeyPath = tuple[str, ...]


def summary_table(summary: Mapping[str, Any]) -> pd.DataFrame:
    """Convert a summary (the object that `evenhand metrics --json` prints) to a table with the
    columns COLUMNS, one row per number; only estimates have an interval."""
    rows = list(_section_rows(summary, ()))
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table.astype({"value": np.float64, "low": np.float64, "high": np.float64})


def _section_rows(part: Any, path: KeyPath) -> Iterator[dict[str, Any]]:
    """Yield a table row (column -> value) for each number in `part`, a part of the summary; `path`
    are the keys under which it stands. If the part is grouped by judge and prompt, their names go
    into columns of their own, not into the name of the measure."""
    if path in BY_JUDGE_AND_PROMPT and isinstance(part, Mapping):
        for judge, prompts in part.items():
            for prompt, inner in prompts.items():
                yield from _rows_of_numbers(inner, () if path == UNNAMED else path, judge, prompt)
    elif path in BY_JUDGE and isinstance(part, Mapping):
        for judge, inner in part.items():
            yield from _rows_of_numbers(inner, path, judge, "")
    elif isinstance(part, Mapping) and not _is_estimate(part):
        for key, inner in part.items():
            yield from _section_rows(inner, (*path, str(key)))
    else:
        yield from _rows_of_numbers(part, path, "", "")


def _rows_of_numbers(part: Any, path: KeyPath, judge: str, prompt: str) -> Iterator[dict[str, Any]]:
    """Yield a table row (column -> value) for each number in `part`, in the order of the summary.
    The name of the measure is `path`, the keys under which the number stands, joined by dots."""
    here = {"judge": judge, "prompt": prompt, "measure": ".".join(path)}
    if isinstance(part, Mapping):
        if _is_estimate(part):
            names = ("value", "low", "high", "n", "items", "note")
            yield {**here, **{name: part.get(name) for name in names}}
            part = {k: v for k, v in part.items() if k not in _ESTIMATE_KEYS}
        for key, inner in part.items():
            yield from _rows_of_numbers(inner, (*path, str(key)), judge, prompt)
    elif isinstance(part, list):
        for place, inner in enumerate(part):
            yield from _rows_of_numbers(inner, (*path, _entry_name(inner, place)), judge, prompt)
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield {**here, "value": part, "n": 0, "items": 0, "note": ""}


_ESTIMATE_KEYS: Final = frozenset(
    {"value", "low", "high", "n", "items", "unit", "level", "method", "note"}
)


def _is_estimate(part: Mapping[str, Any]) -> bool:
    return {"value", "low", "high"} <= part.keys()


def _entry_name(entry: Any, index: int) -> str:
    """Return a name for an entry of a list: "measure: left − right" for a difference of two values,
    for any other entry its index."""
    if isinstance(entry, Mapping) and {"measure", "left", "right"} <= entry.keys():
        return f"{entry['measure']}: {entry['left']} − {entry['right']}"
    return str(index)
