"""A page that is stopped by a signal, as a Space is, ends in good order."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from judges.planning.plan import save_plan
from studies.sharing.hub_backup import SNAPSHOT_FILE
from studies.store.run_journal import list_possibly_paid_calls
from studies.store.store import Store
from tests.hub_stand_in import Hub, hub
from tests.judge_server import JudgeServer
from tests.judges.small_studies import endpoint, study_plan
from tests.ui.conftest import App
from tests.waiting import until

__all__ = ["hub"]


@pytest.mark.long
def test_a_signal_stores_what_is_in_flight_and_makes_the_last_snapshot(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gradio_client import Client

    monkeypatch.setenv("EVENHAND_SNAPSHOT", "me/kept")
    monkeypatch.setenv("HF_TOKEN", "hf_" + "t" * 30)
    with JudgeServer(latency=0.5) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=400, concurrency=8)
        store = Store(tmp_path / "evenhand.db")
        save_plan(plan, store)
        app = App(store.path)
        try:
            client = Client(app.url, ssl_verify=False, verbose=False)
            text = store.read("SELECT yaml FROM studies WHERE name='small'").fetchone()[0]
            client.predict(text, api_name="/run_study")
            until(lambda: store.status_counts("small").get("ok", 0) >= 8)
            os.kill(app.process.pid, signal.SIGTERM)
            assert app.process.wait(240) == 0
        finally:
            app.close()
        calls = server.bill.totals.calls
    assert 8 <= store.status_counts("small")["ok"] == calls < 400
    assert list_possibly_paid_calls(store) == []
    assert store.runs("small")[0].state == "stopped"
    assert SNAPSHOT_FILE in hub.files
    store.close()
