"""Names of the studies that are made from a study, by which they are found: its pilots, the new
versions of its prompts, and the rules written for them."""

from typing import Final

PILOT_MARK: Final = ", pilot: "
"""Text between the name of the study and the kind of pilot in the name of a pilot study."""
RULES_MARK: Final = ": rules for "


def candidate_study_name(name: str, judge: str, prompt: str) -> str:
    """Return the name of the study in which `judge` is asked with the new versions (candidates) of
    the prompt `prompt` of the study `name`."""
    return f"{name}: {prompt} improved for {judge}"


def writer_study_name(name: str, prompt: str, writer: str) -> str:
    """Return the name of the study in which the judge `writer` writes rules that are to be added to
    a prompt of the study `name`; the rules are made from mistakes on learn items."""
    return f"{name}{RULES_MARK}{prompt} by {writer}"
