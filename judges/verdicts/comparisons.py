"""Reading of sentences that compare two labels: "[[A]] is better than [[B]]" chooses A."""

from __future__ import annotations

import re
from typing import Final

_MAX_LENGTH: Final = 160
"""Longest text between two labels, in characters, that is read as a comparison; after a longer one,
the second label counts."""

_NO_CHOICE: Final = re.compile(r" ?(?:/|&|=|,|,? ?(?:or|and|nor|vs\.?|versus)) ?")
_CONDITION: Final = re.compile(r" (?:if|when) ")
"""Pattern of an instruction copied from the prompt ("[[A]] if assistant A is better, [[B]] if …"),
which chooses neither label."""

_FIRST_PREFERRED: Final = re.compile(
    r"[ ,;(]{0,3}(?:and |but )?"
    r"(?:not|rather than|instead of|over|>|>>|beats|outperforms|surpasses|exceeds|outranks"
    r"|wins (?:over|against)|is preferred (?:to|over)|is (?:[a-z]{1,20} )?superior to)"
    r" ?(?:the )?(?:response|assistant|answer)? ?"
)
_SECOND_PREFERRED: Final = re.compile(r" ?<{1,2} ?| (?:loses to|is beaten by|is outperformed by) ")
_SENTENCE_END: Final = re.compile(r"[!?\n;:]|\.(?: |\Z)")
_COMPARISON: Final = re.compile(
    r"(?<!\w)(?:than|superior to|inferior to|compared (?:to|with))(?!\w)"
)
_NEGATION: Final = re.compile(
    r"(?<!\w)(?:not|no|never|neither|hardly|cannot)(?!\w)|n['\u2019]t(?!\w)"
)
_HIGHER: Final = re.compile(
    r"(?<!\w)(?:better|more|stronger|higher|superior|greater|clearer|rather)(?!\w)"
)
_LOWER: Final = re.compile(r"(?<!\w)(?:worse|less|weaker|lower|inferior|poorer|fewer)(?!\w)")


def compared_side(between: str) -> int | None:
    """Return which of two labels the text between them (in lower case) prefers: 0 the first
    (`beats`), 1 the second (`loses to`), None neither (`or`).

    Any other text gives 1, since the last label in a reply counts as its verdict.
    """
    if len(between) > _MAX_LENGTH:
        return 1
    if _NO_CHOICE.fullmatch(between) or _CONDITION.match(between):
        return None
    if _FIRST_PREFERRED.fullmatch(between):
        return 0
    if _SECOND_PREFERRED.fullmatch(between) or _SENTENCE_END.search(between):
        return 1
    return _read_comparison(between) if _COMPARISON.search(between) else 1


def _read_comparison(between: str) -> int | None:
    higher, lower = _HIGHER.search(between), _LOWER.search(between)
    if _NEGATION.search(between) or bool(higher) == bool(lower):
        return None
    return 0 if higher else 1
