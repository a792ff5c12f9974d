"""Arrangements of a prompt that judges one answer: orders of its options and of its criteria."""

from __future__ import annotations

import re
import string
from typing import Final

from judges.judge_errors import PromptError
from judges.rendering.prompt import Prompt
from studies.frames.arrangement import Arrangement, rotations

MAX_CRITERIA: Final = 12
_CRITERION_LINE: Final = re.compile(r"(?:[-*] ?)?([A-Za-z][A-Za-z0-9 -]{0,39}?) ?: ?(\S.*)")


def point_arrangements(
    prompt: Prompt, options: str, criteria_order: str = "given", criteria: str = ""
) -> list[tuple[str, ...]]:
    """Return the labels of each arrangement that a study asks for. `options` and `criteria_order`
    are the study's settings for the two orders, such as `rotations`. `criteria` are the study's own
    criteria for a rubric, in place of the prompt's."""
    names = tuple(rubric_criteria(prompt, criteria))
    listed = rotations(names) if criteria_order == "rotations" and names else [names]
    offered = _option_arrangements(prompt.options, options)
    return [
        Arrangement(one.options, one.letters, order).labels for order in listed for one in offered
    ]


def _option_arrangements(options: tuple[str, ...], order: str) -> list[Arrangement]:
    """Return the orders in which the options are offered.

    `rotations`: each option at each place once. `crossed`: the same, each once with the letters A,
    B, … and once with … B, A, so that the effects of place and letter can be separated.
    """
    if order == "crossed":
        letters = tuple(string.ascii_uppercase[: len(options)])
        return [
            Arrangement(one, named)
            for one in rotations(options)
            for named in (letters, letters[::-1])
        ]
    if order == "rotations":
        return [Arrangement(one) for one in rotations(options)]
    return [Arrangement(options[::-1] if order == "descending" else options)]


def rubric_criteria(prompt: Prompt, criteria: str = "") -> dict[str, str]:
    """Return name -> description of a rubric's criteria: those in `criteria` (lines `Name:
    description`), else the prompt's; empty for a prompt without a rubric."""
    if not prompt.rubric or not criteria.strip():
        return dict(prompt.rubric)
    found: dict[str, str] = {}
    for line in criteria.strip().splitlines():
        if not line.strip():
            continue
        match = _CRITERION_LINE.fullmatch(line.strip())
        if match is None:
            raise PromptError(
                f"criteria: the prompt {prompt.name!r} scores each criterion, but {line[:60]!r} "
                "has no name; write one line for each criterion, such as 'Clarity: it is easy "
                "to follow'"
            )
        found[match[1]] = match[2]
    if len(found) > MAX_CRITERIA:
        raise PromptError(f"criteria: at most {MAX_CRITERIA} criteria; found {len(found)}")
    return found
