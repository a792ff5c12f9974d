"""The embedded judge, seen from the app: a child process that answers like any other endpoint.

    with EmbeddedServer.start() as server:
        client = AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0)

Everything that can go wrong before the first answer is an `EmbeddedUnavailable`, one line that ends
with the command that fixes it; recorded, simulated and remote judges go on working without it.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Self

from judges.models.weights import WeightsMissing, find_weights, model_name, sha256_of

PROJECT_FOLDER = Path(__file__).resolve().parents[2]
UNREADABLE_WEIGHTS_EXIT = 3  # the child's exit code, see embedded_server.py
STOP_SECONDS = 2.0


class EmbeddedUnavailable(RuntimeError):
    """The embedded judge cannot answer; the message says why and what to run."""


class EmbeddedServer:
    """A running child. `identity` goes into keys: it names the weights, never a port or a path."""

    def __init__(self, process: subprocess.Popen[bytes], address: str, weights: Path) -> None:
        self._process = process
        self.base_url = f"{address}/v1"
        self.model = model_name(weights)
        self.identity = f"embedded:{sha256_of(weights)}"

    @classmethod
    def start(cls, weights: Path | None = None, timeout: float = 60) -> Self:
        """Start a child and wait until it answers."""
        _require_xllamacpp()
        weights = weights or _find_weights()
        with tempfile.TemporaryFile() as log:
            process = _start_process(weights, log)
            try:
                address = _wait_for_address(process, timeout, weights, log)
                return cls(process, address, weights)
            except BaseException:
                _stop_process(process)
                raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        """Whether the child still runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the child. Closing twice is harmless."""
        _stop_process(self._process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_shared_lock = threading.Lock()
_shared_server: EmbeddedServer | None = None


def shared_server() -> EmbeddedServer:
    """This process's server: started when first asked for, and again if the child has died."""
    global _shared_server
    with _shared_lock:
        if _shared_server is None or not _shared_server.alive():
            if _shared_server is not None:
                _shared_server.close()
            _shared_server = EmbeddedServer.start()
        return _shared_server


@atexit.register
def close_shared_server() -> None:
    """End the shared server, if one was started."""
    global _shared_server
    with _shared_lock:
        if _shared_server is not None:
            _shared_server.close()
            _shared_server = None


def thread_count() -> int:
    """EVENHAND_THREADS, else two, or one on a machine with one core."""
    chosen = os.environ.get("EVENHAND_THREADS")
    if not chosen:
        return min(2, os.cpu_count() or 1)
    if not chosen.isdigit() or int(chosen) < 1:
        raise EmbeddedUnavailable(
            f"EVENHAND_THREADS is {chosen!r}, not a number of threads. Set EVENHAND_THREADS=2."
        )
    return int(chosen)


def _require_xllamacpp() -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise EmbeddedUnavailable(
            f"The embedded judge needs xllamacpp, which is not installed on this "
            f"{platform.system()} {platform.machine()}. Run `pip install xllamacpp`; "
            "without a wheel for the platform use another judge."
        )


def _find_weights() -> Path:
    try:
        return find_weights()
    except WeightsMissing as error:
        raise EmbeddedUnavailable(str(error)) from error


def _start_process(weights: Path, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """The child reads a pipe that only we hold open, so it ends with us. Its log goes to a file:
    a pipe that nobody reads would fill up and stop it. Its threads sleep while they wait for each
    other: spinning ones nearly halve its speed on a busy machine."""
    module = [sys.executable, "-m", "judges.models.embedded_server"]
    options = ["--weights", str(weights.absolute()), "--threads", str(thread_count())]
    return subprocess.Popen(
        [*module, *options],
        cwd=PROJECT_FOLDER,
        env={"OMP_WAIT_POLICY": "passive", **os.environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
    )


def _wait_for_address(
    process: subprocess.Popen[bytes], timeout: float, weights: Path, log: IO[bytes]
) -> str:
    line = _first_line(process, timeout)
    if line is None:
        raise EmbeddedUnavailable(
            f"The embedded judge did not start within {timeout:g} s. Try again when the machine "
            "is less busy, or with EVENHAND_THREADS=1."
        )
    if not line:
        raise EmbeddedUnavailable(_exit_reason(process.wait(), weights, log))
    return str(json.loads(line)["address"])


def _first_line(process: subprocess.Popen[bytes], timeout: float) -> bytes | None:
    """The child's one line, b"" if it ended without, None if the time is up.

    A thread, because Windows cannot wait for a pipe with a timeout. It ends with the child.
    """
    assert process.stdout is not None
    lines: list[bytes] = []
    reader = threading.Thread(
        target=lambda stdout: lines.append(stdout.readline()), args=[process.stdout], daemon=True
    )
    reader.start()
    reader.join(timeout)
    return lines[0] if lines else None


def _exit_reason(code: int, weights: Path, log: IO[bytes]) -> str:
    if code == UNREADABLE_WEIGHTS_EXIT:
        return (
            f"The embedded judge cannot load {weights.name}: not a GGUF model, or cut short. "
            "Delete it and run `python -m judges.models.weights prepare`, or set EVENHAND_GGUF."
        )
    log.seek(0)
    last = log.read().decode(errors="replace").strip().splitlines()[-1:]
    reason = f": {last[0]}" if last else ""
    return (
        f"The embedded judge ended with code {code} while starting{reason}. "
        "Run `pip install --force-reinstall xllamacpp`, or use another judge."
    )


def _stop_process(process: subprocess.Popen[bytes]) -> None:
    """Close the child's standard input, which ends it; insist if it does not."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):  # the child is gone already
            process.stdin.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
