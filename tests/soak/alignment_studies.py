"""Simulated comparisons of prompts whose right recommendation is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from metrics.summary.alignment.candidate_table import compare_candidates
from metrics.summary.alignment.prompt_advice import PromptAdvice, advise
from tests.metrics.frames import build
from tests.metrics.remedies.known_judges import HardJudge, simulate

WEAK = HardJudge(bias=0.5, accuracy=0.9)
CURED = HardJudge(bias=0.0, accuracy=0.9)
FAIR = HardJudge(bias=0.05, accuracy=0.85)
LEANING = HardJudge(bias=0.6, accuracy=0.85)
BLUNT = HardJudge(bias=0.0, accuracy=0.55)
SHARP_BUT_LEANING = HardJudge(bias=0.5, accuracy=0.98)


@dataclass(frozen=True)
class PassJudge:
    """Passes an answer with probability `lenient`, else decides by its length with probability
    `length` (long ones pass), else is right with probability `accuracy`."""

    lenient: float = 0.0
    length: float = 0.0
    accuracy: float = 0.9


@dataclass(frozen=True)
class ScoreJudge:
    """Scores from 1 to 5: the label minus `severity`, with normal noise of one step."""

    severity: float = 0.0


LENIENT = PassJudge(lenient=0.6)
STRICT_ENOUGH = PassJudge()
EVEN = PassJudge(accuracy=0.75)
WORDY = PassJudge(length=0.55, accuracy=1.0)
DULL = PassJudge(accuracy=0.55)
HARSH, MILD = ScoreJudge(2.0), ScoreJudge()
AnyJudge = HardJudge | PassJudge | ScoreJudge
ANSWERS = 2
"""Labelled answers of an item in studies of single answers."""


def hold_out_frame(judges: Sequence[HardJudge], items: int, seed: int) -> pd.DataFrame:
    """The verdicts of one judge with the prompts p0 (today), p1, p2, …; each prompt makes of it a
    judge with other parameters."""
    frame = simulate(judges, items, np.random.default_rng(seed))
    return frame.assign(prompt=frame["judge"].cat.rename_categories(lambda name: f"p{name[1:]}")
                        ).assign(judge=pd.Categorical(["j"] * len(frame)))  # fmt: skip


def answer_frame(judges: Sequence[PassJudge | ScoreJudge], items: int, seed: int) -> pd.DataFrame:
    """Verdicts on labelled single answers of one judge with the prompts p0 (today), p1, …; the
    length of an answer says nothing about its label."""
    rng = np.random.default_rng(seed)
    rows, gold = [], []
    for item in range(items):
        for name in "xyz"[:ANSWERS]:
            length = int(rng.integers(20, 400))
            quality = rng.random()
            for k, judge in enumerate(judges):
                label, score = _verdict(judge, quality, length, rng)
                options = ("fail", "pass") if isinstance(judge, PassJudge) else tuple("12345")
                gold.append(label)
                rows.append({"item": f"q{item}", "shown": (name,), "pick": None, "status": "ok",
                             "prompt": f"p{k}", "labels": options, "scores": (score,),
                             "length": (length,)})  # fmt: skip
    return build(rows).assign(gold=np.array(gold, np.float32))


def _verdict(
    judge: PassJudge | ScoreJudge, quality: float, length: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Label of an answer and the verdict on it, as numbers."""
    if isinstance(judge, ScoreJudge):
        label = 1 + int(5 * quality)
        return label, float(np.clip(np.round(label - judge.severity + rng.normal()), 1, 5))
    good = quality < 0.5
    if rng.random() < judge.lenient:
        return good, 1.0
    if rng.random() < judge.length:
        return good, float(length > 210)
    return good, float(good == (rng.random() < judge.accuracy))


def candidates_on(judges: Sequence[AnyJudge], items: int, seed: int) -> pd.DataFrame:
    points = [one for one in judges if not isinstance(one, HardJudge)]
    if points:
        return answer_frame(points, items, seed)
    return hold_out_frame([one for one in judges if isinstance(one, HardJudge)], items, seed)


def advice_on(judges: Sequence[AnyJudge], items: int, seed: int, looks: int = 1) -> PromptAdvice:
    names = [f"p{k}" for k in range(1, len(judges))]
    table = compare_candidates(candidates_on(judges, items, seed), "j", "p0", names, looks)
    assert table is not None
    return advise(table)


def count_advice(judges: Sequence[AnyJudge], items: int, studies: int) -> Counter[tuple[str, str]]:
    """How often each recommendation was given, as (advice, prompt) -> studies."""
    found = (advice_on(judges, items, seed) for seed in range(studies))
    return Counter((one.advice, one.prompt or "") for one in found)
