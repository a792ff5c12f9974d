"""Items of a study in the store."""

import json
from collections.abc import Iterable
from typing import Any, Final

from studies.domain import AnswerCheck, Item
from studies.files.items import parse_stored_item
from studies.store.rows import STUDY_ID
from studies.store.store_file import StoreFile
from studies.texts.injection import list_suspect_places

ITEMS_OF_STUDY: Final = f"FROM study_items s JOIN items i USING(sha) WHERE s.study={STUDY_ID}"
FactsByItem = dict[str, dict[str, Any]]


class ItemQueries(StoreFile):
    def items(self, study: str) -> dict[str, Item]:
        """Return id -> item, for all items of a study, in the order in which they were saved."""
        rows = self.read(f"SELECT i.json {ITEMS_OF_STUDY} ORDER BY s.position", (study,))
        found = (parse_stored_item(json.loads(text)) for (text,) in rows)
        return {item.id: item for item in found}

    def item(self, study: str, item: str) -> Item | None:
        """Return the item with the id `item` of a study; None if there is none."""
        row = self.read(f"SELECT i.json {ITEMS_OF_STUDY} AND s.item=?", (study, item)).fetchone()
        return parse_stored_item(json.loads(row[0])) if row else None

    def item_facts(self, study: str) -> FactsByItem:
        """Return item -> facts that a frame needs, such as category, lengths of the answers and
        preferences, but no texts.

        Cached until the study is saved again; callers share the result and must not change it."""
        saved = self.version(study)[0]
        return self.memoised(study, ("item facts",), lambda: self._read_item_facts(study), saved)

    def _read_item_facts(self, study: str) -> FactsByItem:
        """Read the facts of each item, such as its category and the lengths of its answers. For
        items stored without a list of suspected prompt injections, make this list now."""
        whole = "CASE instr(i.narrow, '\"suspects\":') WHEN 0 THEN i.json END"
        # One row: Python's global lock is released and awaited at each row, which takes seconds
        # while other threads compute.
        (rows,) = self.read(
            f"SELECT json_group_array(json_array(s.item, i.narrow, {whole})) {ITEMS_OF_STUDY}",
            (study,),
        ).fetchone()
        return {item: _parse_item_facts(narrow, text) for item, narrow, text in json.loads(rows)}

    def questions(self, study: str, items: Iterable[str]) -> dict[str, str]:
        """Return item -> instruction, for those of the given items that the study has."""
        wanted = list(items)
        marks = ",".join("?" * len(wanted))
        rows = self.read(
            f"SELECT s.item, i.json {ITEMS_OF_STUDY} AND s.item IN ({marks})", (study, *wanted)
        )  # json_extract would cut a question at a null character
        return {item: json.loads(text)["instruction"] for item, text in rows}


def _parse_item_facts(facts_json: str, item_json: str | None) -> dict[str, Any]:
    """Parse the facts of an item from JSON. If the JSON of the whole item is given too, search it
    for suspected prompt injections and add these as `suspects`."""
    facts: dict[str, Any] = json.loads(facts_json)
    if item_json is not None:
        facts["suspects"] = list_suspect_places(parse_stored_item(json.loads(item_json)))
    return facts


def item_ids(store: StoreFile, study: str) -> set[str]:
    rows = store.read(f"SELECT item FROM study_items WHERE study={STUDY_ID}", (study,))
    return {item for (item,) in rows}


def answer_checks_in_study_data(store: StoreFile, study: str) -> dict[str, tuple[AnswerCheck, ...]]:
    """Return item -> people's verifications of its answers that came with the study's data; items
    without any are left out."""
    rows = store.read(
        f"SELECT s.item, json_extract(i.json, '$.checks') {ITEMS_OF_STUDY} "
        "AND instr(i.json, '\"checks\"') ORDER BY s.position",
        (study,),
    )
    return {
        item: tuple(AnswerCheck(**one) for one in json.loads(text)) for item, text in rows if text
    }
