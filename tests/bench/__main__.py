"""make bench: every speed figure beside its peer, as ratios of one run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Each benchmark in a process of its own, so that one's memory is not another's."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    chosen = [name for name in names if not sys.argv[1:] or name in sys.argv[1:]]
    failed = 0
    for name in chosen:
        print(f"\n== {name.removeprefix('bench_')}", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"tests.bench.{name}"]).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
