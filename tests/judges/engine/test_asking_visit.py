"""VisIT-Bench end to end: requests, pairings, and its rules for verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from judges.judge_errors import PlanError
from judges.planning.plan import asks_of, make_plan
from metrics.win_rates.win_rates import head_to_head, win_rate
from studies.spec.study import study_from_mapping
from studies.store.store import Store
from tests.judge_server import Asked, JudgeServer
from tests.judges.protocol_runs import asked, planned, simulated
from tests.judges.small_studies import endpoint
from tests.page_words import pattern, says


def item(name: str, **more: Any) -> dict[str, Any]:
    answers = {"x": f"x says {name}", "y": f"y says {name}", "z": f"z says {name}"}
    return {"id": name, "instruction": f"What about {name}?", "responses": answers,
            "context": f"a picture of {name}", "reference": f"ideal {name}", **more}  # fmt: skip


# ---- what is sent ------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", ["visit-reference-free", "visit-reference-backed"])
def test_a_judge_gets_four_messages_with_the_inputs_in_the_order_of_the_paper(
    tmp_path: Path, store: Store, prompt: str
) -> None:
    seen: list[Asked] = []

    def note(one: Asked) -> str:
        seen.append(one)
        return "Overall, Response A is better."

    with JudgeServer(behaviour=note) as server:
        plan = planned(tmp_path, [item("cats")], "visit-bench", prompts=[prompt],
                       contestants=["x", "y"], judges=[endpoint(server.base_url)])  # fmt: skip
        asked(plan, store)
    assert len(seen) == 2
    for one in seen:
        assert [role for role, _ in one.turns] == ["system", "user", "assistant", "user"]
        last = one.turns[-1][1]
        order = ["Image context:", "a picture of cats", "Instruction:", "What about cats?"]
        if prompt == "visit-reference-backed":
            order += ["High quality reference:", "ideal cats"]
        order += ["Response A:", "Response B:", "Overall, Response X is better."]
        places = [last.index(part) for part in order]
        assert places == sorted(places)
        assert ("ideal cats" in one.text) == (prompt == "visit-reference-backed")
    firsts = [one.turns[-1][1].index("x says") < one.turns[-1][1].index("y says") for one in seen]
    assert sorted(firsts) == [False, True], "both orders are asked"


def test_the_contexts_of_several_images_are_numbered(tmp_path: Path) -> None:
    two = item("cats", context=["a cat", "a dog"], images=["data:image/png;base64,AA"] * 2)
    plan = planned(tmp_path, [two], "visit-bench")
    text = next(asks_of(plan)).call.messages[-1]["content"]
    assert "Image context:" in text and says(text, "1", "cat", "2", "dog")


# ---- who meets whom ----------------------------------------------------------------------------


def checked(name: str, *, follows: bool, fault: str | None = None) -> dict[str, Any]:
    check = {"judge": "ann", "contestant": "@reference", "follows": follows, "fault": fault}
    return item(name, checks=[check])


def test_only_verified_items_are_asked_and_those_nobody_checked(tmp_path: Path) -> None:
    items = [checked("a", follows=True), checked("b", follows=False, fault="caption"), item("c")]
    assert [i.id for i in planned(tmp_path, items, "visit-bench").items] == ["a", "c"]
    only = planned(tmp_path, items, "visit-bench", data={"where": {"checks.follows": True}})
    assert [i.id for i in only.items] == ["a"]


def test_of_the_real_items_529_are_verified(records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_RECORDS", str(records))
    data = {"source": "${EVENHAND_RECORDS}/visit", "format": "visit-bench"}
    values = {"name": "v", "preset": "visit-bench", "data": data, "judges": [simulated()]}
    plan = make_plan(study_from_mapping(values))
    assert len(plan.items) == 529
    assert all(item.reference and item.context for item in plan.items)
    values["data"] = {**data, "where": {}}
    assert len(make_plan(study_from_mapping(values)).items) == 578


def test_a_new_contestant_meets_one_drawn_opponent_an_item_and_the_reference_n_times(
    tmp_path: Path,
) -> None:
    plan = planned(tmp_path, [item(f"q{n:02}") for n in range(20)], "visit-bench", pairing="new",
                   new="x", baseline="@reference", reference_games=5)  # fmt: skip
    shown = [p.ask.shown for p in asks_of(plan)]
    assert all("x" in pair for pair in shown)
    with_reference = [pair for pair in shown if "@reference" in pair]
    assert (len(shown), len(with_reference)) == (2 * 25, 2 * 5)
    assert {name for pair in shown for name in pair} == {"x", "y", "z", "@reference"}


def test_a_judge_is_not_given_the_reference_that_it_judges(tmp_path: Path) -> None:
    for more in ({"contestants": ["x", "@reference"]},
                 {"pairing": "new", "new": "x", "baseline": "@reference"}):  # fmt: skip
        with pytest.raises(PlanError, match=pattern("shows", "judge", "reference", "@reference")):
            planned(
                tmp_path, [item("a")], "visit-bench", prompts=["visit-reference-backed"], **more
            )


def test_an_item_without_a_reference_is_not_asked_with_one(tmp_path: Path) -> None:
    items = [item("a"), item("b", reference="")]
    plan = planned(tmp_path, items, "visit-bench", prompts=["visit-reference-backed"])
    assert {p.ask.item for p in asks_of(plan)} == {"a"}


# ---- what the rules make of it -----------------------------------------------------------------

# x beats y 2-0 on won; on flipped each order says A; on half, one order names nobody.
VERDICTS = {("won", "x"): "A", ("won", "y"): "B", ("half", "x"): "A", ("half", "y"): "",
            ("flipped", "x"): "A", ("flipped", "y"): "A"}  # fmt: skip


def scripted(one: Asked) -> str:
    """A judge whose verdict on each item and order is written above; it cannot extract."""
    if one.model == "extractor":
        return "Unknown"
    last = one.turns[-1][1]
    name = next(name for name in ("won", "half", "flipped") if f"about {name}?" in last)
    first = "x" if last.index("x says") < last.index("y says") else "y"
    label = VERDICTS[name, first]
    return f"Overall, Response {label} is better." if label else "Hard to say."


def test_two_nil_wins_and_anything_else_ties_and_majority_is_the_option(
    tmp_path: Path, store: Store
) -> None:
    items = [item(name) for name in ("won", "half", "flipped")]
    with JudgeServer(behaviour=scripted) as server:
        extractor = endpoint(server.base_url, "reader", model="extractor")
        plan = planned(tmp_path, items, "visit-bench", contestants=["x", "y"],
                       judges=[endpoint(server.base_url)],
                       extraction={"judge": extractor})  # fmt: skip
        frame = asked(plan, store)
        assert server.bill.totals.calls == 7, "six asks, and one extraction that finds nothing"
    study = plan.study
    assert store.status_counts("s") == {"planned": 6, "ok": 5, "unreadable": 1}
    strict = head_to_head(frame, study.combine, study.unreadable)["x"]["y"]
    # won 1, half (a win and, unreadable, a tie) 1/2, flipped 1/2: 2 of 3
    assert (strict.value, strict.n) == (pytest.approx(2 / 3), 3)
    majority = head_to_head(frame, "majority", study.unreadable)["x"]["y"]
    # one win and one tie is a win now: 1 + 1 + 1/2 of 3
    assert majority.value == pytest.approx(2.5 / 3)
    left_out = win_rate(frame, "strict", "exclude")["x"]
    # half has an order that was not read, and is left out: 1 and 1/2 of 2
    assert (left_out.value, left_out.n) == (0.75, 2)
