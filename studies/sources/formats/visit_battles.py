"""Format of VisIT-Bench battles: human preferences (CSV), and the judge's two verdicts per pair.

People's preferred answer is marked in `model_selection.A` or `model_selection.B`. The judge (JSON
lines) was called twice, with A first and with B first; `auto_evaluation_result` has both verdicts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import first_text, id_from_text, parse_texts, required_text

_SELECTED: Final = ("model_selection.A", "model_selection.B")
_RESULT: Final = "auto_evaluation_result"
_PEOPLE: Final = ("worker_id", "worker", "annotator", "annotator_id", "user_id")
_FLAGS: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_STATED: Final = re.compile(r"Response ([AB]) is better")


def matches_table(table: SourceTable) -> str:
    if not table.has("A_model", "B_model", "instruction"):
        return ""
    if table.has(*_SELECTED):
        return "A_model, B_model and model_selection are VisIT-Bench's human preferences"
    if table.has(_RESULT):
        return "A_model, B_model and auto_evaluation_result are VisIT-Bench's battles"
    return ""


def read(source: OpenSource) -> SourceBuilder:
    table, builder = source.rows, SourceBuilder()
    people = table.has(*_SELECTED)
    meaning = "" if people else _second_meaning(table)
    votes: dict[tuple[str, ...], int] = defaultdict(int)
    for index, row in enumerate(table.rows):
        where = table.where(index)
        names = (required_text(row, "A_model", where), required_text(row, "B_model", where))
        if builder.skip_self_comparison(names, where):
            continue
        item = _add_item(builder, row, names, where)
        if people:
            votes[item, *sorted(names)] += 1
            person = first_text(row, *_PEOPLE) or f"annotator-{votes[item, *sorted(names)]}"
            builder.add_person_verdict(item, person, names, _selected(row), known=False)
        else:
            _add_battle(builder, row, item, names, meaning)
    if people:
        builder.notes.append("the order in which people saw the answers is not recorded")
    elif not meaning:
        builder.notes.append(
            "only the first verdict of each pair was read: without auto_evaluation_cot the file "
            "does not tell which answer the second verdict calls A"
        )
    return builder


def _add_item(builder: SourceBuilder, row: Row, names: tuple[str, str], where: str) -> str:
    question = required_text(row, "instruction", where)
    image = first_text(row, "image_url", "image")
    return builder.add_item(
        id_from_text("visit", image, question),
        question,
        {name: text_of(row.get(side)) for name, side in zip(names, "AB", strict=True)},
        where=where,
        category=text_of(row.get("instruction_category")),
        images=(image,) if image else (),
    )


def _selected(row: Row) -> Pick:
    """Return the slot that a person selected; "tie" for both or neither, None without a mark."""
    marks = [_FLAGS.get(text_of(row.get(name)).strip().casefold()) for name in _SELECTED]
    if None in marks:
        return None
    return "tie" if marks[0] == marks[1] else marks.index(True)


def _add_battle(
    builder: SourceBuilder, row: Row, item: str, names: tuple[str, str], meaning: str
) -> None:
    with_reference = text_of(row.get("evaluated_with_reference")).casefold() == "true"
    prompt = "visit-reference-backed" if with_reference else "visit-reference-free"
    judge = text_of(row.get("engine")) or "recorded"
    replies = parse_texts(row.get("auto_evaluation_cot"))
    results = parse_texts(row.get(_RESULT))
    for query, result in enumerate(results[: 2 if meaning else 1]):
        shown = names if query == 0 else (names[1], names[0])
        letters = shown if meaning == "as shown" else names
        winner = _winner(result, letters, names)
        builder.add_verdict(
            item,
            judge,
            prompt,
            shown,
            shown.index(winner) if winner in shown else "tie" if winner == "tie" else None,
            reply=replies[query] if query < len(replies) else "",
        )


def _winner(result: str, letters: tuple[str, str], names: tuple[str, str]) -> str:
    """Return the winning model, "tie", or "" for any other text. `result` is one of the models'
    `names`, or a letter; `letters` are the models that A and B mean."""
    word = result.strip()
    if word in names:
        return word
    if word.upper() in ("A", "B"):
        return letters["AB".index(word.upper())]
    return "tie" if word.casefold() == "tie" else ""


def _second_meaning(table: SourceTable) -> str:
    """Return what A and B mean in the second verdict: "as shown" (positions) or "models".

    The replies to the second call name the winner by position. If most verdicts are the same letter
    as in their reply, the letters mean positions; if as many differ, the result is empty.
    """
    as_shown = models = named = 0
    for row in table.rows:
        results, replies = (
            parse_texts(row.get(_RESULT)),
            parse_texts(row.get("auto_evaluation_cot")),
        )
        if len(results) < 2:
            continue
        named += results[1] in (row.get("A_model"), row.get("B_model"))
        stated = _STATED.findall(replies[1]) if len(replies) > 1 else []
        if stated and results[1].strip().upper() in ("A", "B"):
            as_shown += results[1].strip().upper() == stated[-1]
            models += results[1].strip().upper() != stated[-1]
    if named:
        return "models"
    return "" if as_shown == models else "as shown" if as_shown > models else "models"
