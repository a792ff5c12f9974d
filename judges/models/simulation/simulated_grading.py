"""Graded replies of simulated judges to pairs, with known signal, position effect and noise.

The logit for the answer shown first is ±`graded_signal` (+ if this answer is truly better, − if the
other is, 0 if neither) + `graded_first` + noise with the standard deviation `graded_noise`. If the
verdict is read from probabilities, the first label gets 1/(1 + exp(−logit)). In five-level formats,
|logit| ≥ `graded_much` means "much better". In other formats only the sign of the logit counts. The
expected agreement of every remedy therefore has a closed form.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from judges.models.simulation.simulated_scores import float_setting
from judges.rendering.messages import PromptInputs
from studies.frames.truth import TrueWinner, best_answer

DEFAULT_MUCH: Final = 2.0
MAX_LOGIT: Final = 30.0
"""Largest absolute logit; larger ones are reduced to it. Its probability differs from 0 or 1 by
only 1e-13."""


def is_graded(settings: Mapping[str, Any]) -> bool:
    return "graded_signal" in settings


def draw_logit(inputs: PromptInputs, settings: Mapping[str, Any], rng: random.Random) -> float:
    """Draw the logit for the answer shown first."""
    truth = true_winner(inputs, str(settings.get("seed", 0)))
    side = 0.0 if truth == "tie" else 1.0 if truth == inputs.shown[0] else -1.0
    logit = side * float_setting(settings, "graded_signal") + float_setting(
        settings, "graded_first"
    )
    logit += rng.gauss(0.0, float_setting(settings, "graded_noise", 1.0))
    return max(-MAX_LOGIT, min(MAX_LOGIT, logit))


def is_strong(logit: float, settings: Mapping[str, Any]) -> bool:
    """Whether a logit is large enough for the five-level verdict "much better"."""
    return abs(logit) >= float_setting(settings, "graded_much", DEFAULT_MUCH)


def label_logprobs(logit: float, labels: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Return the log-probabilities of the two labels, the likelier label last."""
    pairs = [(labels[0], -math.log1p(math.exp(-logit))), (labels[1], -math.log1p(math.exp(logit)))]
    return tuple(sorted(pairs, key=lambda pair: pair[1]))


def true_winner(inputs: PromptInputs, seed: str) -> TrueWinner:
    """Return the model whose answer is truly better, or "tie". If the truth is unknown, each model
    has a strength drawn from the seed, and the strongest model is returned."""
    truth = best_answer(inputs.item.human, inputs.shown)
    return _strongest_model(inputs.shown, seed) if truth is None else truth


def _strongest_model(shown: Sequence[str], seed: str) -> str:
    return max(shown, key=lambda name: random.Random(f"strength\x1f{seed}\x1f{name}").random())
