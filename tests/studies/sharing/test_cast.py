"""Limit on contestants: a small file of a thousand names would give a table of a million cells."""

from __future__ import annotations

import json

import pytest

from components.study.plan.public_checks import check_prompts_and_judges
from studies.errors import SourceError
from studies.files.read_limits import PUBLIC_LIMITS
from studies.sources.load import load_source
from studies.spec.study import DataSpec, parse_study
from tests.page_words import pattern


def battles(folder, rows) -> DataSpec:
    lines = "".join(f"{a},{b},model_a,{judge},q{n}\n" for n, (a, b, judge) in enumerate(rows))
    (folder / "b.csv").write_text("model_a,model_b,winner,judge,item\n" + lines)
    return DataSpec("b.csv")


def players(number: int) -> list[tuple[str, str, str]]:
    """One after the other: so many names."""
    return [(f"m{n}", f"m{n + 1}", "j") for n in range(number - 1)]


def judges(number: int) -> list[tuple[str, str, str]]:
    return [("x", "y", f"j{n}") for n in range(number)]


@pytest.mark.parametrize(("made", "what"), [(players, "models"), (judges, "judges")])
def test_strangers_bring_a_hundred_and_not_one_more(made, what, tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    assert PUBLIC_LIMITS.contestants == PUBLIC_LIMITS.judges == 100
    assert len(load_source(battles(tmp_path, made(100)), tmp_path).judgements) in (99, 100)
    with pytest.raises(SourceError, match=rf"b.csv: 101 {what}.*at most 100 can"):
        load_source(battles(tmp_path, made(101)), tmp_path)


def test_strangers_bring_five_hundred_categories(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    lines = [
        json.dumps(
            {"id": f"q{n}", "instruction": "?", "responses": {"x": "a"}, "category": f"c{n}"}
        )
        for n in range(501)
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(lines[:500]))
    assert len(load_source(DataSpec("items.jsonl"), tmp_path).items) == 500
    path.write_text("\n".join(lines))
    with pytest.raises(SourceError, match="501 categories; at most 500"):
        load_source(DataSpec("items.jsonl"), tmp_path)


@pytest.mark.parametrize("made", [players, judges])
def test_on_one_s_own_machine_there_may_be_more(made, tmp_path, monkeypatch):
    monkeypatch.delenv("EVENHAND_PUBLIC", raising=False)
    assert load_source(battles(tmp_path, made(300)), tmp_path).judgements


def test_a_study_file_that_names_too_many_judges_is_refused(monkeypatch):
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    many = "".join(f"- {{name: j{n}, model: simulated}}\n" for n in range(51))
    named = "name: x\ndata: {source: probe}\nprompts: [brief-letters, brief-numbers]\n"
    text = f"{named}judges:\n{many}"
    with pytest.raises(SourceError, match=pattern("102 judges", "prompts")):
        check_prompts_and_judges(parse_study(text))
    check_prompts_and_judges(parse_study(text.replace("- {name: j50, model: simulated}\n", "")))
