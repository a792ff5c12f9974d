"""Scorer for Inspect: a model-graded comparison in both orders, `evenhand/both_orders`.

    inspect score log.eval --scorer evenhand/both_orders -S recorded=pairwise --action append

The evaluated model's answer is compared with another answer, once shown first and once shown
second. If an earlier scorer has already recorded the verdict in one order, the grader is called
only for the other order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from inspect_ai.model import Model, get_model
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState

from judges.verdicts.verdict import parse_verdict

ORDERS: Final = ("first", "second")
"""Positions of the evaluated answer, in the order in which the grader is called."""
TEMPLATE: Final = """\
Two answers to the same question are given. Decide which one is better.

[Question]
{question}

[Answer A]
{answer_a}

[Answer B]
{answer_b}

Explain your choice briefly. End with exactly one of [[A]] (answer A is better), [[B]] (answer B is
better) or [[C]] (they are equally good)."""
_POINTS: Final = {"win": 1.0, "tie": 0.5, "loss": 0.0}


@metric
def consistency() -> Metric:
    """Return a metric of Inspect: the share of comparisons with the same verdict in both orders,
    among those with a verdict in both; nan if there are none."""

    def compute(scores: list[SampleScore]) -> float:
        read = [one.score.metadata or {} for one in scores]
        both = [data for data in read if all(data.get(order) for order in ORDERS)]
        same = sum(data["first"] == data["second"] for data in both)
        return same / len(both) if both else float("nan")

    return compute


@scorer(metrics=[mean(), stderr(), consistency()])
def both_orders(
    opponent: str = "baseline",
    recorded: str = "",
    recorded_order: str = "first",
    model: str | Model | None = None,
    template: str = TEMPLATE,
) -> Scorer:
    """Compare the answer of a sample with another answer, once shown first and once second. The
    score is the mean of both verdicts: a win counts 1, a tie ½, a loss 0; unscored if a verdict
    is missing.

    Args:
        opponent: Key of the sample's metadata with the other answer; `target` for the target.
        recorded: Name of an earlier scorer whose score holds the verdict of one order, as its
            answer or value: A, B or C. Needs `--action append`.
        recorded_order: Place of the evaluated answer in that comparison: `first` or `second`.
        model: The grader; default: the model of the role `grader`.
        template: Prompt with {question}, {answer_a} and {answer_b}."""
    if recorded_order not in ORDERS:
        raise ValueError(f"recorded_order is {recorded_order!r}; use first or second")

    async def score(state: TaskState, target: Target) -> Score:
        other = target.text if opponent == "target" else (state.metadata or {}).get(opponent)
        if not other:
            return Score.unscored(
                reason="no_opponent",
                explanation=f"the sample has no {opponent!r} to compare its answer with",
            )
        verdicts = _outcome_by_order(state.scores or {}, recorded, recorded_order)
        replies, asked = [], []
        for order in ORDERS:
            if order not in verdicts:
                grader = get_model(model) if model else get_model(role="grader")
                prompt = _fill_prompt(template, state, str(other), order)
                reply = (await grader.generate(prompt)).completion
                verdicts[order] = _outcome_of_letter(_verdict_letter(reply), order)
                replies.append(f"[evaluated answer shown {order}]\n{reply}")
                asked.append(order)
        return _combine_orders(verdicts, asked, "\n\n".join(replies))

    return score


def _fill_prompt(template: str, state: TaskState, other: str, order: str) -> str:
    own = state.output.completion
    answers = (own, other) if order == "first" else (other, own)
    filled = {"question": state.input_text, "answer_a": answers[0], "answer_b": answers[1]}
    pattern = re.compile("|".join(re.escape(f"{{{name}}}") for name in filled))
    return pattern.sub(lambda match: filled[match[0][1:-1]], template)


def _outcome_by_order(scores: Mapping[str, Score], recorded: str, order: str) -> dict[str, str]:
    """Return {order: outcome} if the scorer named `recorded` has recorded a verdict, else {}.
    `order` is the place of the evaluated answer in its comparison, "first" or "second"; the
    outcome is "win", "tie" or "loss" of this answer."""
    earlier = scores.get(recorded) if recorded else None
    if earlier is None:
        return {}
    word = str(earlier.answer or earlier.value).strip().strip("[]")
    found = _outcome_of_letter(word if word in ("A", "B", "C") else "", order)
    return {order: found} if found else {}


def _verdict_letter(reply: str) -> str:
    """Return "A", "B" or "C" (tie), read from a grader's reply; "" if it has no verdict."""
    verdict = parse_verdict("mt-bench", reply).verdict
    if verdict is None:
        return ""
    return "AB"[verdict.pick] if isinstance(verdict.pick, int) else "C"


def _outcome_of_letter(letter: str, order: str) -> str:
    """Return the outcome for the evaluated answer: "win", "loss" or "tie"; "" without a verdict.
    `letter` is the verdict: A (the answer shown first), B (the second), C for a tie, or "" if there
    is none. `order` is the place of the evaluated answer, "first" or "second"."""
    if letter in ("", "C"):
        return "tie" if letter else ""
    return "win" if (letter == "A") == (order == "first") else "loss"


def _combine_orders(verdicts: Mapping[str, str], asked: list[str], explanation: str) -> Score:
    """Build the score of a sample from its outcomes in both orders (`verdicts`: order -> outcome).
    The value is their mean: a win counts 1, a tie ½, a loss 0; unscored if one is missing.
    `asked`: the orders in which the grader was called; `explanation`: its replies."""
    found: dict[str, Any] = {order: verdicts[order] for order in ORDERS}
    usable = all(found.values())
    flipped = usable and found["first"] != found["second"]
    metadata = {**found, "asked": asked, "flipped": flipped}
    if not usable:
        return Score.unscored(
            reason="grader_failed", explanation=explanation or "no verdict", metadata=metadata
        )
    answer = "flipped" if flipped else found["first"]
    value = sum(_POINTS[found[order]] for order in ORDERS) / len(ORDERS)
    return Score(value=value, answer=answer, explanation=explanation, metadata=metadata)
