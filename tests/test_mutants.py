"""Planted faults: each is valid Python that differs in one place, meets the tests that call its
function, and is found by those that notice it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

from tests.mutants import choose_faults, faults_in
from tests.planted_faults import ROOT, probed_tree

SOURCE = """LIMIT = 3
def f(a: int = 1) -> bool:
    'text é'
    log(a)
    if g(): return None
    if not a or a > 2:
        return a + 1 == LIMIT
    for b in zip(a, a, strict=True): pass
    return f"{a + 1}"
"""


def test_each_fault_changes_one_place_inside_a_function() -> None:
    found = list(faults_in("f.py", SOURCE))
    assert {(one.before, one.text) for one in found} == {
        ("log(a)", "pass"), ("not a or a > 2", "(not a and a > 2)"), ("not a", "(a)"),
        ("a > 2", "(a <= 2)"), ("2", "(3)"), ("return a + 1 == LIMIT", "return None"),
        ("a + 1 == LIMIT", "(a + 1 != LIMIT)"), ("a + 1", "(a - 1)"), ("1", "(2)"),
        ('return f"{a + 1}"', "return None"),
    }  # fmt: skip
    for one in found:
        changed = one.changed(SOURCE.encode())
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(SOURCE))


def test_a_fault_keeps_the_numbers_of_all_other_lines() -> None:
    body = "    x = (a +\n      1 *\n      2)\n    log(a,\n        x)\n    return (x,\n  a)\n"
    source = f"def f(a):\n{body}"
    faults = list(faults_in("f.py", source))
    assert {one.text for one in faults} >= {"(a - 1 * 2)", "pass", "return None"}
    for one in faults:
        changed = one.changed(source.encode()).decode()
        assert changed.count("\n") == source.count("\n"), changed
        assert [type(node) for node in ast.parse(changed).body] == [ast.FunctionDef]


def test_a_probe_stands_at_the_start_of_the_innermost_function() -> None:
    source = "def f():\n    'text'\n    @g\n    def h():\n        return 1\n    return h()\n"
    body = probed_tree(source, {6: 3, 5: 4}).body[0].body  # type: ignore[attr-defined]
    calls = [ast.unparse(one).rpartition(".")[2] for one in (body[1], body[2].body[0])]
    assert calls == ["hit(3)", "hit(4)"] and ast.unparse(body[0]) == "'text'"


PRODUCT = '''
def log(function):
    return function


class Shop:
    @staticmethod
    @log
    def total(prices, rebate=0):
        """Sum of the prices."""
        return sum(prices) - rebate


def wait(number):
    while number != 0:
        number -= 3
    return number


def unused(a):
    return a


def unnoticed(a):
    return a + 1
'''
TESTS = """
from shop import Shop, unnoticed, wait

def test_total():
    assert Shop.total([2, 3], 1) == 4

def test_wait():
    assert wait(6) == 0

def test_unnoticed():
    unnoticed(1)

MEMORY = []

def test_remember():
    MEMORY.append(1)

def test_that_fails_alone():
    unnoticed(1)
    assert MEMORY
"""
RUN = """
import json, sys, time
from pathlib import Path
import pytest
from tests import planted_faults
planted_faults.ROOT, planted_faults.HANG_SECONDS = Path.cwd(), 1.0
from tests.mutants import faults_in
wanted = {"sum(prices) - rebate", "3", "return a", "return a + 1"}
faults = [one for one in faults_in("shop.py", Path("shop.py").read_text()) if one.before in wanted]
loop = planted_faults.FaultLoop(faults, 2, time.monotonic() + 60)
pytest.main(["-q", "--workers", "2", "-p", "tests.forked_workers", "test_shop.py"], [loop])
print(loop.failed)
print(json.dumps([[one.fault.before, one.outcome, one.tests] for one in loop.trials]))
"""


def test_faults_in_memory_are_found_by_the_tests_that_call_their_function(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(PRODUCT)
    (tmp_path / "test_shop.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{RUN}"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    *_, failed, found = done.stdout.splitlines()
    outcomes = {before: (outcome, tests) for before, outcome, tests in json.loads(found)}
    assert failed == "['test_shop.py::test_that_fails_alone']"
    assert outcomes == {
        "sum(prices) - rebate": ("found", ["test_shop.py::test_total"]),
        "3": ("hangs", ["test_shop.py::test_wait"]),
        "return a": ("no tests", []),
        "return a + 1": ("survived", ["test_shop.py::test_unnoticed"]),
    }


def test_the_sample_is_seeded() -> None:
    module = ["metrics/estimation/intervals.py"]
    assert choose_faults(module, 5, 1) == choose_faults(module, 5, 1) != choose_faults(module, 5, 2)
