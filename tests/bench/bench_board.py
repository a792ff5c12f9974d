"""A board of 200 rows with 2,000 verdicts each: seconds and peak memory of the build.

Run alone with `python -m tests.bench.bench_board`. EVENHAND_BENCH_QUICK=1 takes a tenth.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

QUICK = os.environ.get("EVENHAND_BENCH_QUICK") == "1"
STUDIES, JUDGES, ITEMS = (2 if QUICK else 20), 10, 500
MAX_SECONDS, MAX_MEGABYTES = 60.0, 1_000.0


def write_study(folder: Path, number: int) -> Path:
    """A study file of ten simulated judges, with its judgements: 500 items, two pairs of three
    models, both orders. The verdicts follow from the item, without any run."""
    from dataclasses import asdict, replace

    from judges.planning.plan import asks_of, make_plan
    from studies.domain import BY_DESIGN, Item, Judgement, Preference, Usage, Verdict
    from studies.exchange.export import write_lines
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
        write_lines(out, map(dump_item, items))
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


def main() -> int:
    from components.share.board.board_files import make_board
    from components.share.board.record_tree import records_of_file

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [write_study(folder, number) for number in range(STUDIES)]
        began = time.process_time()
        board = make_board((records_of_file(path) for path in paths), folder / "board")
        seconds = time.process_time() - began
        page = (folder / "board" / "index.html").stat().st_size / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"board: {len(board['rows'])} rows, {board['verdicts']:,} verdicts: {seconds:.0f} s of "
        f"{MAX_SECONDS:.0f}, {peak:,.0f} MB of {MAX_MEGABYTES:,.0f}, page {page:.1f} MB"
    )
    return int(seconds > MAX_SECONDS or peak > MAX_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
