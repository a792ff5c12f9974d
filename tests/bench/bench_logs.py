"""Inspect logs imported as one study: seconds and memory for a gigabyte of archives.

The peer only unpacks and parses the same entries. Megabytes of archives: EVENHAND_BENCH_LOGS_MB.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from studies.files.archives import open_archive
from studies.files.read_limits import current_limits
from studies.sources.formats.inspect_log import _load_json
from tests.studies.sources.log_files import inspect_header, inspect_sample, write_eval

MEGABYTES = int(os.environ.get("EVENHAND_BENCH_LOGS_MB", "64"))
SAMPLES_PER_LOG = 500
EVENTS = 40
WORDS_PER_EVENT = 120


def make_sample(rng: random.Random, words: list[str], number: int) -> dict[str, object]:
    """A sample whose events, as in real logs, are larger than its question and answer."""
    texts = [" ".join(rng.choices(words, k=WORDS_PER_EVENT)) for _ in range(EVENTS)]
    sample = inspect_sample(number, rng.choice("CIP"), texts[0])
    sample["input"], sample["events"] = texts[1], [{"event": "model", "input": t} for t in texts]
    sample["output"]["choices"][0]["message"]["content"] = texts[2]
    return sample


def write_logs(folder: Path, megabytes: int) -> int:
    """Write archives until they fill the size; return the number of samples."""
    rng = random.Random(7)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9)))
             for _ in range(5_000)]  # fmt: skip
    bodies = [make_sample(rng, words, 0) for _ in range(SAMPLES_PER_LOG)]
    count, size = 0, 0
    while size < megabytes << 20:
        samples = [body | {"id": f"s{count + k}"} for k, body in enumerate(bodies)]
        path = folder / f"log-{count:07}.eval"
        size += write_eval(path, inspect_header(), samples, zstandard=True).stat().st_size
        count += len(samples)
    return count


def unpack_and_parse(folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        with open_archive(path, current_limits()) as archive:
            for name in archive.entries:
                _load_json(archive.read(name))


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "logs"
        folder.mkdir()
        count = write_logs(folder, MEGABYTES)
        size = sum(path.stat().st_size for path in folder.iterdir()) / 2**20
        began = time.perf_counter()
        command = ["import", str(folder), "--store", str(Path(name) / "s.db"), "--name", "logs"]
        subprocess.run([sys.executable, "-m", "studies", *command], check=True)
        taken = time.perf_counter() - began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        began = time.process_time()
        unpack_and_parse(folder)
        peer = time.process_time() - began
        print(
            f"{size:,.0f} MB of .eval logs, {count:,} samples: {taken:.0f} s, {spent:.0f} s of one "
            f"processor, {memory:,.0f} MB of memory; {spent / peer:.1f}x unpacking and parsing"
        )


if __name__ == "__main__":
    main()
