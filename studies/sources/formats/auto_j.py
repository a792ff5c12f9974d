"""Format Auto-J: pairs with a human label (0 first, 1 second, 2 tie), and judges' outputs.

A judge has two files of outputs with one line per pair: one for the given order, and one with
`exchange` in its name for the swapped order. The outputs are matched with the pairs by line number.
All files are in one folder or in `data.files`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from studies.errors import SourceError
from studies.files.tables import Row, SourceTable, is_table_file, read_table, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import first_text, id_from_text, parse_winner, required_text

CONTESTANTS: Final = ("response 1", "response 2")
_LABELS: Final[dict[str, Pick]] = {"0": 0, "1": 1, "2": "tie"}
_SWAPPED: Final = re.compile(r"exchanged?|swap(ped)?", re.IGNORECASE)
_FILLER: Final = re.compile(r"(pairwise|outputs?|example|pred(iction)?s?|\W|_)+", re.IGNORECASE)


def matches_table(table: SourceTable) -> str:
    if table.has("prompt", "label", *CONTESTANTS):
        return "prompt, response 1, response 2 and label are Auto-J's test set"
    return ""


def matches_folder(folder: Path) -> str:
    base = _pair_file(folder)
    outputs = [path for path in _tables(folder) if path != base and _is_output(path)]
    if base is None or not outputs:
        return ""
    return f"{base.name} has Auto-J's columns, and the folder has {len(outputs)} files of outputs"


def _tables(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and is_table_file(path))


def _pair_file(folder: Path) -> Path | None:
    names = (path for path in _tables(folder) if "pairwise" in path.name.casefold())
    return next((path for path in names if matches_table(read_table(path))), None)


def _is_output(path: Path) -> bool:
    return "output" in path.name.casefold() or "pred" in path.name.casefold()


def read(source: OpenSource) -> SourceBuilder:
    base, outputs = _read_tables(source)
    builder = SourceBuilder()
    for index, row in enumerate(base.rows):
        where = base.where(index)
        question = required_text(row, "prompt", where)
        item = builder.add_item(
            id_from_text("autoj", question),
            question,
            {name: text_of(row.get(name)) for name in CONTESTANTS},
            where=where,
            category=text_of(row.get("scenario")),
        )
        label = parse_winner(row, "label", _LABELS, where)
        builder.add_person_verdict(item, "annotator", CONTESTANTS, label, known=False)
        for name, table in outputs.items():
            _add_output(builder, item, name, table.rows[index], table.where(index))
    builder.notes.append(
        "the label is one person's vote; the order in which people saw the responses is not "
        "recorded"
    )
    return builder


def _read_tables(source: OpenSource) -> tuple[SourceTable, Mapping[str, SourceTable]]:
    named = {name: source.read_other_file(path) for name, path in source.spec.files.items()}
    base = source.table
    if base is None:
        path = _pair_file(source.path)
        if path is None:
            raise SourceError(
                f"{source.path.name}: no table with Auto-J's columns in this folder; name a file"
            )
        base = read_table(path)
        others = [one for one in _tables(source.path) if one != path and _is_output(one)]
        named |= {one.name.split(".")[0]: read_table(one) for one in others}
    for name, table in named.items():
        if len(table.rows) != len(base.rows):
            raise SourceError(
                f"{table.name}: {len(table.rows):,} outputs of {name} for {len(base.rows):,} "
                "pairs; the files are joined line by line, so give one output for each pair"
            )
    return base, named


def _add_output(builder: SourceBuilder, item: str, name: str, row: Row, where: str) -> None:
    """Add a judge's output: 0 (first), 1 (second) or 2 (tie) in the order shown to the judge; any
    other text is an unusable reply."""
    swapped = bool(_SWAPPED.search(name))
    judge = _FILLER.sub(" ", _SWAPPED.sub("", name)).strip().replace(" ", "-") or "judge"
    output = first_text(row, "output", "pred_label", "label").strip()
    builder.add_verdict(
        item,
        judge,
        "auto-j",
        CONTESTANTS[::-1] if swapped else CONTESTANTS,
        _LABELS.get(output),
        reply="" if output in _LABELS else output,
    )
