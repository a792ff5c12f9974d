"""A study of several protocols: equal numbers on the page and from `python -m metrics`."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.results.protocol import creation_panels, game_panels, visit_panels
from components.results.ranking.computed import load_ranking
from metrics.protocols.creation_levels import single_answer_ratings as rated
from metrics.summary.summary import summarise_frame
from studies.store.store import Store
from tests.components.written_replies import answered, endpoint, write_items

PROMPTS = ["mt-bench-pair", "creation-subjective", "creation-factuality", "mt-bench-single"]


def write(planned, rng) -> str:
    """A quarter of all replies says nothing; the others draw, so that the protocols differ."""
    if rng.random() < 0.25:
        return "I would rather not say."
    if planned.ask.prompt == "mt-bench-pair":
        return f"[[{rng.choice('ABC')}]]"
    if planned.ask.prompt == "creation-subjective":
        return f"Final Verdict is: [[{rng.choice(['A>>B', 'A>B', 'A=B', 'B>A', 'B>>A'])}]]"
    if planned.ask.prompt == "mt-bench-single":
        return f"Rating: [[{rng.randint(1, 10)}]]"
    lines = (f"Response {label} Visual Factuality Score: {rng.randint(0, 10)}/10" for label in "AB")
    return "\n".join(lines)


@pytest.fixture
def mixed(store: Store, tmp_path: Path) -> Store:
    items = [
        {"id": f"q{k}", "instruction": f"Question {k}?", "category": "prose" if k % 2 else "maths",
         "responses": {name: f"{name} on {k}" for name in ("base", "m", "n")},
         "criteria": {"subjective": "1. Kind.", "factuality": "1. Right."}}
        for k in range(12)
    ]  # fmt: skip
    values = {
        "name": "mixed", "data": {"source": str(write_items(tmp_path / "items.jsonl", items))},
        "judges": [endpoint("j")], "prompts": PROMPTS, "pairing": "baseline", "baseline": "base",
        "combine": "strict", "unreadable": "tie",
    }  # fmt: skip
    answered(store, values, write)
    return store


def test_every_protocol_has_the_same_numbers_on_the_page_and_in_the_command(mixed: Store) -> None:
    scene = FilteredStudy(mixed, "mixed")
    said = summarise_frame(mixed.frame("mixed"), combine="strict", unreadable="tie", quick=True)
    models = creation_panels.creation_mmbench_rows(scene)
    assert {row.model for row in models} == {"m", "n"} == set(said["reward"])
    for row in models:
        levels = said["levels"][row.model]
        assert (row.counts | {"fail": row.fail}) == levels and row.fail and row.vfs_fail
        assert sum(levels.values()) == 24  # 12 items in both orders: no reply of another protocol
        assert row.reward.value == said["reward"][row.model]["value"]
        assert row.vfs.value == said["factuality"][row.model]["value"]
    board = {
        row.model: (row.matches, row.wins, row.ties)
        for row in visit_panels.visit_bench_leaderboard(scene)
    }
    table = said["protocol"]["leaderboard"]
    assert board == {
        name: (row["matches"], row["wins"], row["ties"]) for name, row in table.items()
    }
    assert board["m"][0] == 12  # one match an item: unread verdicts are ties, unread scores nothing
    rates = {name: (rate.value, rate.n) for name, rate in load_ranking(scene).win_rates.items()}
    told = said["protocol"]["win_rate"]
    assert rates == {name: (rate["value"], rate["n"]) for name, rate in told.items()}
    single = {name: got.value for name, got in rated(game_panels.load_rating_rows(scene)).items()}
    assert single == {name: got["value"] for name, got in said["ratings"].items()}
