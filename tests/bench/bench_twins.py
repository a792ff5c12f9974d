"""Twins: texts of 10,000 answers, a plan of 100,000 calls, and the view Nudges of 50,000 verdicts.

The plan is set beside one of as many ordinary calls with the same texts. The view is drawn for the
first time, from the store to the HTML. Seconds of the processor.
Run alone with `python -m tests.bench.bench_twins`. EVENHAND_BENCH_QUICK=1 takes a tenth.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.bench.report_line import Line, print_lines

QUICK = os.environ.get("EVENHAND_BENCH_QUICK") == "1"
SHARE = 0.1 if QUICK else 1.0
ANSWERS, CALLS, VERDICTS = (round(SHARE * n) for n in (10_000, 100_000, 50_000))
REPEATS = 3
STUDY = (
    "name: twins\ndata: {source: none}\njudges: [{name: j, model: simulated}]\n"
    "prompts: [brief-letters]\ncontestants: [x, y]\ntwins: {families: full, answers: [x]}\n"
)
TEXT = "Water boils at 100 degrees at sea level. On a mountain it boils earlier. " * 8


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def plan_ratio(items: tuple[Any, ...]) -> tuple[float, int]:
    """Seconds of a plan of twins over those of a plan of the same texts as ordinary answers (the
    fastest of three runs each), and the number of calls."""
    from judges.planning.plan import Plan, asks_of
    from judges.rendering.prompt import load_prompt
    from studies.domain import Item
    from studies.spec.study import parse_study

    study, prompts = parse_study(STUDY), (load_prompt("brief-letters"),)
    pairs = tuple(
        Item(f"{item.id} {name}", item.instruction, {"x": item.responses["x"], "y": text})
        for item in items
        for name, text in item.twins.items()
    )
    plans = (
        Plan(replace(study, contestants=("x",)), items, prompts, study.folder),
        Plan(replace(study, twins=None), pairs, prompts, study.folder),
    )
    best, counts = [9e9, 9e9], [0, 0]
    for _ in range(REPEATS):
        for k, plan in enumerate(plans):
            seconds, counts[k] = timed(lambda plan=plan: sum(1 for _ in asks_of(plan)))
            best[k] = min(best[k], seconds)
    return (best[0] / counts[0]) / (best[1] / counts[1]), counts[0]


def view_seconds(items: tuple[Any, ...], folder: Path) -> tuple[float, int]:
    """Seconds of the first drawing of Nudges, and its number of twin verdicts."""
    from components.filtering.filtered_study import FilteredStudy
    from components.results.view_drawing import render_view_uncached
    from judges.planning.plan import Plan, asks_of
    from judges.rendering.prompt import load_prompt
    from studies.domain import Judgement, Verdict, assign_recorded_keys
    from studies.spec.study import parse_study
    from studies.store.store import Store

    study = parse_study(STUDY)
    plan = Plan(study, items, (load_prompt("brief-letters"),), study.folder)
    found = [
        Judgement(one.ask, "ok", Verdict(int(place % 7 < 3)))
        for place, one in enumerate(asks_of(plan))
    ]
    store = Store(folder / "store.db")
    recorded = assign_recorded_keys(study.name, found)
    store.save_study(study, list(items), (), (), recorded=recorded, only_recorded=True)
    drawn, _ = timed(lambda: render_view_uncached(FilteredStudy(store, study.name), "Nudges", {}))
    twins = len(store.frame(study.name, "only"))
    store.close()
    return drawn, twins


def lines() -> Iterator[Line]:
    from judges.twins.make_twins import add_twins
    from studies.domain import Item
    from studies.spec.study import parse_study

    study = parse_study(STUDY)
    items = [Item(f"q{k}", "When?", {"x": f"{TEXT} {k}.", "y": TEXT}) for k in range(ANSWERS)]
    seconds, found = timed(lambda: add_twins(study, items))
    made = sum(found.made.values())
    yield Line(f"{made:,} twins of {ANSWERS:,} answers, s", seconds, 20 * SHARE, at_least=False)
    per_answer = 2 * made / ANSWERS
    ratio, calls = plan_ratio(found.items[: round(CALLS / per_answer) + 1])
    yield Line(f"plan of {calls:,} twin calls over an ordinary one", ratio, 1.1, at_least=False)
    with tempfile.TemporaryDirectory() as folder:
        chosen = found.items[: round(VERDICTS / per_answer) + 1]
        seconds, twins = view_seconds(chosen, Path(folder))
    yield Line(f"Nudges of {twins:,} twin verdicts, s", seconds, 2.0, at_least=False)


if __name__ == "__main__":
    sys.exit(print_lines(lines()))
