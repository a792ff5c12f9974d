"""The stamps by which loaded records are read again: one pair of numbers for each file."""

from __future__ import annotations

import os
from pathlib import Path

from components.study.plan.study_preview import _file_stamps
from studies.spec.study import DataSpec


def write(path: Path, text: str, time: int) -> Path:
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(time, time))
    return path


def test_every_file_of_a_source_is_stamped_by_its_time_and_size(tmp_path: Path) -> None:
    write(tmp_path / "q.csv", "four", 5_000)
    write(tmp_path / "a.csv", "sixsix", 7_000)
    spec = DataSpec("q.csv", files={"a": "a.csv", "b": "none.csv"})
    assert _file_stamps(spec, tmp_path) == (5_000, 4, 7_000, 6)
    write(tmp_path / "a.csv", "sevens!", 7_000)
    assert _file_stamps(spec, tmp_path) == (5_000, 4, 7_000, 7), "same time, another size"


def test_the_files_of_a_folder_are_stamped_after_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    write(folder / "items.jsonl", "four", 5_000)
    stamps = _file_stamps(DataSpec("records"), tmp_path)
    assert len(stamps) == 4 and stamps[2:] == (5_000, 4)


def test_a_dataset_of_the_hub_and_a_missing_file_have_no_stamp(tmp_path: Path) -> None:
    assert _file_stamps(DataSpec("hub:a/b"), tmp_path) == ()
    assert _file_stamps(DataSpec("none.csv"), tmp_path) == ()
    assert _file_stamps(DataSpec("~nobody-here/x.csv"), tmp_path) == ()
