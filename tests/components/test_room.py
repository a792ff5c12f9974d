"""Files that pass through: the old go, the oldest first where there are too many, none in use."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from components import room
from components.room import KEPT, USED, VARIABLE, Room, sweep

NOW = 1_000_000.0


def put(path: Path, size: int, age: float, now: float = NOW) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    os.utime(path, (now - age, now - age))
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def test_what_is_old_goes_and_its_folder_with_it(tmp_path):
    old, new = put(tmp_path / "a/old.csv", 5, KEPT + 1), put(tmp_path / "b/new.csv", 7, KEPT - 1)
    assert sweep(tmp_path, 100, NOW) == 7
    assert names(tmp_path) == {"new.csv"} and not old.parent.exists() and new.parent.exists()


def test_where_there_are_too_many_bytes_the_oldest_go_until_it_fits(tmp_path):
    for number in range(5):  # f0 is the oldest
        put(tmp_path / f"f{number}", 10, USED + 100 - number)
    # 50 bytes, at most 25: f0, f1 and f2 go, 20 are left.
    assert sweep(tmp_path, 25, NOW) == 20
    assert names(tmp_path) == {"f3", "f4"}


def test_what_somebody_is_at_stays_however_much_it_is(tmp_path):
    put(tmp_path / "coming", 1000, USED - 1)
    assert sweep(tmp_path, 10, NOW) == 1000 and names(tmp_path) == {"coming"}


def test_links_are_removed_and_not_followed(tmp_path):
    kept = put(tmp_path / "elsewhere/theirs", 9, 0)
    inside = tmp_path / "room"
    inside.mkdir()
    (inside / "link").symlink_to(kept)
    sweep(inside, 0, time.time() + 2 * KEPT)
    assert names(inside) == set() and kept.exists()


def test_room_is_taken_until_there_is_none_and_is_there_again_after_a_look(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    put(tmp_path / "there", 30, USED + 5, time.time())
    held = Room(100)
    assert not held.take(75), "30 are there"
    assert held.take(50) and not held.take(50), "30 are there, 50 were taken"
    held.look()
    assert held.take(70), "they never came, so a look finds room for them"
    held.close()
    assert names(tmp_path) == {"there"}, "a folder that somebody named stays"


def test_a_folder_of_our_own_comes_and_goes_with_the_page(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    held = Room(100)
    made = room.folder()
    assert made.is_dir() and made.name.startswith("evenhand-")
    held.close()
    assert not made.exists() and VARIABLE not in os.environ


@pytest.mark.parametrize("value", ["", "/somewhere/else"])
def test_the_folder_is_gradio_s(monkeypatch, value):
    from gradio.utils import get_upload_folder

    monkeypatch.setenv(VARIABLE, value) if value else monkeypatch.delenv(VARIABLE, raising=False)
    assert str(room.folder()) == str(Path(get_upload_folder()))
