"""A Batch API before the judge server of each test file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.judge_server import JudgeServer
from tests.judges.bulk.batch_stand_in import BatchServer


@pytest.fixture
def batches(server: JudgeServer) -> Iterator[BatchServer]:
    made = BatchServer(server.base_url)
    yield made
    made.shutdown()
    made.server_close()
