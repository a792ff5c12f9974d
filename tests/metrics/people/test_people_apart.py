"""Votes of people and verdicts of judges are never pooled in a rating or win rate."""

from __future__ import annotations

import pandas as pd

from metrics.summary.summary import summarise_frame
from studies.frames.battle_frame import frame_from_battles


def battles(*rows: tuple[str, str, str, str]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["judge", "item", "model_a", "winner"])
    table["model_b"] = table["model_a"].map({"x": "y", "y": "x"})
    return frame_from_battles(table)


MACHINE = [("gpt", f"q{i}", "x", "model_a" if i < 7 else "model_b") for i in range(10)]
PEOPLE = [("human:ann", f"q{i}", "x", "model_b") for i in range(10)]


def test_votes_change_no_rating_and_no_win_rate() -> None:
    alone, both = summarise_frame(battles(*MACHINE)), summarise_frame(battles(*MACHINE, *PEOPLE))
    for name in ("elo", "bradley_terry", "win_rate", "head_to_head"):
        assert both[name] == alone[name], name
    assert both["win_rate"]["x"]["value"] == 0.7
    assert both["counts"]["asked"] == 20


def test_people_alone_are_measured_like_any_judge() -> None:
    only = summarise_frame(battles(*PEOPLE))
    assert only["win_rate"]["x"]["value"] == 0.0
    assert "human:ann" in only["position"]
