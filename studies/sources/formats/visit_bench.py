"""Format VisIT-Bench: questions about images with dense captions, and one answer file per model.

The verified reference is `gpt4_prediction` if people marked it correct; `reference_output` is used
only in the Hub's table, which has no `gpt4_prediction`. Images are URLs, which are not downloaded.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from studies.domain import REFERENCE, AnswerCheck
from studies.errors import SourceError
from studies.files.tables import Row, SourceTable, is_table_file, read_table, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.join import JoinKey, join_answers, join_key

CHECK_JUDGE: Final = "visit-bench"
JOIN_COLUMNS: Final = ("image", "instruction")
ANSWER_FILE: Final = re.compile(
    r"(?:answers?|predictions?|responses?|outputs?)[_-]+(.+)", re.IGNORECASE
)
_CAPTION_COLUMNS: Final = (
    "image_dense_captions",
    "instruction_conditioned_caption",
    "dense_caption",
)
_MARKER_COLUMNS: Final = ("gpt4_prediction", "human_ratings_gpt4_correct", *_CAPTION_COLUMNS)
_IMAGE_COLUMNS: Final = ("image", "images", "image_url")


def matches_table(table: SourceTable) -> str:
    found = [name for name in _MARKER_COLUMNS if name in table.columns]
    if table.has("instruction") and len(found) >= 2:
        return f"the columns {', '.join(found)} are VisIT-Bench's"
    return ""


def matches_folder(folder: Path) -> str:
    """Return the reason why a folder matches: it has a question file and answer files of models."""
    answers = _answer_files(folder)
    base = _question_file(folder) if answers else None
    if base is None:
        return ""
    return f"{base.name} has VisIT-Bench's columns, and the folder has {len(answers)} answer files"


def read(source: OpenSource) -> SourceBuilder:
    """Read the items with the answers from all files, and people's checks of the references."""
    base, files = _read_tables(source)
    on = source.spec.join or JOIN_COLUMNS
    keys = [_row_key(row, on) for row in base.rows]
    answers, report = join_answers(keys, on, files)
    builder = SourceBuilder()
    builder.join = report
    for index, row in enumerate(base.rows):
        _add_item(builder, row, answers[index], f"visit-{index + 1:04}", base.where(index))
    builder.notes += [
        "the reference is gpt4_prediction where human_ratings_gpt4_correct is true; "
        "for verified items only, set where: {checks.follows: true}",
        *(
            f"answers of {file.contestant} are in column {file.column!r} of {file.file}"
            for file in report.files
        ),
    ]
    return builder


def _read_tables(source: OpenSource) -> tuple[SourceTable, dict[str, SourceTable]]:
    named = {name: source.read_other_file(path) for name, path in source.spec.files.items()}
    if source.table is not None:
        return source.table, named
    base = _question_file(source.path)
    if base is None:
        raise SourceError(
            f"{source.path.name}: no table with VisIT-Bench's columns in this folder; name a file"
        )
    found = named or {name: read_table(path) for name, path in _answer_files(source.path).items()}
    return read_table(base), found


def _question_file(folder: Path) -> Path | None:
    for path in sorted(folder.iterdir()):
        if (
            is_table_file(path)
            and not ANSWER_FILE.match(path.name)
            and matches_table(read_table(path))
        ):
            return path
    return None


def _answer_files(folder: Path) -> dict[str, Path]:
    """Return contestant -> path, for files named answers_<model>.csv or similarly."""
    found = {}
    for path in sorted(folder.iterdir()):
        match = ANSWER_FILE.match(path.name)
        if match and is_table_file(path):
            found[_strip_suffix(match[1])] = path
    return found


def _strip_suffix(name: str) -> str:
    return re.sub(r"(\.gz)?$", "", name).rsplit(".", 1)[0]


def _row_key(row: Row, on: tuple[str, ...]) -> JoinKey:
    """Return the join key of a row, with the Hub's column `image_url` as `image`."""
    named = row if "image" in row else {**row, "image": _first_cell(row, _IMAGE_COLUMNS)}
    return join_key(named, on)


def _add_item(
    builder: SourceBuilder, row: Row, answers: Mapping[str, str], id: str, where: str
) -> None:
    instruction = text_of(row.get("instruction"))
    if not instruction.strip():
        raise SourceError(f"{where}: column 'instruction' is empty; fill it or remove the row")
    correct = _parse_flag(row, "human_ratings_gpt4_correct", where)
    images = split_list(_first_cell(row, _IMAGE_COLUMNS))
    captions = (
        split_list(_first_cell(row, _CAPTION_COLUMNS))
        if len(images) > 1
        else [_first_cell(row, _CAPTION_COLUMNS)]
    )
    category = text_of(row.get("instruction_category"))
    item = builder.add_item(
        id,
        instruction,
        answers,
        where=where,
        category=category,
        context=tuple(captions) if len(captions) > 1 else "".join(captions),
        images=_check_images(images, where),
        reference=_reference_text(row) if correct else "",
        meta={"images": "multi" if len(images) > 1 else "single", "skill": category},
    )
    if correct is not None:
        fault = _reference_fault(row, where) if not correct else None
        builder.add_check(item, AnswerCheck(CHECK_JUDGE, REFERENCE, correct, fault))


def _reference_text(row: Row) -> str:
    """Return the reference answer: `gpt4_prediction`, or in the Hub's table `reference_output`."""
    return text_of(row.get("gpt4_prediction" if "gpt4_prediction" in row else "reference_output"))


def _reference_fault(row: Row, where: str) -> str | None:
    """Return what the verification form calls wrong in a reference: "caption", "answer" or None."""
    if _parse_flag(row, "human_ratings_problem_in_caption", where):
        return "caption"
    return "answer" if _parse_flag(row, "human_ratings_problem_in_gpt4", where) else None


_BOOLEANS: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def _parse_flag(row: Row, column: str, where: str) -> bool | None:
    """Parse true or false; None for an empty cell, which means that people did not check this."""
    text = text_of(row.get(column)).strip().casefold()
    if text in ("", "nan", "none"):
        return None
    if text not in _BOOLEANS:
        raise SourceError(
            f"{where}: column {column!r}: expected true or false, found {text!r}; correct the "
            "row or remove it"
        )
    return _BOOLEANS[text]


def _first_cell(row: Row, columns: tuple[str, ...]) -> str:
    for column in columns:
        value = row.get(column)
        if isinstance(value, list):
            return repr([text_of(part) for part in value])
        if text := text_of(value).strip():
            return text
    return ""


def split_list(text: str) -> list[str]:
    """Split a cell that lists texts in Python or JSON notation, or URLs separated by | or comma."""
    if text.startswith("[") and text.endswith("]") and len(text) < 1_000_000:
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return [text]
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            return [part for part in value if part.strip()]
        return [text]
    if text.startswith(("http://", "https://")) and re.search(r"[\n|]|,\s*https?://", text):
        return [part.strip() for part in re.split(r"[\n|]|,\s*(?=https?://)", text) if part.strip()]
    return [text] if text else []


def _check_images(images: list[str], where: str) -> tuple[str, ...]:
    for image in images:
        if not image.startswith(("https://", "data:")) and (".." in image or image[:1] == "/"):
            raise SourceError(
                f"{where}: column 'image': expected an https:// address, a data: URL or a path "
                f"inside the file's folder, found {image[:80]!r}; correct the row or remove it"
            )
    return tuple(images)
