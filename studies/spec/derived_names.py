"""Names of the studies that are made from a study, by which they are found: its pilots, the new
versions of its prompts, and the rules written for them."""

from typing import Final

PILOT_MARK: Final = ", pilot: "
"""Text between the name of the study and the kind of pilot in the name of a pilot study."""
RULES_MARK: Final = ": rules for "


def candidate_study_name(name: str, judge: str, prompt: str) -> str:
    """Return the name of the study that tries new versions of a prompt. `name` is the study that
    has the prompt `prompt`, `judge` the judge that is asked with the new versions."""
    return f"{name}: {prompt} improved for {judge}"


def writer_study_name(name: str, prompt: str, writer: str) -> str:
    """Return the name of the study in which the judge `writer` writes rules to be added to a
    prompt. `name` is the study that has the prompt `prompt`; the rules are made from the mistakes
    of its judge on the labelled items that are set apart to learn from."""
    return f"{name}{RULES_MARK}{prompt} by {writer}"
