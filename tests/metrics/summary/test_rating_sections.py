"""Sections on ratings: sample size planning and win rates by position."""

from __future__ import annotations

import numpy as np

from metrics.estimation.planning import power
from metrics.summary.rating_sections import rating_sections
from tests.metrics.frames import build, pair


def test_ties_are_not_counted_twice_in_the_battles_needed():
    # 140 wins, 60 losses, 200 ties: of the decisive verdicts 70 % are won, half are decisive.
    outcomes = np.repeat([0, 1, 2], [140, 60, 200])
    np.random.default_rng(0).shuffle(outcomes)
    rows = []
    for k, outcome in enumerate(outcomes.tolist()):
        shown = "xy" if k % 2 == 0 else "yx"
        pick = "tie" if outcome == 2 else shown.index("xy"[outcome])
        rows.append({"item": f"q{k}", "shown": shown, "pick": pick})
    plan = rating_sections(build(rows))["planning"]["x − y"]
    assert plan["tie_rate"] == 0.5
    assert plan["battles_needed"] == power.battles_needed(0.7, tie_rate=0.5) == 94


def test_win_rates_by_position_are_a_section():
    frame = build([row for k in range(4) for row in pair(f"q{k}", 0, 0)])
    got = rating_sections(frame)["win_rate_by_position"]
    assert {name: [one.value for one in places.values()] for name, places in got.items()} == {
        "x": [1, 0], "y": [1, 0]
    }  # fmt: skip
    assert list(got["x"]) == ["first", "second"]
    assert rating_sections(build([]))["win_rate_by_position"] == {}
