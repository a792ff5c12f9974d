"""Ten minutes of a busy page: 50 people read the PRD study, 5 run simulated judges.

What has to hold on two cores: no error, memory flat within a tenth but for what new studies leave
in the cache, 95 of 100 filters answered within two seconds. A session is a protocol client (no
browser: fifty of them would measure themselves), it opens the page, chooses the study, and then
filters or turns to another view, with 5 to 15 seconds to read in between, as people take.
EVENHAND_LOAD_SECONDS sets the length.

Whether anything leaks is seen beside it, with a cache so small that it is soon full."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from components.results.view_drawing import VIEWS
from judges.planning.plan import make_plan, save_plan
from studies.exchange.recorded_studies import import_verdicts
from studies.spec.study import parse_study
from studies.store.store import Store
from tests.ui.conftest import ROOT, App

SECONDS = float(os.environ.get("EVENHAND_LOAD_SECONDS", "600"))
READERS, RUNNERS = 50, 5
THINKS = (5.0, 15.0)
ARRIVE = 0.2
"""People come one after the other, over this share of the time."""
WARM = 0.6
"""This share of the time is for caches to fill, and for as many runs to end as the engine keeps (32
of some 63); memory is compared from then on."""
CACHED_MB_PER_STUDY = 2.5
"""Memory that a new study may take in the cache of computed values, which holds up to 1 GiB."""
SETTLED_RUNS, LAST_RUN = 40, 70
"""Runs after which memory is compared: by the first the small cache is full, and the engine has
begun to forget ended runs."""
SMALL_CACHE_APP = """
import os, runpy, sys
os.chdir({root!r})
sys.path.insert(0, {root!r})
from studies.store.caching import store_cache
store_cache.StoreCache.__init__.__defaults__ = (32 << 20, ())
runpy.run_path("app.py", run_name="__main__")
"""
STUDY = "PRD"
RUN = """
name: {name}
data: {{source: probe, seed: {seed}}}
judges: [{{name: firstish, model: simulated, first_bias: 0.3, seed: {seed}}}]
prompts: [brief-letters, brief-numbers]
repeats: 2
"""


@dataclass
class Books:
    """What happened, over all sessions."""

    filters: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    """Of these, those after the warm-up: printed beside, for who wants to know what is cold."""
    by_view: dict[str, list[float]] = field(default_factory=dict)
    opens: list[float] = field(default_factory=list)
    runs: int = 0
    faults: Counter[str] = field(default_factory=Counter)


class Session:
    """One visitor: Gradio's queue, spoken as the page speaks it."""

    def __init__(self, url: str, client: httpx.AsyncClient, config: Mapping[str, Any]) -> None:
        self.api, self.client = f"{url}/gradio_api", client
        self.hash = uuid.uuid4().hex[:11]
        self.parts = {part["id"]: part["props"] for part in config["components"]}
        self.steps = config["dependencies"]
        self.values: dict[str, Any] = {}

    def name(self, part: int) -> str:
        return str(self.parts.get(part, {}).get("elem_id") or part)

    def step(self, elem_id: str, event: str, fills: str = "") -> dict[str, Any]:
        for step in self.steps:
            heard = {(self.name(part), on) for part, on in step["targets"] if part is not None}
            hears = (elem_id, event) in heard or (not elem_id and event in {e for _, e in heard})
            if hears and (not fills or fills in {self.name(part) for part in step["outputs"]}):
                return step
        raise LookupError(f"nothing happens on {event} of {elem_id}")

    async def open(self) -> None:
        for step in self.steps:
            if any(event == "load" for _, event in step["targets"]) and step["backend_fn"]:
                await self.run(step)

    def held(self, step: Mapping[str, Any]) -> list[Any]:
        """What the inputs of a step hold."""
        values, parts = self.values, self.parts
        return [values.get(self.name(p), parts[p].get("value")) for p in step["inputs"]]

    def ask(self) -> None:
        """Filters and controls as one text, as the page's own script writes it."""
        both = {"eh-filter-judge", "eh-filter-rule"}
        step = next(one for one in self.steps if both <= set(map(self.name, one["inputs"])))
        *menus, settings = self.held(step)
        self.values["eh-asked"] = json.dumps([*menus, *json.loads(settings)])

    async def run(self, step: Mapping[str, Any]) -> dict[str, Any]:
        values = self.held(step)
        body = {
            "data": values, "fn_index": step["id"], "session_hash": self.hash,
            "trigger_id": None, "event_data": None,
        }  # fmt: skip
        joined = await self.client.post(f"{self.api}/queue/join", json=body)
        joined.raise_for_status()
        address = f"{self.api}/queue/data?session_hash={self.hash}"
        async with self.client.stream("GET", address) as lines:
            async for line in lines.aiter_lines():
                said = json.loads(line[5:]) if line.startswith("data:") else {}
                if said.get("msg") == "process_completed":
                    if not said["success"]:
                        raise RuntimeError(f"refused: {said['output']}")
                    names = [self.name(part) for part in step["outputs"]]
                    return dict(zip(names, said["output"]["data"], strict=True))
        raise RuntimeError("the stream ended without an answer")


async def read_on(session: Session, books: Books, until: float, rng: random.Random) -> None:
    await asyncio.sleep(rng.uniform(0, ARRIVE * SECONDS))
    began = time.monotonic()
    await session.open()
    session.values["eh-study"] = STUDY
    await session.run(session.step("eh-study", "change", "eh-filter-prompt"))
    books.opens.append(time.monotonic() - began)
    judges = ["all", "gpt-4", "gpt-3.5-turbo", "claude-v1", "bard", "vicuna-13b"]
    while time.monotonic() < until:
        await asyncio.sleep(rng.uniform(*THINKS))
        view = session.values["eh-results-view"] = rng.choice(list(VIEWS))
        session.values["eh-filter-judge"] = rng.choice(judges)
        session.values["eh-filter-category"] = rng.choice(["all", "coding", "math", "writing"])
        session.ask()
        step = session.step("eh-draw", "click")
        began = time.monotonic()
        drawn = await session.run(step)
        took = time.monotonic() - began
        books.filters.append(took)
        if began > until - (1 - WARM) * SECONDS:
            books.late.append(took)
        books.by_view.setdefault(view, []).append(took)
        assert any("eh-" in str(value) for value in drawn.values())


async def run_on(
    session: Session, books: Books, until: float, store: Path, number: int, pause: float = 20.0
) -> None:
    """Its own study, run from the page, watched to its end; then, after a pause, the next one."""
    round_ = 0
    while time.monotonic() < until:
        name, round_ = f"runner {number}, {round_}", round_ + 1
        await asyncio.to_thread(planned, store, name, 100 * number + round_)
        await session.open()  # which learns what can be chosen
        session.values["eh-study"] = name
        seen = await session.run(session.step("eh-start", "click"))
        while not over(seen["eh-run-finding"]):
            await asyncio.sleep(1)
            seen = await session.run(session.step("", "tick", "eh-run-finding"))
            if time.monotonic() > until + 60:
                raise RuntimeError(f"{name} does not end: {seen['eh-run-finding']}")
        books.runs += 1
        await asyncio.sleep(pause)


def over(told: object) -> bool:
    """Whether the headline of Run says that as many calls are done as were planned."""
    found = re.search(r"([\d,]+) of ([\d,]+) calls done", str(told))
    return found is not None and found[1] == found[2]


def planned(path: Path, name: str, seed: int) -> None:
    store = Store(path)
    save_plan(make_plan(parse_study(RUN.format(name=name, seed=seed))), store)
    store.close()


async def watched(task: Any, books: Books) -> None:
    try:
        await task
    except Exception as error:
        books.faults[f"{type(error).__name__}: {str(error)[:300]}"] += 1


def cpu(pid: int) -> float:
    """Seconds of processor time that the server has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    """Megabytes of the server, without its pages of files that the kernel may drop."""
    text = Path(f"/proc/{pid}/status").read_text()
    return (
        sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("RssAnon")) / 1024
    )


async def weighed(pid: int, until: float) -> list[tuple[float, float]]:
    began, found = time.monotonic(), []
    while time.monotonic() < until:
        found.append((time.monotonic() - began, resident(pid)))
        await asyncio.sleep(1)
    return found


async def busy(app: App) -> tuple[Books, list[tuple[float, float]]]:
    books, until = Books(), time.monotonic() + SECONDS
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
    async with httpx.AsyncClient(timeout=120, limits=limits) as client:
        config = (await client.get(f"{app.url}/config")).json()
        people = [Session(app.url, client, config) for _ in range(READERS + RUNNERS)]
        tasks = [
            read_on(one, books, until, random.Random(n)) for n, one in enumerate(people[:READERS])
        ]
        tasks += [run_on(one, books, until, app.store, n) for n, one in enumerate(people[READERS:])]
        weights = asyncio.create_task(weighed(app.process.pid, until))
        await asyncio.gather(*(watched(task, books) for task in tasks))
        return books, await weights


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_fifty_readers_and_five_runners_for_ten_minutes(records, tmp_path):
    store = Store(tmp_path / "evenhand.db")
    import_verdicts(store, records / "prd", STUDY)
    store.close()
    app = App(tmp_path / "evenhand.db")
    try:
        before, began = cpu(app.process.pid), time.monotonic()
        books, weights = asyncio.run(busy(app))
        worked, passed = cpu(app.process.pid) - before, time.monotonic() - began
        log = Path(app.log.name).read_text()
    finally:
        app.close()
    warm = [mb for at, mb in weights if at > WARM * SECONDS]
    start, end = np.median(warm[: len(warm) // 5]), np.median(warm[-(len(warm) // 5) :])
    p50, p95, p99 = np.quantile(books.filters, [0.5, 0.95, 0.99])
    print(f"\n{len(books.filters):,} filters: p50 {p50:.2f} s, p95 {p95:.2f} s, p99 {p99:.2f} s; "
          f"opening p95 {np.quantile(books.opens, 0.95):.2f} s; {books.runs} runs")  # fmt: skip
    for view, seconds in books.by_view.items():
        print(f"  {view}: n {len(seconds)}, p95 {np.quantile(seconds, 0.95):.2f} s")
    print(f"after the warm-up: p95 {np.quantile(books.late, 0.95):.2f} s")
    print(f"memory {start:.0f} MB warm, {end:.0f} MB at the end, {max(warm):.0f} MB at most")
    print(f"the server worked {worked:.0f} s of {passed:.0f} s; others on this machine: "
          f"load {os.getloadavg()[0]:.1f}")  # fmt: skip
    assert books.faults == Counter()
    assert "Traceback" not in log, log[-3000:]
    assert len(books.opens) == READERS and books.runs >= RUNNERS
    assert p95 < 2.0
    new_studies = (1 - WARM) * books.runs
    assert end - start <= 0.1 * start + CACHED_MB_PER_STUDY * new_studies


async def run_one_after_another(app: App) -> tuple[Books, dict[int, float]]:
    """Two people run studies until LAST_RUN of them are done; the megabytes after each run."""
    books, weights, until = Books(), {}, time.monotonic() + 1200
    async with httpx.AsyncClient(timeout=120) as client:
        config = (await client.get(f"{app.url}/config")).json()
        people = [Session(app.url, client, config) for _ in range(2)]
        tasks = [
            asyncio.create_task(watched(run_on(one, books, until, app.store, n, 0.5), books))
            for n, one in enumerate(people)
        ]
        while books.runs < LAST_RUN and not books.faults and time.monotonic() < until:
            weights.setdefault(books.runs, resident(app.process.pid))
            await asyncio.sleep(0.2)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return books, weights | {books.runs: resident(app.process.pid)}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_memory_is_flat_once_the_cache_is_full(tmp_path):
    folder = tmp_path / "small cache"
    folder.mkdir()
    (folder / "app.py").write_text(SMALL_CACHE_APP.format(root=str(ROOT)))
    app = App(tmp_path / "evenhand.db", folder)
    try:
        books, weights = asyncio.run(run_one_after_another(app))
    finally:
        app.close()
    start = np.median([mb for runs, mb in weights.items() if abs(runs - SETTLED_RUNS) <= 2])
    end = np.median([mb for runs, mb in weights.items() if runs >= LAST_RUN - 4])
    print(f"\nmemory {start:.0f} MB after {SETTLED_RUNS} runs, {end:.0f} MB after {books.runs}")
    assert books.faults == Counter() and books.runs >= LAST_RUN
    assert end <= 1.03 * start
