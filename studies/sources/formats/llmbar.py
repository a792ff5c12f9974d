"""Format LLMBar: pairs with a gold label, and judges' results in both orders; files or a folder.

The last entry of a result is the final verdict; its `winner` refers to output_1 and output_2,
whichever was shown first, and can be null.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from studies.domain import BY_DESIGN
from studies.files.tables import Row, SourceTable, read_table, text_of
from studies.files.upload_names import UPLOADS_FOLDER, original_name
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import id_from_text, required_text

CONTESTANTS: Final = ("output_1", "output_2")
_ORDER_BY_SWAP: Final = {"swap = False": CONTESTANTS, "swap = True": CONTESTANTS[::-1]}
_RESULT_FILE: Final = "result.json"
UNNAMED_JUDGE: Final = "judge"
"""Judge name for a file of results if neither its name nor its folders name a judge."""
_EVALUATORS: Final = "evaluators"
_SET_FOLDERS: Final = ("", "*/", "*/*/")
"""Patterns of the folders that can contain a subset of LLMBar, relative to the folder read."""


def matches_table(table: SourceTable) -> str:
    if table.has("input", "output_1", "output_2", "label"):
        return "input, output_1, output_2 and label are LLMBar's" + (
            "; results contains the verdicts" if table.has("results") else ""
        )
    return ""


def matches_folder(folder: Path) -> str:
    results = _result_files(folder)
    data = [path for path in _dataset_files(folder) if matches_table(read_table(path))]
    if not results and not data:
        return ""
    return f"dataset.json ({len(data)} of them) and result.json ({len(results)}) are LLMBar's"


def _dataset_files(folder: Path) -> list[Path]:
    return sorted(path for above in _SET_FOLDERS for path in folder.glob(f"{above}dataset.json"))


def _result_files(folder: Path) -> list[Path]:
    """Find the files result.json: in the folder itself, in <judge>/<prompt>/, in
    <subset>/<judge>/<prompt>/, and in …/evaluators/<judge>/<prompt>/ (the authors' layout)."""
    patterns = ["", "*/*/", "*/*/*/", *(f"{above}{_EVALUATORS}/*/*/" for above in _SET_FOLDERS)]
    return sorted({path for above in patterns for path in folder.glob(above + _RESULT_FILE)})


def read(source: OpenSource) -> SourceBuilder:
    builder = SourceBuilder()
    if source.table is not None:
        judge, prompt, subset = _names_from_path(source.path, source.path.parent.parent.parent)
        _add_table(builder, source.table, judge, prompt, subset)
        return builder
    for path in _dataset_files(source.path):
        _add_table(builder, read_table(path), "", "", _subset_name(path.parent))
    for path in _result_files(source.path):
        beside = path.parent == source.path  # no folder names its judge
        judge, prompt, subset = (
            (UNNAMED_JUDGE, "llmbar", "") if beside else _names_from_path(path, path.parents[2])
        )
        _add_table(builder, read_table(path), judge, prompt, subset)
    return builder


def _subset_name(folder: Path) -> str:
    """Return the name of a subset, which is that of its folder; empty for uploaded files."""
    return "" if folder.parent.name == UPLOADS_FOLDER else folder.name


def _names_from_path(path: Path, above: Path) -> tuple[str, str, str]:
    """Return judge, prompt and subset from <subset>/<judge>/<prompt>/result.json; for any other
    file, its name is the judge. `above` is the folder in which the judge's folder is."""
    named = path.parent.name and path.parent.parent.name and path.parent.name != UPLOADS_FOLDER
    if path.name == _RESULT_FILE and named:
        subset = above.parent if above.name == _EVALUATORS else above
        return path.parent.parent.name, path.parent.name, subset.name
    name = original_name(path).split(".")[0]
    return UNNAMED_JUDGE if name == "result" else name, "llmbar", ""


def _add_table(
    builder: SourceBuilder, table: SourceTable, judge: str, prompt: str, subset: str
) -> None:
    for index, row in enumerate(table.rows):
        where = table.where(index)
        answers = {name: text_of(row.get(name)) for name in CONTESTANTS}
        question = required_text(row, "input", where)
        item = builder.add_item(
            id_from_text("llmbar", question, *answers.values()),
            question,
            answers,
            where=where,
            category=subset,
        )
        label = text_of(row.get("label"))
        if label in ("1", "2") and not builder.has_preference(item, BY_DESIGN):
            builder.add_preference(item, BY_DESIGN, f"output_{label}")
        last = row["results"][-1] if row.get("results") else {}
        for order, shown in _ORDER_BY_SWAP.items():
            if order in last:
                _add_result(builder, last[order], item, judge, prompt, shown)


def _add_result(
    builder: SourceBuilder, result: Row, item: str, judge: str, prompt: str, shown: tuple[str, ...]
) -> None:
    reply, finish = _split_completion(result.get("completion"))
    builder.add_verdict(
        item,
        judge,
        prompt,
        shown,
        _winner_slot(text_of(result.get("winner")), shown),
        reply=reply,
        status="truncated" if result.get("winner") is None and finish == "length" else None,
    )


def _winner_slot(winner: str, shown: tuple[str, ...]) -> Pick:
    if winner in ("1", "2"):
        return shown.index(f"output_{winner}")
    return "tie" if winner.casefold() in ("tie", "equal") else None


def _split_completion(value: Any) -> tuple[str, str]:
    """Return the reply and its finish reason, which is empty in older files."""
    if isinstance(value, list) and value:
        return text_of(value[0]), text_of(value[1]) if len(value) > 1 else ""
    return text_of(value), ""
