"""The file in which processes share a rate: places, changes, locks."""

from __future__ import annotations

import pytest

from judges.engine.limits import pace_file
from judges.engine.limits.pace_file import SLOTS, VALUES, RateRecord, open_rate_record


def test_written_values_are_read_and_each_write_is_one_change(tmp_path):
    slot, again = (RateRecord(tmp_path / "pace", "key") for _ in range(2))
    assert slot.change_count == 0
    slot.write([1.5, 2.5])
    assert slot.change_count == again.change_count == 1
    assert tuple(again.read()) == (1.5, 2.5, *[0.0] * (VALUES - 2))
    again.write([7.0])
    assert slot.change_count == 2 and slot.read()[:2] == (7.0, 0.0)
    slot.close()
    kept = RateRecord(tmp_path / "pace", "key")
    assert kept.change_count == 2 and kept.read()[0] == 7.0


def test_another_endpoint_at_the_same_place_sees_nothing_and_may_take_an_old_record(tmp_path):
    path = tmp_path / "pace"
    first = RateRecord(path, "key")
    other = next(
        slot
        for slot in (RateRecord(path, f"other {n}") for n in range(40 * SLOTS))
        if slot._at == first._at
    )
    assert first.may_be_written(0.0) and other.may_be_written(0.0), "never used"
    first.write([100.0])
    assert other.change_count == 0 and first.may_be_written(0.0)
    assert not other.may_be_written(100.0)
    assert other.may_be_written(100.5), "last changed before"
    other.write([200.0])
    assert other.change_count == 1 and first.change_count == 0


def test_only_one_holder_has_the_lock(tmp_path):
    slot, again = (RateRecord(tmp_path / "pace", "key") for _ in range(2))
    with slot.lock() as locked:
        assert locked
        with again.lock() as second:
            assert not second
    with again.lock() as third:
        assert third


def test_a_closed_record_keeps_no_file_open(tmp_path):
    record = RateRecord(tmp_path / "pace", "key")
    record.close()
    assert record._file.closed and record._map.closed


@pytest.mark.parametrize("content", [b"", b"short"])
def test_a_short_file_is_filled_up_and_no_folder_means_no_sharing(tmp_path, content):
    (tmp_path / "pace").write_bytes(content)
    slot = open_rate_record(tmp_path / "pace", "key")
    assert slot is not None
    slot.write([3.0])
    assert slot.read()[0] == 3.0
    assert open_rate_record(tmp_path, "key") is None


def test_a_file_that_cannot_be_shared_or_locked_is_no_record(tmp_path, monkeypatch):
    opened: list[object] = []
    real = pace_file.Path.open if hasattr(pace_file, "Path") else type(tmp_path).open

    def keep(path, *given, **named):
        opened.append(real(path, *given, **named))
        return opened[-1]

    monkeypatch.setattr(type(tmp_path), "open", keep)

    def fail(*_):
        raise OSError("no memory")

    with monkeypatch.context() as inside:
        inside.setattr(pace_file.mmap, "mmap", fail)
        assert open_rate_record(tmp_path / "pace", "key") is None
        assert opened[-1].closed
    assert open_rate_record(tmp_path / "none" / "pace", "key") is None
    record = open_rate_record(tmp_path / "pace", "key")
    assert record is not None
    with monkeypatch.context() as inside:
        inside.setattr(pace_file.fcntl, "flock", fail)
        with record.lock() as locked:
            assert locked is False
    with record.lock() as locked:
        assert locked is True
    record.close()
    with monkeypatch.context() as inside:
        inside.setattr(pace_file.sys, "platform", "win32")
        assert open_rate_record(tmp_path / "pace", "key") is None
