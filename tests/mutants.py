"""Plant faults one at a time in a copy of the code, run the tests of the changed module, and list
the faults that no test finds.

    python -m tests.mutants [--faults 80] [--seed 1] [--minutes 60] [--jobs 2] [MODULE ...]

A fault is one changed expression: a comparison, a negation, a number, an operator, a value that is
not returned, or a call that is left out. First all tests of `make test` run once without faults;
probes note which tests call the functions that will get a fault. Then each fault meets these tests,
in memory (`planted_faults.py`); one that survives, or that runs while modules are imported, meets
the files of these tests (at most 12) again in a copy of the checkout. A test that fails or
hangs finds the fault.
Some survivors change nothing that can be seen: read them.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from pathlib import Path
from queue import SimpleQueue
from typing import Final

import pytest

from tests.planted_faults import FUNCTIONS, ROOT, Fault, FaultLoop, Trial

PACKAGES: Final = ("components", "evenhand", "judges", "metrics", "studies")
TEST_SECONDS: Final = 300
"""Seconds, and 60 more for each test file, after which the tests of one fault in a copy of the
checkout count as hanging."""
MARK: Final = "not long and not extra"
MAX_COPY_FILES: Final = 12
"""Most test files that run against a fault in a copy of the checkout."""
OPPOSITES: Final[dict[type[ast.AST], type[ast.AST]]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.And: ast.Or,
    ast.Or: ast.And,
}  # fmt: skip


# ---------------------------------------------------------------------------------- faults


def changed_node(node: ast.AST) -> ast.AST | None:
    """The node with its fault; None if it has none."""
    made = copy.deepcopy(node)
    if isinstance(made, ast.Compare) and type(made.ops[0]) in OPPOSITES:
        made.ops[0] = OPPOSITES[type(made.ops[0])]()  # type: ignore[assignment]
        return made
    if isinstance(made, (ast.BinOp, ast.BoolOp)) and type(made.op) in OPPOSITES:
        made.op = OPPOSITES[type(made.op)]()  # type: ignore[assignment]
        return made
    if isinstance(made, ast.UnaryOp) and isinstance(made.op, ast.Not):
        return made.operand
    if isinstance(made, ast.Constant) and isinstance(made.value, (bool, int, float)):
        value = made.value
        return ast.Constant(not value if isinstance(value, bool) else value + 1)
    if isinstance(made, ast.Return) and ast.unparse(made) not in ("return", "return None"):
        return ast.Return(ast.Constant(None))
    if isinstance(made, ast.Expr) and isinstance(made.value, ast.Call):
        return ast.Pass()
    return None


def faults_in(path: str, source: str) -> Iterator[Fault]:
    """All faults inside the functions of a file; none in annotations and f-strings."""
    starts = [0]
    for line in source.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    content, tree = source.encode(), ast.parse(source)
    functions = [one for one in ast.walk(tree) if isinstance(one, FUNCTIONS)]
    for node in _nodes_that_run(tree):
        made = changed_node(node)
        if made is None or not isinstance(node, (ast.expr, ast.stmt)):
            continue
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        text = ast.unparse(made)
        if isinstance(made, ast.expr):
            text = f"({text})"
        around = [f for f in functions if f.lineno <= node.lineno <= (f.end_lineno or f.lineno)]
        name = max(around, key=lambda function: function.lineno).name
        yield Fault(path, node.lineno, start, end, content[start:end].decode(), text, name)


def _nodes_that_run(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes inside functions, without annotations, the parts of f-strings, and `strict=True`, which
    only refuses arguments that do not occur."""
    inside = [
        part
        for function in ast.walk(node)
        if isinstance(function, FUNCTIONS)
        for part in function.body
    ]
    waiting: list[ast.AST] = list(dict.fromkeys(inside))
    seen: set[int] = set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, ast.JoinedStr):
            continue
        if isinstance(part, ast.keyword) and part.arg == "strict":
            continue
        seen.add(id(part))
        yield part
        skipped = {id(one) for one in (getattr(part, "annotation", None), _returns(part)) if one}
        waiting += [one for one in ast.iter_child_nodes(part) if id(one) not in skipped]


def _returns(node: ast.AST) -> ast.AST | None:
    return getattr(node, "returns", None)


# ---------------------------------------------------------------------------------- running


def copy_tree(target: Path) -> None:
    """Copy the files of the checkout that git knows or does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    for name in filter(None, map(os.fsdecode, names)):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)


def mirror_tests(path: str, folder: Path) -> list[str]:
    """Path of the test file of a module; without one, that of the test folder of its package."""
    tests = Path("tests", path).parent
    file = tests / f"test_{Path(path).stem}.py"
    return [one.as_posix() for one in (file, tests) if (folder / one).exists()][:1]


def copy_tests(trial: Trial, folder: Path) -> list[str]:
    """Test files for a fault in a copy: those of the tests that call its function, the nearest to
    its module first, and the module's own. Whole files, because a fixture that several tests share
    calls the function in the first of them only, and the assertion may be in another."""
    mirror = mirror_tests(trial.fault.path, folder)
    calling = dict.fromkeys(test.partition("::")[0] for test in trial.tests)
    parts = Path("tests", trial.fault.path).parts

    def distance(file: str) -> int:
        pairs = zip(parts, Path(file).parts, strict=False)
        return -sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    files = sorted(calling, key=distance)[:MAX_COPY_FILES]
    if not files or Path(folder, *mirror).is_file():
        files = [*dict.fromkeys([*mirror, *files])]
    return files


def run_tests(tests: list[str], folder: Path) -> int:
    """Exit code of pytest in a copy of the checkout."""
    records = os.environ.get("EVENHAND_RECORDS", str(ROOT.parent / "shared" / "data"))
    options = ["-q", "-x", "-m", MARK, "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", *options, *tests],
        cwd=folder, env={**os.environ, "EVENHAND_RECORDS": records}, capture_output=True,
        timeout=TEST_SECONDS + 60 * len(tests), check=False,
    )  # fmt: skip
    return done.returncode


def find_in_copy(trial: Trial, folder: Path) -> None:
    """Try a fault in a copy of the checkout, where modules are imported with it."""
    fault, path = trial.fault, folder / trial.fault.path
    tests = copy_tests(trial, folder)
    if not tests:
        return
    content = path.read_bytes()
    path.write_bytes(fault.changed(content))
    try:
        code = run_tests(tests, folder)
        trial.outcome = {0: "survived", 1: "found", 2: "found", 5: "survived"}.get(code, "unknown")
    except subprocess.TimeoutExpired:
        trial.outcome = "hangs"
    finally:
        path.write_bytes(content)
    if trial.outcome in ("found", "hangs"):  # do the same tests pass without the fault?
        try:
            code = run_tests(tests, folder)
        except subprocess.TimeoutExpired:
            code = 1
        trial.outcome = "unknown" if code else trial.outcome


def find_survivors_in_copies(trials: list[Trial], jobs: int, until: float) -> None:
    """Try the faults that were not found in memory again, in copies of the checkout; none is begun
    after the time `until`."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as place, ThreadPoolExecutor(jobs) as pool:
        folders: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            copy_tree(Path(place) / str(number))
            folders.put(Path(place) / str(number))

        def try_fault(trial: Trial) -> None:
            if time.monotonic() > until:
                return
            folder = folders.get()
            try:
                find_in_copy(trial, folder)
            finally:
                folders.put(folder)
            print(f"in a copy: {trial.outcome:<10} {trial.fault}", flush=True)

        list(pool.map(try_fault, trials))


def choose_faults(modules: list[str], number: int, seed: int) -> list[Fault]:
    """A seeded sample of all faults of the packages, or of the modules named."""
    paths = modules or sorted(
        path.relative_to(ROOT).as_posix()
        for name in PACKAGES
        for path in (ROOT / name).rglob("*.py")
    )
    every = [f for path in paths for f in faults_in(path, (ROOT / path).read_text("utf-8"))]
    return random.Random(seed).sample(every, min(number, len(every)))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="files to change (all)")
    parser.add_argument("--faults", type=int, default=80, help="number of faults (80)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (1)")
    parser.add_argument("--minutes", type=float, default=60.0, help="then no new fault is begun")
    parser.add_argument("--jobs", type=int, default=2, help="faults at a time (2)")
    parser.add_argument("--no-copies", action="store_true", help="in memory only")
    options = parser.parse_args(arguments)
    faults = choose_faults(options.modules, options.faults, options.seed)
    until = time.monotonic() + 60 * options.minutes
    loop = FaultLoop(faults, options.jobs, until)
    pytest.main(
        ["-q", "--workers", "4", "-m", MARK, "-p", "no:cacheprovider", "--no-summary"], [loop]
    )
    left = [one for one in loop.trials if one.outcome not in ("found", "hangs", "not tried")]
    if not options.no_copies:
        find_survivors_in_copies(left, options.jobs, until)
    outcomes = [trial.outcome for trial in loop.trials]
    found = sum(one in ("found", "hangs") for one in outcomes)
    tried = len(outcomes) - outcomes.count("not tried")
    print(f"\n{found} of {tried} faults were found ({len(faults)} chosen, seed {options.seed}).")
    for test in loop.failed:
        print(f"fails without a fault: {test}")
    for trial in loop.trials:
        if trial.outcome not in ("found", "hangs", "not tried"):
            print(f"{trial.outcome}: {trial.fault}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
