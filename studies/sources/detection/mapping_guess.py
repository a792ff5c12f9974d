"""Guess which field each column of an unknown table contains, as a suggestion in the form."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from studies.files.tables import text_of
from studies.frames.winner_words import PEOPLE_COLUMNS

Rows = Sequence[Mapping[str, Any]]
_NAMES_BY_FIELD: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("id", "qid", "question_id", "prompt_id", "item_id", "item", "index", "uid", "idx"),
    "instruction": ("instruction", "question", "prompt", "query", "input", "input_text", "task",
                    "q"),
    "category": ("category", "subset", "topic", "skill", "domain", "category_tag", "type", "tag"),
    "context": ("context", "caption", "description", "passage"),
    "images": ("image", "images", "image_url", "image_path"),
    "reference": ("reference", "reference_answer", "ideal", "gold_answer"),
    "ground_truth": ("ground_truth", "groundtruth", "truth", "target"),
    "first": ("first", "left", "model_1", "shown_first"),
    "second": ("second", "right", "model_2", "shown_second"),
    "a": ("model_a", "a", "system_a", "generator_1"),
    "b": ("model_b", "b", "system_b", "generator_2"),
    "response_first": ("response_first", "answer_first", "response_1", "response1", "answer_1"),
    "response_second": ("response_second", "answer_second", "response_2", "response2", "answer_2"),
    "response_a": ("response_a", "answer_a", "output_a", "output_1", "completion_a"),
    "response_b": ("response_b", "answer_b", "output_b", "output_2", "completion_b"),
    "winner": ("winner", "verdict", "preferred", "preference", "decision", "choice", "result"),
    "judge": ("judge", "judge_model", "evaluator", "judge_name"),
    "person": ("annotator", "worker", "voter", "user", "rater", "person", "annotator_id"),
    "prompt": ("judge_prompt", "template", "prompt_name"),
    "reply": ("reply", "judgment", "judgement", "rationale", "explanation", "raw", "completion"),
    "contestant": ("contestant", "model", "generator", "system", "model_id", "model_name"),
    "response": ("response", "output", "answer", "prediction", "completion", "text"),
    "gold": ("gold", "gold_label", "gold_winner"),
    "human": PEOPLE_COLUMNS,
    "label": ("human_score", "human_rating", "human_label", "gold_score", "label"),
    "score": ("score", "rating"),
    "score_first": ("score_first", "score_1", "rating_1"),
    "score_second": ("score_second", "score_2", "rating_2"),
    "score_a": ("score_a", "rating_a"),
    "score_b": ("score_b", "rating_b"),
    "rank": ("rank", "human_rank"),
}  # fmt: skip
_ANSWER_WORD: Final = (
    r"(?:(?:response|answer|output|prediction|completion|generation|candidate|resp|"
    r"ans)s?)"
)
_BETWEEN: Final = " _.:-"
_STARTS: Final = re.compile(rf"{_ANSWER_WORD}(?=[{_BETWEEN}].)", re.IGNORECASE)
_ENDS: Final = re.compile(rf"(?<=.[{_BETWEEN}]){_ANSWER_WORD}\Z", re.IGNORECASE)
_SIDE_FIELDS: Final = (("first", "second"), ("a", "b"))
_COMPARISON_FIELDS: Final = (
    "winner", *(f for sides in _SIDE_FIELDS for side in sides for f in (side, f"score_{side}")),
)  # fmt: skip
"""Fields that a guess may contain only if two columns name the two models of a comparison."""


def guess_mapping(columns: Sequence[str], rows: Rows) -> dict[str, str]:
    """Guess a mapping column -> field from the names and texts of the columns.

    Guessed questions and answers are filled into the form, which shows the resulting comparisons;
    guessed verdicts are never used without confirmation.
    """
    columns = [column for column in columns if not _is_nested(column, rows)]
    named = _correct_name_columns_with_long_texts(_guess_by_name(columns), rows)
    guess = _keep_fitting_guesses(named, rows)
    replies = [column for column in columns if _has_verdict_marks(column, rows)]
    if replies and "reply" not in guess.values():
        guess[replies[0]] = "reply"
    columns = [c for c in columns if c not in replies and (c in guess or c not in named)]
    guess = _use_model_columns_as_answers(guess)
    fields = set(guess.values())
    if both_orders := _adapt_guess_to_both_orders(guess, rows):
        return both_orders
    if not any(x in fields and y in fields for x, y in _SIDE_FIELDS):
        # without columns of model names, the name of a column of answers is the contestant's
        guess = {
            column: f"responses.{column}" if field.startswith("response_") else field
            for column, field in guess.items()
            if field not in _COMPARISON_FIELDS
        }
    if "contestant" not in fields:
        guess = {c: f for c, f in guess.items() if f != "score"}
    whole = ({"contestant", "response"}, {"contestant", "score"}, *map(set, _SIDE_FIELDS))
    if any(needed <= set(guess.values()) for needed in whole):
        own = "response" in guess.values()  # the only answer of the row
        return {c: f for c, f in guess.items() if f != "label" or (own and _has_labels(c, rows))}
    guess = {column: field for column, field in guess.items() if field != "contestant"}
    for column in columns:
        if column not in guess or guess[column] == "response":
            if name := _contestant_in_name(column):
                guess[column] = f"responses.{name}"
            elif guess.get(column) != "response" and _has_long_texts(column, rows):
                guess[column] = f"responses.{column}"
    made = {
        column: f"responses.{column}" if field == "response" else field
        for column, field in guess.items()
    }
    made = _add_question_column_to_guess(made, columns, rows)
    single = sum(field.startswith("responses.") for field in made.values()) == 1
    if single and "label" not in made.values():  # people choose between answers, and label one
        made = {c: "label" if field == "human" else field for c, field in made.items()}
    return {c: f for c, f in made.items() if f != "label" or (single and _has_labels(c, rows))}


def _adapt_guess_to_both_orders(guess: Mapping[str, str], rows: Rows) -> dict[str, str]:
    """Return the guess (column -> field) for a table that shows pairs of answers in both orders:
    its two columns of answers then contain the answers shown first and second.

    Such a table has winners, no names of models, and at least one question whose two answers
    occur in both orders. For any other table return {}."""
    columns = {field: column for column, field in guess.items()}
    fields = columns.keys()
    sides = next((s for s in _SIDE_FIELDS if {f"response_{side}" for side in s} <= fields), None)
    models = {side for pair in _SIDE_FIELDS for side in pair}
    if sides is None or models & fields or not {"instruction", "winner"} <= fields:
        return {}
    shown = {f"response_{side}": f"response_{order}" for side, order in zip(
        sides, _SIDE_FIELDS[0], strict=True)}  # fmt: skip
    cells = [columns["instruction"], *(columns[field] for field in shown)]
    pairs = {tuple(text_of(row.get(column)).strip() for column in cells) for row in rows}
    if not any(one != two and (asked, two, one) in pairs for asked, one, two in pairs):
        return {}
    unread = {"contestant", "label", "response", "score", "rank"}
    unread |= {f"{part}_{side}" for part in ("response", "score") for side in models}
    return {
        column: shown.get(field, field)
        for column, field in guess.items()
        if field in shown or field not in unread
    }


def find_unused_winner_column(columns: Sequence[str], mapping: Mapping[str, str]) -> str:
    """Return a column whose name, such as `winner`, says that it contains winners, but which the
    mapping does not use; "" if there is none, or if another column is mapped to winners."""
    fields = ("gold", "human", "winner")
    if set(fields) & set(mapping.values()):
        return ""
    names = {name for field in fields for name in _NAMES_BY_FIELD[field]}
    return next((c for c in columns if c.casefold().strip() in names and c not in mapping), "")


def _has_labels(column: str, rows: Rows) -> bool:
    """Whether the texts of a column are numbers, or words for pass and fail."""
    words = {text_of(row.get(column)).strip().casefold() for row in rows} - {""}
    return bool(words) and all(map(_LABEL_WORD.fullmatch, words))


def _add_question_column_to_guess(
    guess: dict[str, str], columns: Sequence[str], rows: Rows
) -> dict[str, str]:
    """Return the guess (column -> field), with a column for the question added if it has none:
    the first column that contains sentences. It is added only if at least two other columns
    are answers; columns such as `gpt4_response` are not taken for it."""
    if "instruction" in guess.values():
        return guess
    free = [
        column
        for column in columns
        if (column not in guess or guess[column] == f"responses.{column}")
        and not _contestant_in_name(column)
        and _has_sentences(column, rows)
    ]
    answers = [c for c, f in guess.items() if f.startswith("responses.") and c not in free[:1]]
    return {**guess, free[0]: "instruction"} if free and len(answers) >= 2 else guess


def _guess_by_name(columns: Sequence[str]) -> dict[str, str]:
    """Return a guess (column -> field) from the names of the columns alone. Each field has a list
    of known column names, best first, and gets the first of these columns that exists and that
    no other field has taken."""
    by_fold = {column.casefold().strip(): column for column in reversed(columns)}
    guess: dict[str, str] = {}
    for field, names in _NAMES_BY_FIELD.items():
        for name in names:
            column = by_fold.get(name)
            if column is not None and column not in guess:
                guess[column] = field
                break
    return guess


_NAME_FIELDS: Final = ("id", "first", "second", "a", "b", "contestant", "judge", "person", "winner")


def _correct_name_columns_with_long_texts(guess: dict[str, str], rows: Rows) -> dict[str, str]:
    """Return the guess (column -> field), corrected for columns that should contain names but
    contain long texts.

    A column taken for model names, such as `first`, becomes one of answers
    (`response_first`), and `person` becomes the question. If another column has that field
    already, the column is dropped from the guess."""
    corrected: dict[str, str] = {}
    for column, field in guess.items():
        if field not in _NAME_FIELDS or not _has_long_texts(column, rows):
            corrected[column] = field
        elif any(field in sides for sides in _SIDE_FIELDS):
            if f"response_{field}" not in guess.values():
                corrected[column] = f"response_{field}"
        elif field == "person" and "instruction" not in guess.values():
            corrected[column] = "instruction"  # long texts of "user" are the user's messages
    return corrected


def _use_model_columns_as_answers(guess: dict[str, str]) -> dict[str, str]:
    """Return the guess (column -> field). If no column has answers or a verdict, columns taken
    for the names of two models, such as `a` and `b`, become their answers, because names
    alone contain no comparison."""
    about = ("winner", "reply", "gold", "human", "response", "score")
    if any(field.startswith(about) for field in guess.values()):
        return guess
    sides = {side for pair in _SIDE_FIELDS for side in pair}
    return {
        column: f"response_{field}" if field in sides else field for column, field in guess.items()
    }


_LABEL_WORD: Final = re.compile(r"-?\d+(\.\d+)?|pass|fail|true|false|yes|no")
_NUMBER_FIELDS: Final = (
    "score",
    "rank",
    *(f"score_{side}" for pair in _SIDE_FIELDS for side in pair),
)
_MODEL_FIELDS: Final = ("first", "second", "a", "b", "contestant", "judge")
_MAX_WINNERS: Final = 12
_VERDICT_MARK: Final = re.compile(
    r"\[\[[ABC]?[\d.<>=]*\]\]|\b(?:final|overall) (?:verdict|decision|judge?ment)\b|"
    r"\b(?:assistant|response|answer) [AB12] (?:is|wins|performs)\b",
    re.IGNORECASE,
)
"""Pattern of texts such as [[A]] or "final verdict", which are in a judge's reply but not in an
answer."""


def _keep_fitting_guesses(guess: dict[str, str], rows: Rows) -> dict[str, str]:
    """Return the guesses (column -> field) that fit the values of their columns.

    Scores and ranks must be numbers; names of models and answers must not. A column of winners must
    have few different values. Only the field `reply` may contain a judge's replies.
    """
    kept = {}
    for column, field in guess.items():
        values = [text for row in rows[:50] if (text := text_of(row.get(column)).strip())]
        numbers = bool(values) and all(_is_number(text) for text in values)
        if (
            (field in _NUMBER_FIELDS and values and not numbers)
            or (field in _MODEL_FIELDS and numbers)
            or (field == "winner" and len(set(values)) > _MAX_WINNERS)
            or (field.startswith("response") and numbers)
            or (field != "reply" and _has_verdict_marks(column, rows))
        ):
            continue
        kept[column] = field
    return kept


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _has_verdict_marks(column: str, rows: Rows) -> bool:
    """Whether most of the texts in a column (of more than 20 characters, in the first 50 rows)
    contain a text that is typical of a judge's reply, such as [[A]]."""
    texts = [text for row in rows[:50] if len(text := text_of(row.get(column)).strip()) > 20]
    return bool(texts) and 2 * sum(bool(_VERDICT_MARK.search(text)) for text in texts) > len(texts)


def first_rows_under_mapping(guess: Mapping[str, str], rows: Rows) -> str:
    """Return one text with the values that a guessed mapping reads from the first three rows."""
    lines = []
    for number, row in enumerate(rows[:3], 1):
        cells = (f"{field}: {_short_quote(row.get(column))}" for column, field in guess.items())
        lines.append(f"row {number}: {'; '.join(cells)}")
    return " | ".join(lines)


def _short_quote(value: Any) -> str:
    text = " ".join(text_of(value).split())
    return repr(text if len(text) <= 30 else f"{text[:29]}…")


def _contestant_in_name(column: str) -> str:
    """Return the contestant in a column name, such as gpt4 in `gpt4_response`; "" without one."""
    name = column.strip()
    if "\n" in name:
        return ""
    if start := _STARTS.match(name):
        return name[start.end() :].lstrip(_BETWEEN) or name[-1]
    if end := _ENDS.search(name):
        return name[: end.start()].rstrip(_BETWEEN) or name[0]
    return ""


def _is_nested(column: str, rows: Rows) -> bool:
    """Whether a column contains, in the first rows, an object or a list of objects or lists. A list
    of strings, such as images, does not count."""
    values = [row.get(column) for row in rows[:50]]
    inner = [part for value in values if isinstance(value, list) for part in value]
    return any(isinstance(v, dict) for v in values) or any(
        isinstance(v, dict | list) for v in inner
    )


def _has_sentences(column: str, rows: Rows) -> bool:
    return _mean_length([text_of(row.get(column)).split() for row in rows[:50]]) >= 4


def _has_long_texts(column: str, rows: Rows) -> bool:
    texts = [text_of(row.get(column)) for row in rows[:50]]
    return _mean_length([text for text in texts if text.strip()]) > 40


def _mean_length(parts: Sequence[Sequence[str]]) -> float:
    """Return the mean length of the parts that are not empty; 0 without any."""
    filled = [len(part) for part in parts if part]
    return sum(filled) / len(filled) if filled else 0
