"""Sections on ratings: sample size planning and win rates by position."""

from __future__ import annotations

from metrics.summary.rating_sections import rating_sections
from tests.metrics.frames import build, pair


def test_win_rates_by_position_are_a_section():
    frame = build([row for k in range(4) for row in pair(f"q{k}", 0, 0)])
    got = rating_sections(frame)["win_rate_by_position"]
    assert {name: [one.value for one in places.values()] for name, places in got.items()} == {
        "x": [1, 0], "y": [1, 0]
    }  # fmt: skip
    assert list(got["x"]) == ["first", "second"]
    assert rating_sections(build([]))["win_rate_by_position"] == {}
