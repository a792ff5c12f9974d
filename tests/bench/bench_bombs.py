"""Seconds until a decompression or alias bomb is refused: python -m tests.bench.bench_bombs"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.report_line import Line, print_lines
from tests.studies.files.test_bombs import BOMBS, READER, ROOT, STRANGERS
from tests.studies.spec.test_yaml_bombs import BOMBS as YAML_BOMBS
from tests.studies.spec.test_yaml_bombs import refusal_of


def bomb_lines() -> Iterator[Line]:
    """One line for each file, in public mode, and for each YAML text."""
    files = {**BOMBS, **STRANGERS}
    with tempfile.TemporaryDirectory() as folder:
        for name, (write, _) in files.items():
            write(Path(folder) / name)
        read = subprocess.run(
            [sys.executable, str(READER)], input="\n".join(f"{folder}/{name}" for name in files),
            env={**os.environ, "EVENHAND_PUBLIC": "1", "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    for name, line in zip(files, read.stdout.splitlines(), strict=True):
        yield Line(f"{name}: seconds of CPU", json.loads(line)["seconds"], 1.0, at_least=False)
    for name, text in YAML_BOMBS.items():
        began = time.process_time()
        refusal_of(text)
        yield Line(
            f"YAML, {name}: seconds of CPU", time.process_time() - began, 1.0, at_least=False
        )


if __name__ == "__main__":
    sys.exit(print_lines(bomb_lines()))
