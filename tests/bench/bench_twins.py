"""Twins: texts of 10,000 answers, a plan of 100,000 calls, and effects of 50,000 verdicts.

The plan is set beside one of as many ordinary calls, per call. Seconds of the processor.
Run alone with `python -m tests.bench.bench_twins`. EVENHAND_BENCH_QUICK=1 takes a tenth.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

QUICK = os.environ.get("EVENHAND_BENCH_QUICK") == "1"
ANSWERS = 1_000 if QUICK else 10_000
CALLS = 10_000 if QUICK else 100_000
VERDICTS = 5_000 if QUICK else 50_000
MAX_SECONDS, MAX_RATIO, MAX_EFFECTS = 20.0 * ANSWERS / 10_000, 2.0, 2.0


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def main() -> int:
    from judges.planning.plan import Plan, asks_of
    from judges.rendering.prompt import load_prompt
    from judges.twins.make_twins import add_twins
    from metrics.twins.twin_effects import twin_effects
    from studies.domain import Item
    from studies.spec.study import parse_study
    from studies.texts.twin_families import PRESET_FAMILIES
    from tests.metrics.twins.simulated_twins import SHOWN, STRONG, duel_frame

    text = "Water boils at 100 degrees at sea level. On a mountain it boils earlier. " * 8
    study = parse_study(
        "name: s\njudges: [{model: simulated}]\nprompts: [brief-letters]\ntwins: {families: full}\n"
    )
    items = [Item(f"q{k}", "When?", {"x": f"{text} {k}.", "y": text}) for k in range(ANSWERS)]
    seconds, found = timed(lambda: add_twins(study, items))
    made = sum(found.made.values())
    print(f"{made:,} twins of {ANSWERS:,} answers: {seconds:.1f} s (at most {MAX_SECONDS:.0f} s)")

    prompt = (load_prompt("brief-letters"),)
    wanted = CALLS // (2 * (len(PRESET_FAMILIES["full"]) + 5))
    with_twins = Plan(
        replace(study, contestants=("x",)), found.items[:wanted], prompt, study.folder
    )
    twin_seconds, twin_calls = timed(lambda: sum(1 for _ in asks_of(with_twins)))
    plain = replace(study, twins=None)
    enough = [replace(one, id=f"p{k}") for k, one in enumerate(items * 6)][: twin_calls // 2]
    ordinary = Plan(plain, tuple(enough), prompt, study.folder)
    own_seconds, own_calls = timed(lambda: sum(1 for _ in asks_of(ordinary)))
    ratio = (twin_seconds / twin_calls) / (own_seconds / own_calls)
    print(
        f"plan of {twin_calls:,} twin calls: {1e6 * twin_seconds / twin_calls:.0f} µs a call, "
        f"{ratio:.2f} times an ordinary one (at most {MAX_RATIO:.1f})"
    )

    frame = duel_frame(VERDICTS // (2 * len(SHOWN)), STRONG, np.random.default_rng(1))
    effect_seconds, _ = timed(lambda: twin_effects(frame, frame.iloc[:0]))
    print(
        f"effects of {len(frame):,} verdicts: {effect_seconds:.2f} s (at most {MAX_EFFECTS:.0f} s)"
    )
    return int(seconds > MAX_SECONDS or ratio > MAX_RATIO or effect_seconds > MAX_EFFECTS)


if __name__ == "__main__":
    sys.exit(main())
