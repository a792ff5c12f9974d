"""A folder of Evenhand's own judgements as Parquet shards: counted here, read when saved.

Five million verdicts do not fit into memory as objects, and need not: studies/exchange/shard_import.py brings
their columns into the store. Their items come from items.jsonl beside them.
"""

from __future__ import annotations

from studies.domain import Item
from studies.files.items import parse_items
from studies.files.shards import ITEMS_FILE, summarise_shards
from studies.files.shards import matches_folder as matches_folder
from studies.files.tables import SourceTable, read_table
from studies.sources.builder import OpenSource, SourceBuilder


def matches_table(table: SourceTable) -> str:
    """One file is no folder."""
    return ""


def read(opened: OpenSource) -> SourceBuilder:
    held = summarise_shards(opened.path)
    beside = opened.path / ITEMS_FILE
    items = parse_items(read_table(beside)) if beside.is_file() else []
    known = {item.id for item in items}
    missing = [id for id in held.items if id not in known]
    gathered = SourceBuilder([*items, *(Item(id, "", {}) for id in missing)])
    gathered.shards, gathered.unknown_order = held, held.unknown_order
    if missing:
        gathered.notes.append(
            f"{len(missing):,} items of the judgements have no question and no answers: put them "
            f"into {ITEMS_FILE} beside the shards"
        )
    return gathered
