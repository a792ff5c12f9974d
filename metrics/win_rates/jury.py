"""Jury verdicts: each judge's orders are merged, then a strict majority of all judges (the panel)
decides."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from metrics.estimation import prompt_kinds, row_selection
from metrics.estimation.intervals import Floats, Ints, proportion
from metrics.ratings.conditional_logit import largest_first_sort_key
from metrics.remedies.effective_votes import effective_votes
from metrics.remedies.remedy_study import build_remedy_study
from metrics.win_rates.counting_rules import CombineRule, UnreadableRule, outcome_rows
from metrics.win_rates.win_rates import appearance_points
from studies.domain import Estimate
from studies.frames.frame import TIE

UNDECIDED = -2
JURY_CASE_KEY = ("item", "comparison", "prompt")


@dataclass(frozen=True)
class JuryResult:
    """Jury verdicts: win rates over decided cases (a case is two answers to one item), share of
    decided cases, and bounds of the win rates over all cases."""

    panel: tuple[str, ...]
    win_rate: dict[str, Estimate]
    coverage: Estimate
    bounds: dict[str, Estimate]
    cases: pd.DataFrame
    """One row per case; `pick` is the slot of the jury's choice in the order `shown` of this row,
    or TIE or UNDECIDED."""


def decide_jury(
    frame: pd.DataFrame, combine: CombineRule = "strict", unreadable: UnreadableRule = "exclude"
) -> JuryResult:
    """Decide each case (two answers to one item, with one prompt) for one of the answers or a tie,
    if more than half of all judges (the panel) chose it.

    `combine`, a rule that merges orders, and `unreadable` determine how a judge's verdicts in two
    orders become one (`outcome_rows`). A judge without a verdict counts in the size of the panel.
    Undecided cases are not ties: they lower the coverage and widen the bounds.
    """
    frame = row_selection.select_rows(frame, ~prompt_kinds.scoring_mask(frame))
    frame = row_selection.select_pairs(row_selection.select_rows(frame, ~frame["noise"]))
    panel = tuple(sorted({str(name) for name in frame["judge"]}))
    cases = _decide_cases(frame, outcome_rows(frame, combine, unreadable), len(panel))
    decided = (cases["pick"] != UNDECIDED).to_numpy()
    coverage = proportion(decided, row_selection.item_codes(cases))
    names = row_selection.contestants(cases)
    return JuryResult(
        panel,
        _jury_win_rates(cases.loc[decided], names),
        coverage,
        _win_rate_bounds(cases, decided, names),
        cases,
    )


def _decide_cases(frame: pd.DataFrame, votes: pd.DataFrame, panel_size: int) -> pd.DataFrame:
    """Return one row per case, with the jury's choice as `pick` (a slot of that row, TIE or
    UNDECIDED). `votes` are the judges' merged verdicts, `panel_size` is the number of judges."""
    case, count = row_selection.group_codes(frame, JURY_CASE_KEY)
    cases = frame.iloc[row_selection.first_row_per_group(case, count)].copy()
    names = row_selection.contestants(frame) if len(frame) else []
    place = frame.index.get_indexer(votes.index)
    ballot = row_selection.chosen_contestants(votes, names) + 1
    width = len(names) + 1
    tally = np.bincount(case[place] * width + ballot, minlength=count * width)
    tally = tally.reshape(count, width)
    winner = tally.argmax(axis=1) if width > 1 else np.zeros(count, np.int64)
    decided = tally.max(axis=1, initial=0) * 2 > panel_size
    cases["pick"] = np.where(decided, _winner_slots(cases, winner - 1, names), UNDECIDED).astype(
        np.int8
    )
    return cases


def _winner_slots(cases: pd.DataFrame, winner: Ints, names: list[str]) -> Ints:
    """Slot of the jury's choice in each row. `winner` has the choice as an index into `names`; −1
    stands for a tie, which becomes TIE."""
    if len(cases) == 0:
        return winner
    placed = row_selection.slot_contestants(cases, names)
    return np.where(winner < 0, TIE, (placed == winner[:, None]).argmax(axis=1))


def _jury_win_rates(cases: pd.DataFrame, names: list[str]) -> dict[str, Estimate]:
    """Compute the win rate of each contestant over the decided cases, the highest first."""
    row, who, points = appearance_points(cases, names)
    item = row_selection.item_codes(cases)[row]
    found = {
        name: proportion(points[who == code], item[who == code], note="jury")
        for code, name in enumerate(names)
    }
    return dict(sorted(found.items(), key=largest_first_sort_key))


def _win_rate_bounds(
    cases: pd.DataFrame, decided: row_selection.Mask, names: list[str]
) -> dict[str, Estimate]:
    """Return contestant -> its win rate over decided cases, with bounds: all undecided cases lost,
    or all of them won. `decided` marks the decided `cases`."""
    _, who, points = appearance_points(cases.loc[decided], names)
    _, open_for, _ = appearance_points(cases.loc[~decided], names)
    won = np.bincount(who, points, minlength=len(names))
    n = np.bincount(who, minlength=len(names))
    missing = np.bincount(open_for, minlength=len(names))
    table = {}
    for code, name in enumerate(names):
        all_cases = int(n[code] + missing[code])
        value = float(won[code] / n[code]) if n[code] else None
        table[name] = Estimate(
            value,
            float(won[code] / max(all_cases, 1)),
            float((won[code] + missing[code]) / max(all_cases, 1)),
            int(n[code]),
            0,
            "share",
            1.0,
            "bounds: all undecided cases lost, or all won",
            f"{int(missing[code])} of {all_cases} undecided",
        )
    return table


def effective_judges(frame: pd.DataFrame) -> Estimate | None:
    """Estimate the number of independent judges that the judges are worth (`effective_votes`), from
    the correlation of their errors; with several prompts, for the prompt that most judges have.

    None if the better answers are unknown or fewer than two judges can be compared. The correlation
    of verdicts cannot replace that of errors, because judges that are mostly right agree.
    """
    study = build_remedy_study(frame)
    prompts = dict.fromkeys(name for _, name in study.raters)
    panels = [study.raters_with_prompt(prompt) for prompt in prompts]
    cells = max(panels, key=len, default=[])
    return effective_votes(study.grid, cells) if len(cells) > 1 and study.grid.size > 1 else None


def verdict_correlation(frame: pd.DataFrame) -> float | None:
    """Mean, over all pairs of judges, of the correlation of their verdicts (win 1, tie 0, loss −1,
    averaged over orders) on common cases. None for fewer than two judges, or if no correlation can
    be computed."""
    frame = row_selection.select_rows(frame, ~prompt_kinds.scoring_mask(frame))
    rows = row_selection.select_pairs(row_selection.select_picks(frame))
    case, cases = row_selection.group_codes(rows, JURY_CASE_KEY)
    judges, judge = np.unique(rows["judge"].astype(str).to_numpy(), return_inverse=True)
    if len(judges) < 2:
        return None
    pick, names = rows["pick"].to_numpy(), row_selection.contestants(rows)
    placed = row_selection.slot_contestants(rows, names)
    ahead = np.where(placed[:, 0] < placed[:, 1], 1.0, -1.0)
    signed = np.where(pick == TIE, 0.0, np.where(pick == 0, ahead, -ahead))
    cell = judge * cases + case
    size = len(judges) * cases
    count = np.bincount(cell, minlength=size)
    total = np.bincount(cell, signed, minlength=size)
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan).reshape(len(judges), cases)
    pairs = combinations(range(len(judges)), 2)
    found = [_correlation_on_common_cases(mean[a], mean[b]) for a, b in pairs]
    known = [r for r in found if r is not None]
    return float(np.mean(known)) if known else None


def _correlation_on_common_cases(one: Floats, two: Floats) -> float | None:
    """Pearson's correlation of two judges' mean verdicts on the cases that both have (nan: none);
    None for fewer than three such cases, or without variation."""
    both = np.isfinite(one) & np.isfinite(two)
    one, two = one[both], two[both]
    if len(one) < 3 or one.std() == 0 or two.std() == 0:
        return None
    return float(np.corrcoef(one, two)[0, 1])
