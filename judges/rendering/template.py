"""Templates of judge prompts: the known variables, and their replacement in a single pass.

A single pass is needed because judged answers may contain `$closing` or `{question}`, which must
not be replaced in turn.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

VARIABLES: Final = (
    "instruction", "context", "reference", "ground_truth", "criteria", "criteria_subjective",
    "criteria_factuality", "response_a", "response_b", "first", "second", "label_first",
    "label_second", "labels", "options", "reply", "images", "n_images", "aspects", "closing",
    "fence", "task", "query", "query_text",
)  # fmt: skip
ALIASES: Final = {
    "question": "instruction",
    "prompt": "instruction",
    "answer": "first",
    "answer_a": "response_a",
    "answer_b": "response_b",
    "output_1": "response_a",
    "output_2": "response_b",
    "ref_answer_1": "reference",
}
"""Variable name in the prompts of other tools, written {question} or {{question}} -> variable of
Evenhand."""

_PLACEHOLDER: Final = re.compile(
    r"\$(?P<dollar>[a-z_]+)|\{\{\s*(?P<double>[a-z_0-9]+)\s*\}\}|\{(?P<single>[a-z_0-9]+)\}"
)


def fill_template(text: str, values: Mapping[str, str]) -> str:
    """Insert values into a template in one pass; text that is no known variable stays unchanged."""
    return "".join(
        [values[name] if is_variable else name for name, is_variable in split_template(text)]
    )


@lru_cache(maxsize=1024)
def split_template(text: str) -> tuple[tuple[str, bool], ...]:
    """Split a template into its parts in order: (literal text, False) or (variable name, True)."""
    found, end = [], 0
    for match in _PLACEHOLDER.finditer(text):
        if (name := _find_variable(match)) is not None:
            found += [(text[end : match.start()], False), (name, True)]
            end = match.end()
    return (*found, (text[end:], False))


@lru_cache(maxsize=1024)
def known_variables_in(texts: tuple[str, ...]) -> frozenset[str]:
    return frozenset(
        name for text in texts for name, is_variable in split_template(text) if is_variable
    )


def unknown_dollar_variables(text: str) -> list[str]:
    """Return the words after a dollar sign that are not known variables, with their dollar sign."""
    names = (match["dollar"] for match in _PLACEHOLDER.finditer(text))
    return [f"${name}" for name in names if name and name not in VARIABLES]


def find_misspelt_variables(text: str) -> list[tuple[str, str]]:
    """Return the words in braces that are probably misspelt variables, each with the variable
    meant. Words that resemble no variable are left out, because JSON and code have braces too."""
    found = []
    for match in _PLACEHOLDER.finditer(text):
        name = match["double"] or match["single"]
        if (
            name
            and _find_variable(match) is None
            and (near := nearest_name(name, [*VARIABLES, *ALIASES]))
        ):
            found.append((match[0], near))
    return found


def nearest_name(word: str, known: Iterable[str]) -> str:
    """Return the most similar known word; an empty text if no known word is similar."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=0.7)), "")


def _find_variable(match: re.Match[str]) -> str | None:
    if match["dollar"]:
        return match["dollar"] if match["dollar"] in VARIABLES else None
    name = match["double"] or match["single"]
    return ALIASES.get(name, name if name in VARIABLES else None)
