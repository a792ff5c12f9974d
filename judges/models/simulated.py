"""Judges whose truth is known: they teach, and they test the metrics that must recover them.

With probability `first_bias` the first slot (or a draw from `slot_weights`); else with
`self_preference` the answer of its own family, with |`length_preference`| the longer (negative:
the shorter) answer, with `tie_rate` a tie; else the truly better answer with probability
`accuracy`; truly equal: uniform. With `unreadable_rate` the reply names no answer at all.

Five levels: a win is "much better" with probability `much_rate`; without it, where the truth says
so. Prompts that grade options first contradict their grades with `contradiction_rate`. Formats that
score know no pick: judges/models/simulated_scores.py.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from judges.errors import PromptError
from judges.models.answers import Answer, Call
from judges.models.simulated_scores import SCORES, graded, number, scored
from judges.prompt import Scene
from studies.records import BY_DESIGN, Usage
from studies.truth import best, better


class SimulatedModel:
    """Writes a reply in the prompt's own format, so that the parser reads it like any other."""

    gate = "simulated"
    ceiling = 64

    def __init__(self, families: Mapping[str, str] | None = None) -> None:
        self._families = families or {}

    async def complete(self, call: Call) -> Answer:
        settings = call.judge.simulation
        rng = random.Random(f"{settings.get('seed', 0)}\x1f{call.key}")
        prompt_tokens = sum(len(str(m["content"])) for m in call.messages) // 4
        usage = Usage(prompt_tokens, 8)
        if rng.random() < number(settings, "unreadable_rate"):
            text = "Both answers have their merits, and I would rather not choose."
            return Answer(text, finish="stop", usage=usage, model="simulated")
        if call.prompt.verdict in SCORES:
            text = scored(call, settings, rng)
            return Answer(text, finish="stop", usage=usage, model="simulated")
        pick = self._pick(call, settings, rng)
        return _written(call, pick, usage, rng)

    async def close(self) -> None:
        return None

    def _pick(
        self, call: Call, settings: Mapping[str, Any], rng: random.Random
    ) -> int | Literal["tie"]:
        scene, slots = call.scene, range(len(call.scene.shown))
        if rng.random() < number(settings, "first_bias"):
            return _by_slot(len(slots), settings.get("slot_weights"), rng)
        own = [
            s for s in slots if call.judge.family and self._family(scene, s) == call.judge.family
        ]
        if len(own) == 1 and rng.random() < number(settings, "self_preference"):
            return own[0]
        taste = number(settings, "length_preference")
        if rng.random() < abs(taste) and (pick := _by_length(scene, longer=taste > 0)) is not None:
            return pick
        if rng.random() < number(settings, "tie_rate"):
            return "tie"
        return _by_quality(scene, settings, rng)

    def _family(self, scene: Scene, slot: int) -> str:
        return self._families.get(scene.shown[slot], "")


def _by_slot(slots: int, weights: Sequence[float] | None, rng: random.Random) -> int:
    """The first slot, or a draw; a slot without a weight is never drawn."""
    if not weights:
        return 0
    return rng.choices(range(slots), [*weights, *[0.0] * slots][:slots])[0]


def _by_length(scene: Scene, *, longer: bool) -> int | None:
    """None if several are as long: length then says nothing, least of all the first slot."""
    lengths = [len(text) for text in scene.answers]
    wanted = max(lengths) if longer else min(lengths)
    return lengths.index(wanted) if lengths.count(wanted) == 1 else None


def _by_quality(scene: Scene, settings: Mapping[str, Any], rng: random.Random) -> int:
    slots = range(len(scene.shown))
    truth = best(scene.item.human, scene.shown)
    if truth is None:
        truth = _strongest(scene.shown, str(settings.get("seed", 0)))
    if truth == "tie":
        return rng.choice(slots)
    right = scene.shown.index(truth)
    if rng.random() < number(settings, "accuracy", 1.0):
        return right
    return rng.choice([slot for slot in slots if slot != right])


def _strongest(shown: Sequence[str], seed: str) -> str:
    """Where nobody knows the truth, each contestant has a seeded strength."""
    return max(shown, key=lambda name: random.Random(f"strength\x1f{seed}\x1f{name}").random())


def _written(call: Call, pick: int | Literal["tie"], usage: Usage, rng: random.Random) -> Answer:
    format, labels = call.prompt.format, call.scene.labels
    label = format.ties if pick == "tie" else labels[pick]
    if call.judge.read == "probabilities":
        text = f"{format.prefill_for(len(labels)) or ''} {label}"
        return Answer(
            text, finish="length", usage=usage, model="simulated",
            top_logprobs=_leaning(label or "", labels, rng),
        )  # fmt: skip
    margin = 0 if pick == "tie" else _margin(call, pick, rng)
    text = sentence(format.name, label or "", labels, margin)
    if pick != "tie" and call.prompt.asks_for_grades:
        text = f"{graded(call, pick, rng)}\n{text}"
    return Answer(text, finish="stop", usage=usage, model="simulated")


def _margin(call: Call, pick: int, rng: random.Random) -> int:
    """How much better the picked answer is called."""
    if call.prompt.verdict not in _FIVE_LEVELS:
        return 1
    settings, shown = call.judge.simulation, call.scene.shown
    if "much_rate" in settings:
        return 2 if rng.random() < number(settings, "much_rate") else 1
    won, lost = shown[pick], shown[1 - pick]
    if better(call.scene.item.human, won, lost) != won:
        return 1
    pair = {won, lost}
    votes = [p for p in call.scene.item.human if p.picked == won and pair <= {*(p.shown or ())}]
    margins = [p.margin for p in votes if p.judge == BY_DESIGN] or [p.margin for p in votes]
    return 2 if 2 * sum(margins) > 3 * len(margins) else 1


def _leaning(
    label: str, labels: Sequence[str], rng: random.Random
) -> tuple[tuple[str, float], ...]:
    sure = 0.5 + rng.random() / 2
    others = [name for name in labels if name != label]
    rest = math.log((1 - sure) / max(1, len(others)))
    return (*((name, rest) for name in others), (label, math.log(sure)))


def sentence(format: str, label: str, labels: Sequence[str], margin: int = 1) -> str:
    """A verdict in the words of its format."""
    if format in _FIVE_LEVELS:
        other = next(name for name in sorted(labels) if name != label)
        level = f"{label}{'>' * margin}{other}" if margin else "A=B"
        return f"Final Verdict is: [[{level}]]"
    if format not in _SENTENCES:
        raise PromptError(f"a simulated judge cannot answer in the format {format!r}")
    return _SENTENCES[format].format(label)


_SENTENCES: Final = {
    "overall-response": "Overall, Response {} is better.",
    "final-answer": "Final Answer: {}",
    "selection-option": "Selection: Option {}\nExplanation: simulated.",
    "mt-bench": "[[{}]]",
    "json-winner": '{{"winner": "{}"}}',
    "label": "{}",
}
_FIVE_LEVELS: Final = ("five-level", "arena-hard")
SPEAKS: Final = (*_FIVE_LEVELS, *_SENTENCES, *SCORES)
"""The verdict formats a simulated judge can answer in."""
