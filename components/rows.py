"""Which rows a results panel has: one for each judge and prompt that was asked, and its words."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from studies.records import HUMAN_PREFIX

ALL = "all"


@dataclass(frozen=True, slots=True)
class Filter:
    """What the reader looks at; `all` leaves a field open."""

    judge: str = ALL
    prompt: str = ALL
    category: str = ALL

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        kept = pd.Series(True, index=frame.index)
        for column in ("judge", "prompt", "category"):
            value = getattr(self, column)
            if value != ALL:
                kept &= frame[column] == value
        rows = frame[kept]
        for column in ("judge", "prompt", "category", "item"):
            rows = rows.assign(**{column: rows[column].cat.remove_unused_categories()})
        return rows


def machine_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """People are judges too, but not in these panels."""
    names = frame["judge"].astype(str)
    return frame[~names.str.startswith(HUMAN_PREFIX)]


def row_names(frame: pd.DataFrame) -> dict[tuple[str, str], str]:
    """(judge, prompt) -> the shortest name that tells it from the others."""
    cells = frame.groupby(["judge", "prompt"], observed=True).size().index
    judges = {judge for judge, _ in cells}
    prompts = {prompt for _, prompt in cells}
    named = {}
    for judge, prompt in cells:
        if len(judges) == 1 and len(prompts) > 1:
            named[judge, prompt] = str(prompt)
        else:
            named[judge, prompt] = str(judge) if len(prompts) == 1 else f"{judge}, {prompt}"
    return named


def choices(frame: pd.DataFrame, column: str) -> list[str]:
    return [ALL, *sorted(str(value) for value in frame[column].unique() if str(value))]
