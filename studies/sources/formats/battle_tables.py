"""Formats of battles: tables with two models, the winner, and often both answers in each row."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any, Final

from studies.domain import QUESTION_META
from studies.files.table_formats.spreadsheet_guard import OWN_BATTLE_HEADERS
from studies.files.tables import SourceTable, text_of
from studies.files.upload_names import name_without_ending
from studies.frames.winner_words import ITEM_COLUMNS, PEOPLE_COLUMNS, WINNER_WORDS
from studies.sources import cells, join
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import RowCells, id_from_text
from studies.sources.source_format import OpenedSource, reads

# ---- Chatbot Arena and Evalica: `model_a` or `left` was shown first ---------------------------

UNNAMED_JUDGE: Final = "all"
"""Judge name for battles without a judge column, the same as in `python -m metrics`."""
_AUTOARENA_WINNERS: Final[dict[str, Pick]] = {"A": 0, "B": 1, "-": "tie"}
_ITEM_COLUMNS: Final = tuple(name for name in ITEM_COLUMNS if name != "id")
_QUESTION_COLUMNS: Final = ("instruction", "question", "prompt")
_PEOPLE_COLUMNS: Final = ("annotator", "worker", "voter", "user")
_CATEGORY_COLUMNS: Final = ("category", "category_tag", "language")


def _winner_values_of_first_rows(table: SourceTable) -> set[str]:
    """Return the distinct values of the winner column in the first 1,000 rows."""
    return {text_of(row.get("winner")).strip() for row in table.rows[:1000]} - {""}


def _find_column_of_votes(table: SourceTable, words: Collection[str], *models: str) -> str:
    """Return the column that states which answer people prefer, found by its name. Return "" if
    there is none, or if any of its non-empty cells contains neither one of `words` nor the name of
    a model of the row. `models` are the columns with the names of the models."""
    by_name = {name.casefold().strip(): name for name in reversed(table.columns)}
    found = next((by_name[name] for name in PEOPLE_COLUMNS if name in by_name), "")
    for row in table.rows if found else ():
        text = text_of(dict.get(row, found)).strip()  # a look, which does not use the column
        named = {"", *(text_of(row.get(one)) for one in models)}
        if text not in named and text not in words and text.casefold() not in words:
            return ""
    return found


def _why_matches_arena(table: SourceTable) -> str:
    if not table.has_columns("model_a", "model_b", "winner") or _winner_values_of_first_rows(
        table
    ) <= {*_AUTOARENA_WINNERS}:
        return ""
    return "model_a, model_b and winner are Arena battles"


@reads("arena", "Arena battles", "pairs, order known", _why_matches_arena)
def read_arena(source: OpenedSource) -> SourceBuilder:
    """Read Arena battles: `model_a`, `model_b`, `winner`.

    `model_a` was shown first. A column `human` with winners counts as votes by people.
    """
    return _read_battles(source.rows, "model_a", "model_b")


@reads(
    "evalica", "Evalica's battles", "pairs, order known",
    {"left, right, winner": "left, right and winner are Evalica's battles"},
)  # fmt: skip
def read_evalica(source: OpenedSource) -> SourceBuilder:
    """Read Evalica's battles: `left`, `right`, `winner`.

    `left` was shown first. A column `human` with winners counts as votes by people.
    """
    return _read_battles(source.rows, "left", "right")


def _read_battles(table: SourceTable, first: str, second: str) -> SourceBuilder:
    """Read a table of battles; `first` and `second` are its columns of the models in the order
    shown."""
    builder, questions = SourceBuilder(), 0
    votes = _find_column_of_votes(table, WINNER_WORDS, first, second)
    own_export = table.columns in OWN_BATTLE_HEADERS
    for line in cells.cells_of(table):
        if own_export:
            line.row = {**line.row, "prompt": "", "judge_prompt": line.row["prompt"]}
        names = line.require_two_texts(first, second)
        question, answers = _question_and_answers(line)
        questions += bool(question)
        same = builder.note_if_self_comparison(names, line.where)
        texts = {} if same else dict(zip(names, answers, strict=True))
        named = (line.row.get(name) for name in _CATEGORY_COLUMNS)
        category = next((text for text in named if isinstance(text, str) and text), "")
        id, meta = _item_id_and_meta(line, question)
        item = builder.add_item(id, question, texts, where=line.where, category=category, meta=meta)
        judge = _judge_name(line)
        if same:
            continue
        prompt = line.text("judge_prompt", "prompt_name") or "battle"
        words: dict[str, Pick] = {**WINNER_WORDS, names[1]: 1, names[0]: 0}
        pick = line.pick("winner", words)
        known = line.text("order") != "unknown"
        reply = line.text("judgment", "rationale", "reply")
        builder.add_verdict_or_vote(
            item, judge, prompt, names, pick, reply=reply, time=line.time, known=known
        )
        builder.add_better_answer(item, names, line.pick(votes, words) if votes else None, votes)
    if not questions:
        builder.notes.append("verdicts only: the file has no questions and answers")
    return builder


def _item_id_and_meta(line: RowCells, question: str) -> tuple[str, dict[str, str]]:
    """Return the id and the meta (further facts) of the item of a row.

    The id is the one in the row, followed by `-turn-N` from turn 2 on; without one, a hash of
    the question or, without a question, the number of the prompt or of the row. For a turn of
    a conversation, the meta has the number of the turn and the id that all turns share."""
    id, turn = line.text(*_ITEM_COLUMNS), line.text("turn")
    meta = {"turn": turn, QUESTION_META: id} if turn not in ("", "0") and id else {}
    if not id and not question:
        # the number of a prompt, as in the llmfao data, where `id` is the pair
        id = line.text(*_QUESTION_COLUMNS, "id")
    if not id:
        return id_from_text("q", question) if question else line.row_id, meta
    return f"{id}-turn-{turn}" if turn not in ("", "0", "1") else id, meta


def _judge_name(line: RowCells) -> str:
    """Return the judge of a row, `human:<name>` for a person; UNNAMED_JUDGE if no column names
    one."""
    for name in ("judge", *_PEOPLE_COLUMNS):
        value = cells.parse_list(line.row.get(name))
        if isinstance(value, (list, tuple)) and value:  # MT-Bench's (model, prompt)
            return text_of(value[0])
        if text := text_of(value).strip():
            return f"human:{text}" if name in _PEOPLE_COLUMNS else text
    return UNNAMED_JUDGE


def _question_and_answers(line: RowCells) -> tuple[str, tuple[str, str]]:
    """Return the question and both answers of a row; "" for a text that is missing. They are taken
    from the row's two conversations, up to its `turn`; if one of these is missing, from columns of
    plain text."""
    turns = [cells.parse_conversation(line.row.get(f"conversation_{side}")) for side in "ab"]
    if all(turns):
        turn = line.text("turn")
        last = 2 * int(turn) if turn.isdigit() and turn != "0" else None
        spoken = [[one for one in side if one["role"] != "system"] for side in turns]
        split = [cells.split_conversation(side[:last]) for side in spoken]
        (question, first), (_, second) = (cells.join_turns(*one) for one in split)
        return question, (first, second)
    texts = (line.text(name) for name in _QUESTION_COLUMNS)  # a number is the id of a question
    question = next((text for text in texts if text.strip() and not text.strip().isdigit()), "")
    first, second = (line.text(f"response_{side}", f"answer_{side}") for side in "ab")
    return question, (first, second)


# ---- AutoArena -------------------------------------------------------------------------------


def _why_matches_autoarena(table: SourceTable) -> str:
    words = _winner_values_of_first_rows(table)
    if table.has_columns("model_a", "model_b", "winner") and words <= {*_AUTOARENA_WINNERS}:
        return "winner is A, B or -: AutoArena's head-to-heads" if words else ""
    others = {"winner", "gradingResult", "model", "judge", "score", "rating"}
    if table.has_columns("prompt", "response") and not others & {*table.columns}:
        return "prompt and response are AutoArena's answers of one model"
    return ""


@reads(
    "autoarena", "AutoArena answers or head-to-heads", "pairs, order unknown; items",
    _why_matches_autoarena,
)  # fmt: skip
def read_autoarena(source: OpenedSource) -> SourceBuilder:
    """Read AutoArena's head-to-heads, or its answers, one file per model.

    Judges saw the answers in a shuffled order that is not recorded: position measures are disabled.
    A column `human` with winners counts as votes by people.
    """
    if not source.rows.has_columns("winner"):
        return _read_answers(source)
    builder, words = SourceBuilder(), {**WINNER_WORDS, **_AUTOARENA_WINNERS}
    votes = _find_column_of_votes(source.rows, words, "model_a", "model_b")
    for line in source.cells():
        names = line.require_two_texts("model_a", "model_b")
        if builder.note_if_self_comparison(names, line.where):
            continue
        question = line.text("prompt")
        texts = {
            name: line.text(f"response_{side}") for name, side in zip(names, "ab", strict=True)
        }
        id = id_from_text("prompt", question) if question else line.row_id
        item = builder.add_item(id, question, texts, where=line.where)
        judge, reply = line.text("judge", "judge_name") or "recorded", line.text("explanation")
        pick = line.pick("winner", _AUTOARENA_WINNERS)
        builder.add_verdict_or_vote(item, judge, "autoarena", names, pick, known=False, reply=reply)
        chosen = line.pick(votes, {**words, names[1]: 1, names[0]: 0}) if votes else None
        builder.add_better_answer(item, names, chosen, votes)
    return builder


def _read_answers(source: OpenedSource) -> SourceBuilder:
    """Read the answers in this file (the name of the file is the model), and the answers to the
    same questions in the files of `data.files`."""
    builder = SourceBuilder()
    files = {name_without_ending(source.path): source.rows} | source.read_other_files()
    questions = list(dict.fromkeys(line.require_text("prompt") for line in source.cells()))
    keys = [(question.strip(),) for question in questions]
    answers, builder.join = join.join_answers(keys, ("prompt",), files, lambda _, __: "response")
    for question, responses in zip(questions, answers, strict=True):
        id = id_from_text("prompt", question)
        builder.add_item(id, question, responses, where=source.rows.name)
    return builder


# ---- LMSYS's Kaggle set ----------------------------------------------------------------------

_KAGGLE: Final[dict[str, Pick]] = {"winner_model_a": 0, "winner_model_b": 1, "winner_tie": "tie"}


@reads(
    "kaggle",
    "LMSYS's Kaggle set",
    "votes, order known",
    {
        ", ".join(("model_a", "model_b", *_KAGGLE)): "winner_model_a, winner_model_b and "
        "winner_tie are LMSYS's Kaggle set"
    },
)
def read_kaggle(source: OpenedSource) -> SourceBuilder:
    """Read LMSYS's Kaggle set: `winner_model_a`, `winner_model_b`, `winner_tie`.

    Votes of people; exactly one of the three columns is 1.
    """
    builder = SourceBuilder()
    for line in source.cells():
        names = line.require_two_texts("model_a", "model_b")
        prompts, *replies = (
            cells.parse_texts(line.row.get(name)) for name in ("prompt", "response_a", "response_b")
        )
        (question, first), (_, second) = (cells.join_turns(prompts, reply) for reply in replies)
        if builder.note_if_self_comparison(names, line.where):
            continue
        id = line.text("id") or id_from_text("battle", question, first, second)
        item = builder.add_item(id, question, {names[0]: first, names[1]: second}, where=line.where)
        marked = [name for name in _KAGGLE if line.number(name) == 1]
        if len(marked) != 1:
            raise line.error(
                f"exactly one of {', '.join(_KAGGLE)} must be 1; {len(marked)} are "
                "1; correct the row or remove it"
            )
        builder.add_person_verdict(item, "arena", names, _KAGGLE[marked[0]])
    return builder


# ---- VisIT-Bench's preferences and battles ---------------------------------------------------

_SIDES: Final = "A_model, B_model, instruction"
_SELECTED: Final = ("model_selection.A", "model_selection.B")
_RESULT: Final = "auto_evaluation_result"
_PEOPLE: Final = ("worker_id", "worker", "annotator", "annotator_id", "user_id")
_STATED: Final = re.compile(r"Response ([AB]) is better")


@reads(
    "visit-battles",
    "VisIT-Bench's human preferences and battles",
    "votes; pairs in both orders",
    {
        f"{_SIDES}, {', '.join(_SELECTED)}": "A_model, B_model and model_selection are "
        "VisIT-Bench's human preferences",
        f"{_SIDES}, {_RESULT}": "A_model, B_model and auto_evaluation_result are VisIT-Bench's "
        "battles",
    },
)
def read_visit_battles(source: OpenedSource) -> SourceBuilder:
    """Read VisIT-Bench's human-preference CSV and battle JSON lines.

    People: order unknown, the preferred answer is marked in `model_selection.A` or
    `model_selection.B`; battles: `auto_evaluation_result` has the verdicts in both orders.
    """
    builder, people = SourceBuilder(), source.rows.has_columns(*_SELECTED)
    meaning = "" if people else _meaning_of_second_verdict(source.rows)
    votes: dict[tuple[str, ...], int] = defaultdict(int)
    for line in source.cells():
        names = line.require_two_texts("A_model", "B_model")
        if builder.note_if_self_comparison(names, line.where):
            continue
        question, image = line.require_text("instruction"), line.text("image_url", "image")
        item = builder.add_item(
            id_from_text("visit", image, question),
            question,
            {name: line.text(side) for name, side in zip(names, "AB", strict=True)},
            where=line.where,
            category=line.text("instruction_category"),
            images=(image,) if image else (),
        )
        if people:
            votes[item, *sorted(names)] += 1
            person = line.text(*_PEOPLE) or f"annotator-{votes[item, *sorted(names)]}"
            builder.add_person_verdict(item, person, names, _selected_slot(line), known=False)
        else:
            _add_battle(builder, line, item, names, meaning)
    if people:
        builder.notes.append("the order in which people saw the answers is not recorded")
    elif not meaning:
        builder.notes.append(
            "only the first verdict of each pair was read: without auto_evaluation_cot the file "
            "does not tell which answer the second verdict calls A"
        )
    return builder


def _selected_slot(line: RowCells) -> Pick:
    """Return the slot that a person selected; "tie" if both or neither were selected, None if one
    of the two cells is neither true nor false."""
    marks = [cells.FLAGS.get(line.text(name).strip().casefold()) for name in _SELECTED]
    if None in marks:
        return None
    return "tie" if marks[0] == marks[1] else marks.index(True)


def _battle_verdicts_and_replies(row: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the one or two verdicts of a battle, and the judge's replies that they were read
    from."""
    results, replies = (
        cells.parse_texts(row.get(name)) for name in (_RESULT, "auto_evaluation_cot")
    )
    return results, replies


def _add_battle(
    builder: SourceBuilder, line: RowCells, item: str, names: tuple[str, str], meaning: str
) -> None:
    """Add the one or two verdicts of a battle between the models `names`; the second verdict is on
    the answers in the other order. `meaning` states what A and B mean in the second verdict: the
    positions there ("as shown") or the models, as in the first verdict ("models"). If it is "", the
    second verdict is left out."""
    with_reference = line.text("evaluated_with_reference").casefold() == "true"
    prompt = "visit-reference-backed" if with_reference else "visit-reference-free"
    judge = line.text("engine") or "recorded"
    results, replies = _battle_verdicts_and_replies(line.row)
    for query, result in enumerate(results[: 2 if meaning else 1]):
        shown = names if query == 0 else names[::-1]
        letters, word = shown if meaning == "as shown" else names, result.strip()
        pick: Pick = "tie" if word.casefold() == "tie" else None
        if word in names:
            pick = shown.index(word)
        elif word.upper() in ("A", "B"):
            pick = shown.index(letters["AB".index(word.upper())])
        reply = replies[query] if query < len(replies) else ""
        builder.add_verdict(item, judge, prompt, shown, pick, reply=reply)


def _meaning_of_second_verdict(table: SourceTable) -> str:
    """Return what A and B mean in the second verdicts of a table, which were given on the
    swapped answers: "as shown" (the positions there), "models" (the models, as in the first
    verdict), or "" if it is unknown.

    The judge's reply names the winner by position. If most verdicts have the same letter as
    the reply, they mean positions. If most differ, or if a verdict is the name of a model,
    they mean models. If both are equally frequent or there are no replies, it is unknown."""
    same = named = 0
    for row in table.rows:
        results, replies = _battle_verdicts_and_replies(row)
        if len(results) < 2:
            continue
        named += results[1] in (row.get("A_model"), row.get("B_model"))
        stated = _STATED.findall(replies[1]) if len(replies) > 1 else []
        letter = results[1].strip().upper()
        if stated and letter in ("A", "B"):
            same += 1 if letter == stated[-1] else -1
    return "models" if named or same < 0 else "as shown" if same else ""
