"""Export followed by import gives the same judgements, for any content."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.domain import (
    STATUSES,
    Ask,
    Item,
    Judgement,
    Preference,
    Usage,
    Verdict,
    assign_recorded_keys,
)
from studies.exchange.export import write_export
from studies.exchange.recorded_studies import import_verdicts, read_exported_judgements
from studies.files.items import dump_item
from studies.spec.study import DataSpec, Study
from studies.store.store import Store
from tests.page_words import pattern, says
from tests.studies.sources.source_files import loaded, parquet

NAMES = ("model-x", "modèle y", "z|z", "@reference")
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x1f\0"), max_size=20)
share = st.floats(0, 1, allow_nan=False)


@st.composite
def judgements(draw: Callable[..., Any]) -> Judgement:
    shown = tuple(draw(st.permutations(NAMES)))[: draw(st.integers(1, 4))]
    n = len(shown)
    ask = Ask(
        key="", item=draw(st.sampled_from(["q1", "q2"])), judge=draw(st.sampled_from(["a", "b"])),
        prompt="p", shown=shown, labels=tuple("ABCD"[:n]), repeat=draw(st.integers(0, 10**6)),
        noise=draw(st.booleans()), orders=draw(st.integers(0, 4)),
        unrelated_item=draw(st.sampled_from([None, "q9"])),
    )  # fmt: skip
    status = draw(st.sampled_from(STATUSES))
    pick = draw(st.sampled_from([None, "tie", *range(n)]))
    scores = tuple(draw(st.lists(st.floats(0, 10), min_size=n, max_size=n)))
    verdict = Verdict(pick, draw(st.integers(0, 2)), scores, tuple(draw(share) for _ in shown), 0.5)
    return Judgement(
        ask, status, verdict if status in ("ok", "extracted") else None, draw(words), draw(words),
        draw(words), draw(words), Usage(draw(st.sampled_from([None, 7])), 3, 1, 2),
        draw(st.sampled_from([None, 0.25])), draw(share), draw(words), draw(share), draw(words),
    )  # fmt: skip


def distinct(made: list[Judgement]) -> list[Judgement]:
    """Return one judgement per key, as in a store."""
    return list({j.ask.key: j for j in assign_recorded_keys("out", made)}.values())


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
@settings(max_examples=12)
@given(made=st.lists(judgements(), min_size=1, max_size=6))
def test_what_is_exported_is_imported_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, format: str, made: list[Judgement]
) -> None:
    folder = tmp_path_factory.mktemp("trip")
    wanted = distinct(made)
    store = Store(folder / "s.db")
    items = [Item(id, "why?", {"model-x": "so"}) for id in ("q1", "q2")]
    store.save_study(Study("out"), items, (), recorded=wanted, only_recorded=True)
    path = folder / f"judgements.{format}"
    assert write_export(store, "out", format, path) == len(wanted)
    write_export(store, "out", "items", folder / "items.jsonl")
    assert read_exported_judgements(path, "out") == wanted
    spec = DataSpec(path.name, files={"items": "items.jsonl"})
    assert import_verdicts(store, spec, "in", folder=folder).format == "evenhand-judgements"
    back = [replace(j, ask=replace(j.ask, key="")) for j in store.judgements("in")]
    assert back == [replace(j, ask=replace(j.ask, key="")) for j in wanted]
    assert store.items("in") == {
        id: item for id, item in store.items("out").items() if id in store.items("in")
    }
    store.close()


def test_judgements_without_their_items_still_open(store: Store, tmp_path: Path) -> None:
    ask = Ask("k", "q1", "j", "p", ("x", "y"), ("A", "B"), orders=2)
    path = tmp_path / "j.jsonl"
    path.write_text(json.dumps(asdict(Judgement(ask, "ok", Verdict(0)))), encoding="utf-8")
    found = import_verdicts(store, path, "mine")
    assert says(found.notes[0], "no questions", "answers", "file")
    assert store.items("mine")["q1"].responses == {}
    assert store.frame("mine")["pick"].tolist() == [0]
    bad = path.with_name("bad.jsonl")
    bad.write_text('{"ask": {}, "status": "fine", "reply": ""}\n', encoding="utf-8")
    with pytest.raises(Exception, match=pattern("bad.jsonl", "1: not", "judgement: ValueError")):
        loaded(bad)


def test_items_come_back_from_parquet_though_its_rows_have_every_key(tmp_path: Path) -> None:
    items = [
        Item("q1", "why?", {"x": "so", "y": "thus"}, "maths", context=("a", "b"),
             images=("https://pictures.example/a.png",), criteria={"subjective": "kind"},
             human=(Preference("ann", ("x", "y"), "x"),)),
        Item("q2", "how?", {"z": "by hand"}, human=(Preference("bob", None, None,
             ranks={"z": 1}),)),
    ]  # fmt: skip
    path = parquet(tmp_path / "items.parquet", [dump_item(item) for item in items])
    assert loaded(path).items == items


def test_arena_mt_bench_and_comparator_files_of_ours_are_read_back(
    store: Store, tmp_path: Path
) -> None:
    shown = [("x", "y"), ("y", "x")]
    made = [Judgement(Ask("", q, "gpt", "pair", names, ("A", "B"), orders=2), "ok", Verdict(pick),
                      reply="so")
            for q, winners in (("q1", "xx"), ("q2", "xy"))
            for names, winner in zip(shown, winners, strict=True)
            for pick in [names.index(winner)]]  # fmt: skip
    items = [Item(q, f"{q}?", {"x": "sx", "y": "sy"}, "maths") for q in ("q1", "q2")]
    store.save_study(
        Study("out"), items, (), recorded=assign_recorded_keys("out", made), only_recorded=True
    )

    def said(found: Any) -> set[tuple[str, tuple[str, ...], str]]:
        return {(j.ask.judge, j.ask.shown, j.ask.shown[j.verdict.pick]) for j in found.judgements}

    wanted = [{("gpt", j.ask.shown, j.ask.shown[j.verdict.pick]) for j in made}]  # type: ignore[union-attr,index]
    for format, ending in (("arena", "csv"), ("mt-bench", "jsonl"), ("llm-comparator", "json")):
        path = tmp_path / f"out.{ending}"
        write_export(store, "out", format, path)
        found = loaded(path)
        assert found.format == format and len(found.judgements) == 4, format
        assert [said(found)] == wanted, format
        assert {j.ask.orders for j in found.judgements} == {2}, format


def test_votes_come_back_with_items_that_have_no_texts(store: Store, tmp_path: Path) -> None:
    ask = Ask("", "q1", "human:ann", "vote", ("x", "y"), ("A", "B"))
    made = assign_recorded_keys("out", [Judgement(ask, "ok", Verdict(0), rule="vote", time=1.0)])
    store.save_study(Study("out"), [Item("q1", "", {})], (), recorded=made, only_recorded=True)
    for format, name in (("votes", "votes.csv"), ("items", "items.jsonl")):
        write_export(store, "out", format, tmp_path / name)
    found = loaded(tmp_path / "votes.csv", files={"items": "items.jsonl"})
    assert [item.id for item in found.items] == ["q1"] and len(found.judgements) == 1


def test_comparator_files_keep_items_without_questions_and_prompts(
    store: Store, tmp_path: Path
) -> None:
    made = [Judgement(Ask("", q, "gpt", prompt, ("x", "y"), ("A", "B"), orders=2), "ok", Verdict(0))
            for q in ("q1", "q2") for prompt in ("short", "long")]  # fmt: skip
    items = [Item(q, "", {"x": "sx", "y": "sy"}) for q in ("q1", "q2")]
    recorded = assign_recorded_keys("out", made)
    store.save_study(Study("out"), items, (), recorded=recorded, only_recorded=True)
    path = tmp_path / "out.json"
    write_export(store, "out", "llm-comparator", path)
    back = {(j.ask.item, j.ask.prompt, j.ask.repeat) for j in loaded(path).judgements}
    assert back == {(j.ask.item, j.ask.prompt, 0) for j in made}
