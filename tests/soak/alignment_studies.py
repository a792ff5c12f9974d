"""Simulated comparisons of prompts whose right recommendation is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from metrics.summary.alignment.candidate_table import compare_candidates
from metrics.summary.alignment.prompt_advice import PromptAdvice, advise
from tests.metrics.remedies.known_judges import HardJudge, simulate

WEAK = HardJudge(bias=0.5, accuracy=0.9)
CURED = HardJudge(bias=0.0, accuracy=0.9)
FAIR = HardJudge(bias=0.05, accuracy=0.85)
LEANING = HardJudge(bias=0.6, accuracy=0.85)
BLUNT = HardJudge(bias=0.0, accuracy=0.55)
SHARP_BUT_LEANING = HardJudge(bias=0.5, accuracy=0.98)


def hold_out_frame(judges: Sequence[HardJudge], items: int, seed: int) -> pd.DataFrame:
    """The verdicts of one judge with the prompts p0 (today), p1, p2, …; each prompt makes of it a
    judge with other parameters."""
    frame = simulate(judges, items, np.random.default_rng(seed))
    return frame.assign(prompt=frame["judge"].cat.rename_categories(lambda name: f"p{name[1:]}")
                        ).assign(judge=pd.Categorical(["j"] * len(frame)))  # fmt: skip


def advice_on(judges: Sequence[HardJudge], items: int, seed: int, looks: int = 1) -> PromptAdvice:
    names = [f"p{k}" for k in range(1, len(judges))]
    table = compare_candidates(hold_out_frame(judges, items, seed), "j", "p0", names, looks)
    assert table is not None
    return advise(table)


def count_advice(judges: Sequence[HardJudge], items: int, studies: int) -> Counter[tuple[str, str]]:
    """How often each recommendation was given, as (advice, prompt) -> studies."""
    found = (advice_on(judges, items, seed) for seed in range(studies))
    return Counter((one.advice, one.prompt or "") for one in found)
