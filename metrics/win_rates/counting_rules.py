"""Counting rules of win rates: which outcomes of a comparison in two orders count, and how."""

from collections.abc import Sequence
from typing import Final, Literal, get_args

import numpy as np
import pandas as pd

from metrics.estimation import graded_scores, intervals, row_selection
from metrics.estimation.measures import order_set_flips
from metrics.estimation.prompt_kinds import scoring_mask
from metrics.remedies.rule_names import rule_texts_of_id
from metrics.win_rates.remedy_outcomes import applicable_rule, remedy_outcomes
from studies.frames.frame import TIE
from studies.spec.combine_rules import parse_remedy

CombineRule = str
"""A counting rule (`COUNTING_RULES`), or a remedy as `combine` in a study file names it."""
COUNTING_RULES: Final = ("pooled", "strict", "majority", "graded")
REMEDY_NAMES: Final[dict[str, CombineRule]] = {
    "single": "pooled",
    "agree": "strict",
    "pool": "majority",
}
"""Name of a remedy (metrics/remedies) -> the counting rule with the same meaning."""
UnreadableRule = Literal["exclude", "tie"]
NO_VERDICT_STATUSES: Final = ("unreadable", "empty", "refusal", "filtered", "truncated")
"""Statuses of replies without a verdict. Only these can be counted as ties: a call that failed
(error, too_long, unsupported) was never answered."""


def outcome_rows(
    frame: pd.DataFrame, combine: CombineRule = "pooled", unreadable: UnreadableRule = "exclude"
) -> pd.DataFrame:
    """Return the outcomes that a win rate counts, one row each; `pick` is a slot in the order
    `shown` of the same row. `combine` is one of:
    - pooled: every readable verdict of every order is an outcome.
    - strict: one outcome per comparison of two answers (others are left out); a win needs every
      planned order, anything else is a tie.
    - majority: the same, but a win and a tie is a win.
    - graded: as majority, but if both replies are graded, the sign of the mean score decides.
    - prompt:NAME, prompt:NAME+pool: as pooled, or as majority, with this prompt only.
    - the name of another remedy: see `remedy_outcomes`.

    A remedy whose judges or prompt are missing is replaced (`applicable_rule`). strict, majority
    and graded leave out a comparison that lacks a verdict in one of its planned orders.
    `unreadable="tie"` counts replies without a verdict, but not failed calls, as ties
    (VisIT-Bench's rule). ValueError for an unknown rule.
    """
    check_counting_rule_known(unreadable, get_args(UnreadableRule))
    frame = _unreadable_as_ties(frame) if unreadable == "tie" else frame
    combine = applicable_rule(combine, frame)
    remedy = parse_remedy(combine)
    if remedy is None:
        check_counting_rule_known(combine, COUNTING_RULES)
    elif remedy.prompt:
        frame = row_selection.select_rows(frame, frame["prompt"] == remedy.prompt)
        combine = "majority" if remedy.id.endswith("+pool") else "pooled"
    else:
        return remedy_outcomes(frame, remedy)
    rows = row_selection.select_picks(frame)
    return rows if combine == "pooled" else _merge_orders(rows, combine)


def counting_rule_of_remedy_or_same(combine: str) -> CombineRule:
    """Return the counting rule that means the same as `combine`, if `combine` names a remedy that
    has such a rule; else `combine` itself."""
    return REMEDY_NAMES.get(combine, combine)


def check_counting_rule_known(value: str, known: Sequence[str]) -> None:
    """Raise ValueError if `value` is not one of the known rules."""
    if value not in known:
        raise ValueError(f"No rule named {value!r}. Known: {', '.join(known)}")


def _unreadable_as_ties(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with replies without a verdict as ties, except replies to prompts that only
    score."""
    no_verdict = frame["status"].isin(NO_VERDICT_STATUSES).to_numpy() & ~scoring_mask(frame)
    pick = np.where(no_verdict, np.int8(TIE), frame["pick"].to_numpy())
    known = frame["status"].cat
    codes = np.where(no_verdict, list(known.categories).index("ok"), known.codes.to_numpy())
    status = pd.Categorical.from_codes(codes, known.categories)
    return frame.assign(pick=pick.astype(np.int8), status=status)


def _merge_orders(rows: pd.DataFrame, combine: CombineRule) -> pd.DataFrame:
    """Reduce the verdicts on each pair to one row by the rule strict, majority or graded (see
    `outcome_rows`); pairs without a verdict in a planned order are left out."""
    pairs = row_selection.select_pairs(rows)
    whole = row_selection.complete_set_mask(pairs) | (pairs["orders"] <= 1).to_numpy()
    sets = order_set_flips(row_selection.modal_verdicts(row_selection.select_rows(pairs, whole)))
    pick = np.where(sets["consistent"], sets["pick"], TIE)
    if combine in ("majority", "graded"):
        # A lean of +1 is a win of the first slot in *some* order; if this row is the tie,
        # the win was in the other order, where this row's second answer was shown first.
        other = np.where(sets["lean"] > 0, 1, 0)
        decisive = np.where(sets["pick"] >= 0, sets["pick"], other)
        pick = np.where(sets["soft"], decisive, pick)
    if combine == "graded":
        pick = _graded_picks(row_selection.select_rows(pairs, whole), pick)
    return sets.assign(pick=pick.astype(np.int8))


def _graded_picks(rows: pd.DataFrame, default: intervals.Ints) -> intervals.Ints:
    """Return, for each comparison, the answer that the mean graded score of its orders favours, as
    a slot in the comparison's first row; `default` if a reply is not graded."""
    group, groups = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    shown = rows["shown"].cat.codes.to_numpy()
    same = shown == shown[row_selection.first_row_per_group(group, groups)][group]
    score = graded_scores.graded_preference_for_first_slot(rows) * np.where(same, 1.0, -1.0)
    by_order = []
    for side in (same, ~same):
        total = np.bincount(group[side], score[side], minlength=groups)
        by_order.append(intervals.safe_divide(total, np.bincount(group[side], minlength=groups)))
    once = np.bincount(group[~same], minlength=groups) == 0  # only one order was requested
    mean = by_order[0] + np.where(once, 0.0, by_order[1])
    graded = np.where(mean > ZERO_SCORE, 0, np.where(mean < -ZERO_SCORE, 1, TIE))
    return np.where(np.isnan(mean), default, graded)


ZERO_SCORE: Final = 1e-6
"""A mean score closer to zero than this is a tie: probabilities are stored as 32-bit floats, which
are not exact."""
_COMBINE_NOTES: Final = {
    "pooled": "each order counts separately",
    "strict": "both orders merged, a win needs both orders",
    "majority": "both orders merged, a win and a tie is a win",
    "graded": "both orders merged by the mean of their graded replies",
}
_UNREADABLE_NOTES: Final = {
    "exclude": "unusable replies excluded",
    "tie": "unusable replies count as ties",
}


def counting_rule_note(combine: CombineRule, unreadable: UnreadableRule) -> str:
    """Describe the counting rule in words, as a note."""
    return f"{_COMBINE_NOTES.get(combine) or remedy_text(combine)}, {_UNREADABLE_NOTES[unreadable]}"


def remedy_text(combine: CombineRule) -> str:
    """Describe the remedy that `combine` names, in words for the middle of a sentence."""
    remedy = parse_remedy(combine)
    assert remedy is not None, combine
    words = rule_texts_of_id(remedy.id, remedy.judges)
    return f"{words.title[0].lower()}{words.title[1:]} ({words.explanation})"
