"""The workers of `make test`: all outcomes arrive; a worker that dies or hangs fails its test, and
the tests that it had left are run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.forked_workers import share_of_a_worker

ROOT = Path(__file__).parents[1]
FILES = {
    "test_good.py": "import os\nPID = os.getpid()\n"
    "def test_one(): assert os.getpid() != PID\ndef test_two(capsys):\n"
    "    import warnings\n    warnings.warn('worth reading')\n",
    "test_bad.py": "def test_three(tmp_path):\n    print('seen before')\n    assert 1 == 2\n",
    "test_dead.py": "import os\ndef test_four(): os._exit(3)\ndef test_five(): pass\n",
    "test_last.py": "import os\ndef test_six(): os._exit(3)\n",
    "test_crash.py": "import os, signal\n"
    "def test_crashes(): os.kill(os.getpid(), signal.SIGSEGV)\n",
    "test_next.py": "def test_seven(): pass\n",
    "test_slow.py": "import threading\ndef test_hangs(): threading.Event().wait()\n"
    "def test_eight(): pass\n",
}
"""The worker of test_last.py has claimed the next file when it dies."""


def test_outcomes_of_all_workers_arrive_and_a_death_is_a_failure(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.forked_workers", "--workers", "3"]
    command += ["--test-seconds", "5"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert "5 failed, 5 passed" in done.stdout
    assert "worth reading" in done.stdout
    assert "seen before" in done.stdout
    for name in (
        "test_dead.py::test_four",
        "test_last.py::test_six",
        "test_crash.py::test_crashes",
    ):
        assert f"died, in {name}" in done.stdout
    assert "was killed, in test_slow.py::test_hangs" in done.stdout
    assert "in test_hangs" in done.stdout, "the stack of the test that hangs"
    assert "in test_crashes\n" in done.stdout, "the stack of the test that crashes"


def test_beside_other_work_a_test_has_more_time() -> None:
    assert [share_of_a_worker(4, load) for load in (0.0, 1.0, 4.0, 8.0, 40.0)] == [
        1,
        1,
        1,
        0.5,
        0.1,
    ]
