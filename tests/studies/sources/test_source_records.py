"""Real records, read like any other file, give the published counts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from metrics.position import position_measures
from metrics.summary.summary import summarise_frame
from studies.domain import Judgement
from studies.exchange.recorded_studies import import_verdicts
from studies.sources.load import LoadedSource, load_source
from studies.sources.slice_selection import select_slice
from studies.spec.study import DataSpec
from studies.store.store import Store
from tests.page_words import says
from tests.studies.sources.source_files import picks

pytestmark = pytest.mark.records


def real(records: Path, source: str, **spec: object) -> LoadedSource:
    return load_source(DataSpec(source, **spec), records)  # type: ignore[arg-type]


def test_visit_bench_has_578_items_of_which_529_are_verified(records: Path) -> None:
    found = real(records, "visit")
    assert len(found.items) == 578 and found.format == "visit-bench"
    assert len(select_slice(found.items, DataSpec(where={"checks.follows": ("true",)}))) == 529
    assert found.join is not None
    missing = {f.contestant: (f.column, f.missing, f.empty) for f in found.join.files}
    assert missing == {
        "gpt-4v": ("gpt4v_response", 3, 0),
        "idefics-9b": ("idefics9b_prediction", 0, 0),
        "instruct-blip-13b": ("instruct_blip_output", 0, 5),
        "llava-13b": ("llava13b_output", 0, 0),
        "mplug-owl-7b": ("mPLUG-Owl prediction", 0, 0),
    }
    assert found.join.duplicate_questions == 1
    answered_twice = {file.contestant: file.conflicting for file in found.join.files}
    assert {name: n for name, n in answered_twice.items() if n} == {"mplug-owl-7b": 1}
    assert all(item.images[0].startswith("https://") for item in found.items)


def test_oasst_has_117_items_with_three_options_and_27_with_four(records: Path) -> None:
    items = real(records, "oasst/ranked.jsonl").items
    assert len(items) == 155
    assert [len(select_slice(items, DataSpec(options=n))) for n in (3, 4)] == [117, 27]
    assert all(len(set(item.human[0].ranks.values())) == len(item.responses) for item in items)


PRD = {  # flips, toward first, toward second, first : tie : second, as data/README.md has them
    "gpt-4": (249, 237, 12, (848, 240, 512)),
    "gpt-3.5-turbo": (247, 121, 126, (634, 306, 660)),
    "claude-v1": (361, 74, 287, (532, 131, 937)),
    "bard": (505, 498, 7, (1253, 57, 290)),
    "vicuna-13b": (501, 178, 323, (631, 47, 922)),
}


def test_prd_opens_with_the_published_counts(records: Path, store: Store) -> None:
    found = import_verdicts(store, "prd", folder=records)
    frame = store.frame("prd")
    counts = Counter(j.ask.judge.split(":")[0] for j in found.judgements)
    assert counts.total() == 9760 and counts["human"] == 1760
    assert says(found.notes, "18 verdicts", "empty reply", "recorded")
    for judge, (flips, first, second, slots) in PRD.items():
        rows = frame[frame["judge"] == judge]
        lean = position_measures.flip_counts(rows)
        assert (lean["pairs"], lean["flips"]) == (800, flips), judge
        assert (lean["toward_first"], lean["toward_second"]) == (first, second), judge
        said = picks(j for j in found.judgements if j.ask.judge == judge)
        assert (said[0], said["tie"], said[1]) == slots, judge


@pytest.mark.extra
def test_gpt_4_agrees_with_people_as_published(records: Path, store: Store) -> None:
    import_verdicts(store, "prd", folder=records)
    frame = store.frame("prd")
    agreed = summarise_frame(frame[frame["judge"].isin(["gpt-4", "human:vote1", "human:vote2",
                                                "human:vote3"])], quick=True)  # fmt: skip
    assert agreed["agreement"]["people"]["gpt-4"]["agreement"]["value"] == 0.643125


def test_mt_bench_pair_has_73_valid_pairs(records: Path) -> None:
    found = real(records, "mtbench_pair")
    games: dict[str, list[Judgement]] = {}
    for judgement in found.judgements:
        games.setdefault(judgement.ask.item, []).append(judgement)
    said = Counter(_pair(*both) for both in games.values())
    # valid 73; wins 18 (phi-3), 20 (phi-3-dpo); ties 35, of which 27 inconsistent.
    assert sum(said.values()) == 75 and said["failed"] == 2
    assert (said["phi-3"], said["phi-3-dpo"]) == (18, 20)
    assert (said["tie"] + said["inconsistent"], said["inconsistent"]) == (35, 27)
    assert {item.category for item in found.items} >= {"writing", "math", "coding"}
    assert all(len(item.responses) == 2 for item in found.items)


def _pair(first: Judgement, second: Judgement) -> str:
    if first.verdict is None or second.verdict is None:
        return "failed"
    one, two = (_winner(j) for j in (first, second))
    return one if one == two else "inconsistent"


def _winner(judgement: Judgement) -> str:
    pick = judgement.verdict.pick if judgement.verdict else None
    return judgement.ask.shown[pick] if isinstance(pick, int) else str(pick)


def test_llmbar_gives_the_authors_own_numbers(records: Path) -> None:
    found = real(records, "llmbar")
    assert len(found.items) == 93
    gold = {item.id: item.human[0].picked for item in found.items}
    subset = {item.id: item.category for item in found.items}
    for path in sorted((records / "llmbar").glob("*/*/*/statistics.json")):
        name, judge, prompt = path.parts[-4:-1]
        rows = [j for j in found.judgements if subset[j.ask.item] == name
                and (j.ask.judge, j.ask.prompt) == (judge, prompt)]  # fmt: skip
        published = json.loads(path.read_text(encoding="utf-8"))
        plain = {j.ask.item: _winner(j) for j in rows if j.ask.shown[0] == "output_1"}
        swapped = {j.ask.item: _winner(j) for j in rows if j.ask.shown[0] == "output_2"}
        n = len(plain)
        right = [sum(gold[i] == w for i, w in one.items()) for one in (plain, swapped)]
        equal = sum(plain[i] == swapped[i] for i in plain)
        for key, count in zip(("correct_False", "correct_True", "equal"), (*right, equal),
                              strict=True):  # fmt: skip
            assert published[key].startswith(f"{count} / {n} ="), (path, key)


def test_evalica_s_small_files_have_their_battles(records: Path) -> None:
    for name, rows in (("simple", 16), ("food", 30)):
        assert len(real(records, f"evalica/{name}.csv").judgements) == rows


@pytest.mark.extra
def test_evalica_s_battles_come_in_file_order(records: Path) -> None:
    found = real(records, "evalica/llmfao.csv")
    assert len(found.judgements) == 8931
    assert found.judgements[0].ask.shown == ("Airoboros L2 70B", "Weaver 12k")
    assert len({j.ask.item for j in found.judgements}) == 13
    assert all(j.ask.judge.startswith("human:") for j in found.judgements)


def test_elo_of_the_opened_battles_is_the_golden_one(records: Path, store: Store) -> None:
    import_verdicts(store, "evalica/food.csv", "food", folder=records)
    elo = summarise_frame(store.frame("food"), quick=True)["elo"]
    golden = dict(
        line.split(",")[1:]
        for line in (records / "evalica" / "food-golden.csv").read_text().splitlines()
        if line.startswith("elo,")
    )
    assert {name: elo[name]["value"] for name in elo} == pytest.approx(
        {name: float(score) for name, score in golden.items()}, abs=1e-9
    )
