"""Judges whose truth is known: they teach, and they test the metrics that must recover them.

With probability `first_bias` the first slot (or a draw from `slot_weights`); else with
`self_preference` the answer of its own family, with |`length_preference`| the longer (negative:
the shorter) answer, with `tie_rate` a tie; else the truly better answer with probability
`accuracy`; truly equal: uniform. With `unreadable_rate` the reply names no answer at all.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from judges.errors import PromptError
from judges.models.answers import Answer, Call
from judges.prompt import Scene
from studies.records import Usage
from studies.truth import best


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
        if rng.random() < _number(settings, "unreadable_rate"):
            text = "Both answers have their merits, and I would rather not choose."
            return Answer(text, finish="stop", usage=usage, model="simulated")
        pick = self._pick(call, settings, rng)
        return _written(call, pick, usage, rng)

    async def close(self) -> None:
        return None

    def _pick(
        self, call: Call, settings: Mapping[str, Any], rng: random.Random
    ) -> int | Literal["tie"]:
        scene, slots = call.scene, range(len(call.scene.shown))
        if rng.random() < _number(settings, "first_bias"):
            return _by_slot(len(slots), settings.get("slot_weights"), rng)
        own = [
            s for s in slots if call.judge.family and self._family(scene, s) == call.judge.family
        ]
        if len(own) == 1 and rng.random() < _number(settings, "self_preference"):
            return own[0]
        taste = _number(settings, "length_preference")
        if rng.random() < abs(taste) and (pick := _by_length(scene, longer=taste > 0)) is not None:
            return pick
        if rng.random() < _number(settings, "tie_rate"):
            return "tie"
        return _by_quality(scene, settings, rng)

    def _family(self, scene: Scene, slot: int) -> str:
        return self._families.get(scene.shown[slot], "")


def _number(settings: Mapping[str, Any], name: str, default: float = 0.0) -> float:
    return float(settings.get(name, default))


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
    if rng.random() < _number(settings, "accuracy", 1.0):
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
            token_probabilities=_leaning(label or "", labels, rng),
        )  # fmt: skip
    text = sentence(format.name, label or "", labels, tie=pick == "tie")
    return Answer(text, finish="stop", usage=usage, model="simulated")


def _leaning(label: str, labels: Sequence[str], rng: random.Random) -> dict[str, float]:
    sure = 0.5 + rng.random() / 2
    others = [name for name in labels if name != label]
    return dict.fromkeys(others, (1 - sure) / max(1, len(others))) | {label: sure}


def sentence(format: str, label: str, labels: Sequence[str], *, tie: bool = False) -> str:
    """A verdict in the words of its format."""
    if format in _FIVE_LEVELS:
        other = next(name for name in sorted(labels) if name != label)
        level = "A=B" if tie else f"{label}>{other}"
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
SPEAKS: Final = (*_FIVE_LEVELS, *_SENTENCES)
"""The verdict formats a simulated judge can answer in."""
