"""Plant faults one at a time in a copy of the code, run the tests of the changed module, and list
the faults that no test finds.

    python -m tests.mutants [--faults 80] [--seed 1] [--minutes 60] [--jobs 2] [MODULE ...]

A fault is one changed expression: a comparison, a negation, a number, an operator, a value that is
not returned, or a call that is left out. First all tests of `make test` run once without faults; a
probe in each function that will get a fault writes down the tests that call it. Then each fault
meets these tests, those that call few of the other functions first; a fault that survives 60 of
them meets the others at the end. A test that fails or hangs finds the fault. Some survivors change
nothing that can be seen: read them.
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
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = ("components", "evenhand", "judges", "metrics", "studies")
TEST_SECONDS: Final = 300
"""Seconds, and two more for each test, after which the tests of one fault count as hanging."""
UNKNOWN_TEST: Final = 4
"""Exit code of pytest if a test of that name does not exist."""
MARK: Final = "not long and not extra"
MAX_CALLING_TESTS: Final = 60
"""Most tests, of those that call the function of a fault, that are first run against it: the
narrowest, and as the last BROAD_TESTS of them the broadest. The others follow if it survives."""
BROAD_TESTS: Final = 10
PROBE_FILE: Final = "studies/fault_probe.py"
PROBE: Final = """import os
from pathlib import Path
SEEN = set()
def hit(number):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if (number, test) not in SEEN:
        SEEN.add((number, test))
        with Path(__file__).with_name(f"fault_probe_{number}.txt").open("a") as file:
            file.write(test + "\\n")
"""
"""Module of the copy, with the function that notes the test that runs at present."""
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
OPPOSITES: Final[dict[type[ast.AST], type[ast.AST]]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.And: ast.Or,
    ast.Or: ast.And,
}  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One changed piece of a file: its bytes from `start` to `end` become `text`."""

    path: str
    line: int
    start: int
    end: int
    before: str
    text: str
    function: str = ""
    """Name of the innermost function around it."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before!r} -> {self.text!r}"


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


def add_probe(source: str, line: int, number: int) -> str:
    """The source with a call of the probe at the start of the innermost function around a line."""
    around = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, FUNCTIONS) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    body = max(around, key=lambda node: node.lineno).body
    first = body[1] if isinstance(body[0], ast.Expr) and len(body) > 1 else body[0]
    place = min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", ()))])
    lines = source.splitlines(keepends=True)
    call = f'__import__("studies.fault_probe", fromlist=["hit"]).hit({number})\n'
    return "".join([*lines[: place - 1], " " * first.col_offset, call, *lines[place - 1 :]])


def tests_that_call(faults: list[Fault], folder: Path) -> list[tuple[list[str], list[str]]]:
    """Names of the tests that call the function of each fault, by one run of all tests in a copy
    of the checkout: those to run first, with those that call the fewest of these functions in
    front, and the others. The tests of the module are the last of the first part, because a value
    that is kept for all tests is computed in the first only."""
    (folder / PROBE_FILE).write_text(PROBE)
    for number, fault in sorted(enumerate(faults), key=lambda one: -one[1].line):
        path = folder / fault.path  # from below, so that the lines above stay where they are
        path.write_text(add_probe(path.read_text("utf-8"), fault.line, number), "utf-8")
    run_tests(["--workers", "4", "-m", MARK], folder, 20 * TEST_SECONDS)
    notes = [folder / PROBE_FILE.replace(".py", f"_{number}.txt") for number in range(len(faults))]
    found = [set(note.read_text().splitlines()) if note.exists() else set() for note in notes]
    calls = Counter(test for tests in found for test in tests)
    chosen = []
    for fault, tests in zip(faults, found, strict=True):
        ordered = sorted(filter(None, tests), key=lambda test: (calls[test], test))
        rest = []
        if len(ordered) > MAX_CALLING_TESTS:
            middle = slice(MAX_CALLING_TESTS - BROAD_TESTS, -BROAD_TESTS)
            rest, ordered[middle] = ordered[middle], []
        mirror = mirror_test(fault.path)
        chosen.append(([*ordered, *([mirror] if (folder / mirror).is_file() else ())], rest))
    return chosen


def mirror_test(path: str) -> str:
    """Path of the test file of a module."""
    return f"tests/{Path(path).parent.as_posix()}/test_{Path(path).stem}.py"


def run_tests(arguments: list[str], folder: Path, seconds: float) -> int:
    """Exit code of pytest in a copy of the checkout."""
    records = os.environ.get("EVENHAND_RECORDS", str(ROOT.parent / "shared" / "data"))
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    env = {**os.environ, "EVENHAND_RECORDS": records}
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, timeout=seconds, check=False
    )
    return done.returncode


def find_fault(fault: Fault, tests: list[str], folder: Path) -> str:
    """How the tests react to a fault in a copy of the checkout: "found", "hangs" or "survived"."""
    path = folder / fault.path
    content = path.read_bytes()
    path.write_bytes(content[: fault.start] + fault.text.encode() + content[fault.end :])
    try:
        seconds = TEST_SECONDS + 2 * len(tests)
        code = run_tests(["-x", "-m", MARK, *tests], folder, seconds)
        if code == UNKNOWN_TEST:
            files = dict.fromkeys(test.partition("::")[0] for test in tests)
            code = run_tests(["-x", "-m", MARK, *files], folder, seconds)
        return "survived" if code in (0, 5) else "found"
    except subprocess.TimeoutExpired:
        return "hangs"
    finally:
        path.write_bytes(content)


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
    options = parser.parse_args(arguments)
    faults = choose_faults(options.modules, options.faults, options.seed)
    until = time.monotonic() + 60 * options.minutes
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as place,
        ThreadPoolExecutor(options.jobs) as pool,
    ):
        copy_tree(Path(place) / "probes")
        calling = tests_that_call(faults, Path(place) / "probes")
        folders: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.jobs):
            copy_tree(Path(place) / str(number))
            folders.put(Path(place) / str(number))

        def try_fault(fault: Fault, tests: list[str]) -> str:
            if not tests:
                return "no tests"
            if time.monotonic() > until:
                return "not tried"
            folder = folders.get()
            try:
                outcome = find_fault(fault, tests, folder)
            finally:
                folders.put(folder)
            print(f"{outcome:<10} {len(tests):>3} tests  {fault}", flush=True)
            return outcome

        outcomes = list(pool.map(try_fault, faults, (first for first, _ in calling)))
        left = [
            number
            for number, (outcome, (_, rest)) in enumerate(zip(outcomes, calling, strict=True))
            if outcome == "survived" and rest
        ]
        further = pool.map(try_fault, (faults[n] for n in left), (calling[n][1] for n in left))
        for number, outcome in zip(left, further, strict=True):
            outcomes[number] = "survived" if outcome == "not tried" else outcome
    found = sum(one in ("found", "hangs") for one in outcomes)
    tried = len(outcomes) - outcomes.count("not tried")
    print(f"\n{found} of {tried} faults were found ({len(faults)} chosen, seed {options.seed}).")
    for fault, outcome in zip(faults, outcomes, strict=True):
        if outcome in ("survived", "no tests"):
            print(f"{outcome}: {fault}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
