"""The notebooks of the docs run offline, cell by cell."""

from __future__ import annotations

import ast
import json
import re
import shlex
import socket
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenhand.__main__ import main as command
from tests.page_words import says

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "notebooks"


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
    assert says(advice, "brief-reference", "ask qwen2.5-coder-1.5b") and "one call: " in sentence


def test_notebooks_are_stored_without_output() -> None:
    found = sorted(FOLDER.glob("*.ipynb"))
    assert [path.stem for path in found] == ["audit_a_csv", "which_remedy"]
    for path in found:
        content = json.loads(path.read_text())
        assert content["nbformat"] == 4
        assert all(not cell.get("outputs") for cell in content["cells"])


def test_the_recipe_for_agents_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blocks of docs/SKILL.md in order, and the measures that its table names."""
    text = (ROOT / "docs" / "SKILL.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80, "one page"
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for kind, block in re.findall(r"```(python|sh)\n(.*?)```", text, re.S):
        if kind == "python":
            exec(compile(block, "docs/SKILL.md", "exec"), names)
            continue
        for line in block.splitlines():
            first, *words = shlex.split(line)
            assert first == "evenhand" and command(words) == 0, line
    assert "consistency 0.75" in capsys.readouterr().out  # 30 of 40 items
    rows = names["rows"]
    assert isinstance(rows, pd.DataFrame)
    for measure in re.findall(r"^\| `(\w+)` \|", text, re.M):
        assert measure in set(rows["measure"])
