"""LLMBar: pairs with a gold label, and judges' results in both orders; a folder too.

The final verdict of a result is its last entry; `winner` is already un-swapped and may be null.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from studies.records import BY_DESIGN
from studies.sources.cells import required, text_id
from studies.sources.gather import Gathering, Opened, Pick
from studies.sources.tables import Row, Table, read_table, text_of

NAMES: Final = ("output_1", "output_2")
_ORDERS: Final = {"swap = False": NAMES, "swap = True": NAMES[::-1]}
_RESULT: Final = "result.json"


def sees(table: Table) -> str:
    if table.has("input", "output_1", "output_2", "label"):
        return "input, output_1, output_2 and label are LLMBar's" + (
            "; results holds the verdicts" if table.has("results") else ""
        )
    return ""


def holds(folder: Path) -> str:
    results = _results(folder)
    data = [path for path in _data(folder) if sees(read_table(path))]
    if not results and not data:
        return ""
    return f"dataset.json ({len(data)} of them) and result.json ({len(results)}) are LLMBar's"


def _data(folder: Path) -> list[Path]:
    return sorted([*folder.glob("dataset.json"), *folder.glob("*/dataset.json")])


def _results(folder: Path) -> list[Path]:
    """<judge>/<prompt>/result.json, at most one set above them."""
    return sorted([*folder.glob(f"*/*/{_RESULT}"), *folder.glob(f"*/*/*/{_RESULT}")])


def read(opened: Opened) -> Gathering:
    gathered = Gathering()
    if opened.table is not None:
        judge, prompt, subset = _named_by(opened.path, opened.path.parent.parent.parent)
        _add(gathered, opened.table, judge, prompt, subset)
        return gathered
    for path in _data(opened.path):
        _add(gathered, read_table(path), "", "", path.parent.name)
    for path in _results(opened.path):
        judge, prompt, subset = _named_by(path, path.parents[2])
        _add(gathered, read_table(path), judge, prompt, subset)
    return gathered


def _named_by(path: Path, above: Path) -> tuple[str, str, str]:
    """Judge, prompt and subset, as the folders are called; a lone file is its own judge."""
    if path.name == _RESULT and path.parent.name and path.parent.parent.name:
        return path.parent.parent.name, path.parent.name, above.name
    return path.name.split(".")[0], "llmbar", ""


def _add(gathered: Gathering, table: Table, judge: str, prompt: str, subset: str) -> None:
    for place, row in enumerate(table.rows):
        where = table.where(place)
        answers = {name: text_of(row.get(name)) for name in NAMES}
        question = required(row, "input", where)
        item = gathered.item(
            text_id("llmbar", question, *answers.values()), question, answers, where=where,
            category=subset,
        )  # fmt: skip
        label = text_of(row.get("label"))
        if label in ("1", "2") and not gathered.voted(item, BY_DESIGN):
            gathered.vote(item, BY_DESIGN, f"output_{label}")
        last = row["results"][-1] if row.get("results") else {}
        for order, shown in _ORDERS.items():
            if order in last:
                _result(gathered, last[order], item, judge, prompt, shown)


def _result(
    gathered: Gathering, result: Row, item: str, judge: str, prompt: str, shown: tuple[str, ...]
) -> None:
    reply, finish = _completion(result.get("completion"))
    gathered.verdict(
        item, judge, prompt, shown, _slot(text_of(result.get("winner")), shown), reply=reply,
        status="truncated" if result.get("winner") is None and finish == "length" else None,
    )  # fmt: skip


def _slot(winner: str, shown: tuple[str, ...]) -> Pick:
    if winner in ("1", "2"):
        return shown.index(f"output_{winner}")
    return "tie" if winner.casefold() in ("tie", "equal") else None


def _completion(value: Any) -> tuple[str, str]:
    """The reply with its finish reason; older files hold the text alone."""
    if isinstance(value, list) and value:
        return text_of(value[0]), text_of(value[1]) if len(value) > 1 else ""
    return text_of(value), ""
