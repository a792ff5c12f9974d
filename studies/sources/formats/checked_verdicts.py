"""Format of verdicts on single answers, with the right verdicts: columns such as `verdict` and
`label`, or `score` and `human_score`.

Both columns contain pass/fail words or numbers on one scale. An unknown word is a SourceError that
asks for its meaning, because a wrong guess would reverse every verdict.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Set
from typing import Any, Final

from studies import domain, errors
from studies.files.tables import SourceTable
from studies.sources.building.builder import SourceBuilder
from studies.sources.cells import RowCells, id_from_text
from studies.sources.source_format import OpenedSource, reads

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "item": ("item", "id", "item_id"),
    "contestant": ("contestant", "model"),
    "judge": ("judge",),
    "prompt": ("prompt",),
    "group": ("group", "category"),
    "instruction": ("question", "instruction"),
    "response": ("response", "answer"),
    "reply": ("reply", "reason"),
    "source": ("labeller", "label_source"),
    "policy": ("policy",),
}
"""Optional field -> names that its column may have; a pair of VERDICT_COLUMNS is required."""
VERDICT_COLUMNS: Final = (
    ("verdict", "label"), ("verdict", "human_label"), ("score", "human_score"),
    ("judge_verdict", "human_label"), ("judge_verdict", "label"), ("verdict", "human_verdict"),
    ("judge_verdict", "human_verdict"), ("judge_label", "human_label"),
    ("rating", "human_rating"), ("judge_score", "human_score"), ("judge_rating", "human_rating"),
)  # fmt: skip
"""Pairs of column names: the judge's verdict, and the label (right verdict) of the same answer."""
_OF_TWO_ANSWERS: Final = re.compile(r"(response|answer|output|model|assistant)[_ ]?[ab12]")
"""Pattern of a column that shows that a table compares two answers; verdicts 1 and 2 in such a
table are no scores."""
PASS_WORDS: Final = frozenset({"pass", "true", "yes", "1"})
FAIL_WORDS: Final = frozenset({"fail", "false", "no", "0"})
_UNUSABLE_WORDS: Final[dict[str, domain.Status]] = {
    name: name for name in domain.STATUSES if name not in domain.USABLE_STATUSES
}
MAX_NAMED_WORDS: Final = 5


def _columns_by_lower_case_name(table: SourceTable) -> dict[str, str]:
    """Return column name in lower case, with _ for blanks -> column name as in the file."""
    names = reversed(table.columns)
    return {"_".join(column.casefold().split()): column for column in names}


def _why_matches_verdict_table(table: SourceTable) -> str:
    folded = _columns_by_lower_case_name(table).keys()
    pair = next((pair for pair in VERDICT_COLUMNS if set(pair) <= folded), None)
    if pair is None or "winner" in folded or any(map(_OF_TWO_ANSWERS.fullmatch, folded)):
        return ""
    return f"{pair[0]} and {pair[1]} are verdicts on single answers beside their labels"


@reads(
    "verdict-label", "verdicts on single answers beside their labels: verdict, label",
    "single verdicts with labels", _why_matches_verdict_table,
)  # fmt: skip
def read_checked_verdicts(source: OpenedSource) -> SourceBuilder:
    """Read verdicts on single answers beside labels: `verdict`, `label` or `score`, `human_score`.

    Pass/fail, true/false, yes/no, 1/0, or numbers on one scale; any other word is an error that
    asks for its meaning. Empty label: an unlabelled verdict; empty verdict, or the name of a status
    such as `refusal`: an unusable reply. Several raters of one answer have a row each and are named
    in `labeller`: the verdict counts once, and their labels by majority or mean. Optional: `item`,
    `contestant`, `judge`, `prompt`, `group`, `question`, `response`, `reply`, `labeller`, `policy`.
    """
    table, builder = source.rows, SourceBuilder()
    folded = _columns_by_lower_case_name(table)
    fields = {
        field: folded[name]
        for field, names in COLUMNS.items()
        for name in reversed(names)
        if name in folded
    }
    pair = next(pair for pair in VERDICT_COLUMNS if set(pair) <= folded.keys())
    verdicts, labels = folded[pair[0]], folded[pair[1]]
    by_question = {"instruction", "contestant"} <= fields.keys() and "item" not in fields
    pass_fail = _is_pass_fail(table, verdicts, labels)
    known: dict[tuple[str, str, str], tuple[float, str]] = {}
    judged: dict[tuple[str, ...], set[str]] = defaultdict(set)
    """Verdict on an answer -> names of the raters who labelled this answer, one row for each."""
    options = domain.PASS_FAIL_OPTIONS if pass_fail else ()
    for line in source.cells():
        where, text = line.where, defaultdict[str, str](str)
        text |= {field: line.text(column).strip() for field, column in fields.items()}
        contestant = text["contestant"] or "answer"
        question, answers = text["instruction"], {contestant: text["response"]}
        # A question that several models answered is one item, also where the file has no ids.
        named = text["item"] or (id_from_text("question", question) if by_question else "")
        item = builder.add_item(
            named or line.row_id, question, answers, where=where, category=text["group"]
        )
        by = (text["judge"] or "judge", text["prompt"] or "recorded")
        word = _read_lower_case_word(line, verdicts)
        status = _UNUSABLE_WORDS.get(word)
        facts: dict[str, Any] = {"labels": options, "status": status, "reply": text["reply"]}
        score = None if status else _word_to_score(word, pass_fail)
        given_by, policy = text["source"] or domain.GOLD, text["policy"]
        raters = judged[item, contestant, *by, word, text["reply"]]
        if not raters or given_by in raters:  # else the same verdict beside another rater's label
            builder.add_rating(item, *by, contestant, score, **facts)
        raters.add(given_by)
        label = _word_to_score(_read_lower_case_word(line, labels), pass_fail)
        if label is None:
            continue
        earlier, place = known.setdefault((item, contestant, given_by), (label, where))
        if earlier != label:
            raise errors.SourceError(
                f"{where}: the label of {contestant!r} on item {item!r} differs from that in "
                f"{place}; keep one of the two labels"
            )
        right: Any = (domain.PASS if label else domain.FAIL) if pass_fail else label
        builder.add_label(item, domain.AnswerLabel(contestant, right, given_by, policy=policy))
    used = {verdicts, labels, *fields.values()}
    if ignored := [column for column in table.columns if column not in used]:
        builder.notes.append(f"columns not read: {', '.join(ignored)[:300]}")
    return builder


def make_label_reader(table: SourceTable, column: str) -> Callable[[RowCells], Any]:
    """Return a function that reads the label of a row from the column: "pass" or "fail" (or, if
    the column has numbers, a number), None for an empty cell. If `column` is "", the function
    always returns None. SourceError if it is unclear whether a word means pass or fail."""
    pass_fail = bool(column) and _is_pass_fail(table, column, column)

    def read_label(line: RowCells) -> Any:
        label = _word_to_score(_read_lower_case_word(line, column), pass_fail) if column else None
        return (domain.PASS if label else domain.FAIL) if pass_fail and label is not None else label

    return read_label


def _read_lower_case_word(line: RowCells, column: str) -> str:
    """Return the text of a cell in lower case; 1.0 and 0.0 become "1" and "0"."""
    word = line.text(column).strip().casefold()
    return {"1.0": "1", "0.0": "0"}.get(word, word)


def _word_to_score(word: str, pass_fail: bool) -> float | None:
    """Return the score of a word: if `pass_fail`, 1 for a word that means pass and 0 for any other,
    else its number; None for an empty cell."""
    return (float(word in PASS_WORDS) if pass_fail else float(word)) if word else None


def _is_pass_fail(table: SourceTable, verdicts: str, labels: str) -> bool:
    """Whether the two columns contain words for pass and fail, or only 0 and 1, not numbers on a
    scale. SourceError if one has words and the other a scale, or if a word is unclear."""
    kinds = {}
    for column in (verdicts, labels):
        skipped = {"", *(_UNUSABLE_WORDS if column == verdicts else ())}
        words: dict[str, int] = {}
        for index, row in enumerate(table.rows):
            words.setdefault(_read_lower_case_word(RowCells(row), column), index)
        found = {word: index for word, index in words.items() if word not in skipped}
        kinds[column] = _kind_of_column_values(found.keys())
        if kinds[column] == "unclear":
            raise errors.SourceError(_unclear_words_message(table, column, found))
    if set(kinds.values()) == {"words", "numbers"}:
        named, numbers = sorted(kinds, key=lambda column: kinds[column] == "numbers")
        raise errors.SourceError(
            f"{table.name}: column {named!r} holds pass or fail, column {numbers!r} numbers. "
            "The lowest passing number is unknown: write pass or fail in both columns"
        )
    return "numbers" not in kinds.values()


def _kind_of_column_values(words: Set[str]) -> str:
    """Return what the values of a column are: "binary" (nothing but 0 and 1), "words" (words for
    pass and fail), "numbers", or "unclear"."""
    if words <= {"0", "1"}:
        return "binary"
    if words <= PASS_WORDS | FAIL_WORDS:
        return "words"
    return "numbers" if all(map(_is_number, words)) else "unclear"


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def _unclear_words_message(table: SourceTable, column: str, words: Mapping[str, int]) -> str:
    """Return the error message that asks whether unknown words in a column mean pass or fail.
    `words`: word -> index of its first row."""
    unclear = [word for word in words if word not in PASS_WORDS | FAIL_WORDS]
    listed = ", ".join(repr(word) for word in sorted(unclear)[:MAX_NAMED_WORDS])
    first = min(unclear, key=lambda word: words[word])
    return (
        f"{table.row_place(words[first])}: column {column!r}: does {first!r} mean pass or fail? "
        f"Unclear words: {listed}. Replace each by pass or fail (also true, false, yes, no, 1, 0), "
        "or leave the cell empty"
    )[:400]
