"""Effects of twins (copies of an answer with one change) as a table: how much more or less often
each judge chooses an answer because of each change."""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from evenhand.extras import report_missing_extra
from evenhand.study_table import JudgedStudy, as_study
from metrics.summary.summary import to_plain_data
from metrics.twins.twin_effects import TwinEffect, twin_effects
from metrics.twins.twin_sentence import twin_headline
from studies import errors, terminal
from studies.texts.twin_families import CONTROLS

_ESTIMATES: Final = ("change", "floor", "beyond_floor", "adjusted")
_COLUMNS: Final = [
    "judge", "prompt", "family", "control", "design",
    *(f"{name}{end}" for name in _ESTIMATES for end in ("", "_low", "_high")),
    "n", "items", "floor_family", "skipped", "detectable", "finding",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class TwinComparison:
    """Effects of twins (copies of an answer with one change) on the judges of a study. `table` has
    one row for each judge, prompt and family (kind of change). A control (a twin with a real
    fault) has one row for each judge, over all prompts, with an empty `prompt`."""

    table: pd.DataFrame
    sentences: dict[tuple[str, str], str]
    """(judge, prompt) -> sentence on the largest effect."""

    def __str__(self) -> str:
        shown = self.table[["judge", "prompt", "family", "adjusted", "detectable", "finding"]]
        lines = [f"{judge} · {prompt}: {text}" for (judge, prompt), text in self.sentences.items()]
        table = shown.to_string(index=False, float_format="{:.3f}".format)
        return terminal.escape_control("\n".join([*lines, table]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = self.table[["judge", "prompt", "family", "adjusted", "detectable", "finding"]]
        table = shown.to_html(index=False, escape=True, border=0, float_format="{:.3f}".format)
        said = "".join(
            f"<p><b>{escape(judge)} · {escape(prompt)}</b>: {escape(text)}</p>"
            for (judge, prompt), text in self.sentences.items()
        )
        return f'<div class="evenhand-twins">{said}{table}</div>'


@report_missing_extra
def twins(data: JudgedStudy | pd.DataFrame | str | Path) -> TwinComparison:
    """Estimate how much each kind of change to an answer (a twin is such a changed copy) moves each
    judge. The effect of a change that cannot matter (the floor) is subtracted. SourceError if
    the study has no verdicts on twins."""
    study = as_study(data)
    rows = study.measured.twins
    if rows is None or not len(rows):
        raise errors.SourceError(
            f"{study.name}: no verdicts on twins; add twins: quick to the study file and run it"
        )
    effects = twin_effects(rows, study.frame)
    table = pd.DataFrame([_effect_row(one) for one in effects], columns=_COLUMNS)
    numbers = [name for name in _COLUMNS if name.startswith(_ESTIMATES) and name != "floor_family"]
    cells = dict.fromkeys((one.judge, one.prompt) for one in effects if one.prompt)
    said = {
        cell: twin_headline([one for one in effects if (one.judge, one.prompt) == cell])
        for cell in cells
    }
    return TwinComparison(table.astype(dict.fromkeys(numbers, np.float64)), said)


def _effect_row(effect: TwinEffect) -> dict[str, Any]:
    """Return the row of the table for one effect, as column -> value. Each estimate `x` gives three
    columns: `x`, and its 95 % interval as `x_low` and `x_high`."""
    found: dict[str, Any] = {
        name: getattr(effect, name)
        for name in ("judge", "prompt", "family", "design", "floor_family", "skipped")
    }
    for name in _ESTIMATES:
        one = to_plain_data(getattr(effect, name))
        found |= {name: one["value"], f"{name}_low": one["low"], f"{name}_high": one["high"]}
    return found | {
        "control": effect.family in CONTROLS,
        "n": effect.beyond_floor.n,
        "items": effect.beyond_floor.items,
        "detectable": effect.min_detectable,
        "finding": effect.finding,
    }
