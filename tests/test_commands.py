"""Every command with everything wrong: one line that says what, where and what to do; code 1 or 2.

The mains are called as a terminal calls them; a traceback would fail the test by itself.
"""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from components.__main__ import main as components
from judges.__main__ import main as judges
from metrics.__main__ import main as metrics
from studies.__main__ import main as studies
from studies.domain import Preference
from studies.exchange.export import write_export
from studies.files.shards import AskOutcome, write_shard
from studies.spec.study import Study
from studies.store.store import Store
from studies.terminal import INTERRUPTED_CODE, run_command
from tests.command_tables import PAGE, with_tables
from tests.other_user import let_others_enter, without_rights
from tests.page_words import says
from tests.studies.small_items import ask, item, judged

ROOT = Path(__file__).parents[1]
MAINS = {"judges": judges, "metrics": metrics, "studies": studies, "components": components}
STUDY = """
name: mine
data: {source: probe, count: 2}
judges: [{name: sim, model: simulated}]
prompts: [brief-letters]
"""
ENDPOINT = STUDY.replace("model: simulated", "model: m, base_url: http://127.0.0.1:9/v1")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one of each: what is good, what is empty, what is somebody else's."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "good.yaml": STUDY, "endpoint.yaml": ENDPOINT, "empty": "", "broken.yaml": "name: x\n a: [",
        "wrong.yaml": "name: x\njudges: 7", "words.db": "no store", "table.csv": "a,b\n1,2\n",
        "battles.csv": "question_id,model_a,model_b,winner\n1,x,y,model_a\n",
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00\x01")
    (tmp_path / "folder").mkdir()
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE notes(text)")
    other.commit()
    other.close()
    made = Store(tmp_path / "good.db")
    votes = (Preference("ann", ("x", "y"), "x", 1),)
    made.save_study(Study("mine"), [item(human=votes)], (), (), only_recorded=True)
    made.close()
    return tmp_path


def refused(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a command ends with."""
    package, *arguments = command.split()
    assert MAINS[package](arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1, said
    return said


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("metrics gone", "no such file: gone; name a store or a CSV of battles"),
        ("metrics folder", "folder is a folder; name a store or a CSV of battles"),
        ("metrics empty", "empty is neither a store nor a CSV of battles"),
        ("metrics bytes", "bytes is neither a store nor a CSV of battles"),
        ("metrics words.db", r"words\.db: battles need the columns model_a, model_b, winner"),
        ("metrics table.csv", r"table\.csv: battles need the columns"),
        ("metrics other.db", r"other\.db is another program's database; choose another file$"),
        ("metrics good.db --study gone", "no study named 'gone' in this store. Known studies:"),
        ("metrics good.db --by colour", "cannot split by colour; known: judge, prompt, category"),
        ("judges run gone.yaml", r"study file gone\.yaml: No such file .*; name a path that"),
        ("judges plan folder", "the study file folder: Is a directory; name a file"),
        ("judges check empty", "empty: expected key: value lines, found nothing"),
        ("judges run broken.yaml", r"broken\.yaml: not valid YAML: .* in line 2, column"),
        ("judges run wrong.yaml", r"wrong\.yaml: judges: expected a list, found 7"),
        ("judges run bytes", "bytes: the study file is not UTF-8 text"),
        ("judges run good.yaml --store folder", "cannot open the store folder: .* with --store"),
        ("judges run good.yaml --store words.db", r"store words\.db: file is not a database; ch"),
        ("judges plan good.yaml --store other.db", r"other\.db is another program's database"),
        ("judges run good.yaml --store empty/s.db", "cannot open the store empty/s.db: .*choose"),
        ("judges reread", "name a study: give its file, or --study NAME"),
        ("judges reread --study mine --store gone.db", r"there is no store at gone\.db; --store"),
        ("judges retry --study mine --store gone.db", r"there is no store at gone\.db; --store"),
        ("judges reread good.yaml --store gone.db", r"there is no store at gone\.db; --store"),
        ("judges retry gone.yaml --store gone.db", "cannot read the study file gone.yaml"),
        ("judges describe gone.yaml --judge sim --out d.jsonl", "cannot read the study file gone"),
        ("judges export-batch endpoint.yaml empty", "empty: File exists; name a folder, not"),
        ("judges export-batch endpoint.yaml empty/b", "empty/b: Not a directory; name a path"),
        ("judges submit-batch endpoint.yaml folder", "no batch.json in folder: run export-batch"),
        ("judges import-batch endpoint.yaml gone", "cannot read gone: No such file"),
        ("judges import-prompts gone folder", "cannot read gone: No such file"),
        ("judges import-prompts empty folder", "empty: no prompts in it; expected one JSON object"),
        ("studies import gone", "no such file: gone; name a file, a folder, hub:owner/name"),
        ("studies import folder", "folder: no known format for a folder with no files. Name a fi"),
        ("studies import table.csv --mapping a", "--mapping 'a': expected name=value"),
        ("studies list --store gone.db", r"there is no store at gone\.db; --store names"),
        ("studies show gone --store good.db", "no study named 'gone' in this store"),
        ("studies export mine --store good.db --format csv", "needs a file: name it with --out"),
        ("studies export mine --store good.db --out folder", "write folder: .*; name a file, not"),
        ("studies export mine --store good.db --out empty/x", "write x: Not a directory; name a p"),
        ("studies export mine --store good.db --out gone/x", "write x: No such file .*; name a"),
        ("studies delete gone --store good.db", "no study named 'gone' in this store"),
        ("components report mine empty/r.html --store good.db", r"write r\.html: Not a directory"),
        ("components report mine r.html --store other.db", "another program's database"),
        ("components freeze mine empty --store good.db", "empty is a file, not a folder"),
        ("components publish mine empty/x --store good.db", "empty/x: Not a directory; name a"),
        ("components freeze mine . --store good.db", "is not empty"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(
    place: Path, capsys: pytest.CaptureFixture[str], command: str, told: str
) -> None:
    before = {path.name for path in place.iterdir()}
    assert re.search(told, refused(command, capsys).strip())
    made = {path.name for path in place.iterdir()} - before
    assert not made - {"good.db-shm", "good.db-wal"}, "a command that fails leaves nothing behind"


@pytest.mark.parametrize("package", sorted(MAINS))
def test_help_and_wrong_arguments(package: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ends:
        MAINS[package](["-h"])
    assert ends.value.code == 0 and capsys.readouterr().out.startswith("usage: python -m ")
    for arguments in ([], ["--nonsense"]):
        with pytest.raises(SystemExit) as ends:
            MAINS[package](arguments)
        last = capsys.readouterr().err.strip().splitlines()[-1]
        assert ends.value.code == 2 and last.startswith(f"python -m {package}: error: ")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX rights")
def test_without_rights_it_says_so(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    let_others_enter(place)
    for name in ("good.yaml", "table.csv"):
        (place / name).chmod(0o000)
    commands = {
        "judges run good.yaml": "good.yaml: Permission denied; name a path that you may read",
        "metrics table.csv": "table.csv: Permission denied; name a path that you may read",
        "judges run endpoint.yaml --store new.db": "cannot open the store new.db",
        "studies list --store good.db": "cannot open the store good.db: .*choose another file",
        "studies import battles.csv --store new.db": "cannot open the store new.db",
    }
    try:
        for command, told in commands.items():
            with without_rights():
                said = refused(command, capsys)
            assert re.search(told, said), said
    finally:
        for name in ("good.yaml", "table.csv"):
            (place / name).chmod(0o644)


def test_a_batch_that_cannot_reach_its_endpoint(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judges(["export-batch", "endpoint.yaml", "files", "--store", "s.db"]) == 0
    capsys.readouterr()
    said = refused("judges submit-batch endpoint.yaml files --store s.db", capsys)
    assert "sim, connection" in said and says(said, "same command again")
    with pytest.raises(SystemExit):
        judges(["import-batch", "endpoint.yaml", "empty", "--price-factor", "-1"])
    assert says(capsys.readouterr().err, "-1: expected", "factor", "price")


def test_the_verdicts_of_a_folder_of_shards_are_said_to_stay_there(
    place: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [judged(ask(f"k{shown}", "q1", shown)) for shown in ("xy", "yx")]
    store.save_study(Study("theirs"), [item()], (), recorded=rows, only_recorded=True)
    made = [AskOutcome(j, position=k) for k, j in enumerate(store.judgements("theirs"))]
    write_shard(place / "shards" / "0.parquet", made)
    write_export(store, "theirs", "items", place / "shards" / "items.jsonl")
    (place / "live.yaml").write_text(STUDY.replace("{source: probe, count: 2}", "{source: shards}"))
    for command in ("plan", "run"):
        assert judges([command, "live.yaml", "--store", "s.db"]) == 0
        (line,) = [said for said in capsys.readouterr().err.splitlines() if "note" in said]
        assert says(line, "mine", "not", "2", "shards")
        assert says(line, "folder", "study: python -m")
    assert judges(["plan", "good.yaml", "--store", "s.db"]) == 0
    assert capsys.readouterr().err == ""


# ------------------------------------------------------------------------------- how one ends


def raising(error: BaseException) -> Callable[[], int]:
    def work() -> int:
        raise error

    return work


def test_ctrl_c_and_a_spoilt_store_end_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(raising(KeyboardInterrupt())) == INTERRUPTED_CODE
    assert capsys.readouterr().err == "stopped\n"
    assert run_command(raising(sqlite3.DatabaseError("disk image is malformed"))) == 2
    assert says(capsys.readouterr().err, "cannot", "used: disk", "malformed")
    assert run_command(raising(OSError(28, "No space left on device", "x\x1b[2J"))) == 2
    assert says(capsys.readouterr().err, "x\\x1b[2J: No", "device", "room")


def test_a_fault_of_ours_is_not_dressed_up() -> None:
    with pytest.raises(KeyError):
        run_command(raising(KeyError("ours")))


def test_a_reader_that_has_enough_is_no_error() -> None:
    """Output larger than a pipe's buffer, with a reader that stops early."""
    call = "exit(run_command(lambda: print('{' * 10**6) or 0))"
    work = f"from studies.terminal import run_command; {call}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f'{sys.executable} -c "{work}" | head -c 1'],
        cwd=ROOT, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "{")


def test_the_tables_of_keys_and_options_are_those_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page) == page, "run `python -m tests.command_tables --write`"
    for word in ("`judges`", "models", "download", "--by", "--quick", "`reference_games`"):
        assert word in page
