"""A judge server in a process of its own: it outlives a killed client, and costs the client's
process no CPU."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
STOP_SECONDS = 10.0


class JudgeProcess:
    """`with JudgeProcess("--latency", "0.05") as server: ...`; the options are those of `python -m
    tests.judge_server`."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-m", "tests.judge_server", *options]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.base_url = ""

    def start(self) -> Self:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.close()
            raise RuntimeError("The judge server did not start; its reason is on stderr.")
        self.base_url = json.loads(line)["base_url"]
        return self

    def bill(self, with_calls: bool = False) -> dict[str, Any]:
        url = self.base_url.removesuffix("/v1") + "/bill" + ("?calls=1" if with_calls else "")
        with urllib.request.urlopen(url, timeout=STOP_SECONDS) as answer:
            books: dict[str, Any] = json.load(answer)
        return books

    def close(self) -> int:
        """Close its stdin, which ends it; the exit code."""
        if self.process.stdin:
            self.process.stdin.close()
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait(STOP_SECONDS)
        finally:
            if self.process.stdout:
                self.process.stdout.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
