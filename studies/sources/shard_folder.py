"""A folder of Evenhand's own judgements as Parquet shards: counted here, read when saved.

Five million verdicts do not fit into memory as objects, and need not: studies/intake.py brings
their columns into the store. Their items come from items.jsonl beside them.
"""

from __future__ import annotations

from studies.records import Item
from studies.shards import ITEMS, contents
from studies.shards import holds as holds
from studies.sources.gather import Gathering, Opened
from studies.sources.native import items_of
from studies.sources.tables import Table, read_table


def sees(table: Table) -> str:
    """One file is no folder."""
    return ""


def read(opened: Opened) -> Gathering:
    held = contents(opened.path)
    beside = opened.path / ITEMS
    items = items_of(read_table(beside)) if beside.is_file() else []
    known = {item.id for item in items}
    missing = [id for id in held.items if id not in known]
    gathered = Gathering([*items, *(Item(id, "", {}) for id in missing)])
    gathered.shards, gathered.unknown_order = held, held.unknown_order
    if missing:
        gathered.notes.append(
            f"{len(missing):,} items of the judgements have no question and no answers: put them "
            f"into {ITEMS} beside the shards"
        )
    return gathered
