"""The same study file gives the same plan on the page and on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.study.plan import study_preview
from components.study.plan.study_preview import plan_from_text
from judges.planning.plan import asks_of, make_plan
from studies.domain import Item
from studies.sources.load import LoadedSource
from studies.spec.study import parse_study

PROBE = """
name: probe
data: {source: probe, count: 6, seed: 3}
contestants: [precise, flawed]
judges: [{name: fair, model: simulated, seed: 1}]
prompts: [brief-letters, visit-reference-free]
labels: crossed
noise_floor: 0.5
"""
PRESET = """
name: preset
preset: grade-score
data: {source: probe, count: 4}
judges: [{name: fair, model: simulated, seed: 1}]
"""
IMAGES = """
name: images
preset: creation-mmbench
data: {source: probe}
judges: [{name: fair, model: simulated, seed: 1, vision: true}]
"""


@pytest.mark.parametrize("text", [PROBE, PRESET, IMAGES], ids=["probe", "preset", "images"])
def test_page_and_command_line_plan_the_same_calls(text: str, tmp_path: Path) -> None:
    page = plan_from_text(text, tmp_path)
    command = make_plan(parse_study(text, "study.yaml", tmp_path))
    assert page.study == command.study
    assert [p.ask.key for p in asks_of(page)] == [p.ask.key for p in asks_of(command)]


def test_the_page_pins_the_revision_of_a_hub_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = Item("q1", "why?", {"x": "one", "y": "two"})
    loaded = LoadedSource([item], [], "evenhand", "by name", revision="a" * 40)
    monkeypatch.setattr(study_preview, "load_source", lambda spec, folder: loaded)
    text = PROBE.replace("{source: probe, count: 6, seed: 3}", "{source: 'hub:me/set'}")
    text = text.replace("[precise, flawed]", "[x, y]")
    assert plan_from_text(text, tmp_path).study.data.source == f"hub:me/set@{'a' * 40}"
