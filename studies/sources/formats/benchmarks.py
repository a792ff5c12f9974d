"""Formats of benchmarks of models with recorded judgements: MT-Bench, Arena-Hard and Vicuna's
reviews."""

import contextlib
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from studies import domain, errors
from studies.files.tables import SourceTable, is_table_file, read_table, text_of
from studies.sources import cells
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.recorded_verdict import Pick, failure_status
from studies.sources.cells import RowCells, cells_of, content_text
from studies.sources.source_format import OpenedSource, make_column_matcher, reads

# ---- MT-Bench --------------------------------------------------------------------------------

_WINNERS: Final[dict[str, Pick]] = {"model_1": 0, "model_2": 1, "tie": "tie", "error": None}
_FAILED_REPLY: Final = "$ERROR$"
_ANSWERS_OF: Final = "question_id, model_id and choices are a model's answers to MT-Bench"
Answers = dict[str, dict[str, list[str]]]
"""Question id -> model -> its answer in each turn."""


def _why_matches_mt_bench(table: SourceTable) -> str:
    if table.has_columns("g1_winner", "g2_winner", "model_1", "model_2"):
        return "g1_winner and g2_winner are MT-Bench's pair judgements"
    if table.has_columns("question_id", "model", "score", "judgment"):
        return "question_id, model, score and judgment are MT-Bench's single ratings"
    if table.has_columns("question_id", "turns") and not table.has_columns("model_id"):
        return "question_id and turns are MT-Bench's questions"
    return _ANSWERS_OF if table.has_columns("question_id", "model_id", "choices") else ""


def _why_matches_mt_bench_folder(folder: Path) -> str:
    kinds = [_file_role(path) for path in _list_fastchat_files(folder)]
    answers, verdicts = kinds.count("answer"), kinds.count("verdict")
    if "question" not in kinds or not answers + verdicts:
        return ""
    return f"question.jsonl beside files of answers ({answers}) and of judgements ({verdicts})"


def _file_role(path: Path) -> str:
    """Return what a file of FastChat contains, judged by its name and that of its folder:
    "question", "answer" or "verdict"; "" for any other file."""
    name = path.name.casefold()
    if name.startswith("question"):
        return "question"
    if "model_answer" in name or path.parent.name == "model_answer":
        return "answer"
    verdict = name.removesuffix(".gz").removesuffix(".jsonl").endswith(("_pair", "_single"))
    return "verdict" if verdict else ""


def _list_fastchat_files(folder: Path) -> list[Path]:
    folders = [folder, folder / "model_answer", folder / "model_judgment"]
    inside = (path for one in folders if one.is_dir() for path in one.iterdir())
    return sorted(path for path in inside if path.is_file() and is_table_file(path))


@reads(
    "mt-bench", "MT-Bench files", "pairs in both orders; single ratings; votes",
    _why_matches_mt_bench, _why_matches_mt_bench_folder,
)  # fmt: skip
def read_mt_bench(source: OpenedSource) -> SourceBuilder:
    """Read MT-Bench's questions, answers, pair and single judgements; also FastChat's folder.

    Errors and score −1 are unusable; the winner of game 2, in which the answers are swapped, is
    given as a model, not a position; the turns of a question count as one item in intervals.
    """
    builder, questions = SourceBuilder(), dict[str, RowCells]()
    answers: Answers = {}
    verdicts: list[SourceTable] = []
    named = source.read_other_files().values()
    paths = [] if source.table else filter(_file_role, _list_fastchat_files(source.path))
    own = [source.table] if source.table else map(read_table, paths)
    for table in [*own, *named]:
        if table.has_columns("turns") and not table.has_columns("model_id"):
            rows = [RowCells(row, "question") for row in table.rows]
            questions |= {line.require_text("question_id"): line for line in rows}
        elif table.has_columns("choices"):
            _add_answers(answers, table)
        elif _why_matches_mt_bench(table):
            verdicts.append(table)
    for id, line in questions.items():
        for turn in range(1, len(_question_turns(line)) + 1):
            if turn == 1 or any(len(texts) >= turn for texts in answers.get(id, {}).values()):
                _add_question(builder, id, turn, line, answers)
    for table in verdicts:
        for line in cells_of(table):
            id, turn = line.require_text("question_id"), int(line.number("turn") or 1)
            if id in questions and turn <= len(_question_turns(questions[id])):
                item = _add_question(builder, id, turn, questions[id], answers)
            else:
                meta = _turn_meta(id, turn)
                item = builder.add_item(_item_id(id, turn), "", where=line.where, meta=meta)
            (_add_pair_judgement if "g1_winner" in line.row else _add_single_judgement)(
                builder, line, item
            )
    if verdicts and not questions:
        builder.notes.append(
            "verdicts only: to see questions and answers, open the folder with question.jsonl and "
            "model_answer, or name these files in data.files"
        )
    return builder


def _add_answers(answers: Answers, table: SourceTable) -> None:
    """Add the rows of a file of models' answers to `answers`; SourceError for a row without a list
    of turns, and for a second, different answer of a model to a question."""
    for line in cells_of(table):
        choices = line.row.get("choices")
        turns = choices[0].get("turns") if isinstance(choices, list) and choices else None
        if not isinstance(turns, list):
            raise line.error("field 'choices': expected [{'turns': […]}]")
        model, id = line.require_two_texts("model_id", "question_id")
        texts = [content_text(turn) for turn in turns]
        if answers.setdefault(id, {}).setdefault(model, texts) != texts:
            raise line.error(f"a second answer of {model!r} to question {id}; keep one answer")


def _question_turns(line: RowCells) -> list[str]:
    turns = line.row.get("turns")
    if not isinstance(turns, list) or not turns:
        raise errors.SourceError(
            f"question {line.row.get('question_id')}: field 'turns': expected a list; correct it"
        )
    return [content_text(turn) for turn in turns]


def _add_question(
    builder: SourceBuilder, id: str, turn: int, line: RowCells, answers: Answers
) -> str:
    """Add as an item a conversation up to turn number `turn` (from 1), with those models'
    answers that have this turn; return the item's id. `line` is the row of the question."""
    questions, reference = _question_turns(line)[:turn], line.row.get("reference")
    references = reference[turn - 1 : turn] if isinstance(reference, list) else []
    given = {
        model: cells.join_turns(questions, texts[:turn])[1]
        for model, texts in answers.get(id, {}).items()
        if len(texts) >= turn
    }
    return builder.add_item(
        _item_id(id, turn),
        cells.join_turns(questions, [])[0],
        given,
        category=line.text("category"),
        reference=text_of(references[0]) if references else "",
        meta=_turn_meta(id, turn),
    )


def _turn_meta(question: str, turn: int) -> dict[str, str]:
    """Return an item's meta: the turn, and the question id that all turns of a conversation
    share, because intervals count items of one question as one."""
    return {"turn": str(turn), domain.QUESTION_META: _item_id(question, 1)}


def _item_id(question: str, turn: int) -> str:
    """Return the item id of a question's turn: "081" for turn 1, "081-turn-2" for turn 2."""
    number = question.zfill(3) if question.isdigit() else question
    return f"{number}-turn-{turn}" if turn > 1 else number


def _judge_and_prompt(line: RowCells) -> tuple[str, str]:
    judge = cells.parse_list(line.row.get("judge"))
    if isinstance(judge, (list, tuple)) and len(judge) == 2:
        return text_of(judge[0]), text_of(judge[1])
    return text_of(judge) or "recorded", "mt-bench"


def _add_pair_judgement(builder: SourceBuilder, line: RowCells, item: str) -> None:
    by, names = _judge_and_prompt(line), line.require_two_texts("model_1", "model_2")
    if builder.note_if_self_comparison(names, line.where):
        return
    for game, shown in ((1, names), (2, names[::-1])):
        winner = line.pick(f"g{game}_winner", _WINNERS)
        slot = 1 - winner if isinstance(winner, int) and game == 2 else winner
        facts = _reply_time_and_status(line, f"g{game}_judgment", slot is not None)
        builder.add_verdict(item, *by, shown, slot, **facts)


def _add_single_judgement(builder: SourceBuilder, line: RowCells, item: str) -> None:
    by, score = _judge_and_prompt(line), line.number("score")
    score = None if score is None or score < 0 else score
    facts = _reply_time_and_status(line, "judgment", score is not None)
    builder.add_rating(item, *by, line.require_text("model"), score, **facts)


def _reply_time_and_status(line: RowCells, column: str, usable: bool) -> dict[str, Any]:
    """Return a dictionary with reply, time and status of a verdict. The status is None for a
    `usable` verdict, else "unreadable" if the cell `column` has a reply, and "error" if not."""
    reply = line.text(column)
    reply = "" if reply.strip() == _FAILED_REPLY else reply
    return {"reply": reply, "time": line.time, "status": failure_status(usable, reply)}


# ---- Arena-Hard ------------------------------------------------------------------------------

UNNAMED_BASELINE: Final = "baseline"
"""Name of the baseline in files that do not name it."""
PICK_BY_LEVEL: Final[dict[str, tuple[Pick, int]]] = {
    "A>>B": (0, 2), "A>B": (0, 1), "A=B": ("tie", 0), "B>A": (1, 1), "B>>A": (1, 2),
    "B<<A": (0, 2), "B<A": (0, 1), "B=A": ("tie", 0), "A<B": (1, 1), "A<<B": (1, 2),
}  # fmt: skip
_GAMES: Final = "model and games are Arena-Hard's judgements"
matches_arena_hard: Final = make_column_matcher(
    {"games, model, uid": _GAMES, "games, model, question_id": _GAMES}
)


@reads(
    "arena-hard", "Arena-Hard judgements", "pairs in both orders, five levels", matches_arena_hard
)
def read_arena_hard(source: OpenedSource) -> SourceBuilder:
    """Read Arena-Hard's `games` with five-level scores; also a folder.

    The baseline (the model that all others are compared with) is A in the first game; without a
    column `baseline` it is called "baseline"; a score that is not one of the five levels is an
    unusable reply.
    """
    builder, questions = SourceBuilder(), dict[str, tuple[str, str]]()
    answers: dict[str, dict[str, str]] = {}
    for table in source.read_other_files().values():
        for line in cells_of(table):
            _add_answer_or_question(line, questions, answers)
    unknown: list[str] = []
    for line in source.cells():
        id = line.text("uid", "question_id")
        question, category = questions.get(id, ("", ""))
        category = line.text("category") or category
        texts = answers.get(id, {})
        item = builder.add_item(id, question, texts, where=line.where, category=category)
        unknown += [line.where] * _add_games_and_count_unknown_scores(builder, line, item)
    if unknown:
        builder.notes.append(
            f"{len(unknown):,} scores are not one of the five levels (A>>B, A>B, A=B, B>A, B>>A), "
            f"the first in {unknown[0]}; they count as unusable replies. To use them, correct them "
            "in the file and import it again"
        )
    if not all(text_of(row.get("baseline")) for row in source.rows.rows):
        builder.notes.append(
            f"the file does not name the baseline; it is called {UNNAMED_BASELINE!r}. To name it, "
            "add a column 'baseline', or set format arena-hard and map a column to 'baseline' in "
            "data.mapping"
        )
    if not questions:
        builder.notes.append(
            "verdicts only: to see questions and answers, name their files in data.files"
        )
    return builder


def _add_games_and_count_unknown_scores(builder: SourceBuilder, line: RowCells, item: str) -> int:
    """Add a row's verdicts, none if the baseline is compared with itself; return the number of
    scores that are not one of the five levels. SourceError if the row has not one or two games."""
    games, unknown = line.row.get("games"), 0
    if not isinstance(games, list) or not 1 <= len(games) <= 2:
        found = f"{len(games)} games" if isinstance(games, list) else type(games).__name__
        raise line.error(
            f"field 'games': expected a list of one or two games, found {found}; "
            "correct or remove this row"
        )
    judge, model = line.text("judge") or "recorded", line.require_text("model")
    names = (line.text("baseline") or UNNAMED_BASELINE, model)
    if builder.note_if_self_comparison(names, line.where):
        return 0
    for game, shown in zip(games, (names, names[::-1]), strict=False):
        held = RowCells(game if isinstance(game, Mapping) else {})
        score, judgment = held.text("score"), held.row.get("judgment")
        level = score.replace(" ", "").strip("[]")
        pick, margin = PICK_BY_LEVEL.get(level, (None, None))
        # Later versions have an object as judgment; some store the reply in place of a score that
        # could not be read.
        written = held.text("judgment")
        if isinstance(judgment, Mapping):
            written = RowCells(judgment).text("answer", "content", "judgment")
        reply = written or (score if pick is None else "")
        unknown += score.strip() != "" and pick is None
        status, at = failure_status(pick is not None, reply), (item, judge, "arena-hard")
        builder.add_verdict(
            *at, shown, pick, margin=margin, status=status, reply=reply, time=line.time
        )
    return unknown


def _add_answer_or_question(
    line: RowCells, questions: dict[str, tuple[str, str]], answers: dict[str, dict[str, str]]
) -> None:
    """Add the answer of a row that names a model, else its question. `questions`: id -> (text,
    category); `answers`: id -> model -> text."""
    id = line.text("uid", "question_id")
    if model := line.text("model", "model_id"):
        answers.setdefault(id, {})[model] = _answer_text(line)
        return
    turns = line.row.get("turns")
    first = turns[0] if isinstance(turns, list) and turns else {}
    questions[id] = (line.text("prompt") or content_text(first), line.text("category", "cluster"))


def _answer_text(line: RowCells) -> str:
    if turns := cells.parse_conversation(line.row.get("messages")):
        return "".join(cells.split_conversation(turns)[1][-1:])
    choices = line.row.get("choices")
    if isinstance(choices, list) and choices:
        return content_text(choices[0]["turns"][0])
    raise line.error("no answer: expected 'messages' or 'choices'; correct the row or remove it")


# ---- Vicuna's reviews ------------------------------------------------------------------------

_REVIEWS: Final = "review_id, answer1_id and answer2_id are Vicuna's reviews"


def _why_matches_vicuna_folder(folder: Path) -> str:
    roles = set()
    for path in _vicuna_files(folder):
        with contextlib.suppress(errors.SourceError):  # a damaged file is an error when it is read
            roles.add(_vicuna_role(read_table(path)))
    found = {"review", "answer"} <= roles
    return "reviews with answer1_id beside files of answers with answer_id" if found else ""


def _vicuna_files(folder: Path) -> list[Path]:
    """List at most 200 JSON-lines files of a folder and its subfolders; empty if none of them has
    the word "review" in its path, because then the folder is not one of Vicuna's."""
    found = list(islice((path for path in folder.glob("**/*.jsonl") if path.is_file()), 200))
    return sorted(found) if any("review" in str(path.relative_to(folder)) for path in found) else []


def _vicuna_role(table: SourceTable) -> str:
    """Return what a file of Vicuna contains, judged by its columns: "review", "answer",
    "question", or "" for any other file."""
    if table.has_columns("review_id", "answer1_id", "answer2_id"):
        return "review"
    if table.has_columns("answer_id", "model_id", "text"):
        return "answer"
    return "question" if table.has_columns("question_id", "text") else ""


@reads(
    "vicuna", "Vicuna's reviews of two answers", "pairs, order known, with both scores",
    {"review_id, answer1_id, answer2_id": _REVIEWS}, _why_matches_vicuna_folder,
)  # fmt: skip
def read_vicuna(source: OpenedSource) -> SourceBuilder:
    """Read Vicuna's reviews, joined with its files of answers and questions; also a folder.

    A review names answers; `--files` adds the files of answers, which name their models. The scores
    are `score`, or the first line of the review ("9 8.5").
    """
    files = (
        [read_table(p) for p in _vicuna_files(source.path)]
        if source.table is None
        else [source.rows, *source.read_other_files().values()]
    )
    answers = {line.text("answer_id"): line for line in _vicuna_rows(files, "answer")}
    if not answers:
        raise errors.SourceError(
            f"{source.path.name}: its reviews name answers by id, and the files with the answers "
            "are missing; name them in data.files, for example answers=answer.jsonl"
        )
    questions = {line.text("question_id"): line for line in _vicuna_rows(files, "question")}
    builder = SourceBuilder()
    scored = False
    for line in _vicuna_rows(files, "review"):
        ids = line.require_two_texts("answer1_id", "answer2_id")
        if unknown := [id for id in ids if id not in answers]:
            raise line.error(
                f"no file of answers has the answer {unknown[0]!r}; name it in data.files"
            )
        names = tuple(answers[id].require_text("model_id") for id in ids)
        if builder.note_if_self_comparison(names, line.where):
            continue
        asked = questions.get(line.text("question_id"), RowCells({}))
        texts = {name: answers[id].text("text") for name, id in zip(names, ids, strict=True)}
        item = builder.add_item(
            line.require_text("question_id"), asked.text("text"), texts, where=line.where,
            category=asked.text("category"),
        )  # fmt: skip
        scores = _review_scores(line.row.get("score"))
        scored = scored or bool(scores)
        pick: Pick = None
        if scores:
            pick = "tie" if scores[0] == scores[1] else int(scores[1] > scores[0])
        by = (line.text("reviewer_id", "judge") or "recorded", "review")
        builder.add_verdict(item, *by, names, pick, scores=scores, reply=line.text("text"))
    builder.needs_reading, builder.reply_format = not scored, "rating-pair"
    return builder


def _vicuna_rows(files: list[SourceTable], role: str) -> list[RowCells]:
    return [line for table in files if _vicuna_role(table) == role for line in cells_of(table)]


def _review_scores(value: Any) -> tuple[float, ...]:
    """Return both scores of a review; empty if one is missing or negative (a failure)."""
    found = value if isinstance(value, list) and len(value) == 2 else ()
    numbers = tuple(float(x) for x in found if isinstance(x, int | float) and x >= 0)
    return numbers if len(numbers) == 2 else ()
