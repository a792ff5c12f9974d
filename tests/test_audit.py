"""`make audit` fails for holes, and says so where it could not look."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.audit import main
from tests.page_words import says

ROOT = Path(__file__).parents[1]
FOUND = {"dependencies": [
    {"name": "whole", "version": "1.0", "vulns": []},
    {"name": "holey", "version": "2.0", "vulns": [{"id": "CVE-1", "fix_versions": ["2.1"]}]},
    {"name": "ours", "skip_reason": "not in the database"},
]}  # fmt: skip


def speaking(folder: Path, said: str, code: int = 0, error: str = "") -> list[str]:
    """A stand-in for pip-audit that says what it is told to say."""
    script = folder / f"stand_in_{len(list(folder.iterdir()))}.py"
    script.write_text(f"import sys; print({said!r}); sys.stderr.write({error!r}); sys.exit({code})")
    return [sys.executable, str(script)]


def test_a_hole_fails_with_the_version_that_mends_it(tmp_path, capsys):
    assert main(speaking(tmp_path, json.dumps(FOUND), 1)) == 1
    told = capsys.readouterr().out
    assert "holey 2.0: CVE-1; mended in 2.1" in told
    assert says(told, "2 packages", "1", "holes; NOT")


def test_no_hole_passes(tmp_path, capsys):
    whole = {"dependencies": FOUND["dependencies"][:1]}
    assert main(speaking(tmp_path, json.dumps(whole))) == 0
    assert says(capsys.readouterr().out, "1 packages", "0", "holes")


@pytest.mark.parametrize("command", ["unreachable", "knows nothing", "not there"])
def test_a_database_that_was_not_reached_is_said_and_fails_only_if_strict(
    command, tmp_path, capsys, monkeypatch
):
    nothing = json.dumps({"dependencies": FOUND["dependencies"][2:]})
    tool = {
        "unreachable": speaking(tmp_path, "", 1, "ConnectionError: no route"),
        "knows nothing": speaking(tmp_path, nothing),
        "not there": [str(tmp_path / "nowhere")],
    }[command]
    assert main(tool) == 0
    assert capsys.readouterr().out.startswith("NOT AUDITED: ")
    monkeypatch.setenv("EVENHAND_AUDIT", "strict")
    assert main(tool) == 2


def test_every_version_in_every_requirements_file_is_pinned():
    files = sorted([*ROOT.glob("requirements*.txt"), *(ROOT / "requirements").glob("*.txt")])
    assert len(files) >= 6
    for path in files:
        lines = (line.split("#")[0].strip() for line in path.read_text("utf-8").splitlines())
        for line in filter(None, lines):
            pinned = re.fullmatch(r"[\w.-]+(\[[\w,-]+\])?==[\w.]+", line)
            assert pinned or line.startswith("-r "), f"{path.name}: {line}"
