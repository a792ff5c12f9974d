"""Codes and column names that the store, the readers and the judgement frames share.

They are apart from the frames because importing pandas takes half a second: commands that build no
frame do without it.
"""

from __future__ import annotations

from typing import Final

TIE: Final = -1
NO_PICK: Final = -2
SEP: Final = "\x1f"
"""Separator of contestants (or labels) in one category; a control character that names cannot
contain."""
SUSPECT_COLUMN: Final = "injection_suspect"
"""Column: whether the question or a shown answer addresses the judge (studies.texts.injection). The
frame has this column only if an item of the study has a suspect text."""
ROWS_PER_CHUNK: Final = 50_000
GROUP_COLUMNS: Final = (
    "judge", "prompt", "shown", "labels", "repeat", "noise", "orders", "status", "pick", "margin",
)  # fmt: skip
"""Columns with few combinations of values, which the store returns as one JSON text per row."""
