"""Creation-MMBench's numbers: five-level counts, Reward, Win Rate and Visual Factuality Score.

The baseline is the model that all others are compared with."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation import intervals, row_selection
from metrics.estimation.score_scale import ScoreScale, score_scale_of_rows
from studies.domain import Estimate
from studies.frames.frame import NO_PICK
from studies.frames.point_columns import pass_fail_mask

LEVELS: Final = ("much_better", "better", "tie", "worse", "much_worse")
TEN_POINTS: Final = ScoreScale(0, 10, 10)
MT_BENCH_PREFIXES: Final = ("mt-bench", "single-v1", "single-math-v1")
MT_BENCH_SCALE: Final = ScoreScale(1, 10, 9)
LEVEL_POINTS: Final = {"much_better": 100, "better": 50, "tie": 0, "worse": -50, "much_worse": -100}


def signed_scores(
    rows: pd.DataFrame, names: list[str]
) -> tuple[intervals.Ints, intervals.Ints, intervals.Floats]:
    """Return three arrays with two entries for each verdict on a pair, one for each answer: the row
    number, the contestant (an index into `names`), and its score, from −2 (much worse) to 2 (much
    better). The entries of all answers shown first come before those of all answers shown
    second."""
    placed = (
        row_selection.slot_contestants(rows, names) if len(rows) else np.zeros((0, 2), np.int64)
    )
    pick, margin = rows["pick"].to_numpy(), rows["margin"].to_numpy().astype(np.float64)
    first = np.where(pick < 0, 0.0, np.where(pick == 0, margin, -margin))
    row = np.arange(len(rows))
    return (
        np.concatenate([row, row]),
        np.concatenate([placed[:, 0], placed[:, 1]]),
        np.concatenate([first, -first]),
    )


def _pairs_with_baseline(frame: pd.DataFrame, baseline: str | None) -> pd.DataFrame:
    """Select verdicts on pairs; with a baseline, only pairs that contain it."""
    rows = row_selection.select_pairs(frame)
    if baseline is None:
        return rows
    return row_selection.select_rows(
        rows, (rows["first"] == baseline) | (rows["second"] == baseline)
    )


def five_level_counts(
    frame: pd.DataFrame, baseline: str | None = None
) -> dict[str, dict[str, int]]:
    """Return contestant -> level ("much_better" … "much_worse", and "fail" for unreadable replies)
    -> number of verdicts, both orders pooled.

    With a baseline, only verdicts against it count, and it has no entry itself.
    """
    pairs = _pairs_with_baseline(row_selection.select_rows(frame, ~frame["noise"]), baseline)
    names = row_selection.contestants(pairs)
    return {
        name: _count_levels_of_contestant(pairs, name, names) for name in names if name != baseline
    }


def _count_levels_of_contestant(pairs: pd.DataFrame, name: str, names: list[str]) -> dict[str, int]:
    """Return level ("much better" to "much worse" than the other answer), or "fail" for unreadable
    replies -> number of verdicts on the contestant `name`; `names` are all contestants, sorted."""
    mine = row_selection.select_rows(pairs, (pairs["first"] == name) | (pairs["second"] == name))
    rows = row_selection.select_picks(mine)
    _, who, score = signed_scores(rows, names)
    counts = np.bincount((2 - score[who == names.index(name)]).astype(np.int64), minlength=5)
    scored = row_selection.usable_status_mask(mine) & (mine["pick"] == NO_PICK).to_numpy()
    failed = len(mine) - len(rows) - int(scored.sum())
    return {**dict(zip(LEVELS, counts.tolist(), strict=True)), "fail": failed}


def reward_and_win_rate_from_counts(counts: Mapping[str, int]) -> tuple[float | None, float | None]:
    """Return Reward and Win Rate from five-level counts; unreadable replies are not in the
    denominator. Both are None if no reply is readable.

    Reward = (100·much better + 50·better − 50·worse − 100·much worse)/readable; Win Rate =
    100·(much better + better)/readable.
    """
    readable = sum(counts[level] for level in LEVELS)
    if readable == 0:
        return None, None
    points = sum(LEVEL_POINTS[level] * counts[level] for level in LEVELS)
    return points / readable, 100 * (counts["much_better"] + counts["better"]) / readable


def reward_table(frame: pd.DataFrame, baseline: str | None = None) -> dict[str, Estimate]:
    """Return contestant -> Creation-MMBench's Reward (mean level, −100 to 100), both orders pooled;
    t interval clustered by item. With a baseline, only verdicts against it count, and it has no
    entry itself."""
    return _reward_or_win_rate(frame, baseline, win=False)


def creation_win_rates(frame: pd.DataFrame, baseline: str | None = None) -> dict[str, Estimate]:
    """Return contestant -> Creation-MMBench's Win Rate: wins over readable verdicts; a tie is no
    win. With a baseline, only verdicts against it count, and it has no entry itself."""
    return _reward_or_win_rate(frame, baseline, win=True)


def _reward_or_win_rate(
    frame: pd.DataFrame, baseline: str | None, win: bool
) -> dict[str, Estimate]:
    """Return contestant -> Win Rate (with `win`) or Reward. With a baseline, only verdicts against
    it count, and it has no entry itself."""
    pairs = _pairs_with_baseline(frame, baseline)
    names = row_selection.contestants(pairs)
    rows = row_selection.select_picks(pairs)
    row, who, score = signed_scores(rows, names)
    item = row_selection.item_codes(rows)[row]
    table = {}
    for code, name in enumerate(names):
        mine = who == code
        if name == baseline:
            continue
        if win:
            table[name] = intervals.proportion(score[mine] > 0, item[mine])
        else:
            table[name] = intervals.mean_estimate(
                50 * score[mine], item[mine], "reward", (-100, 100)
            )
    return table


def score_columns(frame: pd.DataFrame) -> list[str]:
    """Names of the columns score_0, score_1, … that the frame has."""
    return [name for name in frame.columns if str(name).startswith("score_")]


def visual_factuality(frame: pd.DataFrame, baseline: str | None = None) -> dict[str, Estimate]:
    """Estimate the Visual Factuality Score (0–10) of each model: its mean score on an item, over
    all readable replies, averaged over items.

    Only prompts that score two answers and pick none count; empty without such scores. The
    baseline's answers are scored again beside each opponent, so the baseline has one entry per
    opponent: "baseline (vs opponent)".
    """
    columns = score_columns(frame)
    rows = row_selection.select_rows(
        row_selection.select_pairs(frame), row_selection.select_pairs(frame)["pick"] == NO_PICK
    )
    rows = row_selection.select_readable_without_noise(rows)
    if len(columns) < 2 or len(rows) == 0:
        return {}
    names = row_selection.contestants(rows)
    placed = row_selection.slot_contestants(rows, names)[:, :2]
    key = _owners_of_scores(placed, names, baseline)
    score = rows[columns[:2]].to_numpy(np.float64)
    twice = rows.iloc[np.repeat(np.arange(len(rows)), 2)]
    return {
        name: _mean_score_over_items(twice, score.ravel(), key.ravel() == name, TEN_POINTS)
        for name in np.unique(key)
    }


def _owners_of_scores(placed: intervals.Ints, names: list[str], baseline: str | None) -> np.ndarray:
    """Return the name that each score belongs to, [row, slot]: a contestant, or "baseline (vs
    opponent)" for a score of the baseline. `placed` [row, slot] has the contestants as indices into
    `names`."""
    labels = np.array(names, dtype=object)[placed]
    if baseline is None:
        return labels
    beside = np.array([f"{baseline} (vs {name})" for name in names], dtype=object)[placed[:, ::-1]]
    return np.where(labels == baseline, beside, labels)


def _mean_score_over_items(
    rows: pd.DataFrame, score: intervals.Floats, selected: np.ndarray, scale: ScoreScale
) -> Estimate:
    """Estimate the mean over items of each item's mean score; unknown without scores. `score` has
    an entry for each of the `rows`, and only those that the mask `selected` marks count."""
    scored = selected & np.isfinite(score)
    if not scored.any():
        return intervals.unknown_estimate("no scores", scale.unit)
    rows = row_selection.select_rows(rows, scored)
    item, items = row_selection.group_codes(rows, ["item"])
    each = np.asarray(np.bincount(item, score[scored]) / np.bincount(item), np.float64)
    unit = row_selection.item_codes(rows)[row_selection.first_row_per_group(item, items)]
    return scale.mean_score(each, unit)


@dataclass(frozen=True, slots=True)
class PromptRatings:
    """Ratings of single answers by one prompt: their scale, and the mean rating of each
    contestant."""

    scale: ScoreScale
    means: dict[str, Estimate]


def single_answer_ratings_by_prompt(frame: pd.DataFrame) -> dict[str, PromptRatings]:
    """Return prompt -> ratings of single answers (MT-Bench): mean over items of each contestant's
    mean score; empty without ratings. Pass/fail verdicts are not ratings; their rates are in a
    separate section. If several judges gave the ratings, a note states that they are pooled."""
    ratings = (frame["options"] == 1).to_numpy() & ~pass_fail_mask(frame)
    rows = row_selection.select_readable_without_noise(row_selection.select_rows(frame, ratings))
    if "score_0" not in rows or len(rows) == 0:
        return {}
    prompt = rows["prompt"].astype(str).to_numpy()
    return {
        name: _estimate_prompt_ratings(name, row_selection.select_rows(rows, prompt == name))
        for name in sorted(set(prompt))
    }


def _estimate_prompt_ratings(prompt: str, rows: pd.DataFrame) -> PromptRatings:
    score = rows["score_0"].to_numpy(np.float64)
    known = MT_BENCH_SCALE if prompt.startswith(MT_BENCH_PREFIXES) else score_scale_of_rows(rows)
    scale, who = known.extended_to(score), rows["first"].astype(str).to_numpy()
    judge = rows["judge"].cat.codes.to_numpy()
    means = {}
    for name in sorted(set(who)):
        found = _mean_score_over_items(rows, score, who == name, scale)
        note = intervals.pooled_judges_note(len(np.unique(judge[who == name])))
        means[name] = replace(found, note=intervals.join_notes(found.note, note))
    return PromptRatings(scale, means)


def single_answer_ratings(frame: pd.DataFrame) -> dict[str, Estimate]:
    """Return contestant -> mean rating (see `single_answer_ratings_by_prompt`). If several prompts
    rated answers, their scores are kept apart: "contestant (prompt)" -> mean rating."""
    found = single_answer_ratings_by_prompt(frame)
    if len(found) == 1:
        return next(iter(found.values())).means
    return {
        f"{name} ({prompt})": mean
        for prompt, one in found.items()
        for name, mean in one.means.items()
    }
