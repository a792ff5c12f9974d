"""Simulated judges with known biases, for teaching and for testing that metrics recover the biases.

A verdict is drawn step by step; the first step that applies decides. With probability `first_bias`:
the first slot, or a slot drawn with `slot_weights`. With probability `self_preference`: the answer
of the judge's own model family, if exactly one answer is of this family. With probability
|`length_preference`|: the longest answer (if negative: the shortest), if no other has the same
length. With probability `tie_rate`: a tie. Otherwise: the truly better answer with probability
`accuracy`, else another; if all are equally good, one drawn uniformly. Before all this, with
probability `unreadable_rate`, the reply names no answer.

In five-level formats a win is "much better" with probability `much_rate`; if this is not set, when
the true preference is "much better". In prompts that grade the options first, the verdict
contradicts the grades with probability `contradiction_rate`. simulated_scores.py has the formats
that score answers, and the judges with graded replies to pairs (setting `graded_signal`).
"""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from judges.judge_errors import PromptError
from judges.models.interface import JudgeCall, JudgeReply, ReplyToken
from judges.models.simulation import simulated_scores as scores
from judges.rendering.messages import PromptInputs
from studies.domain import BY_DESIGN, Usage
from studies.frames.arrangement import parse_arrangement
from studies.frames.known_answers import best_answers, better_answer


class SimulatedModel:
    """Client of a simulated judge: writes replies in the prompt's format, which are then parsed
    like those of any judge."""

    ceiling = 64

    def __init__(self, families: Mapping[str, str] | None = None) -> None:
        self._families = families or {}

    async def complete(self, call: JudgeCall) -> JudgeReply:
        settings = call.judge.simulation
        rng = random.Random(f"{settings.get('seed', 0)}\x1f{call.key}")
        prompt_tokens = sum(len(str(m["content"])) for m in call.messages) // 4
        usage = Usage(prompt_tokens, 8)
        if rng.random() < scores.float_setting(settings, "unreadable_rate"):
            text = "Both answers have their merits, and I would rather not choose."
            return JudgeReply(text, finish="stop", usage=usage, model="simulated")
        if call.prompt.rubric and call.parameters.get("logprobs"):
            return _write_rubric_reply(call, usage, rng)
        if call.prompt.options and call.parameters.get("logprobs"):
            # Write a reply with a verdict on one answer: the drawn option's name, and the
            # probabilities of all options.
            names = list(scores.option_names_in_reply(call).values())
            chosen = scores.draw_option_name(call, call.judge.simulation, rng)
            logprobs = _draw_logprobs(chosen, names, rng)
            return JudgeReply(
                chosen, finish="length", usage=usage, model="simulated", top_logprobs=logprobs
            )
        if call.prompt.verdict in scores.SCORING_FORMATS:
            text = scores.write_scores_or_verdict(call, settings, rng)
            return JudgeReply(text, finish="stop", usage=usage, model="simulated")
        if scores.has_graded_replies(settings) and len(call.inputs.shown) == 2:
            return _write_graded_reply(call, scores.draw_logit(call.inputs, settings, rng), usage)
        pick = self._draw_pick(call, settings, rng)
        return _write_reply(call, pick, usage, rng)

    async def close(self) -> None:
        return None

    def _draw_pick(
        self, call: JudgeCall, settings: Mapping[str, Any], rng: random.Random
    ) -> int | Literal["tie"]:
        inputs, slots = call.inputs, range(len(call.inputs.shown))
        if (biased := scores.draw_slot_by_bias(settings, len(slots), rng)) is not None:
            return biased
        families = [self._families.get(name, "") for name in inputs.shown]
        own = [s for s in slots if call.judge.family and families[s] == call.judge.family]
        if len(own) == 1 and rng.random() < scores.float_setting(settings, "self_preference"):
            return own[0]
        preference = scores.float_setting(settings, "length_preference")
        if (
            rng.random() < abs(preference)
            and (pick := _pick_by_length(inputs, longer=preference > 0)) is not None
        ):
            return pick
        if rng.random() < scores.float_setting(settings, "tie_rate"):
            return "tie"
        return _pick_by_quality(inputs, settings, rng)


def _pick_by_length(inputs: PromptInputs, *, longer: bool) -> int | None:
    """Return the index of the longest (or shortest) answer; None if several have that length."""
    lengths = [len(text) for text in inputs.answers]
    wanted = max(lengths) if longer else min(lengths)
    return lengths.index(wanted) if lengths.count(wanted) == 1 else None


def _pick_by_quality(inputs: PromptInputs, settings: Mapping[str, Any], rng: random.Random) -> int:
    slots = range(len(inputs.shown))
    winner = scores.true_winner(inputs, str(settings.get("seed", 0)))
    names = best_answers(inputs.item.human, inputs.shown) if winner == "tie" else (winner,)
    right = [inputs.shown.index(name) for name in names if name is not None]
    if not right:
        return rng.choice(slots)
    if rng.random() < scores.float_setting(settings, "accuracy", 1.0):
        return right[0] if len(right) == 1 else rng.choice(right)
    return rng.choice([slot for slot in slots if slot not in right])


def _write_reply(
    call: JudgeCall, pick: int | Literal["tie"], usage: Usage, rng: random.Random
) -> JudgeReply:
    format, labels = call.prompt.format, call.inputs.labels
    label = format.ties if pick == "tie" else labels[pick]
    if call.judge.read == "probabilities":
        text = f"{format.prefill_for(len(labels)) or ''} {label}"
        return JudgeReply(
            text,
            finish="length",
            usage=usage,
            model="simulated",
            top_logprobs=_draw_logprobs(label or "", labels, rng),
        )
    margin = 0 if pick == "tie" else _draw_margin(call, pick, rng)
    text = verdict_sentence(format.name, label or "", labels, margin)
    if pick != "tie" and call.prompt.asks_for_grades:
        text = f"{scores.write_grades(call, pick, rng)}\n{text}"
    return JudgeReply(text, finish="stop", usage=usage, model="simulated")


def _write_rubric_reply(call: JudgeCall, usage: Usage, rng: random.Random) -> JudgeReply:
    """Write the reply of a simulated judge to a rubric: for each criterion a line with a score
    drawn at random, and the log-probabilities of all possible scores."""
    names = list(scores.option_names_in_reply(call).values())
    tokens = []
    for place, criterion in enumerate(parse_arrangement(call.inputs.labels).criteria):
        chosen = scores.draw_option_name(call, call.judge.simulation, rng, place)
        levels = _draw_logprobs(chosen, names, rng)
        tokens += [ReplyToken(f"{criterion}:", ()), ReplyToken(f" {chosen}", levels)]
        tokens.append(ReplyToken("\n", (("\n", 0.0),)))
    return JudgeReply(
        "".join(token.text for token in tokens),
        finish="stop",
        usage=usage,
        model="simulated",
        top_logprobs=tokens[-1].candidates,
        tokens=tuple(tokens),
    )


def _write_graded_reply(call: JudgeCall, logit: float, usage: Usage) -> JudgeReply:
    """Write the reply of a simulated judge that prefers the answer shown first by `logit`
    (negative: the second). If the judge is read by label probabilities, the reply has these;
    otherwise its text states the better answer and, in a five-level format, whether it is much
    better."""
    format, labels = call.prompt.format, call.inputs.labels
    label = labels[0 if logit > 0 else 1]
    if call.judge.read == "probabilities":
        text = f"{format.prefill_for(len(labels)) or ''} {label}"
        logprobs = scores.label_logprobs(logit, labels)
        return JudgeReply(
            text, finish="length", usage=usage, model="simulated", top_logprobs=logprobs
        )
    margin = 2 if scores.is_much_better(logit, call.judge.simulation) else 1
    text = verdict_sentence(format.name, label, labels, margin)
    return JudgeReply(text, finish="stop", usage=usage, model="simulated")


def _draw_margin(call: JudgeCall, pick: int, rng: random.Random) -> int:
    """Return by how much the picked answer is better: 1 better, 2 much better. 2 is drawn with
    probability `much_rate`; if this is not set, the known preferences decide. Always 1 unless
    the prompt's format has five levels."""
    if call.prompt.verdict not in _FIVE_LEVEL_FORMATS:
        return 1
    settings, shown = call.judge.simulation, call.inputs.shown
    if "much_rate" in settings:
        return 2 if rng.random() < scores.float_setting(settings, "much_rate") else 1
    won, lost = shown[pick], shown[1 - pick]
    if better_answer(call.inputs.item.human, won, lost) != won:
        return 1
    pair = {won, lost}
    votes = [p for p in call.inputs.item.human if p.picked == won and pair <= {*(p.shown or ())}]
    margins = [p.margin for p in votes if p.judge == BY_DESIGN] or [p.margin for p in votes]
    return 2 if 2 * sum(margins) > 3 * len(margins) else 1


def _draw_logprobs(
    label: str, labels: Sequence[str], rng: random.Random
) -> tuple[tuple[str, float], ...]:
    probability = 0.5 + rng.random() / 2
    others = [name for name in labels if name != label]
    rest = math.log((1 - probability) / max(1, len(others)))
    return (*((name, rest) for name in others), (label, math.log(probability)))


def verdict_sentence(format: str, label: str, labels: Sequence[str], margin: int = 1) -> str:
    """Return the text that states a verdict in the given format; PromptError for a format that has
    no such text. `label` is the label of the picked answer, or the format's word for a tie;
    `margin` is 0 for a tie, 1 better, 2 much better."""
    if format in _FIVE_LEVEL_FORMATS:
        other = next(name for name in sorted(labels) if name != label)
        level = f"{label}{'>' * margin}{other}" if margin else "A=B"
        return f"Final Verdict is: [[{level}]]"
    if format not in _VERDICT_SENTENCES:
        raise PromptError(
            f"a simulated judge cannot write the verdict format {format!r}; choose another prompt"
        )
    return _VERDICT_SENTENCES[format].format(label)


_VERDICT_SENTENCES: Final = {
    "overall-response": "Overall, Response {} is better.",
    "final-answer": "Final Answer: {}",
    "selection-option": "Selection: Option {}\nExplanation: simulated.",
    "mt-bench": "[[{}]]",
    "json-winner": '{{"winner": "{}"}}',
    "label": "{}",
}
_FIVE_LEVEL_FORMATS: Final = ("five-level", "arena-hard")
SIMULATED_FORMATS: Final = (*_FIVE_LEVEL_FORMATS, *_VERDICT_SENTENCES, *scores.SCORING_FORMATS)
"""The verdict formats that a simulated judge can write."""
