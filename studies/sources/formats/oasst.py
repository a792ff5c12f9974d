"""Format OpenAssistant: prompts with several replies ranked by people; contestants are the ranks.

There are three layouts: ranked replies (one prompt per line with its `options`), message trees, and
the flat messages of the Hub, in which a reply refers to its parent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from studies.errors import SourceError
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource

RANKING_JUDGE: Final = "oasst"
"""Judge name for rankings, each of which merges the rankings of several unnamed volunteers."""

_ROLE_NAMES: Final = {"prompter": "User", "user": "User", "assistant": "Assistant"}


def matches_table(table: SourceTable) -> str:
    if table.has("options") and any(table.has(name) for name in ("prompt", "conversation")):
        first: Any = next((row["options"] for row in table.rows if row.get("options")), [])
        if isinstance(first, list) and first and isinstance(first[0], dict):
            return "each prompt has a list of 'options'" + (
                " with human ranks" if "human_rank" in first[0] or "rank" in first[0] else ""
            )
    if table.has("message_tree_id", "prompt") and not table.has("parent_id"):
        return "message_tree_id and a nested prompt are OpenAssistant's trees"
    if table.has("message_id", "parent_id", "role", "text", "rank"):
        return "message_id, parent_id, role and rank are OpenAssistant's messages"
    return ""


def read(source: OpenSource) -> SourceBuilder:
    table, builder = source.rows, SourceBuilder()
    if table.has("parent_id", "message_id"):
        _read_messages(table, builder)
    elif table.has("options"):
        for index, row in enumerate(table.rows):
            _read_ranked(row, builder, table.where(index))
    else:
        for index, row in enumerate(table.rows):
            _read_tree(row, builder, table.where(index))
    builder.notes.append(
        "replies have no authors, so they are named by rank: rank-1 (the best), rank-2, …; "
        "meta.turns is the length of the conversation (1: the first reply level)"
    )
    return builder


def _read_ranked(row: Row, builder: SourceBuilder, where: str) -> None:
    turns = row.get("conversation") or [{"role": "prompter", "text": row.get("prompt")}]
    replies = [(option, option.get("human_rank", option.get("rank"))) for option in row["options"]]
    id = text_of(row.get("prompt_id") or row.get("id") or row.get("message_id"))
    _add_item(builder, id or where.replace(", ", "-").replace(" ", "-"), turns, replies, where)


def _add_item(
    builder: SourceBuilder,
    id: str,
    turns: Sequence[Row],
    replies: Sequence[tuple[Row, Any]],
    where: str,
) -> None:
    """Add an item whose contestants are named by rank (`rank-1` is the best answer).

    Answers stay in file order, so that the rank does not determine the position.
    """
    ranked = [(text_of(reply.get("text")), rank) for reply, rank in replies]
    if any(rank is None or isinstance(rank, bool) for _, rank in ranked):
        raise SourceError(f"{where}: a reply has no rank; add its rank, or remove the prompt")
    by_rank = sorted(range(len(ranked)), key=lambda k: int(ranked[k][1]))
    names = {index: f"rank-{k}" for k, index in enumerate(by_rank, 1)}
    item = builder.add_item(
        id,
        join_conversation(turns, where),
        {names[index]: text for index, (text, _) in enumerate(ranked)},
        where=where,
        meta={"turns": str(len(turns)), "options": str(len(ranked))},
    )
    ranks = {names[index]: int(rank) for index, (_, rank) in enumerate(ranked)}
    lowest = min(ranks.values(), default=0)
    builder.add_preference(
        item, RANKING_JUDGE, None, ranks={k: v - lowest + 1 for k, v in sorted(ranks.items())}
    )


def join_conversation(turns: Sequence[Row], where: str) -> str:
    """Return the question: the prompt, or the whole conversation if there are earlier turns."""
    texts = [text_of(turn.get("text", turn.get("content"))) for turn in turns]
    if not texts or not texts[-1].strip():
        raise SourceError(f"{where}: the prompt is empty; fill it or remove the row")
    if len(texts) == 1:
        return texts[0]
    roles = [_ROLE_NAMES.get(str(turn.get("role")), str(turn.get("role"))) for turn in turns]
    return "\n\n".join(f"{role}: {text}" for role, text in zip(roles, texts, strict=True))


def _read_tree(row: Row, builder: SourceBuilder, where: str) -> None:
    """Add an item for every prompt of a message tree that has two or more ranked replies."""
    prompt = row.get("prompt")
    if not isinstance(prompt, dict):
        raise SourceError(
            f"{where}: field 'prompt': expected the first message of a tree; correct the row or "
            "remove it"
        )
    pending: list[tuple[Row, list[Row]]] = [(prompt, [])]
    while pending:
        message, earlier_turns = pending.pop()
        turns = [*earlier_turns, message]
        replies = message.get("replies") or []
        if message.get("role") != "assistant":
            _add_ranked_replies(builder, text_of(message.get("message_id")), turns, replies, where)
        pending += [(reply, turns) for reply in reversed(replies)]


def _add_ranked_replies(
    builder: SourceBuilder, id: str, turns: Sequence[Row], replies: Sequence[Row], where: str
) -> None:
    """Add an item if two or more replies are ranked and not deleted."""
    ranked_replies = [
        reply for reply in replies if reply.get("rank") is not None and not reply.get("deleted")
    ]
    if len(ranked_replies) >= 2:
        _add_item(builder, id, turns, [(reply, reply["rank"]) for reply in ranked_replies], where)


def _read_messages(table: SourceTable, builder: SourceBuilder) -> None:
    children: dict[str, list[Row]] = defaultdict(list)
    by_id = {text_of(row["message_id"]): row for row in table.rows}
    for row in table.rows:
        if row.get("role") == "assistant":
            children[text_of(row.get("parent_id"))].append(row)
    for index, row in enumerate(table.rows):
        id = text_of(row["message_id"])
        if row.get("role") != "assistant" and id in children:
            turns = _message_thread(row, by_id)
            _add_ranked_replies(builder, id, turns, children[id], table.where(index))


def _message_thread(row: Row, by_id: dict[str, Row]) -> list[Row]:
    """Return the messages up to the given one, oldest first; stop at a loop in the data."""
    turns, seen = [row], {text_of(row["message_id"])}
    while (parent := text_of(turns[0].get("parent_id"))) in by_id and parent not in seen:
        seen.add(parent)
        turns.insert(0, by_id[parent])
    return turns
