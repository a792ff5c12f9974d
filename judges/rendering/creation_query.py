"""The query of a creation task, as Creation-MMBench builds it, for those who see and who do not."""

from __future__ import annotations

from typing import Final

from studies.domain import Item

DESCRIPTION_NOTE: Final = "Only descriptions of the images are given, not the images themselves."
"""What the text-only variant says before the description."""

QUERY_PARTS: Final = ("role", "background", "requirements")
"""Where an item keeps them: in its meta. An item without them is a query already."""


def query_text(item: Item) -> str:
    """Role, background, instruction and requirements in one text; no word about the images."""
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
    """For who sees, the query; for who does not, the same with a note and the description."""
    text = query_text(item)
    return (
        text if sees or not description.strip() else f"{text}\n\n{DESCRIPTION_NOTE}\n{description}"
    )


def context_text(item: Item) -> str:
    """The description of an item's images; several are listed."""
    if isinstance(item.context, str):
        return item.context
    return "\n".join(f"Image {k}: {text}" for k, text in enumerate(item.context, 1))


def _lower_first_letter(instruction: str) -> str:
    """Inside a sentence: Write becomes write, while NATO and I stay."""
    return instruction[:1].lower() + instruction[1:] if instruction[1:2].islower() else instruction
