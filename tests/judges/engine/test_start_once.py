"""Simultaneous starts of one study give one run."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from components.run.actions_tab import start_run
from judges.planning.plan import save_plan
from studies.store.store import Store
from tests.judge_server import JudgeServer
from tests.judges.small_studies import endpoint, engine, study_plan


def test_four_starts_at_once_give_one_run(store: Store, tmp_path: Path) -> None:
    barrier = threading.Barrier(4)
    with JudgeServer(latency=2.0) as server, engine() as running:
        save_plan(study_plan(tmp_path, [endpoint(server.base_url)], items=4), store)

        def start() -> str:
            barrier.wait()
            return start_run(store, running, "small").id

        with ThreadPoolExecutor(4) as pool:
            ids = {future.result() for future in [pool.submit(start) for _ in range(4)]}
        assert len(ids) == 1
        assert len(store.runs("small")) == 1
