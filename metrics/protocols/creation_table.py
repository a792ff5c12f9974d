"""Creation-MMBench's main table by model, category and task.

Its columns are Visual Factuality Score (VFS), Reward, Win Rate and five-level counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation import measures, prompt_kinds, row_selection
from metrics.estimation.intervals import unknown_estimate
from metrics.protocols import creation_levels
from studies.domain import Estimate

NO_SCORES_NOTE: Final = "no visual factuality score"


@dataclass(frozen=True, slots=True)
class CreationRow:
    """Numbers of one model against the baseline, the model that all others are compared with
    (without one, against all other models).

    `vfs` is the visual factuality score (0–10), `baseline_vfs` that of the baseline beside this
    model. `reward` is −100…100, `win_rate` a share of the readable verdicts (a tie is no win); both
    pool the two orders. `counts` has the five levels. `fail` and `vfs_fail` count unreadable
    replies, which are in no denominator.
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
) -> dict[measures.CellKey, list[CreationRow]]:
    """Return cell (a combination of values in the columns `by`) -> rows of every model but the
    baseline, the highest Reward first.

    Without `by` the only cell, (), is the whole study. Categories and tasks pool the judgements of
    their items. `by` names columns of the frame: `category`, or one added by
    `row_selection.add_column_by_item` (task). `judges` names the judges that count (default: all
    that are not people, or people if there are no others). With a baseline, only pairs with it
    count. Calls repeated only to measure noise never count."""
    judged = row_selection.select_judges(row_selection.select_rows(frame, ~frame["noise"]), judges)
    judged = _select_rows_with_baseline(row_selection.select_pairs(judged), baseline)
    evidence = measures.GroupedFrame(judged, by)
    cell = evidence.frame["cell"].to_numpy()
    # Unreadable replies to a scoring prompt count as missing scores, not as missing verdicts.
    scored = prompt_kinds.scoring_mask(judged)
    table = {}
    for code, key in enumerate(evidence.cells if len(judged) else []):
        here = cell == code
        table[key] = _creation_rows(
            row_selection.select_rows(judged, here & ~scored),
            row_selection.select_rows(judged, here & scored),
            baseline,
        )
    return table


def _select_rows_with_baseline(rows: pd.DataFrame, baseline: str | None) -> pd.DataFrame:
    if baseline is None:
        return rows
    return row_selection.select_rows(
        rows, (rows["first"] == baseline) | (rows["second"] == baseline)
    )


def _creation_rows(
    compared: pd.DataFrame, scored: pd.DataFrame, baseline: str | None
) -> list[CreationRow]:
    """Return the row of each model, the highest Reward first, from the rows of comparing prompts
    (`compared`) and of scoring prompts (`scored`)."""
    counts = creation_levels.five_level_counts(compared, baseline)
    reward = creation_levels.reward_table(compared, baseline)
    rate = creation_levels.creation_win_rates(compared, baseline)
    vfs = creation_levels.visual_factuality(scored, baseline)
    names = {*counts, *row_selection.contestants(scored)} - {baseline}
    none = unknown_estimate(NO_SCORES_NOTE, creation_levels.TEN_POINTS.unit)
    rows = [
        CreationRow(
            model=name,
            vfs=vfs.get(name, none),
            baseline_vfs=vfs.get(f"{baseline} (vs {name})", none),
            reward=reward.get(name, unknown_estimate("no verdicts", "reward")),
            win_rate=rate.get(name, unknown_estimate("no verdicts", "share")),
            counts={level: counts.get(name, {}).get(level, 0) for level in creation_levels.LEVELS},
            fail=counts.get(name, {}).get("fail", 0),
            vfs_fail=_count_unusable_replies(scored, name),
        )
        for name in sorted(names)
    ]
    return sorted(rows, key=_reward_sort_key)


def _reward_sort_key(row: CreationRow) -> tuple[float, str]:
    value = row.reward.value
    return (np.inf if value is None else -value, row.model)


def _count_unusable_replies(scored: pd.DataFrame, name: str) -> int:
    """Count the unusable replies on pairs that contain the model `name`."""
    mine = ((scored["first"] == name) | (scored["second"] == name)).to_numpy(bool)
    return int((mine & ~row_selection.usable_status_mask(scored)).sum())
