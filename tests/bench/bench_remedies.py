"""Remedies of five million judgements: seconds after the frame is there, and peak memory.

Two works, each in a process of its own: the section `remedies` of the JSON, and the numbers of the
Remedies view; both with the plan for a budget, with a price for every judge.

Run alone with `python -m tests.bench.bench_remedies`. EVENHAND_BENCH_QUICK=1 takes a tenth.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from metrics.summary.remedy_section import RemedyInputs

QUICK = os.environ.get("EVENHAND_BENCH_QUICK") == "1"
ITEMS = 10_000 if QUICK else 100_000
JUDGES, PAIRS = 5, 5
MAX_SECONDS, MAX_MEGABYTES = 10.0, 2_000.0


PRICES = {(f"j{k}", "p"): 0.001 * (k + 1) for k in range(JUDGES)}
"""Dollars per call, so that juries and single judges have different prices."""
WORKS = ("section", "view")


def measure(work: str) -> dict[str, float]:
    """Processor seconds and peak memory of one work, in this process."""
    from metrics.summary.remedy_section import RemedyInputs
    from tests.metrics.remedies.known_judges import HardJudge, simulate

    judges = [HardJudge(0.1 * k, 0.6 + 0.05 * k, 0.1) for k in range(JUDGES)]
    frame = simulate(judges, ITEMS, np.random.default_rng(1), pairs=PAIRS)
    inputs = RemedyInputs(prices=PRICES)
    began = time.process_time()
    comparisons = compute_section(frame, inputs) if work == "section" else draw(frame, inputs)
    seconds = time.process_time() - began
    assert comparisons == ITEMS * PAIRS
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rows": len(frame), "seconds": seconds, "megabytes": peak}


def compute_section(frame: pd.DataFrame, inputs: RemedyInputs) -> int:
    from metrics.summary.remedy_section import remedy_section

    section = remedy_section(frame, inputs)
    assert section["plan"]["currency"] == "dollars" and section["plan"]["steps"]
    return int(section["truth"]["comparisons"])


def draw(frame: pd.DataFrame, inputs: RemedyInputs) -> int:
    """Compute all numbers of the view, for the judge that it shows first."""
    from components.results.remedies.computed import RemedyResults
    from components.results.remedies.panels import budget_html
    from metrics.remedies.remedy_study import build_remedy_study

    study = build_remedy_study(frame)
    results = RemedyResults(None, study, inputs, study.best_rater_index())  # type: ignore[arg-type]
    assert (
        results.rule_estimates
        and results.advice
        and results.one_call_estimates
        and results.order_patterns
        and results.risk_curve[0]
    )
    assert budget_html(results, 40.0)
    return results.comparison_count


def main() -> int:
    """Measure each work in a process of its own, so that the peak is its own; one line each."""
    failed = 0
    for work in WORKS:
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.bench_remedies", "--measure", work],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        found = json.loads(done.stdout.splitlines()[-1])
        print(
            f"remedies of {found['rows']:,.0f} judgements, {work}: {found['seconds']:.1f} s "
            f"(limit {MAX_SECONDS:.0f}), peak {found['megabytes']:,.0f} MB "
            f"(limit {MAX_MEGABYTES:,.0f})"
        )
        failed |= found["seconds"] > MAX_SECONDS or found["megabytes"] > MAX_MEGABYTES
    return int(failed)


if __name__ == "__main__":
    if "--measure" in sys.argv:
        print(json.dumps(measure(sys.argv[-1])))
    else:
        sys.exit(main())
