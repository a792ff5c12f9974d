"""A run in words, for terminals: a bar where there is one, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Final, TextIO

from judges.runs import Run, Snapshot
from studies.records import STATUSES

WIDTH: Final = 30
EVERY: Final = 5.0


def follow(run: Run, out: TextIO = sys.stderr) -> Snapshot:
    """Shows a run until it ends; Ctrl-C stops it cleanly and keeps what is in flight."""
    interactive = out.isatty()
    told = time.monotonic()
    while not run.wait(0.1 if interactive else 0.2):
        try:
            snapshot = run.snapshot()
            if interactive:
                out.write(f"\r\033[K{bar(snapshot)}")
                out.flush()
            elif time.monotonic() - told >= EVERY:
                told = time.monotonic()
                print(line(snapshot), file=out, flush=True)
        except KeyboardInterrupt:
            run.stop()
            print("\nstopping: answers in flight are kept", file=out, flush=True)
    if interactive:
        out.write("\r\033[K")
    return run.snapshot()


def bar(snapshot: Snapshot) -> str:
    planned = max(1, snapshot.counts.get("planned", 0))
    filled = round(WIDTH * snapshot.done / planned)
    return f"[{'█' * filled}{'·' * (WIDTH - filled)}] {line(snapshot)}"


def line(snapshot: Snapshot) -> str:
    parts = [f"{snapshot.done:,} of {snapshot.counts.get('planned', 0):,}"]
    if snapshot.rate:
        parts.append(f"{snapshot.rate:.1f}/s")
    if snapshot.eta is not None:
        parts.append(f"{duration(snapshot.eta)} left")
    if snapshot.spent:
        parts.append(f"${snapshot.spent:.4f}")
    return ", ".join([*parts, *snapshot.waiting])


def summary(snapshot: Snapshot, tokens: tuple[int, int]) -> str:
    """The closing lines: planned, done, by status, tokens, dollars, seconds."""
    by_status = [f"{s} {n:,}" for s in STATUSES if (n := snapshot.counts.get(s, 0))]
    seconds = (snapshot.ended or time.time()) - snapshot.started
    dollars = f"${snapshot.spent:.4f}"
    if snapshot.unpriced:
        dollars += f" and {snapshot.unpriced:,} calls at an unknown price"
    rows = [
        f"{snapshot.study}: {snapshot.state}{': ' + snapshot.reason if snapshot.reason else ''}",
        f"  planned {snapshot.counts.get('planned', 0):,}, done {snapshot.done:,}",
        f"  {', '.join(by_status) or 'nothing asked yet'}",
        f"  tokens {tokens[0]:,} in, {tokens[1]:,} out; {dollars} this run; {seconds:.1f} s",
    ]
    return "\n".join(rows)


def duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
