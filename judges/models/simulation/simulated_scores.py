"""Scores and graded verdicts of simulated judges, with known signal, noise and position effect.

Scores: the quality of an answer is between -1 (truly worse than all other answers to its item) and
1 (better than all). Its points are `score_mean` + `score_spread` x quality + noise with standard
deviation `score_noise`, and `first_points` more if it is shown first of several, clipped to 0-10.
Verdicts on one answer are drawn from its label: pass or fail with `sensitivity` and `specificity`,
an option of a scale with `severity`. In a rubric, the level of the criterion listed first is raised
by `first_points` steps.

Graded replies to pairs: the logit for the answer shown first is ±`graded_signal` (+ if this answer
is truly better, − if the other is, 0 if neither) + `graded_first` + noise with the standard
deviation `graded_noise`. If the verdict is read from probabilities, the label of the answer shown
first gets 1/(1 + exp(−logit)). In five-level formats, |logit| ≥ `graded_much` means "much better".
In other formats only the sign of the logit counts. The expected agreement of every remedy therefore
has a closed form.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from judges.models.interface import JudgeCall
from judges.rendering.messages import PromptInputs
from judges.verdicts.point_readers import score_by_option
from judges.verdicts.verdict_formats import PASS_FAIL_FORMAT, POINT_FORMATS, RUBRIC_FORMAT
from studies.domain import FAIL, PASS, Item
from studies.frames.arrangement import parse_arrangement
from studies.frames.known_answers import TrueWinner, best_answer, better_answer, right_verdicts

DEFAULT_MEAN: Final = 6.0
DEFAULT_SPREAD: Final = 2.0
DEFAULT_NOISE: Final = 1.0
DEFAULT_STEP_NOISE: Final = 0.5


def float_setting(settings: Mapping[str, Any], name: str, default: float = 0.0) -> float:
    return float(settings.get(name, default))


def draw_slot_by_bias(settings: Mapping[str, Any], slots: int, rng: random.Random) -> int | None:
    """With probability `first_bias`, return the index of a position that is chosen without regard
    to the content: the first or, if the judge has `slot_weights`, one drawn with these weights
    (a position without a weight is never drawn). Otherwise return None."""
    if rng.random() >= float_setting(settings, "first_bias"):
        return None
    weights = settings.get("slot_weights")
    if not weights:
        return 0
    return rng.choices(range(slots), [*weights, *[0.0] * slots][:slots])[0]


def write_scores_or_verdict(
    call: JudgeCall, settings: Mapping[str, Any], rng: random.Random
) -> str:
    """Write the points of every answer shown, or the verdict on one answer, as the prompt asks."""
    if call.prompt.options:
        # Write a verdict on one answer: pass or fail, an option, or a level for each criterion.
        offered = parse_arrangement(call.inputs.labels)
        if call.prompt.verdict == RUBRIC_FORMAT:
            lines = [
                f"{name}: {draw_option_name(call, settings, rng, place)}"
                for place, name in enumerate(offered.criteria)
            ]
            return "\n".join(["Simulated.", *lines])
        marker = "Verdict" if call.prompt.verdict == PASS_FAIL_FORMAT else "Score"
        return f"Simulated.\n{marker}: {draw_option_name(call, settings, rng)}"
    by_label = {
        label: _draw_points(call, slot, settings, rng)
        for slot, label in enumerate(call.inputs.labels)
    }
    return _SCORE_WRITERS[call.prompt.verdict]([by_label[label] for label in sorted(by_label)])


def option_names_in_reply(call: JudgeCall) -> dict[str, str]:
    """Return option -> its name in a reply (its text, or its letter if the prompt offers letters),
    in the order offered."""
    offered = parse_arrangement(call.inputs.labels)
    names = dict(zip(offered.options, offered.names_in_reply, strict=True))
    if call.prompt.verdict == PASS_FAIL_FORMAT:
        return {option: name.upper() for option, name in names.items()}
    return names


def draw_option_name(
    call: JudgeCall, settings: Mapping[str, Any], rng: random.Random, criterion: int | None = None
) -> str:
    """Draw a verdict on one answer from the options offered; return the name that it has in a
    reply. With probability `first_bias` the option is chosen by its place only
    (`draw_slot_by_bias`), otherwise by the known label or quality of the answer. `criterion` is
    the index of the criterion in a rubric."""
    offered = parse_arrangement(call.inputs.labels).options
    if (biased := draw_slot_by_bias(settings, len(offered), rng)) is not None:
        chosen = offered[biased]
    elif call.prompt.verdict == PASS_FAIL_FORMAT:
        chosen = _draw_pass_fail(call, settings, rng)
    else:
        raised = float_setting(settings, "first_points") if criterion == 0 else 0.0
        chosen = _draw_option(call, settings, rng, raised)
    return option_names_in_reply(call)[chosen]


def _draw_pass_fail(call: JudgeCall, settings: Mapping[str, Any], rng: random.Random) -> str:
    """Draw pass or fail: a good answer passes with probability `sensitivity`, a bad one fails with
    probability `specificity`. Without a label, an answer with a quality above 0 is good."""
    item, name = call.inputs.item, call.inputs.shown[0]
    label = right_verdicts(item.labels).get(name)
    good = label == PASS if label in (PASS, FAIL) else _quality_of_first_answer(call, settings) > 0
    if good:
        passes = rng.random() < float_setting(settings, "sensitivity", 1.0)
    else:
        passes = rng.random() >= float_setting(settings, "specificity", 1.0)
    return PASS if passes else FAIL


def _draw_option(
    call: JudgeCall, settings: Mapping[str, Any], rng: random.Random, raised: float = 0.0
) -> str:
    """Draw an option of the scale. It starts at the option of the answer's known label (without
    one, of its quality), goes `severity` steps down and `raised` steps up, and is moved by noise
    with a standard deviation of `score_noise` steps. The result is rounded and stays on the
    scale."""
    options = call.prompt.options
    values = list(score_by_option(options).values())
    label = right_verdicts(call.inputs.item.labels).get(call.inputs.shown[0])
    if isinstance(label, float):
        step = float(min(range(len(values)), key=lambda k: abs(values[k] - label)))
    else:
        step = (_quality_of_first_answer(call, settings) + 1) / 2 * (len(values) - 1)
    step += raised - float_setting(settings, "severity")
    step += rng.gauss(0.0, float_setting(settings, "score_noise", DEFAULT_STEP_NOISE))
    return options[min(len(values) - 1, max(0, round(step)))]


def _quality_of_first_answer(call: JudgeCall, settings: Mapping[str, Any]) -> float:
    inputs = call.inputs
    return answer_quality(inputs.item, inputs.shown[0], str(settings.get("seed", 0)))


def write_grades(call: JudgeCall, pick: int, rng: random.Random) -> str:
    """Write a grade from 0 to 5 for each option. The picked option gets 5; with probability
    `contradiction_rate` it gets 3, and another option 5."""
    slots = range(len(call.inputs.shown))
    grades = {slot: rng.randint(0, 4) for slot in slots} | {pick: 5}
    if len(slots) > 1 and rng.random() < float_setting(call.judge.simulation, "contradiction_rate"):
        best = rng.choice([slot for slot in slots if slot != pick])
        grades |= {best: 5, pick: 3}
    lines = [f"Option {call.inputs.labels[slot]}: {grades[slot]}" for slot in slots]
    return "\n".join(["Grading:", *lines])


def answer_quality(item: Item, name: str, seed: str = "0") -> float:
    """Return the mean result of a model's answer against the other answers to the item: a win
    counts 1, a tie 0, a loss -1. If no result is known, return a number from -1 to 1 drawn for the
    model from the seed."""
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


def _write_factuality_scores(points: list[float]) -> str:
    return "\n".join(
        f"Response {label} Visual Factuality Score: {value:.1f}/10"
        for label, value in zip("AB", points, strict=True)
    )


_SCORE_WRITERS: Final[Mapping[str, Callable[[list[float]], str]]] = {
    "factuality": _write_factuality_scores,
    "rating": lambda points: f"Rating: [[{max(1.0, points[0]):.1f}]]",
    "rating-pair": lambda points: f"[[{', '.join(f'{max(1.0, one):.1f}' for one in points)}]]",
    "result-n": lambda points: f"[RESULT] {1 + round(0.4 * points[0])}",
    "grade-letter": lambda points: (
        f"GRADE: {'C' if points[0] >= 7 else 'P' if points[0] >= 4 else 'I'}"
    ),
}
SCORING_FORMATS: Final = (*_SCORE_WRITERS, *POINT_FORMATS)
"""The verdict formats that score answers."""


DEFAULT_MUCH: Final = 2.0
MAX_LOGIT: Final = 30.0
"""Largest absolute logit; larger ones are reduced to it. At this logit, the probability differs
from 0 or 1 by only 1e-13."""


def has_graded_replies(settings: Mapping[str, Any]) -> bool:
    return "graded_signal" in settings


def draw_logit(inputs: PromptInputs, settings: Mapping[str, Any], rng: random.Random) -> float:
    """Draw how strongly the simulated judge prefers the answer shown first, as a logit (log-odds);
    a negative number prefers the second answer."""
    winner = true_winner(inputs, str(settings.get("seed", 0)))
    side = 0.0 if winner == "tie" else 1.0 if winner == inputs.shown[0] else -1.0
    logit = side * float_setting(settings, "graded_signal") + float_setting(
        settings, "graded_first"
    )
    logit += rng.gauss(0.0, float_setting(settings, "graded_noise", 1.0))
    return max(-MAX_LOGIT, min(MAX_LOGIT, logit))


def is_much_better(logit: float, settings: Mapping[str, Any]) -> bool:
    """Whether a logit is large enough for the five-level verdict "much better"."""
    return abs(logit) >= float_setting(settings, "graded_much", DEFAULT_MUCH)


def label_logprobs(logit: float, labels: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Return the two labels with their log-probabilities, the likelier label last. `logit` is the
    log-odds of the first label."""
    pairs = [(labels[0], -math.log1p(math.exp(-logit))), (labels[1], -math.log1p(math.exp(logit)))]
    return tuple(sorted(pairs, key=lambda pair: pair[1]))


def true_winner(inputs: PromptInputs, seed: str) -> TrueWinner:
    """Return the model whose answer is truly better, or "tie". If it is unknown, each model
    has a strength drawn from the seed, and the strongest model is returned."""
    winner = best_answer(inputs.item.human, inputs.shown)
    return _draw_strongest_model(inputs.shown, seed) if winner is None else winner


def _draw_strongest_model(shown: Sequence[str], seed: str) -> str:
    return max(shown, key=lambda name: random.Random(f"strength\x1f{seed}\x1f{name}").random())
