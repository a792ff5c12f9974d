"""The notebooks of the docs run offline, cell by cell."""

from __future__ import annotations

import ast
import json
import socket
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"


def run_cells(path: Path) -> list[Any]:
    """Execute the code cells in one namespace; return the value of each cell's last line."""
    cells = json.loads(path.read_text())["cells"]
    names: dict[str, Any] = {}
    values = []
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        tree = ast.parse("".join(cell["source"]))
        last = tree.body[-1]
        shown = isinstance(last, ast.Expr)
        body = ast.Module(tree.body[:-1] if shown else tree.body, [])
        exec(compile(body, path.name, "exec"), names)
        values.append(
            eval(compile(ast.Expression(last.value), path.name, "eval"), names)  # type: ignore[attr-defined]
            if shown
            else None
        )
    return values


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise OSError("the notebooks run offline")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.chdir(tmp_path)


def test_audit_a_csv(offline: None) -> None:
    _, audit, positions, ratings = run_cells(FOLDER / "audit_a_csv.ipynb")
    assert len(audit.cards) == 1 and "<table" in audit._repr_html_()
    assert set(positions["measure"]) == {"consistency", "first_share", "accuracy"}
    assert (positions["low"] <= positions["value"]).all() and len(ratings) == 4


def test_which_remedy(offline: None) -> None:
    audit, table, advice, sentence = run_cells(FOLDER / "which_remedy.ipynb")
    assert len(audit.cards) == 6 and (table["calls"] > 0).all()
    assert advice.startswith("Ask qwen2.5-coder-1.5b") and "one call: " in sentence


def test_notebooks_are_stored_without_output() -> None:
    found = sorted(FOLDER.glob("*.ipynb"))
    assert [path.stem for path in found] == ["audit_a_csv", "which_remedy"]
    for path in found:
        content = json.loads(path.read_text())
        assert content["nbformat"] == 4
        assert all(not cell.get("outputs") for cell in content["cells"])
