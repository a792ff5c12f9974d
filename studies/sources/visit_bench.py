"""VisIT-Bench: questions about images with dense captions, and one answer file per model.

The verified reference is `gpt4_prediction` where people marked it correct; `reference_output` is
something else and is left alone. Images are addresses that nobody here fetches.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from studies.errors import SourceError
from studies.records import REFERENCE, Check
from studies.sources.gather import Gathering, Opened
from studies.sources.join import Key, join_answers, key_of
from studies.sources.tables import Row, Table, is_table, read_table, text_of

JUDGE: Final = "visit-bench"
JOIN: Final = ("image", "instruction")
ANSWERS: Final = re.compile(
    r"(?:answers?|predictions?|responses?|outputs?)[_-]+(.+)", re.IGNORECASE
)
_CAPTIONS: Final = ("image_dense_captions", "instruction_conditioned_caption", "dense_caption")
_MARKS: Final = ("gpt4_prediction", "human_ratings_gpt4_correct", *_CAPTIONS)
_IMAGES: Final = ("image", "images", "image_url")


def sees(table: Table) -> str:
    found = [name for name in _MARKS if name in table.columns]
    if table.has("instruction") and len(found) >= 2:
        return f"the columns {', '.join(found)} are VisIT-Bench's"
    return ""


def holds(folder: Path) -> str:
    """A folder with the questions and, beside them, answer files of several models."""
    answers = _answer_files(folder)
    base = _base_file(folder) if answers else None
    if base is None:
        return ""
    return f"{base.name} holds VisIT-Bench's columns and {len(answers)} answer files lie beside it"


def read(opened: Opened) -> Gathering:
    """Items with the answers of every file, and the human checks of the reference."""
    base, files = _tables(opened)
    on = opened.spec.join or JOIN
    keys = [_key(row, on) for row in base.rows]
    answers, report = join_answers(keys, on, files)
    gathered = Gathering()
    gathered.join = report
    for place, row in enumerate(base.rows):
        _add(gathered, row, answers[place], f"visit-{place + 1:04}", base.where(place))
    gathered.notes += [
        "the reference is gpt4_prediction where human_ratings_gpt4_correct is true; "
        "keep the verified ones with where: {checks.follows: true}",
        *(
            f"answers of {file.contestant} are in column {file.column!r} of {file.file}"
            for file in report.files
        ),
    ]
    return gathered


def _tables(opened: Opened) -> tuple[Table, dict[str, Table]]:
    named = {name: opened.other(path) for name, path in opened.spec.files.items()}
    if opened.table is not None:
        return opened.table, named
    base = _base_file(opened.path)
    if base is None:
        raise SourceError(f"{opened.path.name}: no table with VisIT-Bench's columns in this folder")
    found = named or {name: read_table(path) for name, path in _answer_files(opened.path).items()}
    return read_table(base), found


def _base_file(folder: Path) -> Path | None:
    for path in sorted(folder.iterdir()):
        if is_table(path) and not ANSWERS.match(path.name) and sees(read_table(path)):
            return path
    return None


def _answer_files(folder: Path) -> dict[str, Path]:
    """Files called answers_<model>.csv; the rest of the name is the contestant's."""
    found = {}
    for path in sorted(folder.iterdir()):
        match = ANSWERS.match(path.name)
        if match and is_table(path):
            found[_stem(match[1])] = path
    return found


def _stem(name: str) -> str:
    return re.sub(r"(\.gz)?$", "", name).rsplit(".", 1)[0]


def _key(row: Row, on: tuple[str, ...]) -> Key:
    """Answer files say `image` where the Hub's table says `image_url`."""
    named = row if "image" in row else {**row, "image": _first(row, _IMAGES)}
    return key_of(named, on)


def _add(gathered: Gathering, row: Row, answers: Mapping[str, str], id: str, where: str) -> None:
    instruction = text_of(row.get("instruction"))
    if not instruction.strip():
        raise SourceError(f"{where}: column 'instruction' is empty")
    correct = _flag(row, "human_ratings_gpt4_correct", where)
    images = listed(_first(row, _IMAGES))
    captions = listed(_first(row, _CAPTIONS)) if len(images) > 1 else [_first(row, _CAPTIONS)]
    category = text_of(row.get("instruction_category"))
    item = gathered.item(
        id,
        instruction,
        answers,
        where=where,
        category=category,
        context=tuple(captions) if len(captions) > 1 else "".join(captions),
        images=_addresses(images, where),
        reference=_reference(row) if correct else "",
        meta={"images": "multi" if len(images) > 1 else "single", "skill": category},
    )
    if correct is not None:
        fault = _fault(row, where) if not correct else None
        gathered.check(item, Check(JUDGE, REFERENCE, correct, fault))


def _reference(row: Row) -> str:
    """`gpt4_prediction`; the Hub's table has the verified text under another name instead."""
    return text_of(row.get("gpt4_prediction" if "gpt4_prediction" in row else "reference_output"))


def _fault(row: Row, where: str) -> str | None:
    """Whose fault a wrong reference is, in the words of the verification form."""
    if _flag(row, "human_ratings_problem_in_caption", where):
        return "caption"
    return "answer" if _flag(row, "human_ratings_problem_in_gpt4", where) else None


_FLAGS: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def _flag(row: Row, column: str, where: str) -> bool | None:
    """True, False, or None where nobody checked."""
    text = text_of(row.get(column)).strip().casefold()
    if text in ("", "nan", "none"):
        return None
    if text not in _FLAGS:
        raise SourceError(f"{where}: column {column!r}: expected true or false, found {text!r}")
    return _FLAGS[text]


def _first(row: Row, columns: tuple[str, ...]) -> str:
    for column in columns:
        value = row.get(column)
        if isinstance(value, list):
            return repr([text_of(part) for part in value])
        if text := text_of(value).strip():
            return text
    return ""


def listed(text: str) -> list[str]:
    """A cell that may hold a list: as Python or JSON writes one, or one entry a line."""
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


def _addresses(images: list[str], where: str) -> tuple[str, ...]:
    for image in images:
        if not image.startswith(("https://", "data:")) and (".." in image or image[:1] == "/"):
            raise SourceError(
                f"{where}: column 'image': expected an https:// address, a data: URL or a path "
                f"inside the file's folder, found {image[:80]!r}"
            )
    return tuple(images)
