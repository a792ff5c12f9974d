"""Summary sections on agreement: every two raters, people with people, judges in place of
people."""

from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics.agreement.judge_as_annotator import judges_as_annotators
from metrics.agreement.pairwise_agreement import (
    PairAgreement,
    agreement_among_people,
    agreement_matrix,
    extract_people_votes,
    pair_agreement,
)
from metrics.estimation import row_selection

SEED: Final = 20_24
"""Seed of the bootstrap, the same as on the page, so that summary and page show the same
numbers."""
MAX_RATERS: Final = 40
"""Maximum number of raters (judges and people together) or of voters for which the agreement of
every two is computed."""

Json = dict[str, Any]


def rater_pair_agreement(frame: pd.DataFrame) -> Json:
    """Return a -> b -> agreement on the same prompt and order, where a and b are judges or "people"
    (their majority). Empty if judges and people together are fewer than two, or more than
    MAX_RATERS."""
    judges = frame["judge"].astype(str).nunique()
    return dict(agreement_matrix(frame, same_prompt=True)) if 1 < judges <= MAX_RATERS else {}


def people_sections(frame: pd.DataFrame) -> Json:
    """Return the agreement among people ("among_people"), of every two voters ("voter_pairs"), and
    of judges in place of a person ("annotators"); the last two only if there are any."""
    votes = row_selection.select_rows(frame, row_selection.people_mask(frame))
    found: Json = {"among_people": agreement_among_people(frame)}
    pairs = voter_pair_agreement(votes)
    if pairs:
        found["voter_pairs"] = pairs
    judged = judges_as_annotators(frame, np.random.default_rng(SEED))
    if judged:
        found["annotators"] = {one.judge: one for one in judged}
    return found


def voter_pair_agreement(votes: pd.DataFrame) -> dict[str, dict[str, PairAgreement]]:
    """Return a -> b -> agreement of two voters on the cases (answers to one item) that both voted
    on, if there are any; empty below two or above MAX_RATERS voters."""
    got = extract_people_votes(votes)
    codes = votes["judge"].astype("category").cat.categories
    present = np.unique(got.voter).tolist()
    if not 1 < len(present) <= MAX_RATERS:
        return {}
    table: dict[str, dict[str, PairAgreement]] = {}
    for one, two in combinations(present, 2):
        first, second = (np.flatnonzero(got.voter == code) for code in (one, two))
        _, a, b = np.intersect1d(got.case[first], got.case[second], return_indices=True)
        if len(a):
            pair = pair_agreement(got.choice[first[a]], got.choice[second[b]], got.item[first[a]])
            # Codes of `column_codes` start at 1; 0 is a missing value.
            table.setdefault(str(codes[one - 1]), {})[str(codes[two - 1])] = pair
    return table
