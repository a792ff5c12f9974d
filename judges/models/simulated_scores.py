"""Scores of simulated judges: known mean, spread, noise and position effect.

An answer's quality is +1 if it is truly better than every other answer to its item, -1 if worse
than all. Its points, on a scale of 0-10, are `score_mean` + `score_spread` x quality +
`first_points` if it is shown first of several + noise with the standard deviation `score_noise`,
clipped to the scale. So a model's mean score and the effect of its position are known.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, Final

from judges.models.interface import JudgeCall
from studies.domain import Item
from studies.frames.truth import better_answer

DEFAULT_MEAN: Final = 6.0
DEFAULT_SPREAD: Final = 2.0
DEFAULT_NOISE: Final = 1.0


def float_setting(settings: Mapping[str, Any], name: str, default: float = 0.0) -> float:
    return float(settings.get(name, default))


def write_scores(call: JudgeCall, settings: Mapping[str, Any], rng: random.Random) -> str:
    """Write the points of every answer shown, in the prompt's format."""
    by_label = {
        label: _draw_points(call, slot, settings, rng)
        for slot, label in enumerate(call.inputs.labels)
    }
    return _SCORE_WRITERS[call.prompt.verdict]([by_label[label] for label in sorted(by_label)])


def write_grades(call: JudgeCall, pick: int, rng: random.Random) -> str:
    """Write a grade of 0-5 for each option.

    The picked option has the highest grade; with probability `contradiction_rate` another one has.
    """
    slots = range(len(call.inputs.shown))
    grades = {slot: rng.randint(0, 4) for slot in slots} | {pick: 5}
    if len(slots) > 1 and rng.random() < float_setting(call.judge.simulation, "contradiction_rate"):
        best = rng.choice([slot for slot in slots if slot != pick])
        grades |= {best: 5, pick: 3}
    lines = [f"Option {call.inputs.labels[slot]}: {grades[slot]}" for slot in slots]
    return "\n".join(["Grading:", *lines])


def answer_quality(item: Item, name: str, seed: str = "0") -> float:
    """Return the mean result of an answer against the other answers of its item, from -1 (loses
    all) to 1 (wins all), by the known preferences; without any, a quality drawn for its model by
    the seed."""
    others = [other for other in item.responses if other != name]
    winners = [better_answer(item.human, name, other) for other in others]
    known = [0.0 if w == "tie" else 1.0 if w == name else -1.0 for w in winners if w is not None]
    if known:
        return sum(known) / len(known)
    return 2 * random.Random(f"quality\x1f{seed}\x1f{name}").random() - 1


def _draw_points(
    call: JudgeCall, slot: int, settings: Mapping[str, Any], rng: random.Random
) -> float:
    inputs = call.inputs
    quality = answer_quality(inputs.item, inputs.shown[slot], str(settings.get("seed", 0)))
    points = (
        float_setting(settings, "score_mean", DEFAULT_MEAN)
        + float_setting(settings, "score_spread", DEFAULT_SPREAD) * quality
    )
    if slot == 0 and len(inputs.shown) > 1:
        points += float_setting(settings, "first_points")
    points += rng.gauss(0.0, float_setting(settings, "score_noise", DEFAULT_NOISE))
    return min(10.0, max(0.0, points))


def _write_factuality(points: list[float]) -> str:
    return "\n".join(
        f"Response {label} Visual Factuality Score: {value:.1f}/10"
        for label, value in zip("AB", points, strict=True)
    )


def _write_rating(points: list[float]) -> str:
    return f"Rating: [[{max(1.0, points[0]):.1f}]]"


def _write_rating_pair(points: list[float]) -> str:
    return f"[[{', '.join(f'{max(1.0, value):.1f}' for value in points)}]]"


def _write_result(points: list[float]) -> str:
    return f"[RESULT] {1 + round(0.4 * points[0])}"


def _write_grade(points: list[float]) -> str:
    return f"GRADE: {'C' if points[0] >= 7 else 'P' if points[0] >= 4 else 'I'}"


_SCORE_WRITERS: Final[Mapping[str, Callable[[list[float]], str]]] = {
    "factuality": _write_factuality,
    "rating": _write_rating,
    "rating-pair": _write_rating_pair,
    "result-n": _write_result,
    "grade-letter": _write_grade,
}
SCORING_FORMATS: Final = tuple(_SCORE_WRITERS)
"""The verdict formats that score answers."""
