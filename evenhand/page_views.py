"""Reports of a study as a file, and the page inside a notebook."""

import atexit
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from evenhand.extras import report_missing_extra
from evenhand.judge_audit import JudgeAudit
from evenhand.study_table import JudgedStudy, as_study
from studies import errors, settings

START_SECONDS: Final = 120.0
PAGE_HEIGHT: Final = 900


class PageNotStarted(errors.EvenhandError):
    """Raised if the page did not start in time, or its process ended before."""


@report_missing_extra
def report(data: Any, path: str | Path) -> Path:
    """Write a study (or table, or file) as one HTML file that opens offline; return its path. For a
    study from a store, the HTML file is the full report of the page (needs the extra `page`), for
    any other study its audit. StudyError if the file cannot be written."""
    study, target = as_study(data), Path(path).expanduser()
    if study.store is not None:
        from components.share.report import write_report
        from studies.store.store import Store

        store = Store(study.store)
        try:
            write_report(store, study.name, target)
        finally:
            store.close()
    else:
        html = (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{escape(study.name)} · Evenhand</title></head>"
            f"<body>{JudgeAudit(study)._repr_html_()}</body></html>\n"
        )
        try:
            target.write_text(html, encoding="utf-8")
        except OSError as error:
            raise errors.build_write_error(target, error) from None
    return target


@dataclass(eq=False)
class ShownPage:
    """A running page that a notebook shows inline; it is stopped by `close` or when Python ends."""

    address: str
    process: subprocess.Popen[bytes]
    height: int = PAGE_HEIGHT

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)

    def __repr__(self) -> str:
        return f"<page at {self.address}>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe src="{escape(self.address)}" width="100%" height="{self.height}" '
            'style="border:0"></iframe>'
        )


@report_missing_extra
def show(data: Any, *, port: int = 0, height: int = PAGE_HEIGHT) -> ShownPage:
    """Start the page with a study on this machine (needs the extra `page`) and return it; a
    notebook shows it inline, `height` pixels high. `data` is a study, a table or a file; `port` 0
    means any free port. PageNotStarted if the page does not answer in time."""
    study = as_study(data)
    store = study.store or _save_in_temporary_store(study)
    number = port or _free_port()
    options = ["--store", str(store), "--port", str(number)]
    command = [sys.executable, "-m", "evenhand", "app", *options]
    folder = Path(__file__).resolve().parents[1]
    paths = [str(folder), settings.PYTHON_PATH.read()]
    process = subprocess.Popen(
        command,
        env={**settings.child_environment(), "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    home = f"http://127.0.0.1:{number}"
    page = ShownPage(
        f"{home}/?{urlencode({'study': study.name, 'tab': 'results'})}", process, height
    )
    atexit.register(page.close)
    _wait_until_page_answers(home, process)
    return page


def _wait_until_page_answers(address: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until the page at `address`, served by `process`, answers a request; PageNotStarted if
    the process ends or START_SECONDS pass before."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.3)
    process.terminate()
    raise PageNotStarted(
        "the page did not start; run `evenhand app` in a terminal to see its message"
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _save_in_temporary_store(study: JudgedStudy) -> Path:
    """Save a study in a temporary store, for the page; return its path. A study from a log is read
    from the log again, because the frame lacks replies."""
    from studies.exchange.recorded_studies import import_verdicts
    from studies.exchange.unsaved_study import write_judgement_and_item_files
    from studies.store.store import Store

    folder = Path(tempfile.mkdtemp(prefix="evenhand-"))
    store = Store(folder / "evenhand.db")
    try:
        if study.source is not None:
            import_verdicts(store, study.source, study.name)
        else:
            file, items = write_judgement_and_item_files(study.frame, study.items, folder)
            import_verdicts(store, file, study.name, files={"items": str(items)})
    finally:
        store.close()
    return store.path
