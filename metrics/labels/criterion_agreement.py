"""Agreement of a judge with people on the level (score) of each criterion of a rubric."""

from typing import Any

import numpy as np
import pandas as pd

from metrics.labels import label_sections, option_order, point_table
from metrics.labels.scores.score_agreement import ScoreAgreement, score_agreement
from studies.domain import Rater


def criterion_agreement(frame: pd.DataFrame) -> dict[Rater, dict[str, ScoreAgreement]]:
    """Return (judge, prompt) -> criterion of a rubric -> agreement of the judge's level (score)
    with people's mean level on the same answer.

    Judges, prompts and criteria without a person's level are left out. Calls repeated only to
    measure noise are not used."""
    if not (frame["options"] == 1).any():
        return {}
    levels = point_table.chosen_options(frame)
    levels = levels[~levels["noise"] & (levels["criterion"] != "") & levels["label"].notna()]
    found: dict[Rater, dict[str, ScoreAgreement]] = {}
    for rater, own in option_order.rows_by_rater(levels):
        found[rater] = {
            str(name): score_agreement(
                part["score"].to_numpy(np.float64),
                part["label"].to_numpy(np.float64),
                part["item"].to_numpy(np.int64),
                point_table.table_scale(own),
            )
            for name, part in own.groupby("criterion", sort=True)
        }
    return found


def criterion_agreement_section(frame: pd.DataFrame) -> dict[str, Any]:
    """Build the summary's section on criteria, as judge -> prompt -> criterion -> estimates."""
    nested: dict[str, Any] = {}
    for (judge, prompt), criteria in criterion_agreement(frame).items():
        nested.setdefault(judge, {})[prompt] = {
            name: label_sections.estimates_by_field(one) for name, one in criteria.items()
        }
    return nested
