"""Query text of a creative-writing task, as Creation-MMBench builds it, with or without images."""

from __future__ import annotations

from typing import Final

from studies.domain import Item

DESCRIPTION_NOTE: Final = "Only descriptions of the images are given, not the images themselves."
"""Sentence before the image description in the text-only variant."""

QUERY_PARTS: Final = ("role", "background", "requirements")
"""Entries of an item's `meta` from which, with its instruction, the query is built. If an item has
none of them, its instruction is the query."""


def query_text(item: Item) -> str:
    """Join role, background, instruction and requirements into one text, without the images."""
    role, background, requirements = (item.meta.get(part, "").strip() for part in QUERY_PARTS)
    if not (role or background or requirements):
        return item.instruction
    lines = []
    if role:
        lines.append(f"Assume you are {role.rstrip('.')}.")
    if background:
        lines.append(background)
    if requirements:
        lines.append(
            f"Please follow the requirements below to {_lower_first_letter(item.instruction)}"
        )
        lines.append(requirements)
    else:
        lines.append(item.instruction)
    return "\n".join(lines)


def creation_query(item: Item, description: str, *, sees: bool) -> str:
    """Return the query; for a judge without vision (`sees` is false), with a note and the image
    description."""
    text = query_text(item)
    return (
        text if sees or not description.strip() else f"{text}\n\n{DESCRIPTION_NOTE}\n{description}"
    )


def context_text(item: Item) -> str:
    """Return the description of an item's images; several descriptions are numbered."""
    if isinstance(item.context, str):
        return item.context
    return "\n".join(f"Image {k}: {text}" for k, text in enumerate(item.context, 1))


def _lower_first_letter(instruction: str) -> str:
    """Return an instruction with its first letter in lower case, for use inside a sentence ("Write"
    becomes "write"); "NATO" and "I" stay unchanged."""
    return instruction[:1].lower() + instruction[1:] if instruction[1:2].islower() else instruction
