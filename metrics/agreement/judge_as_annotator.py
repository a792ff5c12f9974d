"""Test whether a judge can replace a human annotator: leave one voter out and use the judge
instead.

For every vote on a case (the compared answers to one item) with other voters, two shares are
computed: the share of the other voters who agree with the voter left out, and the share who agree
with the judge. Both use the same cases and the same other voters, so the difficulty of a case
cancels. This is the alternative annotator test of Calderon, Reichart and Dror (2025), reported as a
difference of the two shares.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from metrics.agreement import majority_agreement, pairwise_agreement
from metrics.estimation import intervals, row_selection
from studies.domain import Estimate

BOOTSTRAP_ROUNDS: Final = 2000
NO_COMMON_CASES_NOTE: Final = "no case judged by this judge and at least two people"


@dataclass(frozen=True, slots=True)
class JudgeAsAnnotator:
    """Agreement with people of one judge (`with_judge`), and of the person whom the judge replaces
    (`with_person`); both are shares of the remaining people who made the same choice.

    `advantage` is `with_judge` − `with_person`, on the same cases. `best` is the share of bootstrap
    rounds in which this judge has the largest advantage of all judges, on the cases that all judges
    have; equally good judges share a round. `best` is None if there are no such cases.
    """

    judge: str
    with_judge: Estimate
    with_person: Estimate
    advantage: Estimate
    best: float | None = None


def judges_as_annotators(
    frame: pd.DataFrame, rng: np.random.Generator, rounds: int = BOOTSTRAP_ROUNDS
) -> list[JudgeAsAnnotator]:
    """Compare each judge with the person it would replace, by their agreement with the other
    people; the judge with the largest advantage comes first. Empty without judges' verdicts.

    All readable verdicts of a judge on a case count equally, in all orders; a tie is a choice. A
    judge without a verdict on a case with two votes has unknown estimates, and comes last.
    """
    rows = row_selection.select_picks(frame)
    if len(rows) == 0:
        return []
    case, cases = row_selection.group_codes(rows, majority_agreement.CASE_KEY)
    human = row_selection.people_mask(rows)
    choice, judge = (
        pairwise_agreement.picks_as_sorted_name_indices(rows),
        rows["judge"].astype(str).to_numpy(),
    )
    votes = pairwise_agreement.extract_case_votes(rows, human, case, cases)
    counts = pairwise_agreement.count_votes(votes, int(choice.max(initial=0)) + 2)
    item = row_selection.item_codes(rows)[row_selection.first_row_per_group(case, cases)]
    # For each case, the share of the other voters who agree with a voter, averaged over
    # voters; nan for cases with fewer than two votes. `counts` has the votes, [case, choice].
    n = counts.sum(axis=1)
    person = intervals.safe_divide((counts * (counts - 1)).sum(axis=1), n * (n - 1))
    found, shares = [], []
    for name in sorted(set(judge[~human])):
        selected = ~human & (judge == name)
        own = _judge_agreement_share_by_case(counts, case[selected], choice[selected])
        shares.append(own - person)
        found.append(_estimate_judge_as_annotator(name, own, person, item))
    best = (
        _share_of_bootstraps_each_judge_leads(np.stack(shares), item, rng, rounds) if found else []
    )
    ranked = [
        JudgeAsAnnotator(one.judge, one.with_judge, one.with_person, one.advantage, share)
        for one, share in zip(found, best, strict=True)
    ]
    return sorted(ranked, key=lambda one: -_value_or_minus_infinity(one.advantage.value))


def _value_or_minus_infinity(value: float | None) -> float:
    return -np.inf if value is None else value


def _judge_agreement_share_by_case(
    counts: intervals.Ints, case: intervals.Ints, choice: intervals.Ints
) -> intervals.Floats:
    """Return, for each case, the share of voters who agree with the judge, averaged over the
    judge's verdicts; nan for cases without a vote or a verdict.

    `counts` is the number of votes for each choice, [case, choice], with ties in column 0
    (`count_votes`); `case` and `choice` are those of each verdict of the judge. No voter is left
    out here, because the mean over leaving out each voter in turn is the same share."""
    agreeing = intervals.safe_divide(counts[case, choice + 1], counts.sum(axis=1)[case])
    total = np.bincount(case, agreeing, minlength=len(counts))
    return intervals.safe_divide(total, np.bincount(case, minlength=len(counts)))


def _estimate_judge_as_annotator(
    name: str, judge: intervals.Floats, person: intervals.Floats, item: intervals.Ints
) -> JudgeAsAnnotator:
    """Estimate the mean agreement with people of the judge and of a person, and the difference,
    from their shares by case (`judge` and `person`; nan: unknown); `item` is the item of each
    case."""
    both = np.isfinite(judge) & np.isfinite(person)
    if not both.any():
        none = intervals.unknown_estimate(NO_COMMON_CASES_NOTE, "share")
        return JudgeAsAnnotator(name, none, none, none)
    return JudgeAsAnnotator(
        name,
        intervals.mean_estimate(judge[both], item[both], "share", (0, 1)),
        intervals.mean_estimate(person[both], item[both], "share", (0, 1)),
        intervals.mean_estimate(
            judge[both] - person[both], item[both], "difference of shares", (-1, 1)
        ),
    )


def _share_of_bootstraps_each_judge_leads(
    advantage: intervals.Floats, item: intervals.Ints, rng: np.random.Generator, rounds: int
) -> list[float | None]:
    """Return, for each judge, the share of bootstrap rounds in which this judge has the largest
    advantage over the person it replaces; equally good judges share a round. `advantage` is [judge,
    case], nan where unknown. Only cases known for all judges are used; None without such cases."""
    common = np.isfinite(advantage).all(axis=0)
    if not common.any():
        return [None] * len(advantage)
    _, sums = intervals.sum_by_item(advantage[:, common].T, item[common])
    drawn = intervals.draw_bootstrap_item_weights(len(sums), rounds, rng) @ sums
    top = drawn.max(axis=1, keepdims=True)
    leads = drawn >= top - 1e-12
    return [float(value) for value in (leads / leads.sum(axis=1, keepdims=True)).mean(axis=0)]
