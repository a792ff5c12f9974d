"""The embedded judge in a run: a dead child is restarted; a child that cannot start is reported."""

import os
import signal

import pytest

from judges.models import embedded
from judges.models.embedded import EmbeddedUnavailable
from judges.planning.plan import make_plan, save_plan
from studies.spec.study import study_from_mapping
from tests.judges.small_studies import engine
from tests.waiting import until

pytestmark = pytest.mark.embedded
STUDY = {
    "name": "embedded",
    "data": {"source": "probe", "count": 2},
    "judges": [{"name": "local", "model": "embedded"}],
    "prompts": ["brief-letters"],
    "pairing": "baseline",
    "baseline": "precise",
    "contestants": ["precise", "flawed"],
}


@pytest.fixture
def child() -> embedded.EmbeddedServer:
    try:
        return embedded.find_or_start_shared_server()
    except EmbeddedUnavailable as error:
        pytest.skip(str(error))


@pytest.mark.extra
def test_a_child_that_dies_in_the_middle_of_a_run_is_started_again(store, child):
    plan = make_plan(study_from_mapping(STUDY))
    save_plan(plan, store)
    with engine() as made:
        run = made.start(plan, store)
        until(lambda: run.snapshot().done >= 1, 120)
        os.kill(child._process.pid, signal.SIGKILL)
        assert run.wait(120)
    assert run.state == "done"
    assert store.status_counts("embedded")["ok"] == run.snapshot().counts["planned"]
    assert sum(failure.times for failure in run.snapshot().failures) <= 2
