"""Start and stop the server of the embedded judge, a small language model on this machine. The
server is a child process that is called like any OpenAI-compatible endpoint.

    with EmbeddedServer.start() as server:
        client = AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0)

If the server cannot be started, `EmbeddedUnavailable` is raised; its message gives the reason
and the next step. Recorded, simulated and remote judges work without the embedded judge."""

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
from collections import OrderedDict
from pathlib import Path
from typing import IO, Self

from judges.models.weights import WeightsMissing, locate_weights, model_name, sha256_of
from studies import errors, settings

PROJECT_FOLDER = Path(__file__).resolve().parents[2]
UNREADABLE_WEIGHTS_EXIT = 3  # exit code of the child, see embedded_server.py
STOP_SECONDS = 2.0
MAX_SHARED_SERVERS = 4


class EmbeddedUnavailable(RuntimeError):
    """Raised if the embedded judge cannot be used; the message gives the reason and the remedy."""


class EmbeddedServer:
    """A running child process that serves the embedded judge.

    `identity` is part of the keys of calls. It contains the hash of the weights, but neither port
    nor path, so that keys are the same on every machine.
    """

    def __init__(self, process: subprocess.Popen[bytes], address: str, weights: Path) -> None:
        self._process = process
        self.base_url = f"{address}/v1"
        self.model = model_name(weights)
        self.identity = f"embedded:{sha256_of(weights)}"

    @classmethod
    def start(cls, weights: Path | None = None, timeout: float = 60) -> Self:
        """Start a child process with these weights (None: the default weights) and wait until it
        accepts calls; EmbeddedUnavailable if it does not within `timeout` seconds, or if xllamacpp
        or the weights are missing."""
        _require_xllamacpp()
        weights = weights or _locate_weights()
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
        return self._process.poll() is None

    def close(self) -> None:
        """End the child process; a second call has no effect."""
        _stop_process(self._process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _SharedServers:
    """The servers of this process, one for each file of weights.

    If there are more than MAX_SHARED_SERVERS, the least recently used one is ended, because each
    has a whole model in memory; the next call of its judge starts it again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers: OrderedDict[Path, EmbeddedServer] = OrderedDict()

    def find_or_start(self, weights: Path) -> EmbeddedServer:
        with self._lock:
            server = self._servers.pop(weights, None)
            if server is None or not server.alive():
                if server is not None:
                    server.close()
                server = EmbeddedServer.start(weights)
            self._servers[weights] = server
            while len(self._servers) > MAX_SHARED_SERVERS:
                self._servers.popitem(last=False)[1].close()
            return server

    def close(self) -> None:
        with self._lock:
            while self._servers:
                self._servers.popitem()[1].close()


_shared_servers = _SharedServers()


def find_or_start_shared_server(named: str = "") -> EmbeddedServer:
    """Return this process's server for the weights that a judge names in its setting `weights` ("":
    the default weights); start it if needed. EmbeddedUnavailable if it cannot be started."""
    return _shared_servers.find_or_start(_locate_weights(named))


@atexit.register
def close_shared_servers() -> None:
    _shared_servers.close()


def thread_count() -> int:
    """Return the number of threads for the embedded judge: EVENHAND_THREADS, else two, or one if
    the machine has one core. EmbeddedUnavailable if the variable is malformed."""
    try:
        return settings.THREADS.read() or min(2, os.cpu_count() or 1)
    except errors.SettingError as error:
        raise EmbeddedUnavailable(str(error)) from None


def _require_xllamacpp() -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise EmbeddedUnavailable(
            f"The embedded judge needs xllamacpp, which is not installed on this "
            f"{platform.system()} {platform.machine()}. Run `pip install xllamacpp`; "
            "without a wheel for the platform use another judge."
        )


def _locate_weights(named: str = "") -> Path:
    try:
        return locate_weights(named)
    except WeightsMissing as error:
        raise EmbeddedUnavailable(str(error)) from error


def _start_process(weights: Path, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start the child process. It ends with this process, because only this process holds its
    standard input open."""
    module = [sys.executable, "-m", "judges.models.embedded_server"]
    options = ["--weights", str(weights.absolute()), "--threads", str(thread_count())]
    return subprocess.Popen(
        [*module, *options],
        cwd=PROJECT_FOLDER,
        env=settings.child_environment(OMP_WAIT_POLICY="passive"),  # busy waiting halves the speed
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,  # a file: a full pipe without a reader would block the child
    )


def _wait_for_address(
    process: subprocess.Popen[bytes], timeout: float, weights: Path, log: IO[bytes]
) -> str:
    line = _read_first_line(process, timeout)
    if line is None:
        raise EmbeddedUnavailable(
            f"The embedded judge did not start within {timeout:g} s. Try again when the machine "
            "is less busy, or with EVENHAND_THREADS=1."
        )
    if not line:
        raise EmbeddedUnavailable(_exit_reason(process.wait(), weights, log))
    return str(json.loads(line)["address"])


def _read_first_line(process: subprocess.Popen[bytes], timeout: float) -> bytes | None:
    """Return the first line of the child's output; b"" if the child ended without output, None
    after the timeout. A thread reads it, because Windows cannot read a pipe with a timeout."""
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
            f"The embedded judge cannot load {weights.name}: not a GGUF model, or incomplete. "
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
    """Close the child's standard input, which ends it; kill it if it has not ended in time."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):  # the child process has already ended
            process.stdin.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
