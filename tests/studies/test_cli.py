"""Output and errors of python -m studies {list,show,export,delete}."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from studies.__main__ import main
from studies.spec.study import Study, parse_study
from studies.store.rows import put_judgement
from studies.store.store import Store
from tests.page_words import says
from tests.studies.small_items import ask, item, judged, planned

ROOT = Path(__file__).parents[2]


@pytest.fixture
def filled(store: Store) -> Path:
    asks = [ask("k1"), ask("k2", shown="yx")]
    store.save_study(Study(name="my study", repeats=2), [item()], planned(*asks))
    made = judged(asks[0], "tie", reply="Größe: <b>equal</b>", cost=0.5)
    store.writer.run(lambda c: put_judgement(c, made))
    return store.path


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "studies", *arguments],
        cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False, timeout=240,
    )  # fmt: skip


def test_list_has_a_line_for_each_study(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--store", str(filled)]) == 0
    assert says(capsys.readouterr().out, "my", "1", "2 judged")


def test_show_prints_a_study_file_that_can_be_run_again(
    filled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "my study", "--store", str(filled)]) == 0
    out = capsys.readouterr().out
    assert parse_study(out) == Study(name="my study", repeats=2)
    assert "# planned 2" in out and "# ok 1" in out and "# pending 1" in out


def test_export_writes_one_json_object_a_judgement_with_its_texts(
    filled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "my study", "--store", str(filled)]) == 0
    (text,) = capsys.readouterr().out.splitlines()
    made = json.loads(text)
    assert made["ask"]["shown"] == ["x", "y"] and made["verdict"]["pick"] == "tie"
    assert (made["reply"], made["cost"]) == ("Größe: <b>equal</b>", 0.5)


def test_delete_says_how_much_went_and_the_second_time_that_nothing_is_there(
    filled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["delete", "my study", "--store", str(filled)]) == 0
    assert says(capsys.readouterr().out, "deleted my", "1 judgements")
    assert main(["delete", "my study", "--store", str(filled)]) == 2
    assert says(capsys.readouterr().err, "error: no", "named 'my")


def test_a_store_that_is_not_there_is_an_error_and_is_not_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "typo.db"
    assert main(["list", "--store", str(gone)]) == 2
    assert says(capsys.readouterr().err, "error", "no store", str(gone))
    assert not gone.exists()


def test_an_empty_store_says_so_on_the_side(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "--store", str(store.path)]) == 0
    captured = capsys.readouterr()
    assert captured.out == "" and says(captured.err, "no studies", str(store.path))


def test_the_module_runs_and_an_error_is_one_line_without_a_stack_trace(filled: Path) -> None:
    wrong = run("show", "nobody's", "--store", str(filled))
    assert wrong.returncode == 2
    assert says(wrong.stderr, "error", "no study") and wrong.stderr.count("\n") == 1


@pytest.mark.extra
def test_a_reader_that_stops_early_is_no_error(filled: Path) -> None:
    store = Store(filled)
    asks = [ask(f"n{n}") for n in range(3000)]
    store.save_study(Study(name="long"), [item()], planned(*asks))
    store.writer.run(lambda c: [put_judgement(c, judged(made, reply="x" * 100)) for made in asks])
    store.close()
    command = f'"{sys.executable}" -m studies export long --store "{filled}" | head -n 1'
    piped = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert json.loads(piped.stdout)["ask"]["key"] == "n0"
    assert piped.stderr == ""
