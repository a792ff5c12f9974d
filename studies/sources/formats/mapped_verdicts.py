"""Verdicts in the rows of a mapped table: winners, scores, replies and known better answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from studies.domain import BY_DESIGN, HUMAN_PREFIX
from studies.errors import SourceError, StudyError
from studies.files.tables import Row, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import add_verdict, parse_number

VERDICT_FIELDS: Final = {
    "winner": "the winner: a model's name, A, B, 1, 2, first, second or tie",
    "winner_index": "the winner counted from 0: 0 for the first, 1 for the second, 2 for a tie",
    "gold": "the answer known to be better, not a person's vote; as winner",
    "human": "the answer that people prefer, counted as one vote; as winner",
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
PICK_BY_WINNER: Final[dict[str, Pick]] = {
    **dict.fromkeys(
        ("a", "model_a", "first", "left", "1", "response_a", "model_1", "output_1", "a>b", "a>>b"),
        0,
    ),
    **dict.fromkeys(
        ("b", "model_b", "second", "right", "2", "response_b", "model_2", "output_2", "b>a",
         "b>>a"),
        1,
    ),
    **dict.fromkeys(
        ("tie", "c", "-", "equal", "same", "both", "tie (bothbad)", "both_bad", "a=b", "b=a"), "tie"
    ),
}  # fmt: skip
MUCH_BETTER: Final = ("a>>b", "b>>a")
"""Winner words that mean "much better" (a margin of 2)."""
_WINNER_HINT: Final = "correct the cell, or map another column"
_INDEX_WORDS: Final[dict[str, Pick]] = {"0": 0, "1": 1, "2": "tie", "-1": "tie", "tie": "tie"}


def has_rating(fields: Mapping[str, str]) -> bool:
    """Whether the mapping `fields` has a score of one answer per row, or a reply about it."""
    return "contestant" in fields and ("score" in fields or "reply" in fields)


def add_comparison(
    builder: SourceBuilder,
    row: Row,
    fields: Mapping[str, str],
    item: str,
    names: tuple[str, str],
    sides: tuple[str, str],
    known: bool,
    where: str,
) -> None:
    """Add the verdict, and the answer known to be better, of a row that compares two answers;
    `sides` are the mapping's names of the two, ("first", "second") or ("a", "b")."""
    add_labels(builder, row, fields, item, names, where)
    scores = _pair_scores(row, fields, sides, where)
    winner = text_of(row.get(fields.get("winner", ""))).strip()
    if not has_verdict(fields, sides):
        return
    pick = _row_pick(row, fields, winner, names, scores, where)
    much_better = winner.casefold() in MUCH_BETTER and winner not in names
    reply = text_of(row.get(fields.get("reply", "")))
    judge, prompt = judge_name(row, fields), prompt_name(row, fields)
    facts = {"known": known, "margin": 2 if much_better else None, "reply": reply}
    if scores:
        builder.add_verdict(item, judge, prompt, names, pick, scores=scores, **facts)  # type: ignore[arg-type]
    else:
        add_verdict(builder, item, judge, prompt, names, pick, **facts)


def add_labels(
    builder: SourceBuilder,
    row: Row,
    fields: Mapping[str, str],
    item: str,
    names: Sequence[str],
    where: str,
) -> None:
    """Add the better answer of a row: by design (`gold`), and by people (`human`), whose vote has
    the name of its column."""
    for field in ("gold", "human"):
        if field in fields:
            word = text_of(row.get(fields[field])).strip()
            source = BY_DESIGN if field == "gold" else fields[field]
            pick = read_winner(word, names, where, field)
            builder.add_better_answer(item, names, pick, source)


def has_verdict(fields: Mapping[str, str], sides: Sequence[str]) -> bool:
    """Whether the mapping `fields` (field -> column) has a winner, scores of both `sides`, or a
    reply, from which a verdict on two answers can be read."""
    scored = {f"score_{side}" for side in sides} <= fields.keys()
    return scored or bool({"winner", "winner_index", "reply"} & fields.keys())


def needs_reading(fields: Mapping[str, str], sides: Sequence[str] = ()) -> bool:
    """Whether the mapping `fields` has replies but neither winners nor scores, so that the verdicts
    must be read from the replies."""
    stated = {"winner", "winner_index", "score", *(f"score_{side}" for side in sides)}
    return "reply" in fields and not stated & fields.keys()


def add_rating(
    builder: SourceBuilder, row: Row, fields: Mapping[str, str], item: str, where: str
) -> None:
    """Add the score of a row that judges one answer; an empty score is an unusable reply."""
    score = parse_number(row, fields["score"], where) if "score" in fields else None
    builder.add_verdict(
        item,
        judge_name(row, fields),
        prompt_name(row, fields),
        (text_of(row.get(fields["contestant"])),),
        None,
        scores=() if score is None else (score,),
        reply=text_of(row.get(fields.get("reply", ""))),
    )


def read_winner(text: str, names: Sequence[str], where: str, field: str = "winner") -> Pick:
    """Return the pick of a winner given as a contestant's name or a word such as "first"; None for
    an empty cell."""
    if not text:
        return None
    if text in names:
        return names.index(text)
    if len(names) == 2 and text.casefold() in PICK_BY_WINNER:
        return PICK_BY_WINNER[text.casefold()]
    if text.casefold() == "tie":
        return "tie"
    hint = "for numbers from 0, map the column to 'winner_index'" if text == "0" else _WINNER_HINT
    raise SourceError(
        f"{where}: {field} {text[:60]!r} is neither {' nor '.join(map(repr, names))[:200]} nor one "
        f"of {', '.join(PICK_BY_WINNER)}; {hint}"
    )


def _row_pick(
    row: Row,
    fields: Mapping[str, str],
    winner: str,
    names: tuple[str, str],
    scores: tuple[float, ...],
    where: str,
) -> Pick:
    if "winner_index" in fields:
        word = text_of(row.get(fields["winner_index"])).strip().casefold()
        if word and word not in _INDEX_WORDS:
            raise SourceError(
                f"{where}: winner_index {word[:60]!r} is not 0 (first), 1 (second) or 2 (tie); "
                "map the column to 'winner' if it holds words"
            )
        return _INDEX_WORDS.get(word)
    if "winner" in fields or not scores:
        return read_winner(winner, names, where)
    return "tie" if scores[0] == scores[1] else int(scores[1] > scores[0])


def _pair_scores(
    row: Row, fields: Mapping[str, str], sides: Sequence[str], where: str
) -> tuple[float, ...]:
    """Return the scores of both answers of a row; empty if a score is missing."""
    columns = [fields.get(f"score_{side}", "") for side in sides]
    if not all(columns):
        if any(columns):
            raise StudyError(
                f"data.mapping: map a column to 'score_{sides[0]}' and one to 'score_{sides[1]}'"
            )
        return ()
    found = [parse_number(row, column, where) for column in columns]
    return tuple(score for score in found if score is not None) if None not in found else ()


def judge_name(row: Row, fields: Mapping[str, str]) -> str:
    if "person" in fields and (name := text_of(row.get(fields["person"])).strip()):
        return f"{HUMAN_PREFIX}{name}"
    return text_of(row.get(fields.get("judge", ""))).strip() or "recorded"


def prompt_name(row: Row, fields: Mapping[str, str]) -> str:
    return text_of(row.get(fields.get("prompt", ""))).strip() or "recorded"
