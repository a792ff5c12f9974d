"""A board of 200 rows with 2,000 verdicts each: seconds and peak memory of the build, and seconds
until its page is drawn in a browser.

Run alone with `python -m tests.bench.bench_board`. EVENHAND_BENCH_QUICK=1 takes a tenth.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.report_line import Line, print_lines

QUICK = os.environ.get("EVENHAND_BENCH_QUICK") == "1"
STUDIES, JUDGES, ITEMS = (2 if QUICK else 20), 10, 500
MAX_SECONDS, MAX_MEGABYTES = 6.0 if QUICK else 60.0, 1_000.0


def write_study(folder: Path, number: int) -> Path:
    """A study file of ten simulated judges, with its judgements: 500 items, two pairs of three
    models, both orders. The verdicts follow from the item, without any run."""
    from dataclasses import asdict, replace

    from judges.planning.plan import asks_of, make_plan
    from studies.domain import BY_DESIGN, Item, Judgement, Preference, Usage, Verdict
    from studies.exchange.export import write_json_lines
    from studies.files.items import dump_item
    from studies.spec.study import load_study

    items = [
        Item(
            f"q{k}", f"question {k}", {name: f"answer {k} of {name}" for name in "abc"},
            human=(Preference(BY_DESIGN, None, None, ranks={"a": 1, "b": 2, "c": 3}),),
        )
        for k in range(ITEMS)
    ]  # fmt: skip
    with (folder / "items.jsonl").open("w") as out:
        write_json_lines(out, map(dump_item, items))
    judges = "".join(
        f"  - {{name: judge {number}-{k}, model: simulated, seed: {100 * number + k}}}\n"
        for k in range(JUDGES)
    )
    path = folder / f"study{number}.yaml"
    path.write_text(
        f"name: study {number}\ndata: {{source: items.jsonl}}\njudges:\n{judges}"
        "prompts: [brief-letters]\npairing: baseline\nbaseline: a\n"
    )
    study = load_study(path)
    with path.with_suffix(".jsonl").open("w") as out:
        for planned in asks_of(make_plan(study)):
            ask = planned.ask
            slot = hash((ask.item, ask.judge, ask.shown)) % 3 == 0
            text = f"Overall, Response {ask.labels[slot]} is better."
            one = Judgement(
                ask, "ok", Verdict(int(slot)), reply=text, usage=Usage(150, 5), cost=0.0,
                model="simulated", time=1.0,
            )  # fmt: skip
            out.write(_line(asdict(replace(one))))
    return path


def _line(row: object) -> str:
    import json

    return json.dumps(row) + "\n"


def page_seconds(page: Path) -> float:
    """Seconds of the clock from opening the page from its file to a drawn table."""
    from playwright.sync_api import sync_playwright

    from tests.ui.conftest import BROWSERS

    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, BROWSERS)), None)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        tab = browser.new_page()
        began = time.perf_counter()
        tab.goto(page.as_uri())
        tab.wait_for_selector("#board-table tbody tr")
        tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        seconds = time.perf_counter() - began
        browser.close()
    return seconds


def lines() -> Iterator[Line]:
    from components.__main__ import main

    with tempfile.TemporaryDirectory() as name:
        folder, board = Path(name), Path(name) / "board"
        paths = [str(write_study(folder, number)) for number in range(STUDIES)]
        began = time.process_time()
        main(["board", "build", *paths, "--out", str(board)])
        seconds = time.process_time() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows = STUDIES * JUDGES
        yield Line(f"board of {rows} rows, s", seconds, MAX_SECONDS, at_least=False)
        yield Line("its memory, MB", peak, MAX_MEGABYTES, at_least=False)
        opened = page_seconds(board / "index.html")
        yield Line("opening its page from a file, s", opened, 2.0, at_least=False)


if __name__ == "__main__":
    sys.exit(print_lines(lines()))
