"""The keys of a judge that limit its calls: defaults, ranges, dump, and no effect on call keys."""

from pathlib import Path

import pytest

from judges.planning.plan import asks_of
from studies.errors import EvenhandError
from studies.spec.judge_spec import dump_judge, parse_judge
from tests.judges.small_studies import endpoint, study_plan

URL = "http://127.0.0.1:9/v1"
LIMITS = {"timeout_s": 600.0, "max_attempts": 2, "stream": True, "idle_s": 9.0, "connect_s": 2.5,
          "hedge": True}  # fmt: skip


def test_call_limits_are_read_and_dumped_and_defaults_are_left_out():
    judge = parse_judge(endpoint(URL, **LIMITS), "judges[0]")
    assert {name: getattr(judge, name) for name in LIMITS} == LIMITS
    dumped = dump_judge(judge)
    assert {name: dumped[name] for name in LIMITS} == LIMITS
    assert parse_judge(dumped, "judges[0]") == judge
    plain = parse_judge(endpoint(URL), "judges[0]")
    assert (plain.timeout_s, plain.max_attempts) == (180.0, 6)
    assert (plain.stream, plain.idle_s, plain.connect_s, plain.hedge) == (False, 60.0, 10.0, False)
    assert not set(LIMITS) & set(dump_judge(plain))


@pytest.mark.parametrize(
    ("key", "value"),
    [("timeout_s", 0), ("timeout_s", 7200), ("timeout_s", "long"), ("max_attempts", 0),
     ("max_attempts", 2.5), ("max_attempts", 21), ("idle_s", 0), ("connect_s", 301),
     ("stream", "yes"), ("hedge", 2)],
)  # fmt: skip
def test_call_limits_out_of_range_are_refused_by_name(key, value):
    with pytest.raises(EvenhandError, match=key):
        parse_judge(endpoint(URL, **{key: value}), "judges[0]")


def test_call_limits_are_no_part_of_a_call_key(tmp_path: Path):
    plain = study_plan(tmp_path, [endpoint(URL)])
    limited = study_plan(tmp_path, [endpoint(URL, **LIMITS)])
    keys = [planned.ask.key for planned in asks_of(plain)]
    assert keys == [planned.ask.key for planned in asks_of(limited)]
    assert len(set(keys)) == 3
