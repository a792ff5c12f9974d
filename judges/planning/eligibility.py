"""Eligibility of items for prompts: a prompt skips items without the fields it needs, such as
criteria; they are counted as skipped, not as failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from judges.rendering.prompt import Prompt
from studies.domain import Item

_REQUIRED_FIELDS: Final[Mapping[str, tuple[str, Callable[[Item], str]]]] = {
    "criteria_subjective": ("subjective criteria", lambda i: i.criteria.get("subjective", "")),
    "criteria_factuality": ("factuality criteria", lambda i: i.criteria.get("factuality", "")),
    "ground_truth": ("ground truth", lambda item: item.ground_truth),
    "reference": ("reference", lambda item: item.reference),
}
"""Variable of a prompt -> (name of the field for messages, function that reads the field of an
item); a prompt with this variable skips items in which the field is empty."""


@dataclass(frozen=True, slots=True)
class SkippedItems:
    """Number of items that a prompt skips for one reason."""

    prompt: str
    items: int
    why: str


def why_skipped(prompt: Prompt, item: Item, prompts: Sequence[Prompt]) -> str:
    """Return the reason why a prompt skips an item; empty if the prompt uses the item.

    If one of `prompts` shows the ground truth and another with the same task (`protocol`) does not,
    the latter skips the items that have a ground truth, as in Creation-MMBench.
    """
    if prompt.protocol == "describe":
        return "" if item.images or "images" not in prompt.variables else "no images"
    for variable, (name, value) in _REQUIRED_FIELDS.items():
        if variable in prompt.variables and not value(item).strip():
            return f"no {name}"
    if item.ground_truth.strip() and "ground_truth" not in prompt.variables:
        for other in prompts:
            if other.protocol == prompt.protocol and "ground_truth" in other.variables:
                return f"with a ground truth, the prompt {other.name} is used instead"
    return ""


def count_skipped(prompts: Sequence[Prompt], items: Sequence[Item]) -> tuple[SkippedItems, ...]:
    """Count the items that a plan skips, by prompt and reason, to be shown before the run."""
    found: dict[tuple[str, str], int] = {}
    for prompt in prompts:
        for item in items:
            if why := why_skipped(prompt, item, prompts):
                found[prompt.name, why] = found.get((prompt.name, why), 0) + 1
    return tuple(SkippedItems(prompt, count, why) for (prompt, why), count in found.items())
