"""Creation-MMBench's main table: VFS, Reward, Win Rate and counts by model, category and task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from metrics import preference, selection
from metrics.intervals import unknown
from metrics.measures import Cell, Evidence
from metrics.prompt_kinds import scoring
from studies.records import Estimate

NO_SCORES: Final = "no visual factuality score"


@dataclass(frozen=True, slots=True)
class CreationRow:
    """One model against the baseline (or, without one, against everyone).

    `reward` is −100…100, `win_rate` a share of the readable verdicts (a tie is no win), both orders
    pooled. `counts` has the five levels. `fail` and `vfs_fail` are replies that could not be read,
    in no denominator. `baseline_vfs` is the baseline's own score beside this model.
    """

    model: str
    vfs: Estimate
    baseline_vfs: Estimate
    reward: Estimate
    win_rate: Estimate
    counts: dict[str, int]
    fail: int
    vfs_fail: int


def creation_table(
    frame: pd.DataFrame,
    baseline: str | None = None,
    by: Sequence[str] = (),
    judges: Sequence[str] | None = None,
) -> dict[Cell, list[CreationRow]]:
    """Every model of every cell of `by`, the highest Reward first; () is the whole study.

    Categories and tasks pool the judgements of their items. `by` names columns of the frame:
    `category`, or one that `selection.grouped` adds (task).
    """
    heard = selection.voices(selection.rows_of(frame, ~frame["noise"]), judges)
    heard = _with_baseline(selection.pairs(heard), baseline)
    evidence = Evidence(heard, by)
    cell = evidence.frame["cell"].to_numpy()
    # Unread replies of a prompt that scores are failures of the score, not of the verdict.
    scored = scoring(heard)
    table = {}
    for code, key in enumerate(evidence.cells if len(heard) else []):
        here = cell == code
        table[key] = _rows(
            selection.rows_of(heard, here & ~scored),
            selection.rows_of(heard, here & scored),
            baseline,
        )
    return table


def _with_baseline(rows: pd.DataFrame, baseline: str | None) -> pd.DataFrame:
    if baseline is None:
        return rows
    return selection.rows_of(rows, (rows["first"] == baseline) | (rows["second"] == baseline))


def _rows(judged: pd.DataFrame, scored: pd.DataFrame, baseline: str | None) -> list[CreationRow]:
    counts = preference.five_levels(judged, baseline)
    reward = preference.reward(judged, baseline)
    rate = preference.win_percentage(judged, baseline)
    vfs = preference.factuality(scored, baseline)
    names = {*counts, *selection.contestants(scored)} - {baseline}
    rows = [
        CreationRow(
            model=name,
            vfs=vfs.get(name, unknown(NO_SCORES, "score/10")),
            baseline_vfs=vfs.get(f"{baseline} (vs {name})", unknown(NO_SCORES, "score/10")),
            reward=reward.get(name, unknown("no verdicts", "reward")),
            win_rate=rate.get(name, unknown("no verdicts", "share")),
            counts={level: counts.get(name, {}).get(level, 0) for level in preference.LEVELS},
            fail=counts.get(name, {}).get("fail", 0),
            vfs_fail=_unread(scored, name),
        )
        for name in sorted(names)
    ]
    return sorted(rows, key=_best_first)


def _best_first(row: CreationRow) -> tuple[float, str]:
    value = row.reward.value
    return (np.inf if value is None else -value, row.model)


def _unread(scored: pd.DataFrame, name: str) -> int:
    mine = ((scored["first"] == name) | (scored["second"] == name)).to_numpy(bool)
    return int((mine & ~selection.evidence(scored)).sum())
