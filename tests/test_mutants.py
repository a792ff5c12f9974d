"""Planted faults: each is valid Python that differs in one place; each module has its tests."""

from __future__ import annotations

import ast

from tests.conftest import ROOT
from tests.mutants import TestFinder, choose_faults, faults_in

SOURCE = """LIMIT = 3
def f(a: int = 1) -> bool:
    'text é'
    log(a)
    if g(): return None
    if not a or a > 2:
        return a + 1 == LIMIT
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
    content = SOURCE.encode()
    for one in found:
        changed = content[: one.start] + one.text.encode() + content[one.end :]
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(content))


def test_the_sample_is_seeded() -> None:
    module = ["metrics/estimation/intervals.py"]
    assert choose_faults(module, 5, 1) == choose_faults(module, 5, 1) != choose_faults(module, 5, 2)


def test_the_tests_of_a_module_are_its_mirror_and_those_that_import_it() -> None:
    found = TestFinder(ROOT).tests_of("metrics/estimation/intervals.py")
    assert found[0] == "tests/metrics/estimation/test_intervals.py"
