"""Planning and opening: asks planned and rows framed a second, beside what they cannot do without.

A plan has to render, encode and hash each request: the peer does only the last two. A frame has to
touch each row once: the peer is pandas' own DataFrame of the same rows, without codes or truth.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd

from judges.planning.plan import asks_of, make_plan, save_plan
from studies.frames.frame import SEP, frame_from_rows
from studies.spec.study import parse_study
from studies.store.store import Store

STUDY = """
name: bench
data: {source: probe}
judges: [{name: a, model: simulated, seed: 1}, {name: b, model: simulated, seed: 2}]
prompts: [visit-reference-free, brief-letters, brief-numbers]
repeats: 3
"""


def cpu(work: Callable[[], object], rounds: int = 3) -> float:
    """The best of a few: processor seconds, so that a busy machine counts little."""
    times = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def planning() -> None:
    plan = make_plan(parse_study(STUDY))
    asks = list(asks_of(plan))

    def hashed() -> None:
        for asked in asks:
            body = json.dumps(asked.call.messages, sort_keys=True, ensure_ascii=False)
            hashlib.sha256(body.encode()).hexdigest()

    def saved() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Path(folder) / "bench.db")
            save_plan(plan, store)
            store.close()

    least, planned, stored = cpu(hashed), cpu(lambda: list(asks_of(plan))), cpu(saved)
    n = len(asks)
    print(f"plan       {n / planned:9,.0f} asks/s   {planned / least:4.1f}x encoding and hashing")
    print(f"and save   {n / stored:9,.0f} asks/s   {stored / least:4.1f}x")


def again() -> None:
    """A finished study run again: nothing is asked, all is looked up."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "bench.db")
        plan = make_plan(parse_study(STUDY))
        save_plan(plan, store)
        n = store.status_counts("bench")["planned"]
        seconds = cpu(lambda: save_plan(replace(plan), store))
        print(f"re-plan    {n / seconds:9,.0f} asks/s   bar for a finished study: 20,000")
        store.close()


def framing() -> None:
    names = [f"m{n}" for n in range(8)]
    pairs = [f"{a}{SEP}{b}" for a in names for b in names if a != b]
    facts = {"category": "c", "lengths": dict.fromkeys(names, 9), "human": []}
    items = {f"q{n}": facts for n in range(3600)}
    share = json.dumps([0.25, 0.75])
    rows = [
        (0, item, "j", "p", shown, f"A{SEP}B", 0, 0, 2, "ok", 0, 1, None, share, 1)
        for item in items
        for shown in pairs
    ]
    plain = cpu(lambda: pd.DataFrame.from_records(rows))
    ours = cpu(lambda: frame_from_rows(rows, items, study="s"))
    print(f"frame      {len(rows) / ours:9,.0f} rows/s   {ours / plain:4.1f}x a plain DataFrame")


if __name__ == "__main__":
    planning()
    again()
    framing()
