"""Clean-up of temporary files: expired ones, then the oldest above the quota, none in use."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from components.server.limits import temp_files
from components.server.limits.temp_files import (
    IN_USE_SECONDS,
    MAX_AGE_SECONDS,
    TempFileQuota,
    delete_old_and_sum_bytes,
)
from studies.settings import TEMP_FOLDER

NOW = 1_000_000.0


def put(path: Path, size: int, age: float, now: float = NOW) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    os.utime(path, (now - age, now - age))
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def test_what_is_old_goes_and_its_folder_with_it(tmp_path):
    old, new = (
        put(tmp_path / "a/old.csv", 5, MAX_AGE_SECONDS + 1),
        put(tmp_path / "b/new.csv", 7, MAX_AGE_SECONDS - 1),
    )
    assert delete_old_and_sum_bytes(tmp_path, 100, NOW) == 7
    assert names(tmp_path) == {"new.csv"} and not old.parent.exists() and new.parent.exists()


def test_where_there_are_too_many_bytes_the_oldest_go_until_it_fits(tmp_path):
    for number in range(5):  # f0 is the oldest
        put(tmp_path / f"f{number}", 10, IN_USE_SECONDS + 100 - number)
    # 50 bytes, at most 25: f0, f1 and f2 go, 20 are left.
    assert delete_old_and_sum_bytes(tmp_path, 25, NOW) == 20
    assert names(tmp_path) == {"f3", "f4"}


def test_what_somebody_is_at_stays_however_much_it_is(tmp_path):
    put(tmp_path / "coming", 1000, IN_USE_SECONDS - 1)
    assert delete_old_and_sum_bytes(tmp_path, 10, NOW) == 1000 and names(tmp_path) == {"coming"}


def test_links_are_removed_and_not_followed(tmp_path):
    kept = put(tmp_path / "elsewhere/theirs", 9, 0)
    inside = tmp_path / "room"
    inside.mkdir()
    (inside / "link").symlink_to(kept)
    delete_old_and_sum_bytes(inside, 0, time.time() + 2 * MAX_AGE_SECONDS)
    assert names(inside) == set() and kept.exists()


def test_room_is_taken_until_there_is_none_and_is_there_again_after_a_look(tmp_path, monkeypatch):
    monkeypatch.setenv(TEMP_FOLDER.name, str(tmp_path))
    put(tmp_path / "there", 30, IN_USE_SECONDS + 5, time.time())
    held = TempFileQuota(100)
    assert not held.reserve(75), "30 are there"
    assert held.reserve(50) and not held.reserve(50), "30 are there, 50 were taken"
    held.clean_up()
    assert held.reserve(70), "they never came, so a look finds room for them"
    held.close()
    assert names(tmp_path) == {"there"}, "a folder that somebody named stays"


def test_a_folder_of_our_own_comes_and_goes_with_the_page(monkeypatch):
    monkeypatch.delenv(TEMP_FOLDER.name, raising=False)
    held = TempFileQuota(100)
    made = temp_files.temp_folder()
    assert made.is_dir() and made.name.startswith("evenhand-")
    held.close()
    assert not made.exists() and TEMP_FOLDER.name not in os.environ


@pytest.mark.parametrize("value", ["", "/somewhere/else"])
def test_the_folder_is_gradio_s(monkeypatch, value):
    from gradio.utils import get_upload_folder

    monkeypatch.setenv(TEMP_FOLDER.name, value) if value else monkeypatch.delenv(
        TEMP_FOLDER.name, raising=False
    )
    assert str(temp_files.temp_folder()) == str(Path(get_upload_folder()))


def test_exactly_the_free_bytes_are_taken_and_none_while_the_store_is_full(tmp_path, monkeypatch):
    monkeypatch.setenv(TEMP_FOLDER.name, str(tmp_path))
    answers = iter([True, False, True])
    held = TempFileQuota(100, every=60, has_room=lambda: next(answers))
    assert not held.reserve(101) and held.reserve(100) and not held.reserve(1)
    held.clean_up()
    assert not held.reserve(0)
    held.clean_up()
    assert held.reserve(100)
    held.close()


def test_a_clean_up_that_fails_is_logged_and_leaves_the_numbers(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv(TEMP_FOLDER.name, str(tmp_path))
    held = TempFileQuota(100, every=60)
    assert held.reserve(60)

    def fail(*_: object) -> int:
        raise OSError("stone disk")

    monkeypatch.setattr(temp_files, "delete_old_and_sum_bytes", fail)
    held.clean_up()
    assert "stone disk" in caplog.text and not held.reserve(41) and held.reserve(40)
    held.close()
