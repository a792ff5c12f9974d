"""Readers rewritten for linear time return what the expressions before them returned."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest

from judges.operations.image_descriptions import remove_think_blocks
from studies.sources.detection.mapping_guess import _ANSWER_WORD, _contestant_in_name
from studies.sources.hub_files import extract_front_matter
from studies.spec.records_folder import _VARIABLE_PATTERN

THOUGHTS = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)
FRONT = re.compile(r"\s*---[\r\n]+(.*?)[\r\n]+---\s*?(?:[\r\n]|$)", re.DOTALL)
VARIABLE = re.compile(r"\$\{([^}]*)\}")
AROUND = re.compile(
    rf"(?:{_ANSWER_WORD}[ _.:-]+(?P<after>.+)|(?P<before>.+?)[ _.:-]+{_ANSWER_WORD})", re.IGNORECASE
)


def contestant_before(column: str) -> str:
    match = AROUND.fullmatch(column.strip())
    return (match["after"] or match["before"]) if match else ""


def front_before(card: str) -> str | None:
    match = FRONT.match(card)
    return match[1] if match else None


CASES: dict[str, tuple[Callable[[str], object], Callable[[str], object], list[str]]] = {
    "thoughts": (
        remove_think_blocks,
        lambda text: THOUGHTS.sub("", text).strip(),
        ["<think>", "</think>", " ", "\n", "a", "\x1f"],
    ),
    "front": (
        extract_front_matter,
        front_before,
        ["---", "\n", "\r", " ", "a", "--", "\x0b", "\n---\n"],
    ),
    "variables": (
        lambda text: [name for name, closed in _VARIABLE_PATTERN.findall(text) if closed],
        VARIABLE.findall,
        ["${", "}", "a", "$", "{"],
    ),
    "contestants": (
        _contestant_in_name,
        contestant_before,
        ["response", "s", "resp", "_", " ", ".", "x", "gpt", ":", "-", "\n", "Output", "1"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_same_is_read(name: str) -> None:
    new, old, pieces = CASES[name]
    draw = random.Random(7)
    differs = []
    for _ in range(5_000):
        text = "x" + "".join(draw.choices(pieces, k=draw.randint(0, 9)))
        for shown in (text, text[1:]):
            if new(shown) != old(shown):
                differs.append(shown)
    assert not differs
