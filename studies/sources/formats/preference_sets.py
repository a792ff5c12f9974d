"""Formats of prompts whose answers are ranked or chosen: OpenAssistant, preference sets, THEMIS."""

import re
from collections import defaultdict
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any, Final

from studies.domain import BY_DESIGN, QUESTION_META
from studies.errors import SourceError
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.cells import RowCells, id_from_text, parse_conversation, split_conversation
from studies.sources.source_format import OpenedSource, make_column_matcher, reads

# ---- OpenAssistant ---------------------------------------------------------------------------

RANKING_JUDGE: Final = "oasst"
"""Judge name for rankings, each of which merges the rankings of several unnamed volunteers."""
_ROLE_NAMES: Final = {"prompter": "User", "user": "User", "assistant": "Assistant"}


def _why_matches_oasst(table: SourceTable) -> str:
    if table.has_columns("options") and {"prompt", "conversation"} & {*table.columns}:
        first: Any = next((row["options"] for row in table.rows if row.get("options")), [])
        if isinstance(first, list) and first and isinstance(first[0], dict):
            ranked = " with human ranks" if {"human_rank", "rank"} & first[0].keys() else ""
            return f"each prompt has a list of 'options'{ranked}"
    if table.has_columns("message_tree_id", "prompt") and not table.has_columns("parent_id"):
        return "message_tree_id and a nested prompt are OpenAssistant's trees"
    if table.has_columns("message_id", "parent_id", "role", "text", "rank"):
        return "message_id, parent_id, role and rank are OpenAssistant's messages"
    return ""


@reads(
    "oasst", "OpenAssistant's ranked replies", "N options with people's ranks", _why_matches_oasst
)
def read_oasst(source: OpenedSource) -> SourceBuilder:
    """Read OpenAssistant's ranked replies, message trees, or the Hub's flat messages.

    N options; people ranked them, and the contestants are the ranks.
    """
    table, builder = source.rows, SourceBuilder()
    if table.has_columns("parent_id", "message_id"):
        _read_messages(table, builder)
    else:
        for line in source.cells():
            (_read_ranked_options if table.has_columns("options") else _add_message_tree)(
                line, builder
            )
    builder.notes.append(
        "replies have no authors, so they are named by rank: rank-1 (the best), rank-2, …; "
        "meta.turns is the length of the conversation (1: the first reply level)"
    )
    return builder


def _read_ranked_options(line: RowCells, builder: SourceBuilder) -> None:
    """Add the item of a row whose `options` are replies with their ranks."""
    row = line.row
    turns = row.get("conversation") or [{"role": "prompter", "text": row.get("prompt")}]
    replies = [(option, _rank_of(option, line.where)) for option in row["options"]]
    id = text_of(row.get("prompt_id") or row.get("id") or row.get("message_id"))
    place = line.where.replace(", ", "-").replace(" ", "-")
    _add_ranking(builder, id or place, turns, replies, line.where)


def _rank_of(reply: Row, where: str) -> float | None:
    """Return the rank of a reply, None without one; SourceError, which names the place `where`, if
    it is no number."""
    return RowCells(reply, where).number("human_rank" if "human_rank" in reply else "rank")


def _add_ranking(
    builder: SourceBuilder,
    id: str,
    turns: Sequence[Row],
    replies: Sequence[tuple[Row, float | None]],
    where: str,
) -> None:
    """Add the item `id` whose contestants are named by rank (`rank-1` is the best answer). `turns`
    are the messages up to the question, `replies` the answers with their ranks. SourceError if an
    answer has no rank.

    Answers stay in file order, so that the rank does not determine the position.
    """
    given = [rank for _, rank in replies if rank is not None]
    if len(given) < len(replies):
        raise SourceError(f"{where}: a reply has no rank; add its rank, or remove the prompt")
    by_rank, order = sorted(range(len(given)), key=given.__getitem__), sorted(set(given))
    names = {index: f"rank-{k}" for k, index in enumerate(by_rank, 1)}
    answers = {names[k]: text_of(reply.get("text")) for k, (reply, _) in enumerate(replies)}
    meta = {"turns": str(len(turns)), "options": str(len(replies))}
    item = builder.add_item(id, _join_conversation(turns, where), answers, where=where, meta=meta)
    ranks = {names[index]: order.index(rank) + 1 for index, rank in enumerate(given)}
    builder.add_preference(item, RANKING_JUDGE, None, ranks=dict(sorted(ranks.items())))


def _join_conversation(turns: Sequence[Row], where: str) -> str:
    """Return the question: the prompt, or the whole conversation if there are earlier turns;
    SourceError if the last turn is empty."""
    texts = [text_of(turn.get("text", turn.get("content"))) for turn in turns]
    if not texts or not texts[-1].strip():
        raise SourceError(f"{where}: the prompt is empty; fill it or remove the row")
    if len(texts) == 1:
        return texts[0]
    roles = [_ROLE_NAMES.get(str(turn.get("role")), str(turn.get("role"))) for turn in turns]
    return "\n\n".join(f"{role}: {text}" for role, text in zip(roles, texts, strict=True))


def _add_message_tree(line: RowCells, builder: SourceBuilder) -> None:
    """Add an item for every prompt of a message tree that has two or more ranked replies;
    SourceError if the row has no tree."""
    prompt = line.row.get("prompt")
    if not isinstance(prompt, dict):
        raise line.error(
            "field 'prompt': expected the first message of a tree; correct the row or remove it"
        )
    pending: list[tuple[Row, list[Row]]] = [(prompt, [])]
    while pending:
        message, earlier_turns = pending.pop()
        turns, replies = [*earlier_turns, message], message.get("replies") or []
        if message.get("role") != "assistant":
            id = text_of(message.get("message_id"))
            _add_ranked_replies(builder, id, turns, replies, line.where)
        pending += [(reply, turns) for reply in reversed(replies)]


def _add_ranked_replies(
    builder: SourceBuilder, id: str, turns: Sequence[Row], replies: Sequence[Row], where: str
) -> None:
    """Add the item `id` if two or more `replies` to the last of `turns` are ranked and not
    deleted."""
    kept = [one for one in replies if text_of(one.get("deleted")).casefold() != "true"]
    ranked = [(one, rank) for one in kept if (rank := _rank_of(one, where)) is not None]
    if len(ranked) >= 2:
        _add_ranking(builder, id, turns, ranked, where)


def _read_messages(table: SourceTable, builder: SourceBuilder) -> None:
    """Add an item for each prompt with two or more ranked replies in a table of flat messages, in
    which a reply refers to its parent."""
    children: dict[str, list[Row]] = defaultdict(list)
    by_id = {text_of(row["message_id"]): row for row in table.rows}
    for row in table.rows:
        if row.get("role") == "assistant":
            children[text_of(row.get("parent_id"))].append(row)
    for index, row in enumerate(table.rows):
        id = text_of(row["message_id"])
        if row.get("role") != "assistant" and id in children:
            turns, seen = [row], {id}  # messages up to this one; a loop in the data ends them
            while (parent := text_of(turns[0].get("parent_id"))) in by_id and parent not in seen:
                seen.add(parent)
                turns.insert(0, by_id[parent])
            _add_ranked_replies(builder, id, turns, children[id], table.row_place(index))


# ---- preference sets -------------------------------------------------------------------------

_ANSWER_MARKER: Final = "\n\nAssistant:"
_REJECTED_COLUMN: Final = re.compile(r"rejected[_-]?\d*")
_CHOSEN: Final = "chosen and rejected are a preference set"


@reads(
    "preference", "a preference set: prompt, chosen, rejected", "items with known better answers",
    {"chosen, rejected": _CHOSEN, "prompt, chosen, rejected_1": _CHOSEN},
)  # fmt: skip
def read_preference(source: OpenedSource) -> SourceBuilder:
    """Read a preference set: `prompt`, `chosen`, and one or more `rejected`.

    The choice is by design: it defines the better answer and is not a person's vote.
    """
    builder = SourceBuilder()
    columns = sorted(name for name in source.rows.columns if _REJECTED_COLUMN.fullmatch(name))
    for line in source.cells():
        chosen = _answer_texts(line.row.get("chosen"))
        rejected = [text for name in columns for text in _answer_texts(line.row.get(name))]
        question = _question_text(line)
        if len(chosen) == 1 and not question:
            question, chosen, rejected = _split_transcripts(chosen[0], rejected, line.where)
        if not chosen or not rejected:
            raise line.error("'chosen' or 'rejected' is empty; fill it or remove the row")
        answers = _name_answers("chosen", chosen) | _name_answers("rejected", rejected)
        models = {name: line.text(name) for name in ("chosen_model", "rejected_model", "subset")}
        id = line.text("id", "prompt_id", "pair_id") or id_from_text("pair", question, *chosen)
        item = builder.add_item(
            id,
            question,
            answers,
            where=line.where,
            category=line.text("subset", "category", "section", "source"),
            meta={name: text for name, text in models.items() if text},
        )
        if len(chosen) == 1:
            builder.add_preference(item, BY_DESIGN, "chosen")
        else:
            ranks = {name: 1 if name.startswith("chosen") else 2 for name in answers}
            builder.add_preference(item, BY_DESIGN, None, ranks=ranks)
    return builder


def _name_answers(kind: str, texts: list[str]) -> dict[str, str]:
    """Return contestant -> text. A single answer has the name `kind` ("chosen" or "rejected"),
    several are numbered: `kind-1`, `kind-2`, …."""
    if len(texts) == 1:
        return {kind: texts[0]}
    return {f"{kind}-{k}": text for k, text in enumerate(texts, 1)}


def _answer_texts(value: Any) -> list[str]:
    """Return the answers in a cell: one text, the texts of a list, or the last answer of a
    conversation; empty texts are left out."""
    turns = parse_conversation(value)
    if turns:
        parts = split_conversation(turns)[1][-1:]
    else:
        parts = value if isinstance(value, list) else [value]
    return [text for part in parts if (text := text_of(part)).strip()]


def _question_text(line: RowCells) -> str:
    """Return the question of a row or, if no column has it, the conversation in `chosen` without
    its last turn; "" if the row has neither."""
    if turns := parse_conversation(line.row.get("prompt")):
        return _join_conversation(turns, line.where)
    if question := line.text("prompt", "instruction", "question"):
        return question
    turns = parse_conversation(line.row.get("chosen"))
    return _join_conversation(turns[:-1], line.where) if len(turns) > 1 else ""


def _split_transcripts(
    chosen: str, rejected: list[str], where: str
) -> tuple[str, list[str], list[str]]:
    """Split transcripts that end with an answer. Return the question (the text before the last
    answer), a list with the chosen answer, and the rejected answers; SourceError if the
    transcripts do not all have the same text before the answer."""
    start, marker, end = chosen.rpartition(_ANSWER_MARKER)
    others = [text.rpartition(_ANSWER_MARKER) for text in rejected]
    if not marker or any(other[0] != start for other in others):
        raise SourceError(
            f"{where}: no column 'prompt', and 'chosen' and 'rejected' do not begin with the same "
            "question; map the question's column to 'prompt' in data.mapping"
        )
    return start.strip(), [end.strip()], [other[2].strip() for other in others]


# ---- THEMIS ----------------------------------------------------------------------------------

matches_themis: Final = make_column_matcher(
    {"_record, permutation, parsed_letter": "permutation and parsed_letter are THEMIS' records"}
)


@reads(
    "themis", "THEMIS' choices among rotated answers",
    "choices among N, every order known, with the right answer", matches_themis,
)  # fmt: skip
def read_themis(source: OpenedSource) -> SourceBuilder:
    """Read THEMIS' records: a line of metadata with the `permutation`, then one `parsed_letter` for
    each item; also a folder.

    A letter is a position: `permutation` lists the answers in the order shown, and answer 0 is the
    right one ("chosen"). Each metadata line begins a new run, so the files of all rotations are one
    study. A letter such as `error` is an unusable reply. The same id in another `dataset` has other
    answers; these items count as one question.
    """
    builder, run = SourceBuilder(), RowCells({})
    for line in source.cells():
        if line.text("_record") == "metadata":
            run = line
            continue
        order = run.row.get("permutation")
        if not isinstance(order, list) or sorted(order, key=str) != [*range(len(order))]:
            raise (run if run.row else line).error(
                "no 'permutation' of the answers 0, 1, … in the metadata line before the verdicts; "
                "add it, or remove these verdicts"
            )
        names = ["chosen", *_name_answers("rejected", [""] * (len(order) - 1))]
        letters, id = tuple(ascii_uppercase[: len(order)]), line.require_text("id")
        item = builder.add_item(
            "/".join(filter(None, (run.text("dataset").rpartition("/")[2], id))),
            "",
            where=line.where,
            category=line.text("subset"),
            meta={QUESTION_META: id},
        )
        builder.add_better_answer(item, names, 0)
        letter = line.text("parsed_letter")
        builder.add_verdict(
            item,
            run.require_text("model"),
            run.text("prompt").partition(" ")[0].rpartition("/")[2].removesuffix(".txt"),
            [names[k] for k in order],
            letters.index(letter) if letter in letters else None,
            labels=letters,
            reply=line.text("judgement_text"),
        )
    return builder
