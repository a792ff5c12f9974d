"""Outcomes of comparisons under a remedy (metrics/remedies), as rows that a win rate counts.

If a remedy uses one order chosen at random, a comparison has one row for each order, and both rows
count equally. If some of the replies that the remedy needs are missing, the comparison is decided
by the replies that are stored: by fewer repeats, by fewer judges, or by a plain verdict in place of
a graded one.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.intervals import Floats, Ints
from metrics.remedies import decision_rules, rule_names
from metrics.remedies.decision_rules import ZERO, Values
from metrics.remedies.order_grid import COMPARISON, OrderGrid, build_order_grid, pair_orders
from studies.frames.frame import TIE
from studies.spec.combine_rules import RemedyName, parse_remedy

_SINGLE_JUDGE_RULES: Final = {"jury-both": "majority"}
"""Rule of a jury -> counting rule for single judges, used if fewer than two judges of the jury have
verdicts; "pooled" for rules that are not listed here."""


def applicable_rule(combine: str, frame: pd.DataFrame) -> str:
    """Return the rule that is applied to these rows: `combine`, unless its judges or its prompt are
    missing.

    If fewer than two judges of a jury (several judges that decide together) have verdicts, the
    result is a counting rule for each judge alone. If `combine` requires a prompt (`prompt:…`) that
    does not occur, the result is a counting rule for the prompts that occur.
    """
    remedy = parse_remedy(combine)
    if remedy is None:
        return combine
    if remedy.is_jury and len(_present_jury_members(frame, remedy)) < 2:
        return _SINGLE_JUDGE_RULES.get(remedy.id, "pooled")
    if remedy.prompt and remedy.prompt not in _values_present(frame, "prompt"):
        return "majority" if remedy.id.endswith("+pool") else "pooled"
    return combine


def remedy_outcomes(frame: pd.DataFrame, remedy: RemedyName) -> pd.DataFrame:
    """Return the outcomes of each comparison under a remedy; `pick` is a slot in the order `shown`
    of the same row. If the outcome depends on chance, such as on which order is used, the
    comparison has a row for each possibility; all are equally probable."""
    pair, _ = pair_orders(frame)
    rows = row_selection.select_rows(frame, pair & row_selection.usable_status_mask(frame))
    rows = row_selection.select_known_order(rows)
    parts = _jury_outcomes(rows, remedy) if remedy.is_jury else _outcomes_by_rater(rows, remedy)
    found = [part for part in parts if len(part)]
    return pd.concat(found) if found else rows.iloc[:0]


# -- one judge -------------------------------------------------------------------------------------


def _outcomes_by_rater(rows: pd.DataFrame, remedy: RemedyName) -> Iterator[pd.DataFrame]:
    """Yield the outcomes of a remedy of one judge, for each judge and prompt; people are left
    out."""
    group, groups = row_selection.group_codes(rows, ("judge", "prompt"))
    for number in range(groups):
        cell = row_selection.select_rows(rows, group == number)
        grid = build_order_grid(cell)
        if not grid.raters:  # votes of people: no judge to correct
            continue
        yield from _outcomes_of_scores(cell, _decision_scores_of_rule(grid, remedy.id))


def _decision_scores_of_rule(grid: OrderGrid, rule_id: str) -> Sequence[Floats]:
    """Return the scores by which a remedy of one judge decides, as arrays by comparison: one array,
    or one for each order if the order is chosen at random."""
    verdicts = grid.verdicts[0]
    if rule_id == "calibrated":
        return _calibrated_or_plain_scores(grid)
    if rule_id.startswith("margin"):
        return [_decisions_with_margin(grid, rule_names.parameter_of_rule_id(rule_id))]
    repeats = verdicts[:, None] if grid.repeats is None else grid.repeats[0]
    sums = _sum_known(repeats[:, : int(rule_names.parameter_of_rule_id(rule_id))], axis=1)
    return [_sum_of_orders(sums)] if rule_id.endswith("-both") else list(sums)


def _calibrated_or_plain_scores(grid: OrderGrid) -> Sequence[Floats]:
    """Return the calibrated scores of each order; the plain verdict where a reply is not graded."""
    verdicts = grid.verdicts[0].astype(np.float64)
    if grid.graded is None:
        return list(verdicts)
    scores = decision_rules.calibrated_scores(grid.graded[0], grid.labels[0], grid.items)
    return list(np.where(np.isnan(scores), verdicts, scores))


def _decisions_with_margin(grid: OrderGrid, margin: float) -> Floats:
    """Return the decision (+1, −1, 0) of the mean graded score with this margin; the sum of the
    verdicts in both orders where replies are not graded."""
    hard = _sum_of_orders(grid.verdicts[0])
    if grid.graded is None:
        return hard
    decided = decision_rules.decide_by_margin(grid.graded[0], margin)
    return np.where(np.isnan(decided.sign), hard, decided.sign)


def _sum_of_orders(verdicts: Values) -> Floats:
    """Return the sum of the verdicts in both orders of each comparison, nan if one is missing. If
    no comparison has both, return the verdict in the order that is stored."""
    if not np.isfinite(verdicts).all(axis=0).any():
        return _sum_known(verdicts, axis=0)
    return np.asarray(verdicts[0] + verdicts[1], np.float64)


def _sum_known(values: Values, axis: int | tuple[int, ...]) -> Floats:
    """Return the sum of the known values; nan if no value is known."""
    known = np.isfinite(values)
    return np.where(known.any(axis=axis), np.where(known, values, 0.0).sum(axis=axis), np.nan)


# -- several judges --------------------------------------------------------------------------------


def _present_jury_members(rows: pd.DataFrame, remedy: RemedyName) -> list[str]:
    present = _values_present(rows, "judge")
    return [judge for judge in remedy.judges if judge in present]


def _values_present(rows: pd.DataFrame, column: str) -> set[str]:
    return {str(name) for name in rows[column].unique()}


def _jury_outcomes(rows: pd.DataFrame, remedy: RemedyName) -> Iterator[pd.DataFrame]:
    """Yield the outcomes of a jury for each prompt and, if there is a column `cell`, each cell. For
    "round-robin", yield every readable verdict of the members instead."""
    members = _present_jury_members(rows, remedy)
    rows = row_selection.select_judges(rows, members)
    if remedy.id == "round-robin":
        yield row_selection.select_picks(rows)
        return
    keys = ("prompt", "cell") if "cell" in rows else ("prompt",)
    group, groups = row_selection.group_codes(rows, keys)
    for number in range(groups):
        part = row_selection.select_rows(rows, group == number)
        grid = build_order_grid(part, members)
        for found in _outcomes_of_scores(part, _jury_scores(grid, remedy.id)):
            yield _set_judge_name(found, " + ".join(members))


def _jury_scores(grid: OrderGrid, rule_id: str) -> Sequence[Floats]:
    """Return the scores by which a jury decides, as arrays by comparison. For "jury-both" it is one
    array, from both orders of each judge. Otherwise each judge has one call, in orders that
    alternate from judge to judge, and there is one array for each order of the first judge's
    call."""
    verdicts = list(grid.verdicts)
    if rule_id == "jury-both":
        return [_sum_known(grid.verdicts, axis=(0, 1))]
    starts = (decision_rules.alternating_calls(verdicts, start) for start in range(2))
    return [_sum_known(np.stack(calls), axis=0) for calls in starts]


def _set_judge_name(rows: pd.DataFrame, judge: str) -> pd.DataFrame:
    codes = np.zeros(len(rows), np.int8)
    return rows.assign(judge=pd.Categorical.from_codes(codes, pd.Index([judge], dtype="str")))


# -- rows ------------------------------------------------------------------------------------------


def _outcomes_of_scores(rows: pd.DataFrame, scores: Sequence[Floats]) -> Iterator[pd.DataFrame]:
    """Yield, for each array of scores, one row per comparison, whose `pick` is the slot of the
    contestant that the score favours, or a tie.

    A score is positive for the alphabetically first contestant; a comparison with the score nan has
    no row. Rows of the first, third, … array show the alphabetically first contestant first, rows
    of the other arrays show it second. A comparison stored in one order only keeps this order.
    """
    place = _rows_by_order(rows)
    turned = pair_orders(rows)[1]
    for number, score in enumerate(scores):
        known = np.isfinite(score)
        chosen = place[number % 2][known]
        winner = np.where(score[known] > ZERO, 0, 1)
        pick = np.where(np.abs(score[known]) <= ZERO, TIE, winner ^ turned[chosen])
        yield rows.iloc[chosen].assign(pick=pick.astype(np.int8), noise=False)


def _rows_by_order(rows: pd.DataFrame) -> Ints:
    """Return the row number of one row of each comparison in each order, as [order, comparison]. In
    order 0 the alphabetically first contestant is shown first. For a comparison shown in one order
    only, both entries are the same row."""
    case, cases = row_selection.group_codes(rows, COMPARISON)
    place = np.full((2, cases), -1, np.int64)
    backwards = np.arange(len(rows))[::-1]
    place[pair_orders(rows)[1][backwards], case[backwards]] = backwards
    return np.where(place < 0, place[::-1], place)
