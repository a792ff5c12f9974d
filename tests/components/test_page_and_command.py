"""The page and the command line give the same judgements for one study file."""

from __future__ import annotations

from components.study.tab import start_study
from judges.__main__ import main as command_line
from judges.engine.engine import Engine
from studies.store.store import Store

STUDY = """
name: twice
data: {source: probe, count: 10, seed: 7}
contestants: [flawed, precise]
judges:
- {name: simulated, model: simulated, first_bias: 0.3, accuracy: 0.8, seed: 7}
prompts: [brief-letters]
noise_floor: 0.2
"""


def told(store: Store, name: str) -> list[tuple]:
    return [(j.ask, j.status, j.verdict, j.rule, j.reply) for j in store.judgements(name)]


def test_the_page_and_the_command_line_give_the_same_judgements(tmp_path):
    text = STUDY
    page, engine = Store(tmp_path / "page.db"), Engine()
    name = start_study(page, engine, text)
    assert engine.latest_run(name).wait(60)
    engine.close()
    file = tmp_path / "study.yaml"
    file.write_text(text, encoding="utf-8")
    command = ["run", str(file), "--store", str(tmp_path / "cli.db")]
    assert command_line(command) == 0
    typed = Store(tmp_path / "cli.db")
    assert told(typed, name) == told(page, name) != []
    calls = typed.read("SELECT count(*) FROM attempts").fetchone()
    assert command_line(command) == 0
    assert typed.read("SELECT count(*) FROM attempts").fetchone() == calls
