"""Pytest plugin that plants faults in the imported code, one at a time, and runs the tests that
call the changed function.

All tests run once first, with a probe in each function that will get a fault: it notes the tests
that call the function, and every test's time is measured. Then a child is forked for each fault. It
exchanges the code of the function in memory and runs these tests until one fails. Nothing is
imported or collected again, so a fault takes a second where a new process takes ten.

A fault counts as found only if the same tests, in the same order, pass in another child without it;
a test that fails there too is not used, and the fault is tried again.

Code that runs while modules are imported is not run again: a fault in it survives here, and must be
tried in a copy of the checkout (`tests/mutants.py`).
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import os
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final

import pytest

from tests.fault_probe import FOLDER_VARIABLE

ROOT: Final = Path(__file__).resolve().parents[1]
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
MAX_SECONDS: Final = 90.0
"""Tests that take longer than this together are not all run against a fault: the narrowest are,
and those that take least time."""
HANG_SECONDS: Final = 60.0
"""Seconds, and ten times the time of the tests, after which a fault counts as hanging."""
CodeKey = tuple[str, str, int]


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

    def changed(self, content: bytes) -> bytes:
        """The file with the fault; all other lines keep their numbers."""
        missing = content[self.start : self.end].count(b"\n") - self.text.count("\n")
        text = self.text[:-1] + "\n" * missing + self.text[-1:] if missing > 0 else self.text
        if missing > 0 and not self.text.endswith(")"):
            text = self.text + "\n" * missing
        return content[: self.start] + text.encode() + content[self.end :]


@dataclass
class Trial:
    """A fault, the tests that call its function, and the outcome: "found", "hangs", "survived",
    "no tests", "not tried", "not in memory" if its code cannot be exchanged, or "unknown" if the
    child ended without an outcome, or its tests hang without the fault too."""

    fault: Fault
    tests: list[str] = field(default_factory=list)
    outcome: str = "not tried"
    found_by: str = ""


def probed_tree(source: str, lines: dict[int, int]) -> ast.Module:
    """The module with a call of the probe at the start of the innermost function around each line:
    line -> number of the probe. All statements keep their line numbers."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
    for line, number in lines.items():
        around = [one for one in functions if one.lineno <= line <= (one.end_lineno or 0)]
        body = max(around, key=lambda one: one.lineno).body
        documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        first = body[1] if documented and len(body) > 1 else body[0]
        call = ast.parse(
            f"__import__('tests.fault_probe', fromlist=['hit']).hit({number})", mode="exec"
        ).body[0]
        for node in ast.walk(call):
            ast.copy_location(node, first)
        body.insert(1 if documented else 0, call)
    return tree


def functions_in_memory() -> dict[CodeKey, list[FunctionType]]:
    """All functions of the checkout that exist: (file, qualified name, first line) -> functions."""
    gc.unfreeze()
    found: dict[CodeKey, list[FunctionType]] = {}
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(str(ROOT)):
            found.setdefault(_code_key(one.__code__), []).append(one)
    gc.freeze()
    return found


def _code_key(code: CodeType) -> CodeKey:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _all_codes(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _all_codes(one)


def exchange_code(
    existing: dict[CodeKey, list[FunctionType]], module: CodeType
) -> list[tuple[FunctionType, CodeType]]:
    """Give the existing functions the code of a changed module; return those that changed, with
    their former code. ValueError if a function uses other outer variables than before."""
    changed = []
    for code in _all_codes(module):
        for function in existing.get(_code_key(code), ()):
            if function.__code__ != code:
                changed.append((function, function.__code__))
                function.__code__ = code
    return changed


class FaultLoop:
    """The plugin; `trials` have their outcomes after pytest's run."""

    def __init__(self, faults: Sequence[Fault], jobs: int, until: float) -> None:
        self.trials = [Trial(fault) for fault in faults]
        self.failed: list[str] = []
        """Tests that fail without a fault; they are not used."""
        self._jobs, self._until = jobs, until
        self._seconds: Counter[str] = Counter()
        self._started = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.append(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        for path in {trial.fault.path for trial in self.trials}:
            with contextlib.suppress(ImportError):  # a package that not everybody has
                importlib.import_module(path.removesuffix(".py").replace("/", "."))
        existing = functions_in_memory()
        folder = Path(tempfile.mkdtemp(prefix="probes-"))  # a worker's end would remove another
        folder.chmod(0o777)  # some tests run as another user
        os.environ[FOLDER_VARIABLE] = str(folder)
        restored = self._plant_probes(existing)
        result = yield
        for function, code in restored:
            function.__code__ = code
        self._choose_tests(folder)
        shutil.rmtree(folder)
        items = {item.nodeid: item for item in session.items}
        self._try_all(session, existing, items)
        return result

    def _plant_probes(
        self, existing: dict[CodeKey, list[FunctionType]]
    ) -> list[tuple[FunctionType, CodeType]]:
        """Add the probes of all trials to the code in memory; return what to restore."""
        lines: dict[str, dict[int, int]] = {}
        for number, trial in enumerate(self.trials):
            lines.setdefault(trial.fault.path, {})[trial.fault.line] = number
        self._probe = {
            number: lines[trial.fault.path][trial.fault.line]
            for number, trial in enumerate(self.trials)
        }
        restored = []
        for path, probes in lines.items():
            tree = probed_tree((ROOT / path).read_text("utf-8"), probes)
            module = compile(tree, str(ROOT / path), "exec", dont_inherit=True)
            restored += exchange_code(existing, module)
        return restored

    def _choose_tests(self, folder: Path) -> None:
        """Give each trial the tests that call its function, those that call few of the other
        functions first, and the quick ones of these."""
        notes = [folder / f"{self._probe[number]}.txt" for number in range(len(self.trials))]
        found = [set(note.read_text().splitlines()) if note.exists() else set() for note in notes]
        calls = Counter(test for tests in found for test in tests)
        for trial, tests in zip(self.trials, found, strict=True):
            known = [test for test in tests if test in self._seconds and test not in self.failed]
            known.sort(key=lambda test: (calls[test] * (0.02 + self._seconds[test]), test))
            spent = 0.0
            for test in known:
                spent += self._seconds[test]
                if spent <= MAX_SECONDS or self._seconds[test] < 0.1:
                    trial.tests.append(test)

    def _try_all(
        self,
        session: pytest.Session,
        existing: dict[CodeKey, list[FunctionType]],
        items: dict[str, pytest.Item],
    ) -> None:
        """Try each fault in a child of its own, several at a time."""
        waiting, running = list(self.trials)[::-1], list[_Child]()
        base = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        printer: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        while waiting or running:
            while waiting and len(running) < self._jobs:
                trial = waiting.pop()
                if not trial.tests:
                    trial.outcome = "no tests"
                elif time.monotonic() < self._until:
                    running.append(self._start(session, trial, existing, items, base))
            for child in [one for one in running if one.has_ended()]:
                running.remove(child)
                trial, outcome = child.trial, child.outcome
                if child.planted:
                    trial.outcome, trial.found_by = outcome, child.failed_test
                    if outcome in ("found", "hangs"):
                        running.append(self._start(session, trial, existing, items, base, False))
                        continue
                elif outcome == "found":  # it fails without the fault too
                    self.failed.append(child.failed_test)
                    trial.tests.remove(child.failed_test)
                    trial.outcome = "not tried"
                    waiting.append(trial)
                    continue
                elif outcome != "survived":
                    trial.outcome = "unknown"
                printed = f"{trial.outcome:<13} {len(trial.tests):>4} tests "
                printer.write_line(f"{printed} {trial.fault}  {trial.found_by}")
            time.sleep(0.02)

    def _start(
        self,
        session: pytest.Session,
        trial: Trial,
        existing: dict[CodeKey, list[FunctionType]],
        items: dict[str, pytest.Item],
        base: Path,
        planted: bool = True,
    ) -> _Child:
        """Start the child of a trial; with `planted` false, the same tests without the fault, up to
        the one that failed with it."""
        if planted:
            trial.tests = [test for test in trial.tests if test not in self.failed]
        tests = trial.tests
        if not planted and trial.found_by:
            tests = tests[: tests.index(trial.found_by) + 1]
        self._started += 1
        seconds = HANG_SECONDS + 10 * sum(self._seconds[one] for one in tests)
        chosen = [items[test] for test in tests]
        folder = base / f"fault-{self._started}"
        return _Child(session, trial, existing, chosen, folder, seconds, planted)


class _Child:
    """A forked process that runs the tests of one fault, with it (`planted`) or without."""

    EXITS: Final = {0: "survived", 1: "found", 2: "not in memory"}
    outcome = "unknown"
    failed_test = ""

    def __init__(
        self,
        session: pytest.Session,
        trial: Trial,
        existing: dict[CodeKey, list[FunctionType]],
        items: list[pytest.Item],
        folder: Path,
        seconds: float,
        planted: bool,
    ) -> None:
        self.trial, self.folder, self.planted = trial, folder, planted
        self._until = time.monotonic() + seconds
        folder.mkdir()
        self._pid = os.fork()
        if self._pid == 0:
            code = 3
            try:
                code = _try_fault(
                    session, trial.fault if planted else None, existing, items, folder
                )
            finally:
                os._exit(code)

    def has_ended(self) -> bool:
        """Whether the outcome is known; then nothing of the child is left."""
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            self.outcome = self.EXITS.get(code, "unknown")
            if code < 0 and code != -signal.SIGKILL:
                self.outcome = "found"  # the fault crashed the interpreter; SIGKILL: no memory
            with contextlib.suppress(OSError):
                self.failed_test = (self.folder / "failed").read_text()
        elif time.monotonic() < self._until:
            return False
        else:
            self.outcome = "hangs"
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        if not pid:
            os.waitpid(self._pid, 0)
        shutil.rmtree(self.folder, ignore_errors=True)
        return True


class _StopAtFailure:
    """Plugin of a child: notes the first test that fails."""

    failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


def _try_fault(
    session: pytest.Session,
    fault: Fault | None,
    existing: dict[CodeKey, list[FunctionType]],
    tests: list[pytest.Item],
    folder: Path,
) -> int:
    """Exit code of a child: 1 if a test fails with the fault (with None: without one), 0 if none, 2
    if the code cannot be exchanged."""
    os.setpgid(0, 0)
    config: Any = session.config
    if fault is not None:
        path = ROOT / fault.path
        try:
            source = fault.changed(path.read_bytes())
            module = compile(source, str(path), "exec", dont_inherit=True)
            if not exchange_code(existing, module):
                return 2
        except (SyntaxError, ValueError):
            return 2
    with contextlib.suppress(AttributeError):
        config.pluginmanager.get_plugin("capturemanager").stop_global_capturing()
    silent = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(silent, number)
    with contextlib.suppress(AttributeError):
        config.pluginmanager.get_plugin("capturemanager").start_global_capturing()
    config.pluginmanager.unregister(name="terminalreporter")
    seen = _StopAtFailure()
    config.pluginmanager.register(seen, "stop-at-failure")
    config._tmp_path_factory._basetemp = folder
    for item, following in zip(tests, [*tests[1:], None], strict=True):
        config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if seen.failed:
            (folder / "failed").write_text(seen.failed)
            return 1
    return 0
