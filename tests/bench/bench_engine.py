"""The engine against its peers: python -m tests.bench.bench_engine

Each line is a ratio of one run, beside the bar of ENGINE.md, against a loopback judge in a process
of its own that answers after a fixed latency. Ours and the peer take turns, and medians are
compared, since others may use the machine. inspect-ai and litellm are installed into an
environment of their own under build/ and are never a dependency.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import venv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI, DefaultAioHttpClient

from judges.engine.engine import Engine
from judges.engine.run_state import RunSettings
from judges.planning.plan import Plan, asks_of, save_plan
from studies.store.store import Store
from tests.bench.report_line import Line, print_lines
from tests.judge_server import JudgeProcess, transient_fault_rules
from tests.judges.small_studies import endpoint, study_plan

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "build" / "bench-peers"
ROUNDS = 3
CALLS = 1500
PEER_CALLS = 300
FAULTY_CALLS = 400
FAULTY_IN_FLIGHT = 16
FAULT_SHARES = (0.0, 0.02, 0.05, 0.15, 0.3)


@dataclass(frozen=True)
class Effort:
    """What so many calls took."""

    calls: int
    seconds: float
    cpu: float

    @property
    def rate(self) -> float:
        return self.calls / self.seconds

    @property
    def per_cpu_second(self) -> float:
        return self.calls / self.cpu


def plan_for(folder: Path, url: str, asks: int, in_flight: int, **judge: Any) -> Plan:
    return study_plan(folder, [endpoint(url, **judge)], items=asks, concurrency=in_flight)


def timed(act: Callable[[], None], calls: int) -> Effort:
    wall, cpu = time.perf_counter(), time.process_time()
    act()
    return Effort(calls, time.perf_counter() - wall, time.process_time() - cpu)


def engine_round(engine: Engine, url: str, asks: int, in_flight: int, **judge: Any) -> Effort:
    """Ours, with journal, parser and progress; the plan is made before the clock starts."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store.db")
        plan = plan_for(Path(folder), url, asks, in_flight, **judge)
        save_plan(plan, store)

        def act() -> None:
            run = engine.start(plan, store, settings=RunSettings())
            while not run.wait(0.25):
                run.snapshot()
            assert run.state == "done", run.reason

        effort = timed(act, asks)
        store.close()
    return effort


def bare_round(
    url: str,
    bodies: list[list[dict[str, Any]]],
    in_flight: int,
    retries: int = 0,
    timeout: float = 600.0,
    stream: bool = False,
) -> Effort:
    """The peer: a fixed number of workers over AsyncOpenAI on aiohttp, and nothing else."""

    async def main() -> None:
        client = AsyncOpenAI(
            base_url=url,
            api_key="none",
            max_retries=retries,
            timeout=timeout,
            http_client=DefaultAioHttpClient(),
        )
        left: Iterator[list[dict[str, Any]]] = iter(bodies)

        async def worker() -> None:
            for messages in left:
                answer: Any = await client.chat.completions.create(  # type: ignore[call-overload]
                    model="judge", messages=messages, max_tokens=4096, temperature=0, stream=stream
                )
                if stream:
                    async for _ in answer:
                        pass

        await asyncio.gather(*(worker() for _ in range(in_flight)))
        await client.close()

    return timed(lambda: asyncio.run(main()), len(bodies))


def against_bare(url: str) -> tuple[list[Line], float]:
    with tempfile.TemporaryDirectory() as folder:
        plan = plan_for(Path(folder), url, CALLS, 64)
        bodies = [planned.call.messages for planned in asks_of(plan)]
    engine = Engine()
    engine_round(engine, url, 128, 64)  # the ramp is learned once per endpoint; both sides warm
    bare_round(url, bodies[:128], 64)
    ours, peer = [], []
    for _ in range(ROUNDS):
        peer.append(bare_round(url, bodies, 64))
        ours.append(engine_round(engine, url, CALLS, 64))
    engine.close()
    rate = statistics.median(o.rate / p.rate for o, p in zip(ours, peer, strict=True))
    cpu = statistics.median(o.cpu / p.cpu for o, p in zip(ours, peer, strict=True))
    per_cpu = statistics.median(o.per_cpu_second for o in ours)
    told = f"{statistics.median(o.rate for o in ours):,.0f}/s, {1000 / per_cpu:.2f} ms CPU a call"
    return [
        Line("throughput / bare AsyncOpenAI loop (64, 50 ms)", rate, 0.85, note=told),
        Line("CPU / bare AsyncOpenAI loop", cpu, 1.3, at_least=False),
    ], per_cpu


def latency_bound(in_flight: int) -> Line:
    """Calls in the server's hands, on average after the ramp: throughput x latency (Little)."""
    with (
        JudgeProcess("--bench", "--latency", "1") as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        store = Store(Path(folder) / "store.db")
        plan = plan_for(Path(folder), server.base_url, in_flight * 14, in_flight)
        save_plan(plan, store)
        engine = Engine()
        run = engine.start(plan, store, settings=RunSettings())
        while server.bill()["peak_in_flight"] < in_flight and not run.finished.is_set():
            time.sleep(0.1)
        ours = in_hand(server) / in_flight
        run.stop()
        engine.close()
        store.close()
        bodies = [planned.call.messages for planned in asks_of(plan)][: in_flight * 8]
        bare = threading.Thread(target=bare_round, args=(server.base_url, bodies, in_flight))
        bare.start()
        theirs = in_hand(server) / in_flight
        bare.join()
    note = f"a bare AsyncOpenAI loop reaches {theirs:.2f} here and now"
    return Line(f"rate / (C / latency) at 1 s, {in_flight} in flight", ours, 0.95, note=note)


def in_hand(server: JudgeProcess, seconds: float = 5.0) -> float:
    time.sleep(1.0)
    seen = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        seen.append(server.bill()["in_flight"])
        time.sleep(0.04)
    return statistics.fmean(seen)


def beside_bare(
    work: str, *options: str, judge: Mapping[str, Any] | None = None, **peer: Any
) -> Line:
    """Throughput beside a bare loop; a server for each side, because its faults depend on how
    often it has seen a request. `peer`: options of the loop."""
    server = ("--latency", "0.06", "--totals-only", *options)
    with tempfile.TemporaryDirectory() as folder:
        plan = plan_for(Path(folder), "http://127.0.0.1:9/v1", FAULTY_CALLS, FAULTY_IN_FLIGHT)
        bodies = [planned.call.messages for planned in asks_of(plan)]
    with JudgeProcess(*server) as of_peer:
        bare = bare_round(of_peer.base_url, bodies, FAULTY_IN_FLIGHT, **peer)
    engine = Engine()
    with JudgeProcess(*server) as own:
        ours = engine_round(engine, own.base_url, FAULTY_CALLS, FAULTY_IN_FLIGHT, **(judge or {}))
    engine.close()
    note = f"{ours.seconds:.1f} s, the loop {bare.seconds:.1f} s"
    return Line(f"throughput / bare {work}", ours.rate / bare.rate, 0.8, note=note)


def under_faults(share: float, *, every_attempt: bool = False) -> Line:
    """Throughput with transient faults, beside a bare loop that retries."""
    faults = transient_fault_rules(share, every_attempt=every_attempt)
    attempts = " on every attempt" if every_attempt else ""
    work = f"loop with retries, {share:.0%} faults{attempts}"
    return beside_bare(work, "--faults", faults, retries=5)


def with_hung_calls(share: float = 0.15) -> Line:
    """Transient faults of which a quarter are calls that hang; both sides give up after 5 s."""
    rules = json.loads(transient_fault_rules(share))
    rules[3] = {**rules[3], "kind": "timeout", "seconds": 30.0}
    work, faults = f"loop, {share:.0%} faults with hung calls", json.dumps(rules)
    return beside_bare(work, "--faults", faults, judge={"timeout_s": 5}, retries=5, timeout=5.0)


def with_hedged_calls() -> list[Line]:
    """Two calls of 400 that hang for 20 s, near the end: seconds with and without `hedge`."""
    rule = {"kind": "timeout", "seconds": 20.0, "indexes": [300, 310]}
    seconds, calls = [], 0
    for hedge in (False, True):
        engine = Engine()
        with JudgeProcess("--latency", "0.06", "--faults", json.dumps([rule])) as server:
            spent = engine_round(
                engine, server.base_url, FAULTY_CALLS, FAULTY_IN_FLIGHT, hedge=hedge
            )
            calls = server.bill()["totals"]["calls"]
        engine.close()
        seconds.append(spent.seconds)
    note = f"{seconds[1]:.1f} s, without {seconds[0]:.1f} s"
    return [
        Line(
            "seconds with hedge / without, 2 hung calls", seconds[1] / seconds[0], 0.7, False, note
        ),
        Line("calls with hedge / asks", calls / FAULTY_CALLS, 1.02, at_least=False),
    ]


def streamed_replies() -> Line:
    """Throughput of streamed replies, beside a bare loop that streams."""
    return beside_bare("streaming loop", judge={"stream": True}, stream=True)


def reasoned_replies() -> Line:
    """Throughput of replies with a block of reasoning, beside a bare loop that does not read it."""
    thinking = json.dumps([{"kind": "think_block"}])
    return beside_bare("loop, replies with reasoning", "--faults", thinking)


def finished_again() -> Line:
    """A study that is answered already: start, find nothing to ask, count, end."""
    asks = 20_000
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store.db")
        judge = {"name": "s", "model": "simulated", "accuracy": 0.8}
        plan = study_plan(Path(folder), [judge], items=asks, concurrency=256)
        save_plan(plan, store)
        engine = Engine()
        assert engine.start(plan, store).wait(600)

        def act() -> None:
            save_plan(plan, store)
            run = engine.start(plan, store)
            assert run.wait(60)
            assert run.snapshot().done == asks

        efforts = [timed(act, asks) for _ in range(5)]
        engine.close()
        store.close()
    best = max(efforts, key=lambda effort: effort.rate)
    note = f"fastest of 5; {best.per_cpu_second:,.0f} per CPU-second"
    return Line("re-run of a finished study, judgements/s", best.rate, 20_000, note=note)


# --- peers in an environment of their own -------------------------------------------------------

LITELLM = """
import asyncio, json, sys, time
import litellm
litellm.telemetry = False
url, calls, in_flight = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
messages = json.load(sys.stdin)
async def main(n):
    left = iter(range(n))
    async def worker():
        for _ in left:
            await litellm.acompletion(
                model="openai/judge", messages=messages, api_base=url, api_key="none",
                max_tokens=4096, temperature=0, num_retries=0)
    await asyncio.gather(*(worker() for _ in range(in_flight)))
async def both():
    await main(64)
    cpu = time.process_time()
    await main(calls)
    print(json.dumps(calls / (time.process_time() - cpu)))
asyncio.run(both())
"""

INSPECT = """
import json, os, sys, tempfile, time
url, calls, in_flight = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
messages = json.load(sys.stdin)
os.environ["INSPECT_DISPLAY"] = "none"
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate
text = "\\n".join(m["content"] for m in messages)
def once(n):
    data = MemoryDataset([Sample(input=f"{text} {k}", target="A") for k in range(n)])
    task = Task(dataset=data, solver=[generate()], scorer=includes())
    model = get_model("openai/judge", base_url=url, api_key="none", memoize=False,
                      responses_api=False)
    with tempfile.TemporaryDirectory() as folder:
        (log,) = eval(task, model=model, max_connections=in_flight, max_samples=in_flight,
                      log_dir=folder, display="none", max_tokens=4096)
    assert log.status == "success", log.error
once(64)
cpu = time.process_time()
once(calls)
print(json.dumps(calls / (time.process_time() - cpu)))
"""


def peer_python(package: str) -> Path | None:
    """The peer's environment, made if it is not there; None if it cannot be. Each has its own:
    they want different versions of openai."""
    folder = PEERS / package
    python = folder / "bin" / "python"
    if python.exists() and _imports(python, package):
        return python
    try:
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--upgrade", package, "openai"]
        subprocess.run(command, check=True, timeout=600, capture_output=True)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"skip {package} cannot be installed here: {error}")
        return None
    return python


def _imports(python: Path, package: str) -> bool:
    command = [str(python), "-c", f"import {package.replace('-', '_')}, openai"]
    return subprocess.run(command, capture_output=True).returncode == 0


def peer_line(name: str, script: str, bar: float, url: str, ours: float, body: str) -> Line | None:
    python = peer_python(name)
    if python is None:
        return None
    command = [str(python), "-c", script, url, str(PEER_CALLS), "64"]
    try:
        done = subprocess.run(
            command, input=body, capture_output=True, text=True, timeout=300, check=True
        )
        theirs = float(done.stdout.strip().splitlines()[-1])
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        told = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1:]
        print(f"skip {name}: {' '.join(told)[:200]}")
        return None
    note = f"ours {ours:,.0f}, theirs {theirs:,.0f} (from {PEER_CALLS} calls)"
    return Line(f"judgements per CPU-second / {name}", ours / theirs, bar, note=note)


def against_peers(url: str, ours: float) -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        plan = plan_for(Path(folder), url, 1, 1)
        body = json.dumps(next(asks_of(plan)).call.messages)
    lines = [
        peer_line("inspect-ai", INSPECT, 3.0, url, ours, body),
        peer_line("litellm", LITELLM, 3.5, url, ours, body),
    ]
    return [line for line in lines if line is not None]


def speed_lines() -> Iterator[Line]:
    with JudgeProcess("--bench", "--latency", "0.05") as server:
        bare, per_cpu = against_bare(server.base_url)
        yield from bare
        yield from against_peers(server.base_url, per_cpu)
    for in_flight in (64, 256):
        yield latency_bound(in_flight)
    yield finished_again()


def fault_lines() -> Iterator[Line]:
    for share in FAULT_SHARES:
        yield under_faults(share)
    for share in FAULT_SHARES[1:]:
        yield under_faults(share, every_attempt=True)
    yield with_hung_calls()
    yield from with_hedged_calls()
    yield streamed_replies()
    yield reasoned_replies()


GROUPS = {"speed": speed_lines, "faults": fault_lines}


def main(groups: list[str]) -> int:
    """Print the lines of the named groups, or of all."""
    return print_lines(line for name in groups or GROUPS for line in GROUPS[name]())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
