"""Memory after 200 filter choices on a study of five million judgements.

Each choice is drawn by the function that the Results tab calls. The frame is that of a smaller
generated study, repeated with further items and put where the store looks for a finished frame, so
that the benchmark measures the cache and not the import. EVENHAND_BENCH_QUICK=1 takes a tenth;
`python -m tests.bench.bench_cache --rows 100000 --choices 28` checks that it works.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
import tempfile
import time
from itertools import combinations, cycle, islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from components.results.controls.filter_bar_tab import parse_filter
from components.results.view_drawing import VIEWS, render_view
from components.server.limits.memory import limit_heap_retention
from studies.store.caching.frame_cache import cache_frame
from studies.store.caching.store_cache import MAX_CACHE_BYTES
from studies.store.store import Store
from tests.bench import big_store

QUICK = os.environ.get("EVENHAND_BENCH_QUICK") == "1"
ROWS = 500_000 if QUICK else 5_000_000
WRITTEN = 50_000
CHOICES = 200
CEILING = 2_000 + 2 * MAX_CACHE_BYTES // 2**20
"""MB of memory that no choice may take: a view's own, and twice the limit of the cache."""


def prepare(folder: Path, rows: int) -> Store:
    """A store whose study has a finished frame of about that many rows."""
    path = folder / "big.db"
    written = big_store.write(path, min(WRITTEN, rows), texts=False)
    store = Store(path)
    whole = _repeat(store, written, rows // written)
    cache_frame(path, big_store.NAME, store.version(big_store.NAME), whole)
    store.close()
    return Store(path)


def _repeat(store: Store, written: int, times: int) -> pd.DataFrame:
    frame = store.frame(big_store.NAME)
    items = len(frame["item"].cat.categories)
    rows = np.tile(np.arange(written), times)
    codes = np.repeat(np.arange(times), written) * items + frame["item"].cat.codes.to_numpy()[rows]
    names = [f"q{n}" for n in range(items * times)]
    whole = frame.take(rows).reset_index(drop=True)
    return whole.assign(
        item=pd.Categorical.from_codes(codes, categories=names),
        seq=np.arange(len(whole), dtype=whole["seq"].dtype),
    )


def filter_choices(number: int) -> list[tuple[str | None, str | None, str | None, list[str]]]:
    """Different choices of judge, prompt, category and models."""
    judges: list[str | None] = [*big_store.JUDGES, None]
    prompts: list[str | None] = [*big_store.PROMPTS, None]
    models = big_store.MODELS
    groups = [[], *([name] for name in models), *map(list, combinations(models, 3))]
    every = list(product(judges, prompts, [*big_store.CATEGORIES, None], groups))
    order = np.random.default_rng(5).permutation(len(every))
    return [every[place] for place in order[:number]]


def memory(field: str = "VmRSS") -> float:
    """MB of this process: at this moment, or at most (`VmHWM`)."""
    found = re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def draw(store: Store, view: str, chosen: tuple[Any, ...]) -> None:
    controls = VIEWS[view].start_values
    render_view(store, big_store.NAME, view, parse_filter((*chosen, None, None)), controls)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="judgements of the study")
    parser.add_argument("--choices", type=int, default=CHOICES, help="filter choices to draw")
    chosen = parser.parse_args(arguments)
    limit_heap_retention()  # as the app does
    with tempfile.TemporaryDirectory() as folder:
        store = prepare(Path(folder), chosen.rows)
        rows = len(store.frame(big_store.NAME))
        gc.collect()
        before = memory()
        print(f"{rows:,} judgements; {before:,.0f} MB with the frame in memory", flush=True)
        began = time.perf_counter()
        choices = filter_choices(chosen.choices)
        views = islice(cycle(VIEWS), len(choices))
        for number, (view, choice) in enumerate(zip(views, choices, strict=True), 1):
            draw(store, view, choice)
            if number % 25 == 0:
                print(
                    f"{number:>4} choices: {memory():,.0f} MB, {memory('VmHWM'):,.0f} MB at most, "
                    f"cache {store._cache.bytes / 2**20:,.0f} MB in {len(store._cache)} values, "
                    f"{time.perf_counter() - began:,.0f} s",
                    flush=True,
                )
        held, peak = store._cache.bytes, memory("VmHWM")
    print(
        f"after {len(choices)} choices: cache {held / 2**20:,.0f} MB of at most "
        f"{MAX_CACHE_BYTES / 2**20:,.0f} MB; {peak:,.0f} MB at most, bar < {CEILING:,} MB"
    )
    return 0 if peak < CEILING and held <= MAX_CACHE_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
