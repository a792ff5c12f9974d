"""Formats of recorded comparisons of two answers: AlpacaEval, LLM Comparator and PRD."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from studies.errors import SourceError
from studies.files.tables import SourceTable, read_table, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import RowCells, cells_of, id_from_text
from studies.sources.join import join_answers
from studies.sources.source_format import OpenedSource, make_column_matcher, reads, table_files_in
from studies.texts.counts import count

# ---- AlpacaEval ------------------------------------------------------------------------------

_ANNOTATIONS: Final = {
    "instruction, output_1, output_2, preference": "output_1, output_2 and preference are "
    "AlpacaEval's annotations"
}
matches_annotations: Final = make_column_matcher(_ANNOTATIONS)
_TIE_PREFERENCES: Final = (0.0, 1.5)


@reads(
    "alpaca-eval",
    "AlpacaEval outputs or annotations",
    "pairs, order unknown",
    {
        **_ANNOTATIONS,
        "instruction, output, generator": "instruction, output and generator are AlpacaEval's "
        "outputs",
    },
)
def read_alpaca_eval(source: OpenedSource) -> SourceBuilder:
    """Read AlpacaEval's outputs or annotations; also a folder of annotations.

    Order not recorded: position measures are disabled. `preference` is from 1 (first) to 2
    (second); 1.5 is a tie, 0 a tie in older files, null a failure. The preference of a weighted
    annotator is 1 + P(second is better); both probabilities are stored.
    """
    if not source.rows.has_columns("preference"):
        return _read_outputs(source)
    builder = SourceBuilder()
    builder.labels_recorded = False  # the judge saw the outputs in a random order
    preferences = [line.number("preference") for line in source.cells()]
    weighted = any(value is not None and value % 0.5 for value in preferences)
    for line, preference in zip(source.cells(), preferences, strict=True):
        names = (line.text("generator_1") or "output_1", line.text("generator_2") or "output_2")
        if builder.note_if_self_comparison(names, line.where):
            continue
        texts = dict(zip(names, (line.text("output_1"), line.text("output_2")), strict=True))
        item = _add_instruction_item(builder, line, texts)
        judge, reply = line.text("annotator"), line.row.get("raw_completion")
        if "annotator_index" in line.row and not judge:
            judge = f"human:{line.text('annotator_index')}"  # a person, in cross-annotations
        builder.add_verdict_or_vote(
            item,
            judge or "recorded",
            "alpaca-eval",
            names,
            _pick_from_preference(preference, line.where),
            known=False,
            reply=json.dumps(reply, ensure_ascii=False)
            if isinstance(reply, dict | list)
            else text_of(reply),
            probabilities=(2 - preference, preference - 1) if weighted and preference else (),
            cost=line.number("price_per_example"),
        )
    return builder


def _add_instruction_item(builder: SourceBuilder, line: RowCells, texts: Mapping[str, str]) -> str:
    """Add the item of a row with the answers `texts` (contestant -> text); return its id."""
    parts = (line.require_text("instruction"), line.text("input"))
    question = "\n\n".join(part for part in parts if part.strip())
    id, category = id_from_text("alpaca", question), line.text("dataset")
    return builder.add_item(id, question, texts, where=line.where, category=category)


def _pick_from_preference(preference: float | None, where: str) -> Pick:
    """Convert AlpacaEval's preference to a pick: below 1.5 the first answer (0), above 1.5 the
    second (1), exactly 1.5 or 0 a tie; None for None. SourceError for any other number that is
    not from 1 to 2."""
    if preference is None:
        return None
    if preference in _TIE_PREFERENCES:
        return "tie"
    if not 1 <= preference <= 2:
        raise SourceError(
            f"{where}: column 'preference': expected 1 to 2 (or 0, a tie), found {preference:g}; "
            "correct or remove the row"
        )
    return 0 if preference < 1.5 else 1


def _read_outputs(source: OpenedSource) -> SourceBuilder:
    """Read one model's outputs, and for the same instructions those of models in `data.files`."""
    builder, files = SourceBuilder(), source.read_other_files()
    keys = [(line.require_text("instruction").strip(),) for line in source.cells()]
    answers, report = join_answers(keys, ("instruction",), files, lambda _, __: "output")
    builder.join = report if files else None
    for line, others in zip(source.cells(), answers, strict=True):
        _add_instruction_item(
            builder, line, {line.require_text("generator"): line.text("output"), **others}
        )
    return builder


# ---- LLM Comparator --------------------------------------------------------------------------

MAX_TIE_SCORE: Final = 0.25
"""Scores up to this absolute value are ties, as in LLM Comparator."""
MIN_MUCH_SCORE: Final = 1.25
"""Scores of this absolute value or more mean "much better" (1.5), smaller scores "better" (1)."""


def _why_matches_comparator(table: SourceTable) -> str:
    found = {"models", "examples"} <= set(table.json_object or {})
    return "models and examples are LLM Comparator's" if found else ""


@reads(
    "llm-comparator", "LLM Comparator's JSON", "pairs, order known if recorded",
    _why_matches_comparator,
)  # fmt: skip
def read_comparator(source: OpenedSource) -> SourceBuilder:
    """Read LLM Comparator's JSON, one file per pair of models.

    Scores from −1.5 to 1.5 refer to A in both orders: above 0, A is better. A rating with
    `is_flipped` records the order shown; an example with only an average score does not.
    """
    table, builder = source.rows, SourceBuilder()
    whole = RowCells(table.json_object or {})
    models = [model for model in whole.row.get("models") or [] if isinstance(model, Mapping)]
    names = tuple(text_of(model.get("name")) for model in models)
    if len(names) != 2 or names[0] == names[1] or not all(names):
        raise SourceError(
            f"{table.name}: field 'models': expected two different names, found {[*names]}; "
            "correct it"
        )
    info = whole.cells_of_object("metadata")
    judge, prompt = info.text("judge", "judge_model"), info.text("prompt")
    by = (judge or "llm-comparator", prompt or "llm-comparator")
    for number, example in enumerate(whole.row.get("examples") or [], 1):
        where = f"{table.name}, example {number}"
        if not isinstance(example, dict):
            raise SourceError(f"{where}: expected an object; correct or remove the example")
        _add_example(builder, RowCells(example, where), names, by)
    return builder


def _add_example(
    builder: SourceBuilder, line: RowCells, names: tuple[str, ...], rater: tuple[str, str]
) -> None:
    """Add an example of LLM Comparator, and its ratings as verdicts. `names` are the two models.
    A rating that names no judge or prompt gets those in `rater` (judge, prompt)."""
    question, *texts = (
        _join_text(line.row.get(name)) for name in ("input_text", "output_text_a", "output_text_b")
    )
    id = line.text("item", "id") or line.cells_of_object("custom_fields").text("item", "id")
    tags = line.row.get("tags")
    item = builder.add_item(
        id or id_from_text("example", question),
        question,
        dict(zip(names, texts, strict=True)),
        where=line.where,
        category=text_of(tags[0]) if tags else "",
    )
    ratings = [rating for rating in line.row.get("individual_rater_scores") or [] if rating]
    for rating in ratings or [{"score": line.row.get("score")}]:
        rated = RowCells(rating, line.where)
        score, flipped = rated.number("score"), rating.get("is_flipped")
        pick: Pick = None
        if score is not None:
            pick = "tie" if abs(score) <= MAX_TIE_SCORE else int((score < 0) != bool(flipped))
        margin = (
            None if score is None else (abs(score) > MAX_TIE_SCORE) + (abs(score) >= MIN_MUCH_SCORE)
        )
        builder.add_verdict_or_vote(
            item,
            rated.text("judge", "rater") or rater[0],
            rated.text("prompt") or rater[1],
            names[::-1] if flipped else names,
            pick,
            margin=margin,
            known=isinstance(flipped, bool),
            reply=rated.text("rationale"),
        )


def _join_text(value: Any) -> str:
    """Return a text, or the joined text elements of a list that can also contain images."""
    if isinstance(value, list):
        parts = [part for part in value if isinstance(part, Mapping)]
        return "".join(text_of(part.get("data")) for part in parts if part.get("type") == "text")
    return text_of(value)


# ---- PRD (Peer Rank and Discussion) ----------------------------------------------------------

_VERDICTS: Final[dict[str, Pick]] = {"first": 0, "second": 1, "tie": "tie"}
_PRD: Final = {
    "prompt_id, judge, first, second, verdict": "prompt_id, judge, first, second and verdict are "
    "PRD's",
    "prompt_id, first, second, verdict": "prompt_id, annotator, first, second and verdict are "
    "PRD's",
    "prompt_id, prompt, responses": "prompt_id, prompt and responses are PRD's prompts",
}


def _why_matches_prd_folder(folder: Path) -> str:
    names = {path.name.split(".")[0] for path in table_files_in(folder)}
    if "prompts" in names and names & {"judgements", "judgments"}:
        return f"prompts and judgements of PRD ({', '.join(sorted(names))})"
    return ""


@reads(
    "prd", "PRD's prompts, judgements and votes", "pairs in both orders; votes", _PRD,
    _why_matches_prd_folder,
)  # fmt: skip
def read_prd(source: OpenedSource) -> SourceBuilder:
    """Read PRD's questions with their answers, the judges' verdicts and people's votes on pairs of
    these answers; also a folder with these files.

    A row with `annotator` is a person's vote, any other row a judge's verdict on the answers in the
    order shown. A verdict without the judge's reply is used as the file records it; a note says how
    many there are.
    """
    builder, empty = SourceBuilder(), 0
    named = [*source.read_other_files().values()]
    own = [source.table] if source.table else _prd_tables(source.path)
    for table in sorted([*own, *named], key=lambda table: not table.has_columns("responses")):
        for line in cells_of(table):
            if "responses" in line.row:
                _add_prd_item(builder, line)
            else:
                empty += _add_prd_verdict_and_check_no_reply(builder, line)
    if empty:
        builder.notes.append(f"{count(empty, 'verdict')} with an empty reply, counted as recorded")
    return builder


def _prd_tables(folder: Path) -> list[SourceTable]:
    """Read those files of a folder that have PRD's columns, each as a table."""
    return [
        table
        for table in map(read_table, table_files_in(folder))
        if make_column_matcher(_PRD)(table)
    ]


def _add_prd_item(builder: SourceBuilder, line: RowCells) -> None:
    """Add a row of PRD's prompts as an item: its question, and the answers by model; SourceError if
    the answers are not an object."""
    responses = line.row["responses"]
    if not isinstance(responses, Mapping):
        raise line.error("field 'responses': expected answers by model; correct the row")
    answers = {name: text_of(text) for name, text in responses.items()}
    facts = {name: line.text(name) for name in ("category", "reference")}
    id, prompt = line.require_two_texts("prompt_id", "prompt")
    builder.add_item(id, prompt, answers, where=line.where, **facts)


def _add_prd_verdict_and_check_no_reply(builder: SourceBuilder, line: RowCells) -> bool:
    """Add the verdict or vote of a row; return whether it is a judge's verdict without a reply."""
    item = builder.add_item(line.require_text("prompt_id"), "", where=line.where)
    shown = line.require_two_texts("first", "second")
    if builder.note_if_self_comparison(shown, line.where):
        return False
    pick = line.pick("verdict", _VERDICTS)
    if person := line.text("annotator"):
        builder.add_person_verdict(item, person, shown, pick)
        return False
    reply, prompt = line.text("raw"), line.text("prompt_name", "template") or "prd"
    builder.add_verdict(item, line.require_text("judge"), prompt, shown, pick, reply=reply)
    return pick is not None and not reply.strip()
