"""Planted faults: each is valid Python that differs in one place; a probe names its tests."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.mutants import PROBE, PROBE_FILE, add_probe, choose_faults, faults_in

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
    content = SOURCE.encode()
    for one in found:
        changed = content[: one.start] + one.text.encode() + content[one.end :]
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(content))


def test_a_probe_notes_each_test_that_calls_a_function(tmp_path: Path, monkeypatch) -> None:
    source = (
        "def f():\n    'text'\n    @g\n    def inner():\n        return 1\n    return inner()\n"
    )
    probed = add_probe(source, 6, 3)
    assert probed.splitlines()[2].endswith(".hit(3)") and ast.parse(probed)
    assert add_probe(source, 5, 4).splitlines()[4].startswith("        __import__")
    (tmp_path / PROBE_FILE).parent.mkdir()
    (tmp_path / PROBE_FILE).write_text(PROBE)
    made = {"__file__": str(tmp_path / PROBE_FILE)}
    exec(PROBE, made)
    for test in ("tests/a.py::b[x y] (call)", "tests/a.py::b[x y] (call)", "", "c (setup)"):
        monkeypatch.setenv("PYTEST_CURRENT_TEST", test)
        made["hit"](3)  # type: ignore[operator]
    noted = (tmp_path / PROBE_FILE).with_name("fault_probe_3.txt").read_text()
    assert noted.splitlines() == ["tests/a.py::b[x y]", "", "c"]


def test_the_sample_is_seeded() -> None:
    module = ["metrics/estimation/intervals.py"]
    assert choose_faults(module, 5, 1) == choose_faults(module, 5, 1) != choose_faults(module, 5, 2)
