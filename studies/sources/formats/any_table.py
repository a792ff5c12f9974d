"""Format `table`: any table, read by a mapping of its columns to fields.

A row is a question with one column per answer (`responses.<name>`), one contestant's answer
(`contestant`, `response`, `score`), or a comparison (`first`, `second`, `winner`). Columns may be
nested (`answer1.name`, `answers[].text`).
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from studies.domain import BY_DESIGN, HUMAN_PREFIX, AnswerLabel
from studies.errors import SourceError, StudyError
from studies.files.table_formats.nested_columns import expand_nested_paths, list_nested_paths
from studies.files.tables import SourceTable, text_of
from studies.frames.winner_words import WINNER_WORDS
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import FLAGS, MappedCells, cells_of, id_from_text
from studies.sources.formats import checked_verdicts, visit_bench
from studies.sources.join import join_answers, join_key_of_row
from studies.sources.source_format import OpenedSource, reads
from studies.spec.field_reader import suggest_word

MAPPING_FIELDS: Final = {
    "id": "the question's id",
    "instruction": "the question",
    "category": "its category",
    "context": "a description of its images, or other material",
    "images": "addresses or paths of images",
    "reference": "a reference answer",
    "ground_truth": "the right answer",
    "criteria.subjective": "criteria for the judge",
    "criteria.factuality": "criteria of visual factuality",
    "contestant": "the model whose answer is in the row",
    "response": "that answer",
    "rank": "the rank people gave it (1 is best)",
    "first": "the model shown first",
    "second": "the model shown second",
    "a": "one model, order unknown",
    "b": "the other model, order unknown",
    "response_first": "the answer shown first",
    "response_second": "the answer shown second",
    "response_a": "the answer of a",
    "response_b": "the answer of b",
    "swap": "whether the answers were shown in the other order (true or false), or the model shown "
    "first; a winner such as A is then the answer shown first",
    "winner": "the winner: a model's name, A, B, 1, 2, first, second or tie",
    "winner_index": "the winner counted from 0: 0 for the first, 1 for the second, 2 for a tie",
    "gold": "the answer known to be better, not a person's vote; as winner",
    "human": "the answer that people prefer, counted as one vote; as winner",
    "label": "the right verdict on the only answer in the row: pass, fail or a score",
    "score": "the score of the answer in the row",
    "score_first": "the score of the answer shown first",
    "score_second": "the score of the answer shown second",
    "score_a": "the score of a",
    "score_b": "the score of b",
    "judge": "the judge's name",
    "person": "the name of a human judge",
    "prompt": "the judge's prompt",
    "reply": "the judge's reply; without a winner or score, the verdict is read from it",
}
"""Fields that a column can be mapped to, besides `responses.<model>` and `meta.<name>`."""
PICK_BY_WINNER: Final[dict[str, Pick]] = {**WINNER_WORDS, "1": 0, "2": 1}
"""Word for the winner in a mapped column -> pick; numbers count from 1."""
MUCH_BETTER: Final = ("a>>b", "b>>a")
"""Winner words that mean "much better" (a margin of 2)."""
_WINNER_HINT: Final = "correct the cell, or map another column"
_ORDER_WORDS: Final = {
    "ab": False, "original": False, "normal": False, "forward": False, "ba": True,
    "swapped": True, "reversed": True, "reverse": True, "flipped": True,
}  # fmt: skip
"""Word in the field `swap` -> whether the answers were shown in the other order than in the row."""
_INDEX_WORDS: Final[dict[str, Pick]] = {"0": 0, "1": 1, "2": "tie", "-1": "tie", "tie": "tie"}
_SIDES: Final = (("first", "second"), ("a", "b"))
"""Two pairs of fields that name the models of a comparison: `first` and `second` in the order
shown, `a` and `b` in an order that is unknown unless another field states it."""
_OF_SIDES: Final = ("response", "score")
"""First parts of the fields that each of the two models has, such as `response` in `response_a`."""
_LABEL_ERROR: Final = (
    "data.mapping: {column!r} is mapped to 'label', the right verdict on one answer, and this "
    "table has {answers} in a row; if it names the better answer, map it to 'gold' or 'human'"
)
Sides = tuple[str, str]
UNNAMED: Final[Sides] = ("answer A", "answer B")
"""Names of the two contestants in a file that does not name them."""


@reads("table", "any table, with its columns mapped", "what the mapping says")
def read_any_table(source: OpenedSource) -> SourceBuilder:
    """Read any table, with `--mapping column=field`.

    The page guesses the mapping; it applies a guess of questions and answers, a guess of verdicts
    only after confirmation.
    """
    builder, table = SourceBuilder(), expand_nested_paths(source.rows, source.spec.mapping)
    check_mapping(source.spec.mapping, table)
    fields = {field: column for column, field in source.spec.mapping.items()}
    rows = [MappedCells(line.row, line.where, line.index, fields) for line in cells_of(table)]
    sides = next((sides for sides in _SIDES if set(sides) <= fields.keys()), None)
    _check_both_models_mapped(fields)
    if sides or {"winner", "winner_index"} & fields.keys():
        sides = sides or (_SIDES[0] if _has_answers_without_models(fields) else _SIDES[1])
        if "label" in fields:
            raise StudyError(_LABEL_ERROR.format(column=fields["label"], answers=2))
        _check_fields_used(fields, *(f"{part}_{side}" for part in _OF_SIDES for side in sides))
        _read_comparison_rows(builder, rows, fields, sides)
    elif "contestant" in fields and ("response" in fields or _has_rating(fields)):
        _check_fields_used(fields, *_OF_SIDES)
        _read_answer_rows(builder, table, rows, fields)
    else:
        _check_fields_used(fields, *(field for field in fields if field.startswith("responses.")))
        _read_question_rows(builder, source, table, rows, fields)
    return builder


def _has_answers_without_models(fields: Mapping[str, str]) -> bool:
    """Whether the mapping `fields` (field -> column) has the answers shown first and second, but
    no column that names their models."""
    texts = {f"response_{side}" for side in _SIDES[0]}
    return texts <= fields.keys() and not {*_SIDES[0], *_SIDES[1], "swap"} & fields.keys()


def _check_fields_used(fields: Mapping[str, str], *used: str) -> None:
    """Raise StudyError if a column is mapped to a field of answers or scores that is not one of
    `used`, and so would be ignored. `fields`: field -> column."""
    for field, column in fields.items():
        kind = field.partition(".")[0].partition("_")[0]
        if kind in (*_OF_SIDES, "responses") and field not in used:
            raise StudyError(
                f"data.mapping: {column!r} is mapped to {field!r}, which is not read here; "
                + (
                    f"this table has {', '.join(used)}: map the column to one of these"
                    if used
                    else "map the column of answers to 'responses.<model>', or the column of "
                    "models to 'contestant'"
                )
            )


def _check_both_models_mapped(fields: Mapping[str, str]) -> None:
    """Raise StudyError if only one of the two models of a comparison is mapped. `fields`: field ->
    column."""
    for pair in _SIDES:
        mapped = [side for side in pair if side in fields]
        if len(mapped) == 1:
            (other,) = {*pair} - {*mapped}
            raise StudyError(
                f"data.mapping: {fields[mapped[0]]!r} is mapped to {mapped[0]!r}, and no column to "
                f"{other!r}; map the column of the other model too. If the column says which "
                "answer was shown first, map the models to 'a' and 'b' and this column to 'swap'"
            )


def check_mapping(mapping: Mapping[str, str], table: SourceTable) -> None:
    """Raise StudyError if a column or field of a mapping does not exist, or two columns are mapped
    to one field."""
    taken: dict[str, str] = {}
    for column, field in mapping.items():
        if column not in table.columns:
            raise StudyError(
                f"data.mapping: {table.name} has no column {column!r}; its columns: "
                f"{', '.join([*table.columns, *list_nested_paths(table)])[:400]}"
            )
        if field not in MAPPING_FIELDS and not field.startswith(("responses.", "meta.")):
            hint = suggest_word(field, [*MAPPING_FIELDS])
            raise StudyError(
                f"data.mapping: {column}: no field {field!r}{hint}. Known fields: "
                f"{', '.join(MAPPING_FIELDS)}, responses.<model>, meta.<name>"
            )
        if taken.setdefault(field, column) != column:
            raise StudyError(
                f"data.mapping: both {taken[field]!r} and {column!r} are mapped to {field!r}; "
                "map only one of them"
            )


def _add_item(builder: SourceBuilder, line: MappedCells, answers: Mapping[str, str]) -> str:
    """Add the item of a row with `answers` (contestant -> text); return its id."""
    facts: dict[str, Any] = {
        name: line.text_in_paragraphs(name)
        for name in ("category", "context", "reference", "ground_truth")
    }
    images = line.value("images")
    if isinstance(images, list):
        facts["images"] = tuple(text for image in images if (text := text_of(image).strip()))
    else:
        facts["images"] = tuple(visit_bench.split_list(text_of(images).strip()))
    for group in ("meta", "criteria"):
        texts = {name: line.text(column) for name, column in line.columns_of_group(group).items()}
        facts[group] = {name: text for name, text in texts.items() if text}
    question, id = line.text_in_paragraphs("instruction"), line.plain_text("id").strip()
    id = id or (id_from_text("q", question) if question else line.row_id)
    return builder.add_item(id, question, answers, where=line.where, **facts)


# ---- one row per question --------------------------------------------------------------------


def _read_question_rows(
    builder: SourceBuilder,
    source: OpenedSource,
    table: SourceTable,
    rows: Sequence[MappedCells],
    fields: Mapping[str, str],
) -> None:
    if "instruction" not in fields:
        raise StudyError(
            "data.mapping: a table of questions needs a column mapped to 'instruction'; map "
            "the column that holds the question"
        )
    answers: list[dict[str, str]] = [{} for _ in rows]
    if source.spec.files:
        on = source.spec.join or (fields.get("id") or fields["instruction"],)
        for column in on:
            if column not in table.columns:
                raise StudyError(
                    f"data.join: {table.name} has no column {column!r}; name one of its columns"
                )
        keys = [join_key_of_row(line.row, on) for line in rows]
        answers, builder.join = join_answers(keys, on, source.read_other_files())
    own = MappedCells({}, fields=fields).columns_of_group("responses")
    if not own and builder.join is None:
        raise StudyError(
            "data.mapping: no answers: map columns to 'responses.<model>', or to "
            "'contestant' and 'response', or name answer files in data.files"
        )
    if "label" in fields and len(own) != 1:
        raise StudyError(_LABEL_ERROR.format(column=fields["label"], answers=len(own)))
    seen: dict[str, int] = {}
    read_label = checked_verdicts.make_label_reader(table, fields.get("label", ""))
    for line in rows:
        line.require_text(fields["instruction"])
        given = {name: line.text_in_paragraphs(f"responses.{name}") for name in own}
        given |= answers[line.index]
        id = _add_item(builder, line, given)
        if id in seen or id in builder.split_items:
            also = seen.get(id, seen.get(id.rpartition("~")[0], 0))
            raise line.error(
                f"the question is also in {table.row_place(also)}; map a column with "
                "unique values to 'id'"
            )
        seen[id] = line.index
        _add_better_answers(builder, line, id, [*given])
        if (right := read_label(line)) is not None:
            builder.add_label(id, AnswerLabel(next(iter(own)), right))


# ---- one row per answer ----------------------------------------------------------------------


def _has_rating(fields: Mapping[str, str]) -> bool:
    """Whether the mapping has a score of one answer per row, or a reply about it. `fields`: field
    -> column."""
    return bool({"score", "reply"} & fields.keys())


def _read_answer_rows(
    builder: SourceBuilder,
    table: SourceTable,
    rows: Sequence[MappedCells],
    fields: Mapping[str, str],
) -> None:
    """Read a table of one answer per row. Scores become verdicts; a person's ranks of two or more
    answers to a question become one ranking.

    SourceError if a person gives an answer two different ranks, if an answer has two different
    labels or, in a table without scores and replies, if a contestant has two different answers to a
    question.
    """
    ranks: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    labels: dict[tuple[str, str], float | str] = {}
    builder.needs_reading = _needs_reply_reading(fields, ())
    read_label = checked_verdicts.make_label_reader(table, fields.get("label", ""))
    for line in rows:
        name = line.plain_text("contestant")
        item = _add_item(builder, line, {name: line.text_in_paragraphs("response")})
        if (right := read_label(line)) is not None:
            if labels.setdefault((item, name), right) != right:
                raise line.error(f"a second label of {name!r} that differs; keep one of the two")
            builder.add_label(item, AnswerLabel(name, right))
        if _has_rating(fields):
            score, reply = line.field_number("score"), line.plain_text("reply")
            builder.add_rating(item, *_judge_and_prompt(line), name, score, reply=reply)
        elif item in builder.split_items:
            raise line.error(
                f"a second answer of {name!r} to the same question; keep one of the "
                "two answers, or map a column that differs between the questions to 'id'"
            )
        if (rank := line.field_number("rank")) is not None:
            ranked = ranks[item, line.plain_text("person").strip() or "people"]
            if ranked.setdefault(name, rank) != rank:
                raise line.error(
                    f"a second rank of {name!r} by the same person; keep one of the two, or map "
                    "the column that names the person to 'person'"
                )
    for (item, person), ranked in ranks.items():
        if len(ranked) > 1:
            order = sorted(set(ranked.values()))
            places = {name: order.index(rank) + 1 for name, rank in ranked.items()}
            builder.add_preference(item, person, None, ranks=places)


# ---- one row per comparison ------------------------------------------------------------------


def _needs_reply_reading(fields: Mapping[str, str], sides: Sequence[str]) -> bool:
    """Whether the verdicts must be read from the judge's replies: the mapping `fields` (field ->
    column) has replies, but neither winners nor scores. `sides` are the fields of the two
    models."""
    stated = {"winner", "winner_index", "score", *(f"score_{side}" for side in sides)}
    return "reply" in fields and not stated & fields.keys()


def _read_comparison_rows(
    builder: SourceBuilder, rows: Sequence[MappedCells], fields: Mapping[str, str], sides: Sides
) -> None:
    builder.needs_reading = _needs_reply_reading(fields, sides)
    scored = {f"score_{side}" for side in sides} <= fields.keys()
    judged = scored or bool({"winner", "winner_index", "reply"} & fields.keys())
    unnamed, order = not {*sides} <= fields.keys(), "swap" in fields
    models = _model_names_from_swap(rows)
    by_text = _has_answers_without_models(fields)
    first_shown: dict[tuple[str, str, frozenset[str]], str] = {}
    """Question and its two texts -> the text shown first in the first row that compares them."""
    if unnamed:
        told = f"; {models[0]} is shown first in the first row of each pair" if by_text else ""
        called = " and ".join(models)
        builder.notes.append(f"no column names the models; they are called {called}{told}")
    for line in rows:
        names = models if unnamed else (line.plain_text(sides[0]), line.plain_text(sides[1]))
        if by_text:  # the two texts in the other order are the same pair, shown in the other order
            one, two = (line.plain_text(f"response_{side}") for side in sides)
            pair = line.plain_text("id"), line.plain_text("instruction"), frozenset((one, two))
            names = models if first_shown.setdefault(pair, one) == one else models[::-1]
        words = models if unnamed else names
        if builder.note_if_self_comparison(names, line.where):
            continue
        texts = {
            name: line.text_in_paragraphs(f"response_{side}")
            for name, side in zip(names, sides, strict=True)
            if f"response_{side}" in fields
        }
        item = _add_item(builder, line, texts)
        _add_better_answers(builder, line, item, names, words)
        scores = _pair_scores(line, sides)
        if judged:
            shown = names[::-1] if order and _is_swapped(line, names) else names
            scores = scores[::-1] if shown != names else scores
            known = order or sides == _SIDES[0]
            words = shown if shown != names else words
            _add_comparison(builder, line, item, shown, words, scores, known=known)


def _is_swapped(line: MappedCells, names: Sides) -> bool:
    """Whether the answers of a row were shown in the other order than `names`, by the cell that
    is mapped to the field `swap`.

    The cell contains true, false or a word such as "ba", or the name of the model shown first
    (`gpt4` or `gpt4_first`). If the column itself is called `gpt4_first`, true means that this
    model was shown first; otherwise true means swapped. SourceError for any other text."""
    text, places = line.plain_text("swap").strip(), {"a": 0, "b": 1}
    places |= {name.casefold(): place for place, name in enumerate(names)}
    word, column = text.casefold(), line.fields["swap"].casefold()
    if (first := places.get(_model_from_order_word(word))) is not None:
        return first == 1
    if word in FLAGS and (first := places.get(_model_from_order_word(column))) is not None:
        return FLAGS[word] == (first == 1)
    orders = FLAGS | _ORDER_WORDS
    if word in orders:
        return orders[word]
    known = ", ".join((*orders, *(f"{name}_first" for name in names)))
    raise line.error(f"swap is {text[:60]!r}; known: {known}; correct the cell")


def _model_from_order_word(text: str) -> str:
    """Return the model that an order such as `plain_first` names; any other text is unchanged."""
    return re.sub(r"[ _-]first$", "", text, flags=re.IGNORECASE)


def _model_names_from_swap(rows: Sequence[MappedCells]) -> Sides:
    """Return the names of the two models for a table without a column of models. They are taken
    from the cells of `swap`, such as `plain_first` and `other_first`; UNNAMED if these do not name
    exactly two."""
    orders = (line.plain_text("swap").strip() for line in rows)
    found = [*dict.fromkeys(m for text in orders if (m := _model_from_order_word(text)) != text)]
    return (found[0], found[1]) if len(found) == 2 else UNNAMED


def _add_comparison(
    builder: SourceBuilder,
    line: MappedCells,
    item: str,
    names: Sides,
    words: Sides,
    scores: Sequence[float],
    known: bool,
) -> None:
    """Add the verdict of a row that compares the answers of the contestants `names`, which is the
    order shown if `known`. `words` are the names that the row uses for the two; `scores` has
    the scores of both, or is empty."""
    winner, by = line.plain_text("winner").strip(), _judge_and_prompt(line)
    pick = _row_pick(line, winner, words, scores)
    much_better = winner.casefold() in MUCH_BETTER and winner not in words
    margin, reply = 2 if much_better else None, line.plain_text("reply")
    builder.add_verdict_or_vote(
        item, *by, names, pick, scores=scores, known=known, margin=margin, reply=reply
    )


def _add_better_answers(
    builder: SourceBuilder,
    line: MappedCells,
    item: str,
    names: Sequence[str],
    words: Sequence[str] = (),
) -> None:
    """Add the known better answer of a row, from the fields `gold` (known by design) and `human` (a
    person's vote; the voter gets the name of the column). An empty or unmapped field adds nothing.
    `words` are the names that the row uses for the contestants, if these differ from `names`."""
    for name in ("gold", "human"):
        if name in line.fields:
            source = BY_DESIGN if name == "gold" else line.fields[name]
            pick = _read_winner(line.plain_text(name).strip(), words or names, line.where, name)
            builder.add_better_answer(item, names, pick, source)


def _read_winner(text: str, names: Sequence[str], where: str, field: str = "winner") -> Pick:
    """Convert a text that names the winner to a pick: an index of `names`, "tie", or None for an
    empty text. The text is a contestant's name or a word such as "first"; SourceError for any
    other. `where` and `field` are used in the message."""
    if not text:
        return None
    if text in names:
        return names.index(text)
    word = text.casefold().removesuffix(".0")  # a column of numbers with empty cells has 1.0
    if len(names) == 2 and word in PICK_BY_WINNER:
        return PICK_BY_WINNER[word]
    if word == "tie":
        return "tie"
    hint = "for numbers from 0, map the column to 'winner_index'" if text == "0" else _WINNER_HINT
    raise SourceError(
        f"{where}: {field} {text[:60]!r} is neither {' nor '.join(map(repr, names))[:200]} nor one "
        f"of {', '.join(PICK_BY_WINNER)}; {hint}"
    )


def _row_pick(line: MappedCells, winner: str, names: Sides, scores: Sequence[float]) -> Pick:
    """Return the pick of a row: an index of `names`, "tie" or None. It is read from the field
    `winner_index` if it is mapped, else from the text `winner` of the cell of that field; an empty
    cell is None, an unknown word a SourceError. If neither field is mapped, the answer with the
    higher of the two `scores` wins ("tie" if they are equal); None without scores."""
    if "winner_index" in line.fields:
        word = line.plain_text("winner_index").strip().casefold().removesuffix(".0")
        if word and word not in _INDEX_WORDS:
            raise line.error(
                f"winner_index {word[:60]!r} is not 0 (first), 1 (second) or 2 "
                "(tie); map the column to 'winner' if it holds words"
            )
        return _INDEX_WORDS.get(word)
    if "winner" in line.fields or not scores:
        return _read_winner(winner, names, line.where)
    return "tie" if scores[0] == scores[1] else int(scores[1] > scores[0])


def _pair_scores(line: MappedCells, sides: Sides) -> tuple[float, ...]:
    """Return the scores of both answers of a row; empty if a score is missing or no scores are
    mapped, StudyError if only one of the two has a column."""
    names = [f"score_{side}" for side in sides]
    if len(names) > len(line.fields.keys() & names) > 0:
        raise StudyError(f"data.mapping: map a column to '{names[0]}' and one to '{names[1]}'")
    found = [line.field_number(name) for name in names]
    return tuple(score for score in found if score is not None) if None not in found else ()


def _judge_and_prompt(line: MappedCells) -> tuple[str, str]:
    person, judge = line.plain_text("person").strip(), line.plain_text("judge").strip()
    prompt = line.plain_text("prompt").strip() or "recorded"
    return f"{HUMAN_PREFIX}{person}" if person else judge or "recorded", prompt
