"""Contradictions between a judge's scores and its comparisons of the same answers, and between the
comparisons themselves (circular triples)."""

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.intervals import proportion
from metrics.labels.point_table import answer_verdicts
from metrics.labels.scores.intransitive_triples import (
    IntransitiveTriples,
    intransitive_triples,
    triples_as_json,
)
from studies.domain import Estimate
from studies.frames.frame import TIE

NO_BOTH_NOTE: Final = "no pair of answers has both two different scores and a winner"
_SAME_SCORE: Final = 1e-6


@dataclass(frozen=True, slots=True)
class ScoreContradictions:
    """Pairs of answers that one judge both scored and compared."""

    share: Estimate
    """Among pairs with a winner and unequal scores, the share won by the lower-scored answer."""
    equal_scores: int
    """Number of pairs with a winner but equal scores; such pairs are left out of the share."""
    ties: int
    """Number of pairs without a winner; such pairs are left out of the share."""
    triples: IntransitiveTriples | None = None
    """Circular triples among the comparisons; None if no triple has a winner in each pair."""


def score_contradictions(frame: pd.DataFrame) -> dict[str, ScoreContradictions]:
    """Return judge -> contradictions between the judge's scores and its verdicts on pairs of the
    same answers. The mean scores of the two answers of a pair are compared.

    The winner of a pair is the answer picked more often over all orders, prompts and repeats. A
    pair counts once for each prompt that scored both answers. Judges without both scores and
    comparisons of the same answers are left out.
    """
    pairs = row_selection.select_picks(row_selection.select_pairs(frame))
    if not len(pairs) or not (frame["options"] == 1).any():
        return {}
    table = answer_verdicts(frame)
    table = table.assign(item=_item_names(frame, table))[~table["noise"]]
    # Prompts may have different scales: their scores are averaged only within a prompt.
    scores = table.groupby(["judge", "prompt", "item", "who"])["score"].mean().reset_index()
    verdicts = _win_balance_per_pair(pairs)
    both = verdicts.merge(
        scores.rename(columns={"who": "one", "score": "score_one"}), on=["judge", "item", "one"]
    ).merge(
        scores.rename(columns={"who": "other", "score": "score_other"}),
        on=["judge", "prompt", "item", "other"],
    )
    compared = {str(judge): own for judge, own in verdicts.groupby("judge")}
    return {
        str(judge): replace(
            _count_contradictions(own), triples=intransitive_triples(compared[str(judge)])
        )
        for judge, own in both.groupby("judge", sort=True)
    }


def _item_names(frame: pd.DataFrame, table: pd.DataFrame) -> np.ndarray:
    """Return the item id of each row of `table`, the `answer_verdicts` of the frame."""
    rows = row_selection.select_rows(frame, (frame["options"] == 1).to_numpy())
    names: np.ndarray = np.asarray(rows["item"].astype(str))
    found: np.ndarray = names[table["row"].to_numpy()]
    return found


def _win_balance_per_pair(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each judge, item and pair of models, with the columns judge, item, unit
    (of resampling), one and other (the models in alphabetical order) and balance (wins of `one`
    minus wins of `other`)."""
    first, second = (pairs[name].astype(str).to_numpy() for name in ("first", "second"))
    pick = pairs["pick"].to_numpy()
    ahead = np.where(pick == TIE, 0, np.where(pick == 0, 1, -1))
    in_order = first < second
    table = pd.DataFrame(
        {
            "judge": pairs["judge"].astype(str).to_numpy(),
            "item": pairs["item"].astype(str).to_numpy(),
            "unit": row_selection.item_codes(pairs),
            "one": np.where(in_order, first, second),
            "other": np.where(in_order, second, first),
            "balance": np.where(in_order, ahead, -ahead),
        }
    )
    return table.groupby(["judge", "item", "unit", "one", "other"])["balance"].sum().reset_index()


def _count_contradictions(pairs: pd.DataFrame) -> ScoreContradictions:
    gap = (pairs["score_one"] - pairs["score_other"]).to_numpy(np.float64)
    balance = pairs["balance"].to_numpy()
    decided, differ = balance != 0, np.abs(gap) > _SAME_SCORE
    known = decided & differ
    wrong = np.sign(gap[known]) != np.sign(balance[known])
    item = pairs["unit"].to_numpy()[known]
    note = "" if known.any() else NO_BOTH_NOTE
    return ScoreContradictions(
        proportion(wrong, item, note=note), int((decided & ~differ).sum()), int((~decided).sum())
    )


def score_contradictions_section(frame: pd.DataFrame) -> dict[str, Any]:
    """Build the summary's section on pairs whose scores contradict the same judge's choice, as
    judge -> share of contradicting pairs, numbers of pairs left out, and intransitive triples."""
    return {
        judge: {
            "share": one.share,
            "equal_scores": one.equal_scores,
            "ties": one.ties,
            **({"triples": triples_as_json(one.triples)} if one.triples else {}),
        }
        for judge, one in score_contradictions(frame).items()
    }
