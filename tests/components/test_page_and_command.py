"""One study file, two doors: the page and the command line give the same judgements."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from components.study_form import JUDGES, Form, study_yaml
from components.study_tab import start_study
from judges.runs import Engine
from studies.store import Store

ROOT = Path(__file__).parents[2]


def told(store: Store, name: str) -> list[tuple]:
    return [(j.ask, j.status, j.verdict, j.rule, j.reply) for j in store.judgements(name)]


def test_the_page_and_the_command_line_give_the_same_judgements(tmp_path):
    text = study_yaml(Form(name="twice", judges=(JUDGES[1],), items=10))
    page, engine = Store(tmp_path / "page.db"), Engine()
    name = start_study(page, engine, text, key="")
    assert engine.latest(name).wait(60)
    engine.close()
    file = tmp_path / "study.yaml"
    file.write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "judges",
        "run",
        str(file),
        "--store",
        str(tmp_path / "cli.db"),
    ]
    first = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert first.returncode == 0, first.stderr
    typed = Store(tmp_path / "cli.db")
    assert told(typed, name) == told(page, name) != []
    calls = typed.read("SELECT count(*) FROM attempts").fetchone()
    assert subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0
    assert typed.read("SELECT count(*) FROM attempts").fetchone() == calls
