"""The promises of docs/security.md: each names tests, and each test exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "security.md"


def promises() -> list[tuple[str, str, list[str]]]:
    """Promise, beneficiary and test ids of each row of the table."""
    section = PAGE.read_text(encoding="utf-8").partition("## Promises")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return [(row[0], row[1], re.findall(r"`(tests/[^`]+)`", row[2])) for row in rows[1:]]


@cache
def names_of_tests(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name[:5] == "test_"
    )


def missing(test: str) -> bool:
    name, _, function = test.partition("::")
    path = ROOT / name
    if not path.is_file():
        return True
    found = names_of_tests(path)
    return not found if not function else function not in found


def test_each_promise_names_tests_that_exist() -> None:
    rows = promises()
    assert len(rows) >= 20 and all(who for _, who, _ in rows)
    assert [promise for promise, _, tests in rows if not tests] == []
    assert [test for _, _, tests in rows for test in tests if missing(test)] == []


LATER = {"long": " (`make soak`)", "extra": " (`make test-all`)"}
"""Marks of tests that `make test` leaves out, and the note that the page has behind them."""


def marks_of(test: str) -> set[str]:
    """Marks of a test and of its file, but not of single parameters."""
    name, _, function = test.partition("::")
    found = []
    for node in ast.parse((ROOT / name).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            found.append(ast.unparse(node.value))
        elif isinstance(node, ast.FunctionDef) and node.name == function:
            found += [ast.unparse(one) for one in node.decorator_list]
    plain = [text for text in found if "parametrize" not in text]
    marks = set(re.findall(r"mark\.(\w+)", " ".join(plain)))
    in_browser = name.startswith("tests/ui/")  # tests/ui/conftest.py marks them
    return marks | {"extra"} if in_browser and "core" not in marks else marks


def test_each_promise_has_a_test_in_make_test_and_others_name_their_command() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for promise, _, tests in promises():
        later = {test: marks_of(test) & set(LATER) for test in tests}
        assert not all(later.values()), f"{promise}: no test of it is in make test"
        for test, marks in later.items():
            note = next((text for mark, text in LATER.items() if mark in marks), "")
            assert (f"`{test}`{note}" in page) and (note or f"`{test}` (" not in page), test


def test_the_check_finds_a_test_that_is_gone() -> None:
    here = "tests/test_promises.py"
    assert not missing(here) and not missing(f"{here}::test_each_promise_names_tests_that_exist")
    assert missing(f"{here}::test_gone") and missing("tests/test_gone.py")


def test_the_page_says_how_to_report_a_hole() -> None:
    assert "## Reporting a hole" in PAGE.read_text(encoding="utf-8")
