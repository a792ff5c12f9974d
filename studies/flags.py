"""Injection suspects beside judgements that leave the house: whose text it is, and why.

A flag is no fact of a judgement but a reading of the texts that were shown: whoever has the items
finds it again, perhaps with better rules. So it is written out for readers of the file and left
aside when the file comes back.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from studies.frame import SUSPECT
from studies.judgement_rows import SUSPECTS
from studies.records import Ask, Judgement
from studies.store import Store
from studies.suspects import INSTRUCTION, Suspect, suspects_of


class Flags:
    """The suspects of one study, asked for by what a judge was shown."""

    def __init__(self, store: Store, study: str) -> None:
        named = [item for item, facts in store.narrow_items(study).items() if facts["suspects"]]
        items = (store.item(study, name) for name in named)
        self._found = {item.id: suspects_of(item) for item in items if item is not None}

    def of(self, ask: Ask) -> list[Suspect]:
        """In the question, or in an answer that was shown."""
        return [
            one for one in self._found.get(ask.item, ()) if one.where in (INSTRUCTION, *ask.shown)
        ]

    def row(self, judgement: Judgement) -> dict[str, Any]:
        """A judgement as plain data, with its flag and the reasons for it."""
        found = self.of(judgement.ask)
        told = [{"where": one.where, "rules": list(one.rules)} for one in found]
        return {**asdict(judgement), SUSPECT: bool(found), SUSPECTS: told}


def flat(found: list[Suspect]) -> str:
    """All of it in one cell: `y: override, demand | @instruction: tag`."""
    return " | ".join(f"{one.where}: {', '.join(one.rules)}" for one in found)
