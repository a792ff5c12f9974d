"""Times that a person waits for: python -m tests.bench.bench_waits

The pause of a run, a look at a run, the import of the PRD records, and the masking of one log line.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from judges.security.key_store import SecretKey, redact_keys
from studies.exchange.recorded_studies import import_verdicts
from studies.store.store import Store
from tests.bench.report_line import Line, print_lines
from tests.frozen_pages import RECORDS
from tests.judge_server import JudgeServer
from tests.judges.small_studies import engine, start_small
from tests.waiting import until


def run_lines() -> Iterator[Line]:
    """Seconds from a pause to the last call that reaches the server, and for one snapshot."""
    with (
        tempfile.TemporaryDirectory() as folder,
        JudgeServer(latency=0.05) as server,
        engine() as asking,
    ):
        store = Store(Path(folder) / "evenhand.db")
        run = start_small(asking, store, Path(folder), server, items=2000, concurrency=16)
        until(lambda: server.bill.totals.calls > 200)
        looks = []
        for _ in range(200):
            began = time.thread_time()
            run.snapshot()
            looks.append(time.thread_time() - began)
        run.pause()
        paused = server.app.now()
        until(lambda: run.snapshot().in_flight == 0)
        late = max((call.arrived - paused for call in server.bill.calls), default=0.0)
        run.stop()
        run.wait(60)
        store.close()
    yield Line("pause: seconds until the last call arrives", max(0.0, late), 0.1, at_least=False)
    snapshot = 1000 * statistics.median(looks)
    yield Line("snapshot of a run: milliseconds of CPU", snapshot, 5.0, at_least=False)


def import_lines() -> Iterator[Line]:
    """Seconds of CPU for the import of PRD, if its records are on this machine."""
    if not (RECORDS / "prd").is_dir():
        return
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "evenhand.db")
        began = time.process_time()
        import_verdicts(store, RECORDS / "prd", "PRD")
        taken = time.process_time() - began
        store.close()
    yield Line("import of PRD: seconds of CPU", taken, 10.0, at_least=False)


def redaction_lines() -> Iterator[Line]:
    """Milliseconds for one line without a key, while a key of 8,190 characters is held."""
    key = SecretKey("".join(f"{number:05x}" for number in range(1638)))
    line = "GET /queue/data HTTP/1.1 200 OK, 0.0123 s, nothing in this line is a part of it"
    began = time.process_time()
    for _ in range(200):
        redact_keys(line)
    taken = 1000 * (time.process_time() - began) / 200
    key.discard()
    yield Line("masking of a log line: milliseconds of CPU", taken, 1.0, at_least=False)


def wait_lines() -> Iterator[Line]:
    yield from run_lines()
    yield from import_lines()
    yield from redaction_lines()


if __name__ == "__main__":
    sys.exit(print_lines(wait_lines()))
