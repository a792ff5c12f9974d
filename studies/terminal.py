"""Names and texts from data on a terminal: none of them moves the cursor or renames the window."""

from __future__ import annotations


def plain(text: str) -> str:
    """Control characters as they are written in source; line ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)
