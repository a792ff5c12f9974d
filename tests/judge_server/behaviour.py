"""Replies of the judge: a choice among the answers it was shown, rendered in a verdict format.

A behaviour is any callable from `Asked` to a text or a `Reply`. `judge(choice, form)` builds the
usual ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from .asked import Asked


@dataclass(frozen=True)
class Reply:
    """What the model says. `labels` are the probabilities shown at the label's token if logprobs
    are asked for."""

    text: str
    reasoning: str = ""
    refusal: str | None = None
    finish: str = "stop"
    labels: Mapping[str, float] = field(default_factory=dict)


Behaviour = Callable[[Asked], "str | Reply"]
Options = Mapping[str, str]  # label -> the answer's text, in the order shown
Choice = Callable[[Asked, Options], str]

SECTION = re.compile(r"^\W*(?:Response|Assistant|Option|Answer)\s+([A-Z]|\d{1,2})\b[ \t]*:?", re.M)
MARK = re.compile(r"\bq=(\d+)")
CHOSEN_SHARE = 0.8


def draw(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts and nothing else, so arrival order cannot
    change it."""
    digest = blake2b("\x1f".join(map(str, parts)).encode(), digest_size=7).digest()
    return int.from_bytes(digest, "big") / 2**56


def options(asked: Asked) -> dict[str, str]:
    """The labelled answers of the last user message; two empty ones, A and B, if none are
    recognised."""
    text = asked.last_user
    heads = list(SECTION.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found = {h[1]: text[h.end() : end].strip() for h, end in zip(heads, ends, strict=False)}
    return found if len(found) > 1 else {"A": "", "B": ""}


def slot(number: int) -> Choice:
    """Always the answer in this place, counted from 1; the last one if there are fewer."""
    return lambda _, shown: list(shown)[min(number, len(shown)) - 1]


def last(_: Asked, shown: Options) -> str:
    return list(shown)[-1]


def longer(_: Asked, shown: Options) -> str:
    return max(shown, key=lambda label: len(shown[label]))


def shorter(_: Asked, shown: Options) -> str:
    return min(shown, key=lambda label: len(shown[label]))


def marked(_: Asked, shown: Options) -> str:
    """The answer with the highest `q=7` in its text: a known truth that no order can move."""
    return max(shown, key=lambda label: _mark(shown[label]))


def hashed(asked: Asked, shown: Options) -> str:
    """The same answer in every order: the one whose first line hashes highest."""
    first = {label: text.split("\n", 1)[0].strip() for label, text in shown.items()}
    return max(shown, key=lambda label: draw("hashed", asked.model, first[label]))


def coin(asked: Asked, shown: Options) -> str:
    """Any label, by the hash of the whole prompt: another order is another throw."""
    return list(shown)[int(draw("coin", asked.model, asked.text) * len(shown))]


def biased(share: float) -> Choice:
    """In this share of prompts the first answer, otherwise the `hashed` one."""

    def choose(asked: Asked, shown: Options) -> str:
        takes_first = draw("biased", asked.model, asked.text) < share
        return next(iter(shown)) if takes_first else hashed(asked, shown)

    return choose


def _mark(text: str) -> int:
    found = MARK.findall(text)
    return int(found[-1]) if found else -1


CHOICES: dict[str, Choice] = {
    "first": slot(1),
    "second": slot(2),
    "last": last,
    "longer": longer,
    "shorter": shorter,
    "marked": marked,
    "hashed": hashed,
    "coin": coin,
}


def _five_level(label: str, shown: Options) -> str:
    first, second = list(shown)[:2]
    mark = ">>" if draw("strength", *shown.values()) < 0.5 else ">"
    return f"{first}{mark}{second}" if label == first else f"{second}{mark}{first}"


def _scores(label: str, shown: Options) -> list[tuple[str, int]]:
    return [(name, 8 if name == label else 5) for name in shown]


def _factuality(label: str, shown: Options) -> str:
    lines = (f"Response {n} Visual Factuality Score: {s}/10" for n, s in _scores(label, shown))
    return "\n".join(lines)


FORMATS: dict[str, Callable[[str, Options], str]] = {
    "overall-response": lambda label, _: f"Overall, Response {label} is better.",
    "final-answer": lambda label, _: f"Final Answer: {label}",
    "selection-option": lambda label, _: f"Selection: Option {label}\nExplanation: it helps most.",
    "five-level": lambda label, shown: f"Final Verdict is: [[{_five_level(label, shown)}]]",
    "arena-hard": lambda label, shown: f"My final verdict is: [[{_five_level(label, shown)}]]",
    "mt-bench": lambda label, _: f"Both try. [[{label}]]",
    "rating": lambda label, _: "A fair answer. [[7]]",
    "rating-pair": lambda label, shown: (
        f"[[{', '.join(str(s) for _, s in _scores(label, shown))}]]"
    ),
    "factuality": _factuality,
    "json-winner": lambda label, _: f'{{"winner": "{label}"}}',
    "label": lambda label, _: label,
}


def judge(choice: str | Choice = "first", form: str = "overall-response") -> Behaviour:
    """A judge that chooses this way and answers in this verdict format; `biased:0.3` and `slot:3`
    take a number."""
    choose = named_choice(choice) if isinstance(choice, str) else choice
    if form not in FORMATS:
        raise ValueError(f"No verdict format named {form!r}. Known formats: {', '.join(FORMATS)}.")

    def behave(asked: Asked) -> Reply:
        shown = options(asked)
        label = choose(asked, shown)
        return Reply(FORMATS[form](label, shown), labels=_spread(label, shown))

    return behave


def named_choice(name: str) -> Choice:
    kind, _, number = name.partition(":")
    if kind == "biased" and number:
        return biased(float(number))
    if kind == "slot" and number:
        return slot(int(number))
    if name not in CHOICES:
        known = ", ".join([*CHOICES, "biased:SHARE", "slot:NUMBER"])
        raise ValueError(f"No judge choice named {name!r}. Known choices: {known}.")
    return CHOICES[name]


def _spread(label: str, shown: Options) -> dict[str, float]:
    """Most of the probability on the chosen label, the rest shared; 5 % is left to other tokens."""
    others = (0.95 - CHOSEN_SHARE) / max(1, len(shown) - 1)
    return {name: CHOSEN_SHARE if name == label else others for name in shown}


def say(text: str) -> Behaviour:
    """The same words whatever is asked."""
    return lambda _: text


def by_substring(texts: Mapping[str, str], otherwise: Behaviour) -> Behaviour:
    """The text of the first substring found in the prompt; otherwise what the other behaviour
    says."""

    def behave(asked: Asked) -> str | Reply:
        found = next((reply for part, reply in texts.items() if part in asked.text), None)
        return otherwise(asked) if found is None else found

    return behave
