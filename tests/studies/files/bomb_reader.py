"""Reads files in a process of its own, one after the other, and says what each came to.

Standard input: one path a line. Standard output: one JSON object a line. The memory is that of the
whole process, so the last line has the worst of all of them.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import pyarrow.parquet  # noqa: F401 - loaded before the clock starts

from studies.errors import EvenhandError
from studies.files.image_files import read_image
from studies.files.tables import read_table


def said(path: Path) -> str:
    try:
        if path.suffix == ".png":
            return f"{len(read_image(path.name, path.parent))} bytes"
        return f"{len(read_table(path).rows)} rows"
    except EvenhandError as error:
        return f"refused: {error}"


for line in sys.stdin:
    began = time.process_time()
    told = said(Path(line.strip()))
    spent = time.process_time() - began
    # Not ru_maxrss: that begins with the size of the process that started this one.
    peak = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024
    print(json.dumps({"said": told, "seconds": spent, "megabytes": peak}), flush=True)
