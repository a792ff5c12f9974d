"""Scores of single answers in the logs of other tools: pass and fail, grades, numbers.

A score is stored as a rating of one answer; pass and fail are stored as 1 and 0. A missing score is
counted as missing, not as a fail.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from studies.domain import HUMAN_PREFIX
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.cells import RowCells
from studies.texts.counts import count

SCORE_BY_WORD: Final[Mapping[str, float]] = {
    **dict.fromkeys(("pass", "passed", "true", "yes", "correct", "c"), 1.0),
    **dict.fromkeys(("fail", "failed", "false", "no", "incorrect", "i", "n"), 0.0),
    **dict.fromkeys(("partial", "p"), 0.5),
}
"""Word -> score, for pass and fail words and for Inspect's grades (correct, incorrect, partial, no
answer)."""
MODEL: Final = "model"
"""Contestant name for scores whose export does not name the model."""


def rows_of_export(table: SourceTable) -> Sequence[Row]:
    """Return the rows of a tool's export: if the file is an object with a list `data`, the
    objects in this list; else the rows of the file."""
    data = (table.json_object or {}).get("data")
    return [row for row in data if isinstance(row, dict)] if isinstance(data, list) else table.rows


def cells_of_export(table: SourceTable) -> Iterator[RowCells]:
    """Yield the cells of each row of a tool's export, as found by `rows_of_export`."""
    return map(RowCells, rows_of_export(table))


def parse_score(value: Any) -> float | None:
    """Convert a number or a word of SCORE_BY_WORD to a score; None for any other or no value."""
    word = text_of(value).strip().casefold()
    try:
        number = float(value if isinstance(value, int | float) else SCORE_BY_WORD.get(word, word))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def score_or_label(line: RowCells, score: str = "score", label: str = "label") -> Any:
    """Return the value in the column `score` of a row, or that in the column `label` if the score
    is missing or empty."""
    value = line.row.get(score)
    return value if text_of(value).strip() else line.row.get(label)


def plain_text(value: Any) -> str:
    """Return a value as text. An object with one key becomes the text of its value, any other
    object a paragraph "key: value" for each key."""
    if isinstance(value, dict):
        if len(value) == 1:
            return plain_text(next(iter(value.values())))
        return "\n\n".join(f"{key}: {plain_text(one)}" for key, one in value.items())
    return text_of(value)


@dataclass(slots=True)
class ScoreLog:
    """Collector of a source's scores, which counts missing scores and unknown labels for notes."""

    builder: SourceBuilder = field(default_factory=SourceBuilder)
    unscored: int = 0
    words: int = 0
    labels: Counter[str] = field(default_factory=Counter)

    def add_item(self, id: str, question: str, answers: Mapping[str, str], **facts: Any) -> str:
        return self.builder.add_item(id, question, answers, **facts)

    def add_score(
        self,
        item: str,
        contestant: str,
        judge: str,
        prompt: str,
        value: Any,
        *,
        reply: str = "",
        error: str = "",
        person: bool = False,
    ) -> None:
        """Add the score `value` of an answer or, if `error` is given, a failed call.

        A `value` that is no score becomes an unusable reply if there is a `reply`; otherwise
        nothing is added, and a note of the import counts it. `person` states that `judge` is the
        name of a person, whose scores are known answers for judges with the same `prompt`."""
        score = None if error else parse_score(value)
        label = "" if isinstance(value, float) else text_of(value).strip()
        if score is None and not error:
            self.labels[label] += bool(label)
            if not reply.strip():
                self.unscored += not label
                return
        self.words += isinstance(value, bool) or label.casefold() in SCORE_BY_WORD
        by = f"{HUMAN_PREFIX}{judge}" if person else judge
        status = "error" if error else None
        self.builder.add_rating(
            item, by, prompt, contestant, score, status=status, reply=reply, detail=error[:500]
        )

    def finish(self, left_out: int = 0, kind: str = "") -> SourceBuilder:
        """Add the notes of the import, on pass/fail words, missing scores and unknown labels;
        return the builder. `left_out` is the number of scores that the reader left out
        because no model gave them, `kind` the name of these scores in the note."""
        notes = self.builder.notes
        if left_out:
            notes.append(f"{left_out:,} {kind} without a model as judge were left out")
        if self.words:
            notes.append("pass and fail are stored as the scores 1 and 0")
        if self.unscored:
            notes.append(f"{count(self.unscored, 'answer')} without a score")
        if labels := [label for label, count in self.labels.items() if count and label]:
            shown = ", ".join(repr(label[:40]) for label in labels[:5])
            notes.append(
                f"{count(sum(self.labels.values()), 'label')} not read, as no score ({shown}); "
                "to use them, export them as numbers or as pass and fail"
            )
        return self.builder
