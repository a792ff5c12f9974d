"""A measure of the texts of replies, declared as docs/ARCHITECTURE.md says, is in the JSON."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from components.study.plan.demo_studies import PAIRS_STUDY
from metrics.catalogue import records
from metrics.catalogue.record import DECLARED, MeasureRecord
from metrics.estimation.measures import Measure, reply_fact_tally
from studies.frames.reply_facts import REPLY_FACTS, register_reply_fact
from studies.store.store import Store
from tests.demo_store import copy_demo
from tests.metrics.frames import build


def test_the_share_of_replies_is_counted_from_the_stored_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REPLY_FACTS, "last_letter", lambda text: text.endswith("A"))
    record = MeasureRecord(
        key="ends_in_a",
        name="Replies that end in A",
        question="nudges",
        definition="replies that end in the letter A",
        paths=("position.*.*.ends_in_a", "position_pooled.ends_in_a"),
        measure=Measure("ends_in_a", "share", reply_fact_tally("last_letter"), empty="no replies"),
    )
    monkeypatch.setitem(DECLARED, record.key, record)
    store = Store(copy_demo(tmp_path / "store.db"))
    frame = store.frame(PAIRS_STUDY)
    texts = [one.reply for one in store.judgements(PAIRS_STUDY) if one.reply and not one.ask.noise]
    store.close()
    found = records.estimate_position_measures(frame)[()]["ends_in_a"]
    assert found.value == pytest.approx(sum(text.endswith("A") for text in texts) / len(texts))
    assert 0 < found.value < 1 and found.n == len(texts)


def test_a_frame_without_the_column_has_no_value() -> None:
    from tests.metrics.frames import build, pair

    measure = Measure("x", "share", reply_fact_tally("never_registered"), empty="no replies")
    found = measure.estimate(build(pair("q1", 0, 1)))
    assert found.value is None and found.note == "no replies"


def test_a_fact_is_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REPLY_FACTS, "taken", lambda text: math.nan)
    with pytest.raises(ValueError, match="taken"):
        register_reply_fact("taken")(lambda text: 0.0)


def test_a_fact_registered_after_the_first_reading_is_in_the_next_frame(
    monkeypatch: pytest.MonkeyPatch, demo_store: Store
) -> None:
    assert "late" not in demo_store.frame(PAIRS_STUDY)
    monkeypatch.setitem(REPLY_FACTS, "late", lambda text: 1.0)
    assert (demo_store.frame(PAIRS_STUDY)["late"] == 1.0).any()


def test_a_fact_about_replies_is_counted_over_the_replies_that_have_it():
    rows = [{"item": f"q{k}", "shown": ("x", "y"), "pick": 0, "noise": k == 4} for k in range(5)]
    frame = build(rows).assign(fact=[1.0, 0.0, np.nan, 1.0, 1.0])
    got = Measure("fact", "share", reply_fact_tally("fact")).estimate(frame)
    assert (got.value, got.n) == (pytest.approx(2 / 3), 3)
    assert Measure("fact", "share", reply_fact_tally("none")).estimate(frame).value is None
