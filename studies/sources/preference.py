"""Preference sets: a prompt, what was chosen, what was rejected; several rejected are N options.

The choice is by design: it says which answer is better, and is nobody's vote.
"""

from __future__ import annotations

import re
from typing import Any, Final

from studies.errors import SourceError
from studies.records import BY_DESIGN
from studies.sources.cells import first_of, split_talk, talk, text_id
from studies.sources.gather import Gathering, Opened
from studies.sources.oasst import conversation
from studies.sources.tables import Row, Table, text_of

_MARKER: Final = "\n\nAssistant:"
_REJECTED: Final = re.compile(r"rejected[_-]?\d*")


def sees(table: Table) -> str:
    if table.has("chosen", "rejected") or table.has("prompt", "chosen", "rejected_1"):
        return "chosen and rejected are a preference set"
    return ""


def read(opened: Opened) -> Gathering:
    table, gathered = opened.rows, Gathering()
    columns = sorted(name for name in table.columns if _REJECTED.fullmatch(name))
    for place, row in enumerate(table.rows):
        _add(gathered, row, columns, place, table.where(place))
    return gathered


def _add(gathered: Gathering, row: Row, columns: list[str], place: int, where: str) -> None:
    chosen = _answers(row.get("chosen"))
    rejected = [text for name in columns for text in _answers(row.get(name))]
    question = _question(row, chosen, where)
    if len(chosen) == 1 and not question:
        question, (chosen, rejected) = _common_start(chosen[0], rejected, where)
    if not chosen or not rejected:
        raise SourceError(f"{where}: expected something in 'chosen' and in 'rejected'")
    answers = _named("chosen", chosen) | _named("rejected", rejected)
    id = first_of(row, "id", "prompt_id", "pair_id") or text_id("pair", question, *chosen)
    models = {name: text_of(row.get(name)) for name in ("chosen_model", "rejected_model", "subset")}
    item = gathered.item(
        id,
        question,
        answers,
        where=where,
        category=first_of(row, "subset", "category", "section", "source"),
        meta={name: text for name, text in models.items() if text},
    )
    if len(chosen) == 1:
        gathered.vote(item, BY_DESIGN, "chosen")
    else:
        ranks = {name: 1 if name.startswith("chosen") else 2 for name in answers}
        gathered.vote(item, BY_DESIGN, None, ranks=ranks)


def _named(kind: str, texts: list[str]) -> dict[str, str]:
    if len(texts) == 1:
        return {kind: texts[0]}
    return {f"{kind}-{k}": text for k, text in enumerate(texts, 1)}


def _answers(value: Any) -> list[str]:
    """One text, several, or a conversation whose last turn is the answer."""
    if turns := talk(value):
        return split_talk(turns)[1][-1:]
    if isinstance(value, list):
        return [text_of(part) for part in value if text_of(part).strip()]
    return [text] if (text := text_of(value)).strip() else []


def _question(row: Row, chosen: list[str], where: str) -> str:
    if turns := talk(row.get("prompt")):
        return conversation(turns, where)
    if question := first_of(row, "prompt", "instruction", "question"):
        return question
    turns = talk(row.get("chosen"))
    return conversation(turns[:-1], where) if len(turns) > 1 else ""


def _common_start(
    chosen: str, rejected: list[str], where: str
) -> tuple[str, tuple[list[str], list[str]]]:
    """Two whole transcripts that begin alike: the question is what comes before the last answer."""
    start, marker, end = chosen.rpartition(_MARKER)
    others = [text.rpartition(_MARKER) for text in rejected]
    if not marker or any(other[0] != start for other in others):
        raise SourceError(
            f"{where}: no column 'prompt', and 'chosen' and 'rejected' do not begin with the same "
            "question; map the question's column to 'prompt' in data.mapping"
        )
    return start.strip(), ([end.strip()], [other[2].strip() for other in others])
