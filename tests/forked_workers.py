"""Pytest plugin that runs the collected tests in several processes (`--workers N`).

The tests are collected once; then the process is forked. Workers that are started anew would import
all modules and collect all tests each: 9 s of CPU per worker. Each file is run by one worker, which
takes the next file when it is done. The simulations of tests/soak take minutes each and share
nothing: they are taken one by one.

A test that takes longer than `--test-seconds` fails and its worker is killed. Beside other work a
second counts for less: half if twice as many processes want to run as there are workers. The tests
that a killed or dead worker had left, or had claimed, are run by new workers.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any
from warnings import WarningMessage

import pytest

from tests.samples import ALL

BROWSER_TESTS, SIMULATIONS = "tests/ui/", "tests/soak/"
STACKS_FILE, STACKS_SIGNAL, STACKS_SECONDS = "stacks.txt", signal.SIGUSR2, 1.0
_FORK = multiprocessing.get_context("fork")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=1, help="number of processes that run tests")
    parser.addoption(
        "--test-seconds", type=float, default=600.0 if ALL else 120.0,
        help="seconds after which a test fails, with several workers",
    )  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in `--workers` processes; None, pytest's own loop, for one process."""
    workers = session.config.getoption("workers")
    if workers < 2 or session.config.option.collectonly or session.testsfailed:
        return None
    groups, done, round_number = _group_by_file(session.items), set[str](), 0
    while groups:
        before = len(done)
        _run_round(session, groups, done, min(workers, len(groups)), round_number)
        left = [[item for item in group if item.nodeid not in done] for group in groups]
        groups, round_number = [group for group in left if group], round_number + 1
        if len(done) == before:
            names = ", ".join(item.nodeid for group in groups for item in group)
            _print_line(session, f"Not run, because workers die before their first test: {names}")
            break
    return True


def _run_round(
    session: pytest.Session,
    groups: list[list[pytest.Item]],
    done: set[str],
    workers: int,
    number: int,
) -> None:
    """Run the groups in new workers until all of them have ended; add the tests that were run, or
    during which a worker died, to `done`."""
    base = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    turn = _FORK.Value("i", 0)
    running: dict[Connection, _Worker] = {}
    for place in range(workers):
        theirs, ours = _FORK.Pipe(duplex=False)
        folder = base / f"worker-{number}-{place}"
        process = _FORK.Process(target=_run_groups, args=(session, groups, turn, ours, folder))
        process.start()
        ours.close()
        running[theirs] = _Worker(process, folder)
    try:
        _report_all(session, running, done)
    finally:
        for worker in running.values():
            worker.kill()


class _Worker:
    """A process, and the test that it runs at present."""

    def __init__(self, process: Any, folder: Path) -> None:
        self.process, self.folder = process, folder
        self.test, self.location, self.taken = "", ("", None, ""), 0.0
        self.trouble = "died"

    def kill(self) -> None:
        """End the process and all that its tests started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()

    def end_if_late(self, seconds: float) -> None:
        """End the process if its test has taken too long, after its threads wrote their stacks."""
        if not self.test or self.trouble != "died" or self.taken <= seconds:
            return
        self.trouble = f"took more than {seconds:g} s and was killed"
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, STACKS_SIGNAL)
            self.process.join(STACKS_SECONDS)
        self.kill()

    def stacks(self) -> str:
        """The stacks of its threads, if it was told to write them."""
        with contextlib.suppress(OSError):
            return (self.folder / STACKS_FILE).read_text(encoding="utf-8")
        return ""


def _group_by_file(items: list[pytest.Item]) -> list[list[pytest.Item]]:
    """Tests by file, in the order of collection. In `make test` all browser tests are one group,
    which shares one app; each simulation of `make soak` is a group."""
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        file = item.nodeid.split("::", 1)[0]
        if file.startswith(BROWSER_TESTS) and not ALL:
            file = BROWSER_TESTS
        elif file.startswith(SIMULATIONS):
            file = item.nodeid
        groups.setdefault(file, []).append(item)
    return list(groups.values())


# ------------------------------------------------------------------------- in the first process


def _report_all(
    session: pytest.Session, running: dict[Connection, _Worker], done: set[str]
) -> None:
    """Pass the workers' reports on to pytest until all workers have ended."""
    hook, seconds = session.config.hook, session.config.getoption("test_seconds")
    last = time.monotonic()
    while running:
        for pipe in wait(list(running), timeout=1.0):
            assert isinstance(pipe, Connection)
            worker = running[pipe]
            try:
                kind, data = pipe.recv()
            except (EOFError, OSError):
                kind, data = "died", ""
            if kind == "start":
                (worker.test, worker.location), worker.taken = data, 0.0
            elif kind == "report":
                report = hook.pytest_report_from_serializable(config=session.config, data=data)
                hook.pytest_runtest_logreport(report=report)
                if report.when == "teardown":
                    place = {"nodeid": report.nodeid, "location": report.location}
                    hook.pytest_runtest_logfinish(**place)
                    done.add(report.nodeid)
                    worker.test = ""
            elif kind == "warning":
                text, place, when, nodeid, location = data
                found = WarningMessage(UserWarning(text), UserWarning, *place)
                facts = {"when": when, "nodeid": nodeid, "location": location}
                hook.pytest_warning_recorded.call_historic(
                    kwargs={"warning_message": found, **facts}
                )
            else:
                worker.process.join()
                if kind == "died":
                    _report_death(session, worker, data)
                    done.add(worker.test)
                del running[pipe]
        before, last = last, time.monotonic()
        share = share_of_a_worker(len(running), os.getloadavg()[0])
        for worker in running.values():
            worker.taken += (last - before) * share
            worker.end_if_late(seconds)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


def share_of_a_worker(workers: int, load: float) -> float:
    """Share of its usual speed that a worker has while `load` processes want to run."""
    return min(1.0, workers / load) if load > 0 else 1.0


def _report_death(session: pytest.Session, worker: _Worker, said: str) -> None:
    """Count the test of a worker that ended too early as failed, and print its name."""
    place = worker.test or "no test"
    text = f"A worker {worker.trouble}, in {place}.\n{said}{worker.stacks()}"
    _print_line(session, f"A worker {worker.trouble}, in {place}.")
    if not worker.test:
        session.testsfailed += 1
        return
    report = pytest.TestReport(worker.test, worker.location, {}, "failed", text, "call")
    session.config.hook.pytest_runtest_logreport(report=report)


def _print_line(session: pytest.Session, text: str) -> None:
    printer = session.config.pluginmanager.get_plugin("terminalreporter")
    if printer is not None:
        printer.write_line(text, red=True)


# ------------------------------------------------------------------------------- in a worker


class _ReportSender:
    """Plugin that sends the reports of a worker to the first process."""

    def __init__(self, config: pytest.Config, pipe: Connection) -> None:
        self._config, self._pipe = config, pipe

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self._pipe.send(("start", (nodeid, location)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._pipe.send(("report", data))

    def pytest_warning_recorded(
        self, warning_message: WarningMessage, when: str, nodeid: str, location: Any
    ) -> None:
        text = f"{warning_message.category.__name__}: {warning_message.message}"
        place = warning_message.filename, warning_message.lineno
        self._pipe.send(("warning", (text, place, when, nodeid, location)))


def _run_groups(
    session: pytest.Session, groups: list[list[pytest.Item]], turn: Any, pipe: Connection, base: Any
) -> None:
    """Run one group after another, send the reports, and end this process."""
    os.setpgid(0, 0)  # what the tests start ends with this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C stops the first process, which ends us
    last = "died", ""
    try:
        _prepare(session.config, pipe, base)
        for item, following in _with_next(_next_tests(groups, turn)):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        last = "ended", ""
    except BaseException:
        last = "died", traceback.format_exc()
    atexit._run_exitfuncs()
    pipe.send(last)
    pipe.close()
    os._exit(0)


def _prepare(config: pytest.Config, pipe: Connection, base: Any) -> None:
    """Give this process its own captured output and temporary folder, and reports instead of
    lines on the terminal."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
        capture.start_global_capturing()
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(_ReportSender(config, pipe), "report-sender")
    base.mkdir()
    stacks = (base / STACKS_FILE).open("w", encoding="utf-8")
    faulthandler.register(STACKS_SIGNAL, file=stacks, all_threads=True)
    faulthandler.enable(file=stacks)  # for a crash, such as a segmentation fault
    config._tmp_path_factory._basetemp = base  # type: ignore[attr-defined]


def _next_tests(groups: list[list[pytest.Item]], turn: Any) -> Iterator[pytest.Item]:
    """Tests of the groups that no other worker has taken."""
    while True:
        with turn.get_lock():
            number = turn.value
            turn.value += 1
        if number >= len(groups):
            return
        yield from groups[number]


def _with_next(tests: Iterator[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Each test with the next one of this worker, which decides what fixtures stay."""
    item = next(tests, None)
    while item is not None:
        following = next(tests, None)
        yield item, following
        item = following
