"""An unfinished item, to which answers, votes, checks and labels are added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from studies.domain import QUESTION_META, AnswerCheck, AnswerLabel, Item, Preference
from studies.errors import SourceError


@dataclass
class ItemDraft:
    id: str
    instruction: str
    responses: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    human: list[Preference] = field(default_factory=list)
    compared: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Index of a vote in `human` -> contestants that the vote compared."""
    checks: list[AnswerCheck] = field(default_factory=list)
    labels: list[AnswerLabel] = field(default_factory=list)


def finish_item(draft: ItemDraft, shared: Mapping[str, str]) -> Item:
    facts = dict(draft.facts)
    if draft.id in shared and QUESTION_META not in facts.get("meta", {}):
        facts["meta"] = {**facts.get("meta", {}), QUESTION_META: shared[draft.id]}
    return Item(
        id=draft.id,
        instruction=draft.instruction,
        responses=draft.responses,
        human=tuple(_with_compared(draft, k) for k in range(len(draft.human))),
        checks=tuple(draft.checks),
        labels=tuple(draft.labels),
        **facts,
    )


def _with_compared(draft: ItemDraft, index: int) -> Preference:
    """Return the vote `draft.human[index]`. If the order shown is unknown and the vote compared
    only some of the item's answers, or the item has no texts, return it as a ranking of the answers
    compared: a pick of unknown order would count as a win over all answers of the item."""
    vote, names = draft.human[index], draft.compared.get(index, ())
    answers = {*draft.responses, *(name for one in draft.compared.values() for name in one)}
    if vote.shown is not None or not names or (draft.responses and answers <= set(names)):
        return vote
    best = names if vote.picked == "tie" else (vote.picked,)
    return replace(vote, picked=None, ranks={name: 1 if name in best else 2 for name in names})


def check_contestant_name(name: str, where: str) -> None:
    """Raise SourceError for names that are reserved or cannot be stored."""
    control = any(character < " " or character == "\x7f" for character in name)
    if not name.strip() or name == "tie" or name.startswith("@") or control:
        raise SourceError(
            f"{where}: model {name!r}: a name must not be empty, be 'tie', begin with '@' "
            "(reserved) or contain control characters"
        )
