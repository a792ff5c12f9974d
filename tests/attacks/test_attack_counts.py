"""Counts of the attack list: failures are found inputs, and each threat names recording tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.attacks.__main__ import Counts, count_inputs, table
from tests.attacks.attack_list import MODES, OWN, PUBLIC, THREATS
from tests.attacks.attack_log import LOG_VARIABLE, attempt
from tests.conftest import ROOT

NAME = "file access"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(LOG_VARIABLE, str(tmp_path / "log.jsonl"))
    return tmp_path / "log.jsonl"


def test_an_input_is_found_when_its_check_fails_and_repelled_when_it_holds(log: Path) -> None:
    with attempt(NAME, PUBLIC, "/a", "/b"):
        pass
    with pytest.raises(AssertionError), attempt(NAME, PUBLIC, "/etc/passwd"):
        raise AssertionError("served")
    with pytest.raises(pytest.fail.Exception), attempt(NAME, OWN, "/c"), pytest.raises(OSError):
        pass  # an error that should have come did not
    with pytest.raises(pytest.skip.Exception), attempt(NAME, OWN, "/d"):
        pytest.skip("no browser")
    assert count_inputs(log) == {(NAME, PUBLIC): Counts(3, 1), (NAME, OWN): Counts(1, 1)}
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (served,) = [line for line in lines if line[3] == "/etc/passwd"]
    assert served[2] == "found" and "test_an_input_is_found" in served[4]


def test_the_table_has_every_threat_in_both_modes() -> None:
    text = table({(NAME, PUBLIC): Counts(1200, 2)}, list(THREATS))
    assert f"| {NAME} | public | 1,200 | 1,198 | 2 |" in text
    assert f"| {NAME} | own machine | 0 | 0 | 0 |" in text
    assert "| all | both | 1,200 | 1,198 | 2 |" in text
    assert len(text.splitlines()) == 3 + len(MODES) * len(THREATS)


@pytest.mark.parametrize("threat", THREATS)
def test_each_test_of_a_threat_records_its_inputs(threat: str) -> None:
    for name in THREATS[threat].tests:
        source = (ROOT / name).read_text(encoding="utf-8")
        constants = [
            line.partition(" = ")[0]
            for line in source.splitlines()
            if line.partition(" = ")[2] == f'"{threat}"'
        ]
        assert len(constants) == 1, f"{name} has no constant for {threat!r}"
        assert f"attempt({constants[0]}, " in source, name
