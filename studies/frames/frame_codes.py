"""Codes and column names that the store, the readers and the judgement frames share.

They are in a module without pandas, because importing pandas takes half a second and some commands
build no frame.
"""

from typing import Final, NamedTuple

TIE: Final = -1
NO_PICK: Final = -2
SEP: Final = "\x1f"
"""Separator of contestants (or labels) joined in one text; names cannot contain it."""
SUSPECT_COLUMN: Final = "injection_suspect"
"""Column: whether the question or a shown answer addresses the judge (studies.texts.injection). The
frame has this column only if an item of the study has a suspect text."""
GROUP_COLUMNS: Final = (
    "judge", "prompt", "shown", "labels", "repeat", "noise", "orders", "status", "pick", "margin",
)  # fmt: skip
"""Columns whose values the store returns together, as one JSON list per row; few such lists are
different, and each is parsed once."""
ROW_SEP: Final = "\x1e"
"""Separator of rows in a column's text; JSON texts never contain this control character."""


class ColumnTexts(NamedTuple):
    """Consecutive rows of a study's frame; the values of a column are joined to one text, which is
    faster than a Python object for each value."""

    items: str
    """Ids of the items as JSON texts, separated by ROW_SEP."""
    groups: str
    """Values of GROUP_COLUMNS as JSON lists, separated by ROW_SEP."""
    seqs: str
    """Sequence numbers (seq) of the judgements, separated by commas."""
    scores: str
    """JSON list with one element per row: a list of numbers, or null."""
    probabilities: str
    """JSON list with one element per row: a list of numbers, or null."""
