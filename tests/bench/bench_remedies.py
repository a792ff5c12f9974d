"""Remedies of five million judgements: seconds after the frame is there, and peak memory.

Run alone with `python -m tests.bench.bench_remedies`. EVENHAND_BENCH_QUICK=1 takes a tenth.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time

import numpy as np

QUICK = os.environ.get("EVENHAND_BENCH_QUICK") == "1"
ITEMS = 10_000 if QUICK else 100_000
JUDGES, PAIRS = 5, 5
MAX_SECONDS, MAX_MEGABYTES = 10.0, 2_000.0


def measure() -> dict[str, float]:
    """Processor seconds and peak memory of the whole section, in this process."""
    from metrics.summary.remedy_section import RemedyInputs, remedy_section
    from tests.metrics.remedies.known_judges import HardJudge, simulate

    judges = [HardJudge(0.1 * k, 0.6 + 0.05 * k, 0.1) for k in range(JUDGES)]
    frame = simulate(judges, ITEMS, np.random.default_rng(1), pairs=PAIRS)
    began = time.process_time()
    section = remedy_section(frame, RemedyInputs())
    seconds = time.process_time() - began
    assert section["truth"]["comparisons"] == ITEMS * PAIRS
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rows": len(frame), "seconds": seconds, "megabytes": peak}


def main() -> int:
    """Measure in a process of its own, so that the peak is its own, and print one line."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.bench_remedies", "--measure"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    print(
        f"remedies of {found['rows']:,.0f} judgements: {found['seconds']:.1f} s "
        f"(limit {MAX_SECONDS:.0f}), peak {found['megabytes']:,.0f} MB (limit {MAX_MEGABYTES:,.0f})"
    )
    return int(found["seconds"] > MAX_SECONDS or found["megabytes"] > MAX_MEGABYTES)


if __name__ == "__main__":
    if "--measure" in sys.argv:
        print(json.dumps(measure()))
    else:
        sys.exit(main())
