"""Format of folders with Evenhand's judgements as Parquet shards.

Only a summary is read here, because millions of verdicts do not fit into memory as objects. When a
study is saved, studies/exchange/shard_import.py imports the columns of the shards into the store.
The items are in items.jsonl in the same folder.
"""

from __future__ import annotations

from pathlib import Path

from studies.domain import Item
from studies.files.items import parse_items
from studies.files.tables import SourceTable, read_table
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource


def matches_table(table: SourceTable) -> str:
    """Return "" (no match), because only a folder can have this format."""
    return ""


def matches_folder(folder: Path) -> str:
    """Return the reason why a folder is recognised as a shard folder; empty if it is not."""
    if next(folder.rglob("*.parquet"), None) is None:
        return ""  # without a Parquet file pyarrow is not needed
    from studies.files import shards

    return shards.matches_folder(folder)


def read(source: OpenSource) -> SourceBuilder:
    from studies.files.shards import ITEMS_FILE, summarise_shards

    contents = summarise_shards(source.path)
    items_path = source.path / ITEMS_FILE
    items = parse_items(read_table(items_path)) if items_path.is_file() else []
    known = {item.id for item in items}
    missing = [id for id in contents.items if id not in known]
    builder = SourceBuilder([*items, *(Item(id, "", {}) for id in missing)])
    builder.shards, builder.unknown_order = contents, contents.unknown_order
    if missing:
        builder.notes.append(
            f"{len(missing):,} items of the judgements have no question and no answers: add them "
            f"to {ITEMS_FILE} in the folder of the shards"
        )
    return builder
