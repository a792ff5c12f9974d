"""Modules and functions that one judgement, and one change of a filter, pass through.

    python -m tests.traced_paths

The figures of docs/ARCHITECTURE.md. Counted are distinct modules and functions of the product, in
all threads, from a study file to the drawn heatmap, and from a chosen filter to the drawn view.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.results.view_drawing import VIEWS, render_view, render_view_uncached
from components.study.plan.demo_studies import PAIRS_STUDY, import_demo_studies
from judges.engine.engine import Engine
from judges.planning.plan import make_plan, save_plan
from studies.spec.study import parse_study
from studies.store.store import Store

ROOT = str(Path(__file__).resolve().parents[1])
PRODUCT = tuple(f"{ROOT}/{name}" for name in ("components", "judges", "metrics", "studies"))
ONE_CALL = """
name: one call
data: {source: probe, count: 1, seed: 1}
contestants: [precise, flawed]
judges: [{name: fair, model: simulated, accuracy: 1, seed: 2}]
prompts: [brief-letters]
"""


def trace(work: Callable[[], object]) -> tuple[int, int]:
    """Run a function; return the numbers of product modules and functions that were called."""
    seen: set[tuple[str, str, int]] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PRODUCT):
            code = frame.f_code
            seen.add((code.co_filename, code.co_name, code.co_firstlineno))

    threading.setprofile_all_threads(note) if sys.version_info >= (3, 12) else None
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    named = {one for one in seen if not one[1].startswith("<")}
    return len({one[0] for one in named}), len(named)


def judge_and_draw(folder: Path) -> None:
    store, engine = Store(folder / "one.db"), Engine()
    plan = make_plan(parse_study(ONE_CALL, "study.yaml", folder))
    save_plan(plan, store)
    assert engine.start(plan, store).wait(60)
    view = next(name for name in VIEWS if name.startswith("Position"))
    filtered = FilteredStudy(store, "one call")
    render_view_uncached(filtered, view, VIEWS[view].initial_values(filtered))
    engine.close()
    store.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        modules, functions = trace(lambda: judge_and_draw(folder))
        print(f"one judgement: {modules} modules, {functions} functions")
        store = Store(folder / "demo.db")
        import_demo_studies(store)
        whole = FilteredStudy(store, PAIRS_STUDY)
        for view in ("Position bias", "Position", "Ranking", "Remedies"):
            if view in VIEWS:
                controls = {
                    name: value
                    for one in VIEWS.values()
                    for name, value in one.initial_values(whole).items()
                }
                render_view(store, PAIRS_STUDY, view, Filter(), controls)
                chosen = Filter(category="maths")
                modules, functions = trace(
                    lambda: render_view(store, PAIRS_STUDY, view, chosen, controls)  # noqa: B023
                )
                print(f"one filter change in {view}: {modules} modules, {functions} functions")
        store.close()


if __name__ == "__main__":
    main()
