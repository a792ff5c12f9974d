"""Pytest plugin that runs the collected tests in several processes (`--workers N`).

The tests are collected once; then the process is forked. Workers that are started anew would import
all modules and collect all tests each: 9 s of CPU per worker. Each file is run by one worker, which
takes the next file when it is done.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import traceback
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from typing import Any
from warnings import WarningMessage

import pytest

from tests.samples import ALL

BROWSER_TESTS = "tests/ui/"
_FORK = multiprocessing.get_context("fork")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=1, help="number of processes that run tests")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in `--workers` processes; None, pytest's own loop, for one process."""
    workers = session.config.getoption("workers")
    if workers < 2 or session.config.option.collectonly or session.testsfailed:
        return None
    groups = _group_by_file(session.items)
    base = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    turn = _FORK.Value("i", 0)
    running: dict[Connection, _Worker] = {}
    for number in range(min(workers, len(groups))):
        theirs, ours = _FORK.Pipe(duplex=False)
        process = _FORK.Process(
            target=_run_groups, args=(session, groups, turn, ours, base / f"worker-{number}")
        )
        process.start()
        ours.close()
        running[theirs] = _Worker(process)
    try:
        _report_all(session, running)
    finally:
        for worker in running.values():
            worker.process.kill()
    return True


class _Worker:
    """A process, and the test that it runs at present."""

    def __init__(self, process: Any) -> None:
        self.process, self.test = process, ""


def _group_by_file(items: list[pytest.Item]) -> list[list[pytest.Item]]:
    """Tests by file, in the order of collection. In `make test` all browser tests are one group,
    which shares one app."""
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        file = item.nodeid.split("::", 1)[0]
        together = file.startswith(BROWSER_TESTS) and not ALL
        groups.setdefault(BROWSER_TESTS if together else file, []).append(item)
    return list(groups.values())


# ------------------------------------------------------------------------- in the first process


def _report_all(session: pytest.Session, running: dict[Connection, _Worker]) -> None:
    """Pass the workers' reports on to pytest until all workers have ended."""
    hook = session.config.hook
    while running:
        for pipe in wait(list(running)):
            assert isinstance(pipe, Connection)
            try:
                kind, data = pipe.recv()
            except EOFError:
                kind, data = "died", ""
            if kind == "start":
                running[pipe].test = data
            elif kind == "report":
                report = hook.pytest_report_from_serializable(config=session.config, data=data)
                hook.pytest_runtest_logreport(report=report)
                if report.when == "teardown":
                    place = {"nodeid": report.nodeid, "location": report.location}
                    hook.pytest_runtest_logfinish(**place)
            elif kind == "warning":
                text, place, when, nodeid, location = data
                found = WarningMessage(UserWarning(text), UserWarning, *place)
                facts = {"when": when, "nodeid": nodeid, "location": location}
                hook.pytest_warning_recorded.call_historic(
                    kwargs={"warning_message": found, **facts}
                )
            else:
                worker = running.pop(pipe)
                worker.process.join()
                if kind == "died":
                    session.testsfailed += 1
                    _print_line(session, f"A worker died in {worker.test}. {data}")
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


def _print_line(session: pytest.Session, text: str) -> None:
    printer = session.config.pluginmanager.get_plugin("terminalreporter")
    if printer is not None:
        printer.write_line(text, red=True)


# ------------------------------------------------------------------------------- in a worker


class _ReportSender:
    """Plugin that sends the reports of a worker to the first process."""

    def __init__(self, config: pytest.Config, pipe: Connection) -> None:
        self._config, self._pipe = config, pipe

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._pipe.send(("start", nodeid))

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
    session: pytest.Session,
    groups: list[list[pytest.Item]],
    turn: Any,
    pipe: Connection,
    base: Any,
) -> None:
    """Run one group after another, send the reports, and end this process."""
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
