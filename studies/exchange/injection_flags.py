"""Injection suspects beside judgements that leave the house: whose text it is, and why.

A flag is no fact of a judgement but a reading of the texts that were shown: whoever has the items
finds it again, perhaps with better rules. So it is written out for readers of the file and left
aside when the file comes back.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from studies.domain import Ask, Judgement
from studies.files.judgement_schema import SUSPECTS_FIELD
from studies.frames.frame import SUSPECT_COLUMN
from studies.store.store import Store
from studies.texts.injection import INSTRUCTION, InjectionSuspect, find_suspects


class InjectionFlags:
    """The suspects of one study, asked for by what a judge was shown."""

    def __init__(self, store: Store, study: str) -> None:
        named = [item for item, facts in store.item_facts(study).items() if facts["suspects"]]
        items = (store.item(study, name) for name in named)
        self._found = {item.id: find_suspects(item) for item in items if item is not None}

    def suspects_shown(self, ask: Ask) -> list[InjectionSuspect]:
        """In the question, or in an answer that was shown."""
        return [
            one for one in self._found.get(ask.item, ()) if one.where in (INSTRUCTION, *ask.shown)
        ]

    def flagged_row(self, judgement: Judgement) -> dict[str, Any]:
        """A judgement as plain data, with its flag and the reasons for it."""
        found = self.suspects_shown(judgement.ask)
        told = [{"where": one.where, "rules": list(one.rules)} for one in found]
        return {**asdict(judgement), SUSPECT_COLUMN: bool(found), SUSPECTS_FIELD: told}


def format_suspects(found: list[InjectionSuspect]) -> str:
    """All of it in one cell: `y: override, demand | @instruction: tag`."""
    return " | ".join(f"{one.where}: {', '.join(one.rules)}" for one in found)
