"""Key words and numbers of a text, without its wording.

A test names the numbers, names and negations that a sentence must hold; the words around them may
change. Literals of four or more words in assertions are counted by tests/test_structure.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape
from typing import Final

MAX_GAP: Final = 90
"""Characters between two pieces of one sentence."""


def pattern(*pieces: str) -> str:
    """Regular expression for the pieces in this order, close to each other. A number is a whole
    number: "8" is neither in "87.5" nor in "0.8"."""
    return f"(?s){f'.{{0,{MAX_GAP}}}?'.join(_whole(piece) for piece in pieces)}"


def _whole(piece: str) -> str:
    """Pattern of a piece whose first and last number continue neither before nor after it."""
    before = r"(?<!\d)(?<!\d[.,])" if piece[:1].isdigit() else ""
    after = r"(?!\d)(?![.,]\d)" if piece[-1:].isdigit() else ""
    return f"{before}{re.escape(piece)}{after}"


def says(text: str | Iterable[str], *pieces: str) -> bool:
    """Whether the text, or one of several texts, holds the pieces in this order and close."""
    texts = [text] if isinstance(text, str) else text
    return any(re.search(pattern(*pieces), one) is not None for one in texts)


def text_of(html: str) -> str:
    """The text that is read on the page: without tags, spaces joined."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())
