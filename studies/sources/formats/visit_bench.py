"""Format VisIT-Bench: questions about images with dense captions, and one answer file per model."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from studies import domain, errors
from studies.files.tables import SourceTable, read_table, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.cells import FLAGS, RowCells, cells_of
from studies.sources.join import join_answers, join_key_of_row
from studies.sources.source_format import OpenedSource, reads, table_files_in

CHECK_JUDGE: Final = "visit-bench"
JOIN_COLUMNS: Final = ("image", "instruction")
ANSWER_FILE: Final = re.compile(
    r"(?:answers?|predictions?|responses?|outputs?)[_-]+(.+)", re.IGNORECASE
)
_CAPTIONS: Final = ("image_dense_captions", "instruction_conditioned_caption", "dense_caption")
_MARKERS: Final = ("gpt4_prediction", "human_ratings_gpt4_correct", *_CAPTIONS)
_IMAGES: Final = ("image", "images", "image_url")


def _why_matches_visit_table(table: SourceTable) -> str:
    found = [name for name in _MARKERS if name in table.columns]
    if table.has_columns("instruction") and len(found) >= 2:
        return f"the columns {', '.join(found)} are VisIT-Bench's"
    return ""


def _why_matches_visit_folder(folder: Path) -> str:
    """Return the reason why a folder matches: it has a question file and answer files of models; ""
    if it has not."""
    answers = _answer_files(folder)
    base = _question_file(folder) if answers else None
    if base is None:
        return ""
    return f"{base.name} has VisIT-Bench's columns, and the folder has {len(answers)} answer files"


def _question_file(folder: Path) -> Path | None:
    """Return the file of a folder with VisIT-Bench's questions; None if there is none."""
    paths = [path for path in table_files_in(folder) if not ANSWER_FILE.match(path.name)]
    return next((path for path in paths if _why_matches_visit_table(read_table(path))), None)


def _answer_files(folder: Path) -> dict[str, Path]:
    """Return contestant -> path, for files named answers_<model>.csv or similarly."""
    matches = [(ANSWER_FILE.match(path.name), path) for path in table_files_in(folder)]
    named = [(match[1].removesuffix(".gz"), path) for match, path in matches if match]
    return {name.rsplit(".", 1)[0]: path for name, path in named}


@reads(
    "visit-bench", "VisIT-Bench questions with one answer file per model", "items",
    _why_matches_visit_table, _why_matches_visit_folder,
)  # fmt: skip
def read_visit_bench(source: OpenedSource) -> SourceBuilder:
    """Read VisIT-Bench's questions and one file per model; also a folder.

    Joined on image and instruction. The verified reference is `gpt4_prediction` if people marked it
    correct; `reference_output` is used only in the Hub's table, which has no `gpt4_prediction`.
    Images are URLs, which are not downloaded.
    """
    files, base, builder = source.read_other_files(), source.table, SourceBuilder()
    if base is None:
        path = _question_file(source.path)
        if path is None:
            raise errors.SourceError(
                f"{source.path.name}: no table with VisIT-Bench's columns in this folder; name a "
                "file"
            )
        base = read_table(path)
        files = files or {n: read_table(one) for n, one in _answer_files(source.path).items()}
    on, lines = source.spec.join or JOIN_COLUMNS, list(cells_of(base))
    # the Hub's column `image_url` is joined as `image`
    named = [{"image": _first_non_empty_text(line, _IMAGES), **line.row} for line in lines]
    answers, report = join_answers([join_key_of_row(row, on) for row in named], on, files)
    builder.join = report
    for line, given in zip(lines, answers, strict=True):
        _add_item(builder, line, given)
    builder.notes += [
        "the reference is gpt4_prediction where human_ratings_gpt4_correct is true; "
        "for verified items only, set where: {checks.follows: true}",
        *(
            f"answers of {one.contestant} are in column {one.column!r} of {one.file}"
            for one in report.files
        ),
    ]
    return builder


def _add_item(builder: SourceBuilder, line: RowCells, answers: Mapping[str, str]) -> None:
    """Add the item of a row; `answers`: contestant -> text. The reference is added only if people
    found it correct. If people checked the reference, their check is added too."""
    instruction, category = line.require_text("instruction"), line.text("instruction_category")
    correct = _parse_flag(line, "human_ratings_gpt4_correct")
    images, caption = (
        split_list(_first_non_empty_text(line, _IMAGES)),
        _first_non_empty_text(line, _CAPTIONS),
    )
    captions = split_list(caption) if len(images) > 1 else [caption]
    _check_images(images, line.where)
    # the reference is `gpt4_prediction`, or in the Hub's table `reference_output`
    reference = "gpt4_prediction" if "gpt4_prediction" in line.row else "reference_output"
    item = builder.add_item(
        f"visit-{line.index + 1:04}",
        instruction,
        answers,
        where=line.where,
        category=category,
        context=tuple(captions) if len(captions) > 1 else "".join(captions),
        images=tuple(images),
        reference=line.text(reference) if correct else "",
        meta={"images": "multi" if len(images) > 1 else "single", "skill": category},
    )
    if correct is not None:
        fault = None if correct else _reference_fault(line)
        builder.add_check(item, domain.AnswerCheck(CHECK_JUDGE, domain.REFERENCE, correct, fault))


def _reference_fault(line: RowCells) -> str | None:
    """Return what people found wrong with a reference: "caption" if it was the caption from which
    it was made, else "answer"; None if they found no fault."""
    if _parse_flag(line, "human_ratings_problem_in_caption"):
        return "caption"
    return "answer" if _parse_flag(line, "human_ratings_problem_in_gpt4") else None


def _parse_flag(line: RowCells, column: str) -> bool | None:
    """Parse true or false; None for an empty cell, which means that people did not check this,
    SourceError for any other text."""
    text = line.text(column).strip().casefold()
    if text in ("", "nan", "none"):
        return None
    if text not in FLAGS:
        raise line.error(
            f"column {column!r}: expected true or false, found {text!r}; correct the "
            "row or remove it"
        )
    return FLAGS[text]


def _first_non_empty_text(line: RowCells, columns: tuple[str, ...]) -> str:
    """Return the text of the first of these columns that is not empty (of a list, the text in
    Python notation); "" if all are empty."""
    for value in map(line.row.get, columns):
        if isinstance(value, list):
            if value:
                return repr([text_of(part) for part in value])
        elif text := text_of(value).strip():
            return text
    return ""


def split_list(text: str) -> list[str]:
    """Split a cell that lists texts in Python or JSON notation, or URLs separated by |, comma or
    line break; any other text is one element, an empty text none."""
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


def _check_images(images: list[str], where: str) -> None:
    """Raise SourceError for an image path outside the file's folder; `where` begins the message."""
    for image in images:
        if not image.startswith(("https://", "data:")) and (".." in image or image[:1] == "/"):
            raise errors.SourceError(
                f"{where}: column 'image': expected an https:// address, a data: URL or a path "
                f"inside the file's folder, found {image[:80]!r}; correct the row or remove it"
            )
