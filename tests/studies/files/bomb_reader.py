"""Read files one after the other in a separate process and print the result of each.

Standard input: one path per line. Standard output: one JSON object per line. The memory is the peak
of the whole process, so the last line has the maximum over all files.
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
