"""The workers of `make test`: all outcomes arrive, and a worker that dies fails the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = {
    "test_good.py": "import os\nPID = os.getpid()\n"
    "def test_one(): assert os.getpid() != PID\ndef test_two(capsys):\n"
    "    import warnings\n    warnings.warn('worth reading')\n",
    "test_bad.py": "def test_three(tmp_path):\n    print('seen before')\n    assert 1 == 2\n",
    "test_dead.py": "import os\ndef test_four(): os._exit(3)\n",
}


def test_outcomes_of_all_workers_arrive_and_a_death_is_a_failure(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.forked_workers", "--workers", "3"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert "1 failed, 2 passed" in done.stdout
    assert "worth reading" in done.stdout
    assert "seen before" in done.stdout
    assert "died in test_dead.py::test_four" in done.stdout
