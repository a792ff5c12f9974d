"""Format of FastChat's MT-Bench: questions, answers, pair and single judgements; files or a folder.

In the second game of a pair file the answers are swapped, but its winner is recorded as the model:
`g2_winner: model_1` means that model 1 won while it was shown second. `error` and a score of -1 are
failures, never ties.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from studies.domain import QUESTION_META, Status
from studies.errors import SourceError
from studies.files.tables import Row, SourceTable, is_table_file, read_table, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import join_turns, parse_number, parse_time, parse_winner, required_text

_WINNERS: Final[dict[str, Pick]] = {"model_1": 0, "model_2": 1, "tie": "tie", "error": None}
_FAILED_REPLY: Final = "$ERROR$"


def matches_table(table: SourceTable) -> str:
    if table.has("g1_winner", "g2_winner", "model_1", "model_2"):
        return "g1_winner and g2_winner are MT-Bench's pair judgements"
    if table.has("question_id", "model", "score", "judgment"):
        return "question_id, model, score and judgment are MT-Bench's single ratings"
    if table.has("question_id", "turns") and not table.has("model_id"):
        return "question_id and turns are MT-Bench's questions"
    if table.has("question_id", "model_id", "choices"):
        return "question_id, model_id and choices are a model's answers to MT-Bench"
    return ""


def matches_folder(folder: Path) -> str:
    kinds = [file_role(path) for path in _list_files(folder)]
    if "question" in kinds and ("answer" in kinds or "verdict" in kinds):
        return (
            f"question.jsonl beside files of answers ({kinds.count('answer')}) and of judgements "
            f"({kinds.count('verdict')})"
        )
    return ""


def file_role(path: Path) -> str:
    """Return the role of a FastChat file by its name: "question", "answer", "verdict" or ""."""
    name = path.name.casefold()
    if name.startswith("question"):
        return "question"
    if "model_answer" in name or path.parent.name == "model_answer":
        return "answer"
    if name.removesuffix(".gz").removesuffix(".jsonl").endswith(("_pair", "_single")):
        return "verdict"
    return ""


def _list_files(folder: Path) -> list[Path]:
    inside = [*folder.iterdir()]
    for name in ("model_answer", "model_judgment"):
        if (folder / name).is_dir():
            inside += (folder / name).iterdir()
    return sorted(path for path in inside if path.is_file() and is_table_file(path))


def read(source: OpenSource) -> SourceBuilder:
    builder, questions = SourceBuilder(), dict[str, Row]()
    answers: dict[str, dict[str, list[str]]] = {}
    verdicts: list[SourceTable] = []
    for table in _read_tables(source):
        if table.has("turns") and not table.has("model_id"):
            questions |= {required_text(row, "question_id", "question"): row for row in table.rows}
        elif table.has("choices"):
            _add_answers(answers, table)
        elif matches_table(table):
            verdicts.append(table)
    _add_questions(builder, questions, answers)
    for table in verdicts:
        for index, row in enumerate(table.rows):
            where = table.where(index)
            item = _add_judged_item(builder, row, questions, answers, where)
            (_add_pair if "g1_winner" in row else _add_single)(builder, row, item, where)
    if verdicts and not questions:
        builder.notes.append(
            "verdicts only: to see questions and answers, open the folder with question.jsonl and "
            "model_answer, or name these files in data.files"
        )
    return builder


def _read_tables(source: OpenSource) -> list[SourceTable]:
    named = [source.read_other_file(path) for path in source.spec.files.values()]
    if source.table is not None:
        return [source.table, *named]
    return [read_table(path) for path in _list_files(source.path) if file_role(path)] + named


def _add_answers(answers: dict[str, dict[str, list[str]]], table: SourceTable) -> None:
    for index, row in enumerate(table.rows):
        where = table.where(index)
        choices = row.get("choices")
        turns = choices[0].get("turns") if isinstance(choices, list) and choices else None
        if not isinstance(turns, list):
            raise SourceError(f"{where}: field 'choices': expected [{{'turns': […]}}]")
        model, id = required_text(row, "model_id", where), required_text(row, "question_id", where)
        texts = [text_of(turn.get("content") if isinstance(turn, dict) else turn) for turn in turns]
        if answers.setdefault(id, {}).setdefault(model, texts) != texts:
            raise SourceError(
                f"{where}: a second answer of {model!r} to question {id}; keep one answer"
            )


def _add_questions(
    builder: SourceBuilder,
    questions: Mapping[str, Row],
    answers: Mapping[str, Mapping[str, list[str]]],
) -> None:
    for id, row in questions.items():
        turns_by_model = answers.get(id, {})
        for turn in range(1, len(_question_turns(row)) + 1):
            if turn == 1 or any(len(texts) >= turn for texts in turns_by_model.values()):
                _add_question(builder, id, turn, row, turns_by_model)


def _question_turns(row: Row) -> list[str]:
    turns = row.get("turns")
    if not isinstance(turns, list) or not turns:
        raise SourceError(
            f"question {row.get('question_id')}: field 'turns': expected a list; correct it"
        )
    return [text_of(turn.get("content") if isinstance(turn, dict) else turn) for turn in turns]


def _add_question(
    builder: SourceBuilder, id: str, turn: int, row: Row, turns_by_model: Mapping[str, list[str]]
) -> str:
    questions = _question_turns(row)[:turn]
    reference = row.get("reference")
    references = reference[turn - 1 : turn] if isinstance(reference, list) else []
    answers = {
        model: join_turns(questions, texts[:turn])[1]
        for model, texts in turns_by_model.items()
        if len(texts) >= turn
    }
    return builder.add_item(
        item_id(id, turn),
        join_turns(questions, [])[0],
        answers,
        category=text_of(row.get("category")),
        reference=text_of(references[0]) if references else "",
        meta=_turn_meta(id, turn),
    )


def _turn_meta(question: str, turn: int) -> dict[str, str]:
    """Return the turn, and the question id that all turns of a conversation share; intervals count
    them as one item."""
    return {"turn": str(turn), QUESTION_META: item_id(question, 1)}


def item_id(question: str, turn: int) -> str:
    number = question.zfill(3) if question.isdigit() else question
    return f"{number}-turn-{turn}" if turn > 1 else number


def _add_judged_item(
    builder: SourceBuilder,
    row: Row,
    questions: Mapping[str, Row],
    answers: Mapping[str, Mapping[str, list[str]]],
    where: str,
) -> str:
    id, turn = required_text(row, "question_id", where), int(parse_number(row, "turn", where) or 1)
    if id in questions and turn <= len(_question_turns(questions[id])):
        return _add_question(builder, id, turn, questions[id], answers.get(id, {}))
    return builder.add_item(item_id(id, turn), "", where=where, meta=_turn_meta(id, turn))


def _judge_and_prompt(row: Row) -> tuple[str, str]:
    judge = row.get("judge")
    if isinstance(judge, (list, tuple)) and len(judge) == 2:
        return text_of(judge[0]), text_of(judge[1])
    return text_of(judge) or "recorded", "mt-bench"


def _add_pair(builder: SourceBuilder, row: Row, item: str, where: str) -> None:
    judge, prompt = _judge_and_prompt(row)
    names = (required_text(row, "model_1", where), required_text(row, "model_2", where))
    if builder.skip_self_comparison(names, where):
        return
    for game, shown in ((1, names), (2, names[::-1])):
        winner = parse_winner(row, f"g{game}_winner", _WINNERS, where)
        slot = 1 - winner if isinstance(winner, int) and game == 2 else winner
        reply = text_of(row.get(f"g{game}_judgment"))
        builder.add_verdict(
            item,
            judge,
            prompt,
            shown,
            slot,
            status=_failure_status(slot, reply),
            reply=_reply_text(reply),
            time=parse_time(row),
        )


def _add_single(builder: SourceBuilder, row: Row, item: str, where: str) -> None:
    judge, prompt = _judge_and_prompt(row)
    score = parse_number(row, "score", where)
    scores = () if score is None or score < 0 else (score,)
    reply = text_of(row.get("judgment"))
    status = None if scores else _failure_status(None, reply)
    builder.add_verdict(
        item,
        judge,
        prompt,
        (required_text(row, "model", where),),
        None,
        scores=scores,
        status=status,
        reply=_reply_text(reply),
        time=parse_time(row),
    )


def _failure_status(pick: Pick, reply: str) -> Status | None:
    """Return the status of a verdict without a pick: "unreadable" with a reply, "error" without;
    None with a pick."""
    if pick is not None:
        return None
    return "unreadable" if _reply_text(reply) else "error"


def _reply_text(reply: str) -> str:
    return "" if reply.strip() == _FAILED_REPLY else reply
