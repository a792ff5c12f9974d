"""Run the attack list in both modes and print its counts: inputs tried, repelled, found.

    python -m tests.attacks [--without-browser] [THREAT ...]

Exit code 1 if an input got through, a test failed, or a threat had no input in a mode.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

from tests.attacks.attack_list import MODES, THREATS
from tests.attacks.attack_log import LOG_VARIABLE

ROOT: Final = Path(__file__).resolve().parents[2]


class Counts(NamedTuple):
    """Inputs of one threat in one mode."""

    tried: int
    found: int

    @property
    def repelled(self) -> int:
        return self.tried - self.found


def count_inputs(log: Path) -> dict[tuple[str, str], Counts]:
    """Counts by threat and mode."""
    tried: Counter[tuple[str, str]] = Counter()
    found: Counter[tuple[str, str]] = Counter()
    for line in log.read_text(encoding="utf-8").splitlines():
        threat, mode, outcome, _, _ = json.loads(line)
        tried[threat, mode] += 1
        found[threat, mode] += outcome == "found"
    return {key: Counts(number, found[key]) for key, number in tried.items()}


def table(counts: dict[tuple[str, str], Counts], threats: list[str]) -> str:
    """Markdown: one row for each threat and mode."""
    lines = ["| attack | mode | inputs tried | repelled | found |", "|---|---|---|---|---|"]
    whole = Counts(0, 0)
    for threat in threats:
        for mode in MODES:
            got = counts.get((threat, mode), Counts(0, 0))
            whole = Counts(whole.tried + got.tried, whole.found + got.found)
            lines.append(_row(threat, mode, got))
    return "\n".join([*lines, _row("all", "both", whole)])


def _row(threat: str, mode: str, got: Counts) -> str:
    return f"| {threat} | {mode} | {got.tried:,} | {got.repelled:,} | {got.found:,} |"


def run_tests(threats: list[str], log: Path, *, browser: bool) -> int:
    """Run all tests of the threats with every parameter; return pytest's exit code."""
    tests = list(dict.fromkeys(test for threat in threats for test in THREATS[threat].tests))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    if not browser:
        command += ["-m", "not browser"]
    environment = {**os.environ, "TEST_ALL": "1", LOG_VARIABLE: str(log)}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("threats", nargs="*", metavar="THREAT", help=", ".join(THREATS))
    parser.add_argument("--without-browser", action="store_true", help="leave Chromium out")
    parser.add_argument("--log", type=Path, help="write every input to this file too")
    options = parser.parse_args(arguments)
    if unknown := [one for one in options.threats if one not in THREATS]:
        parser.error(f"{unknown[0]!r} is no threat of the list")
    threats = options.threats or list(THREATS)
    with tempfile.TemporaryDirectory() as folder:
        log = options.log.absolute() if options.log else Path(folder) / "attacks.jsonl"
        log.write_text("", encoding="utf-8")
        code = run_tests(threats, log, browser=not options.without_browser)
        counts = count_inputs(log)
    print(table(counts, threats))
    complete = all(counts.get((threat, mode)) for threat in threats for mode in MODES)
    return int(bool(code) or not complete or any(got.found for got in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
