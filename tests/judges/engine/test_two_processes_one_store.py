"""The page and the command line on one store: each call is made once, and both see all replies."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from judges.planning.plan import load_stored_plan, make_plan, save_plan
from studies.__main__ import main as studies_command
from studies.errors import EvenhandError
from studies.spec.study import load_study
from studies.store.store import Store
from tests.conftest import ROOT
from tests.judge_server import JudgeServer
from tests.judges.small_studies import QUICK, endpoint, engine, write_items

CALLS = 60


def write_study(folder: Path, url: str) -> Path:
    write_items(folder / "items.jsonl", CALLS)
    values = {
        "name": "small", "data": {"source": "items.jsonl"}, "judges": [endpoint(url)],
        "prompts": ["visit-reference-free"], "orders": "one",
    }  # fmt: skip
    (folder / "study.yaml").write_text(json.dumps(values))
    return folder / "study.yaml"


@pytest.mark.extra
def test_a_run_on_the_page_and_one_of_the_command_share_the_calls(tmp_path: Path) -> None:
    path = tmp_path / "evenhand.db"
    with JudgeServer(latency=0.02) as server, engine() as asking:
        study = write_study(tmp_path, server.base_url)
        page = Store(path)
        plan = make_plan(load_study(study))
        save_plan(plan, page)
        command = subprocess.Popen(
            [sys.executable, "-m", "judges", "run", str(study), "--store", str(path)],
            cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        run = asking.start(plan, page, settings=QUICK)
        assert run.wait(120) and run.state == "done", run.reason
        _, told = command.communicate(timeout=120)
        assert command.returncode == 0, told
        assert server.bill.totals.calls == CALLS, "no call is paid twice"
    assert page.status_counts("small") == {"planned": CALLS, "ok": CALLS}
    assert len(page.frame("small")) == CALLS
    assert page.read("PRAGMA integrity_check").fetchone() == ("ok",)
    page.close()


def test_a_study_that_the_command_deletes_is_missing_on_the_page_and_others_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "evenhand.db"
    with JudgeServer() as server, engine() as asking:
        plan = make_plan(load_study(write_study(tmp_path, server.base_url)))
        page = Store(path)
        save_plan(plan, page)
        assert asking.start(plan, page, settings=QUICK).wait(60)
    assert len(page.frame("small")) == CALLS
    assert studies_command(["delete", "small", "--store", str(path)]) == 0
    assert f"{CALLS} judgements" in capsys.readouterr().out
    assert [line.name for line in page.studies()] == []
    with pytest.raises(EvenhandError, match="small"):
        load_stored_plan(page, "small")
    save_plan(plan, page)
    assert page.status_counts("small") == {"planned": CALLS, "pending": CALLS}, (
        "nothing is left of before"
    )
    page.close()
