"""Every number of the example board is the one that `python -m metrics --json` prints for the same
study, judge and prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from components.share.board.board_rows import COLUMNS
from components.share.board.record_tree import folder_name
from metrics.__main__ import main
from tests.components.share.board.example_board import build_example
from tests.demo_store import copy_demo

STUDIES = [
    "Probe set, twins",
    pytest.param("Probe set, Qwen 1.5B judge", marks=pytest.mark.extra),
    pytest.param("Probe set, embedded judge", marks=pytest.mark.extra),
]
RANKER = {"ranking_tau": "tau", "decisiveness": "decisiveness", "model_bias_spread": "bias_spread"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    board = build_example(tmp_path_factory.mktemp("numbers") / "board", "twins.yaml")
    found: list[dict[str, Any]] = json.loads((board / "board.json").read_text())["rows"]
    return found


def printed(found: dict[str, Any], judge: str, prompt: str) -> dict[str, Any]:
    """Column -> estimate, from the printed JSON; None if it prints none."""
    own = found["position"][judge][prompt]
    split = found["by"][prompt]
    families = found.get("twins", {}).get(judge, {}).get(prompt, {})
    adjusted = [one["adjusted"] for one in families.values()]
    return {
        **{key: own[key] for key in ("accuracy", "consistency", "first_share")},
        "agreement": found["remedies"]["rules"][judge][prompt]["single"]["agreement"],
        "longer": split["length"]["longer"],
        **{key: found["ranker"][judge][prompt][name] for key, name in RANKER.items()},
        "twin_preference": max(adjusted, key=lambda one: abs(one["value"]), default=None),
    }


@pytest.mark.parametrize("study", STUDIES)
def test_each_column_is_the_number_of_the_json(
    study: str, rows: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = copy_demo(tmp_path / "demo.db")
    main([str(store), "--json", "--quick", "--by", "prompt", "--study", study])
    found = json.loads(capsys.readouterr().out)
    mine = [row for row in rows if row["study"] == folder_name(study)]
    assert {(row["judge"], row["prompt"]) for row in mine} == {
        (judge, prompt) for judge, part in found["position"].items() for prompt in part
    }
    for row in mine:
        expected = printed(found, row["judge"], row["prompt"])
        status = found["by"][row["prompt"]]["counts"]["by_status"]
        unusable = row["numbers"]["unusable"]
        assert unusable["value"] == pytest.approx(1 - status["ok"] / sum(status.values()), abs=2e-6)
        assert expected.keys() | {"unusable"} == set(COLUMNS)
        for key, theirs in expected.items():
            ours, where = row["numbers"][key], f"{row['prompt']}, {key}"
            for part in ("value", "low", "high"):
                wanted = None if theirs is None else theirs[part]
                assert ours[part] == (wanted and pytest.approx(wanted, abs=2e-6)), where
            if theirs is not None and theirs["value"] is not None:
                assert (ours["n"], ours["items"]) == (theirs["n"], theirs["items"]), where
