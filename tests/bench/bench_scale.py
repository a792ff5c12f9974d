"""Five million judgements: shards generated, opened, filtered, counted, fitted and drawn.

Each step runs in a process of its own, so that its peak memory is its own, and stands beside what
no reader of the same bytes can do without. Only the views of Results share one, as they do in a
dashboard: what one of them leaves behind is part of the next one's peak. EVENHAND_BENCH_QUICK=1
takes a tenth, and says so.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

QUICK = os.environ.get("EVENHAND_BENCH_QUICK") == "1"
ROWS = 500_000 if QUICK else 5_000_000
CEILING = 2_000
"""MB of memory that no step may take."""
Line = tuple[str, float, float, str]
"""What was done, processor seconds, those of the limit, what the limit is."""
Step = Callable[[Path], Line]


def timed(work: Callable[[], Any], rounds: int = 1) -> tuple[float, Any]:
    """Processor seconds, the best of a few: a busy machine counts little."""
    best, made = float("inf"), None
    for _ in range(rounds):
        began = time.process_time()
        made = work()
        best = min(best, time.process_time() - began)
    return best, made


def generate(folder: Path) -> tuple[str, float, float, str]:
    from tests.bench import big_shards

    seconds, rows = timed(lambda: big_shards.write(folder / "big", ROWS))
    size = sum(path.stat().st_size for path in (folder / "big").rglob("*.parquet"))
    draws = timed(lambda: np.random.default_rng(1).random((4, rows)))[0]
    return f"generate {rows:,} rows, {size / 1e6:.0f} MB", seconds, draws, "drawing numbers"


def take_in(folder: Path) -> tuple[str, float, float, str]:
    """`python -m studies import FOLDER`; the peer writes the same rows to a bare SQLite table."""
    from studies.__main__ import main

    store = str(folder / "big.db")
    seconds = timed(lambda: main(["import", str(folder / "big"), "--store", store]))[0]
    return "import into a store", seconds, _bare_inserts(folder), "bare SQLite inserts"


def _bare_inserts(folder: Path) -> float:
    """Three tables of the same keys, 50,000 rows, scaled."""
    import hashlib
    import sqlite3

    rows = 50_000
    keys = [hashlib.sha256(str(n).encode()).hexdigest()[:40] for n in range(rows)]
    connection = sqlite3.connect(folder / "bare.db")
    for table in "abc":
        connection.execute(f"CREATE TABLE {table} (key TEXT PRIMARY KEY, x TEXT) WITHOUT ROWID")

    def write() -> None:
        for table in "abc":
            pairs = ((key, "x" * 40) for key in keys)
            connection.executemany(f"INSERT INTO {table} VALUES (?,?)", pairs)
        connection.commit()

    return timed(write)[0] * ROWS / rows


def first_frame(folder: Path) -> tuple[str, float, float, str]:
    from studies.store.store import Store

    store = Store(folder / "big.db")
    seconds, frame = timed(lambda: store.frame("big"))
    cursor = store._frame_row_cursor("big")

    def scan() -> None:
        while cursor.fetchmany(10_000):
            pass

    limit = timed(scan)[0]
    return f"first look: {len(frame):,} rows framed", seconds, limit, "reading the rows"


def opened(folder: Path) -> tuple[str, float, float, str]:
    import pyarrow.feather as feather

    from studies.store.store import Store

    (path,) = (folder / "big.db-frames").glob("*.arrow")
    limit = timed(lambda: feather.read_table(path, memory_map=False), 3)[0]
    seconds = timed(lambda: Store(folder / "big.db").frame("big"))[0]
    return "open again", seconds, limit, "reading the file"


def filtered(folder: Path) -> tuple[str, float, float, str]:
    from components.filtering.filters import Filter
    from studies.store.store import Store

    frame = Store(folder / "big.db").frame("big")
    chosen = Filter(judge="judge-3", category="maths")
    seconds = timed(lambda: chosen.apply(frame), 5)[0]
    codes = [frame[name].cat.codes.to_numpy() for name in ("judge", "category")]
    limit = timed(lambda: (codes[0] == 3) & (codes[1] == 2), 5)[0]
    return "filter by judge and category", seconds, limit, "two comparisons of codes"


def positions(folder: Path) -> tuple[str, float, float, str]:
    from components.results.bias.computed import BiasCounts
    from studies.store.store import Store

    frame = Store(folder / "big.db").frame("big")
    seconds = timed(lambda: BiasCounts(frame))[0]
    return "bias panels: every cell", seconds, _bincount(frame), "one bincount of the picks"


def fitted(folder: Path) -> tuple[str, float, float, str]:
    from metrics.ratings.bradley_terry import connected_leaderboards
    from studies.store.store import Store

    frame = Store(folder / "big.db").frame("big")
    seconds = timed(lambda: connected_leaderboards(frame)[0].ratings)[0]
    return "Bradley–Terry with intervals", seconds, _bincount(frame), "one bincount of the picks"


def ranked(folder: Path) -> tuple[str, float, float, str]:
    from components.filtering.filtered_study import FilteredStudy
    from components.results.ranking.computed import load_ranking
    from studies.store.store import Store

    store = Store(folder / "big.db")
    frame = store.frame("big")
    seconds = timed(lambda: load_ranking(FilteredStudy(store, "big")))[0]
    again = timed(lambda: load_ranking(FilteredStudy(store, "big")))[0]
    told = f"ranking panel: boards, rates, Elo (again {1000 * again:.0f} ms)"
    return told, seconds, _bincount(frame), "one bincount of the picks"


def _bincount(frame: Any) -> float:
    first, second = (frame[name].cat.codes.to_numpy() for name in ("first", "second"))
    pick = frame["pick"].to_numpy()

    def count() -> np.ndarray:
        return np.bincount((first.astype(np.int64) * 8 + second) * 4 + pick + 2)

    return timed(count, 3)[0]


def views(folder: Path) -> Iterator[Line]:
    """Every view of Results as the dashboard opens it, one after the other in one process."""
    from components.server.limits.memory import limit_heap_retention

    limit_heap_retention()  # as the app does
    from components.filtering.filtered_study import FilteredStudy
    from components.results.view_drawing import VIEWS, render_view_uncached
    from studies.store.store import Store

    store = Store(folder / "big.db")
    limit = _bincount(store.frame("big"))
    for view in VIEWS:
        controls = VIEWS[view].start_values
        seconds = timed(partial(render_view_uncached, FilteredStudy(store, "big"), view, controls))[
            0
        ]
        yield f"Results, {view}: drawn", seconds, limit, "one bincount of the picks"


STEPS: dict[str, Step] = {
    step.__name__: step
    for step in (generate, take_in, first_frame, opened, filtered, positions, fitted, ranked)
}
MARK = "line "
"""Before each line of a step, among whatever else it prints."""


def carry_out(name: str, folder: Path) -> None:
    lines = views(folder) if name == views.__name__ else iter([STEPS[name](folder)])
    for line in lines:
        print(MARK + json.dumps([*line, _peak()]), flush=True)
        _forget_peak()


def _peak() -> float:
    """MB of memory at most, since the process began or the peak was forgotten."""
    with contextlib.suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
        if found:
            return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _forget_peak() -> None:
    """Where the system can: elsewhere the peak is that of all views so far."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def main() -> int:
    print(f"{ROWS:,} judgements{', a tenth: EVENHAND_BENCH_QUICK' if QUICK else ''}", flush=True)
    over = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in (*STEPS, views.__name__):
            command = [sys.executable, "-m", "tests.bench.bench_scale", name, folder]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(done.stderr, file=sys.stderr)
                return 1
            for text in done.stdout.splitlines():
                if text.startswith(MARK):
                    over += _told(*json.loads(text.removeprefix(MARK)))
    print(f"memory: {'every step' if not over else 'NOT every step'} below {CEILING:,} MB")
    return 1 if over else 0


def _told(told: str, seconds: float, limit: float, what: str, peak: float) -> bool:
    """Prints a line; whether it took more memory than it may."""
    print(f"{told:<48} {seconds:8.2f} s {peak:6,.0f} MB  {seconds / limit:7.1f}x {what}",
          flush=True)  # fmt: skip
    return peak > CEILING


if __name__ == "__main__":
    if len(sys.argv) == 3:
        carry_out(sys.argv[1], Path(sys.argv[2]))
    else:
        sys.exit(main())
