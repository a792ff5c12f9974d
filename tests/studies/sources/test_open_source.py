"""Importing a file of verdicts as a study without a call, and adding live judges to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judges.__main__ import main as judges
from judges.planning.plan import make_plan, save_plan
from metrics.catalogue.records import estimate_position_measures
from metrics.estimation.measure_cube import MeasureCube
from metrics.estimation.measures import ORDER_UNKNOWN_NOTE
from metrics.position import position_measures
from metrics.summary.summary import summarise_frame
from studies.__main__ import main
from studies.errors import SourceError, StudyError
from studies.exchange.recorded_studies import import_verdicts
from studies.spec.study import parse_study
from studies.store.store import Store
from tests.metrics.frames import json_sections
from tests.page_words import pattern, says
from tests.studies.sources.source_files import jsonl, said, table


def prd(folder: Path) -> Path:
    """Two prompts, one judge in both orders: on p1 it always picks the first, on p2 always y."""
    jsonl(folder / "prompts.jsonl", [{"prompt_id": p, "prompt": f"{p}?", "category": "generic",
          "responses": {"x": "sx", "y": "sy, longer"}} for p in ("p1", "p2")])  # fmt: skip
    rows = []
    for prompt, said_of in (("p1", ("first", "first")), ("p2", ("second", "first"))):
        for (first, second), verdict in zip(("xy", "yx"), said_of, strict=True):
            rows.append({"prompt_id": prompt, "judge": "gpt", "first": first, "second": second,
                         "verdict": verdict, "raw": f"I say {verdict}"})  # fmt: skip
    jsonl(folder / "judgements.jsonl", rows)
    jsonl(folder / "human_votes.jsonl", [{"prompt_id": "p2", "annotator": "ann", "first": "x",
          "second": "y", "verdict": "second"}])  # fmt: skip
    return folder


def test_a_folder_of_verdicts_is_a_study_at_once(store: Store, tmp_path: Path) -> None:
    found = import_verdicts(store, prd(tmp_path / "prd"), "mine")
    assert len(found.judgements) == 5
    assert store.status_counts("mine", recorded=True) == {"planned": 5, "recorded": 5, "ok": 5}
    frame = store.frame("mine")
    machine = frame[frame["judge"] == "gpt"]
    # p1: x, then y won: flipped toward the first. p2: y both times. So 1 of 2, and 3 of 4 first.
    assert position_measures.consistency(machine).value == 0.5
    assert position_measures.flip_counts(machine)["toward_first"] == 1
    assert position_measures.first_share(machine).value == 0.75
    # ann says y on p2, and so does the judge both times.
    assert (
        json_sections(frame, "agreement")["agreement"]["people"]["gpt"]["agreement"]["value"] == 1
    )
    assert store.items("mine")["p1"].responses == {"x": "sx", "y": "sy, longer"}


def test_records_without_an_order_have_no_number_about_place(store: Store, tmp_path: Path) -> None:
    battle = {"model_a": "x", "model_b": "y", "response_a": "short", "response_b": "a longer one"}
    rows = [{**battle, "prompt": f"q{k}", "winner": w} for k, w in enumerate("AAB-A")]
    import_verdicts(store, table(tmp_path / "h.csv", rows), "mine")
    frame = store.frame("mine")
    assert frame["orders"].tolist() == [0] * 5
    profile = estimate_position_measures(frame)[()]
    for name in ("first_share", "entropy", "consistency", "kappa", "primacy", "noise_floor"):
        assert (profile[name].value, profile[name].note) == (None, ORDER_UNKNOWN_NOTE), name
    pooled = MeasureCube(
        frame, ["judge"], [position_measures.FIRST_SHARE, position_measures.TIE_RATE]
    )
    assert (
        pooled.pooled_estimate("first_share").note == ORDER_UNKNOWN_NOTE
        and pooled.pooled_estimate("tie_rate").value == 0.2
    )
    # What does not ask about place is there: 3 of 4 decisive for x, one tie of five.
    assert profile["tie_rate"].value == 0.2 and profile["tie_rate"].note == ""
    shown = summarise_frame(frame, quick=True)
    assert shown["win_rate"]["x"]["value"] == pytest.approx((3 + 0.5) / 5)
    assert shown["length"]["longer"]["value"] == 0.25
    (where,) = shown["position"].values()
    assert where["autoarena"]["position_term"]["note"] == ORDER_UNKNOWN_NOTE


def test_one_order_is_not_the_same_as_no_order(store: Store, tmp_path: Path) -> None:
    rows = [{"model_a": "x", "model_b": "y", "winner": "model_a"} for _ in range(3)]
    import_verdicts(store, table(tmp_path / "b.csv", rows), "mine")
    share = position_measures.first_share(store.frame("mine"))
    assert share.value == 1 and "one order only" in share.note


def test_failures_are_kept_and_counted_and_never_ties(store: Store, tmp_path: Path) -> None:
    row = {"question_id": 1, "model_1": "x", "model_2": "y", "judge": ["g", "p"], "turn": 1}
    games = [("model_1", "error"), ("error", "error"), ("tie", "model_2")]
    rows = [{**row, "question_id": k, "g1_winner": a, "g2_winner": b, "g1_judgment": "?",
             "g2_judgment": "?"} for k, (a, b) in enumerate(games)]  # fmt: skip
    import_verdicts(store, jsonl(tmp_path / "g_pair.jsonl", rows), "mine")
    assert store.status_counts("mine", recorded=True)["unreadable"] == 3
    frame = store.frame("mine")
    # Complete is only question 2: tie, then y; what could not be read lowers n, never the value.
    assert position_measures.consistency(frame).n == 1
    assert position_measures.tie_rate(frame).n == 2


STUDY = """
name: mine
data: {source: prd}
judges: [{name: sim, model: simulated, accuracy: 1}]
prompts: [brief-letters]
"""


def test_live_judges_are_added_beside_recorded_ones(store: Store, tmp_path: Path) -> None:
    prd(tmp_path / "prd")
    import_verdicts(store, "prd", "mine", folder=tmp_path)
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    assert judges(["run", str(tmp_path / "study.yaml"), "--store", str(store.path)]) == 0
    frame = store.frame("mine")
    assert frame.groupby("judge", observed=True).size().to_dict() == {
        "gpt": 4, "human:ann": 1, "sim": 4,
    }  # fmt: skip
    # Two items in two orders; what is recorded was not asked.
    assert store.status_counts("mine") == {"planned": 4, "ok": 4}
    assert store.studies()[0].planned == 4 and not store.studies()[0].recorded


def test_the_verdicts_stay_when_their_file_is_gone(store: Store, tmp_path: Path) -> None:
    prd(tmp_path / "prd")
    import_verdicts(store, "prd", "mine", folder=tmp_path)
    plan = replace(make_plan(parse_study(STUDY, folder=tmp_path)), recorded=())
    save_plan(plan, store)  # as a page that keeps only the items would
    assert sum(j.ask.judge == "gpt" for j in store.judgements("mine")) == 4
    other = replace(plan, study=replace(plan.study, data=replace(plan.study.data, source="x.csv")))
    save_plan(other, store)  # the same name over other records: those verdicts are not about them
    assert sum(j.ask.judge == "gpt" for j in store.judgements("mine")) == 0


def test_a_study_that_asks_is_not_overwritten_by_a_file(store: Store, tmp_path: Path) -> None:
    prd(tmp_path / "prd")
    save_plan(make_plan(parse_study(STUDY, folder=tmp_path)), store)
    with pytest.raises(StudyError, match=pattern("'mine' exists", "live")):
        import_verdicts(store, "prd", "mine", folder=tmp_path)
    assert store.status_counts("mine")["planned"] == 4


def test_a_bad_file_leaves_what_was_there(store: Store, tmp_path: Path) -> None:
    import_verdicts(store, prd(tmp_path / "prd"), "mine")
    before = list(store.judgements("mine"))
    bad = table(tmp_path / "b.csv", [{"model_a": "x", "model_b": "y", "winner": "huh"}])
    with pytest.raises(SourceError, match=pattern("b.csv", "2", "'winner'", "'huh'")):
        import_verdicts(store, bad, "mine")
    assert list(store.judgements("mine")) == before


def test_a_file_without_a_verdict_says_what_it_is_good_for(store: Store, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"prompt": "why?", "chosen": "yes", "rejected": "no"}]
    with pytest.raises(SourceError, match=r"1 items \(format preference\) without verdicts"):
        import_verdicts(store, jsonl(tmp_path / "p.jsonl", rows), "mine")
    assert store.studies() == []


# ---- the command -----------------------------------------------------------------------------


def test_import_prints_what_it_saw_and_the_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "s.db")
    assert main(["import", str(prd(tmp_path / "prd")), "--store", place]) == 0
    told = capsys.readouterr().out
    assert says(told, "prd: prd", "human_votes", "prom")
    assert "2 items, 5 recorded verdicts" in told and says(told, "'prd': 5", "5 ok")
    store = Store(place)
    assert store.study("prd").data.source == "prd"  # from the store's folder, as the page looks
    store.close()


def test_import_takes_a_mapping_further_files_and_a_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table(tmp_path / "t.csv", [{"q": "1", "m1": "x", "m2": "y", "best": "m1"}])
    options = ["--name", "n", "--store", str(tmp_path / "s.db")]
    mapping = [f"--mapping={pair}" for pair in ("q=id", "m1=a", "m2=b", "best=winner")]
    assert main(["import", str(tmp_path / "t.csv"), *mapping, *options]) == 2
    assert says(capsys.readouterr().err, "t.csv", "2: winner 'm1'", "neither", "nor 'y'")
    table(tmp_path / "t.csv", [{"q": "1", "m1": "x", "m2": "y", "best": "x"}])
    assert main(["import", str(tmp_path / "t.csv"), *mapping, *options]) == 0
    assert says(capsys.readouterr().out, "disabled, because", "not record")
    assert main(["import", "t.csv", "--mapping", "qid", *options]) == 2
    assert "--mapping 'qid': expected name=value" in capsys.readouterr().err


def test_import_of_answers_prints_the_join_before_it_says_no(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table(tmp_path / "x.csv", [{"prompt": "a", "response": "1"}])
    table(tmp_path / "y.csv", [{"prompt": "b", "response": "2"}])
    files = f"--files=y={tmp_path / 'y.csv'}"
    assert main(["import", str(tmp_path / "x.csv"), files, "--store", str(tmp_path / "s")]) == 2
    told = capsys.readouterr()
    assert says(told.out, "0 matched, 1", "1", "'response'", "y.csv")
    assert "without verdicts" in told.err


def test_said_is_what_the_tests_take_it_for(store: Store, tmp_path: Path) -> None:
    found = import_verdicts(store, prd(tmp_path / "prd"), "mine")
    assert [said(j) for j in found.judgements if j.ask.judge == "gpt"] == ["x", "y", "y", "y"]
