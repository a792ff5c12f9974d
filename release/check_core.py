"""Check an installation of the wheel without extras: import time, modules loaded, the demo.

    PYTHON_OF_THE_VENV release/check_core.py

The checks run in a folder with modules `judges`, `metrics`, … that raise an error if imported,
since the wheel must import only its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

MAX_IMPORT_SECONDS = 1.0
MAX_DEMO_SECONDS = 60.0
IMPORT = """
import sys, time
start = time.perf_counter()
import evenhand
seconds = time.perf_counter() - start
loaded = sorted({"gradio", "openai", "datasets", "pandas"} & set(sys.modules))
print(seconds, *loaded)
"""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("metrics", "judges", "studies", "components", "app"):
            Path(folder, f"{name}.py").write_text(
                f"raise ImportError('local {name}.py imported')\n"
            )
        runs = [_run(folder, "-c", IMPORT).split() for _ in range(3)]
        seconds, loaded = min(float(run[0]) for run in runs), runs[-1][1:]
        print(f"Python {sys.version.split()[0]}: import evenhand {seconds:.3f} s, loads {loaded}")
        start = time.monotonic()
        printed = _run(folder, "-m", "evenhand", "demo")
        demo = time.monotonic() - start
        print(f"evenhand demo {demo:.1f} s, {printed.count('Consistency')} cards")
    good = seconds < MAX_IMPORT_SECONDS and demo < MAX_DEMO_SECONDS and not loaded
    return 0 if good and "Consistency" in printed else 1


def _run(folder: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
