"""Injection flags for exported judgements: the suspect texts and the rules that found them.

An import ignores the flags of a file and computes them again from the items, perhaps with newer
rules.
"""

from dataclasses import asdict
from typing import Any

from studies.domain import Ask, Judgement
from studies.files.suspect_flags import SUSPECTS_FIELD
from studies.frames.frame_codes import SUSPECT_COLUMN
from studies.store.store import Store
from studies.texts.injection import INSTRUCTION, InjectionSuspect, find_suspects


class InjectionFlags:
    """Suspected prompt injections in the items of one study, and methods that find those shown
    to a judge."""

    def __init__(self, store: Store, study: str) -> None:
        named = [item for item, facts in store.item_facts(study).items() if facts["suspects"]]
        items = (store.item(study, name) for name in named)
        self._found = {item.id: find_suspects(item) for item in items if item is not None}

    def suspects_shown(self, ask: Ask) -> list[InjectionSuspect]:
        """List the suspected prompt injections in the question and in the answers that a request
        shows to its judge."""
        return [
            one for one in self._found.get(ask.item, ()) if one.where in (INSTRUCTION, *ask.shown)
        ]

    def judgement_row_with_flags(self, judgement: Judgement) -> dict[str, Any]:
        """Convert a judgement to a dictionary with two more keys: whether the judge saw suspected
        prompt injections, and the list of these."""
        found = self.suspects_shown(judgement.ask)
        listed = [{"where": one.where, "rules": list(one.rules)} for one in found]
        return {**asdict(judgement), SUSPECT_COLUMN: bool(found), SUSPECTS_FIELD: listed}


def format_suspects(suspects: list[InjectionSuspect]) -> str:
    """Return one CSV cell with the location and the rules of each suspect: `model-b: override,
    demand | …`."""
    return " | ".join(f"{one.where}: {', '.join(one.rules)}" for one in suspects)
