"""The gate: outcomes, exit codes, what it writes, and the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.__main__ import main as command
from evenhand.nightly import gate_check
from evenhand.nightly.anchor_items import ANCHORS, explain_worse_scores
from evenhand.nightly.baseline_file import Baseline, BaselineUnusable, load_baseline, save_baseline
from evenhand.nightly.gate_command import _write_file
from evenhand.nightly.gate_outputs import junit_xml, svg_badge
from evenhand.nightly.gate_result import GateResult, StreamCheck, _percentage_points_text, markdown
from evenhand.study_table import as_study
from metrics.drift.change_evidence import ChangeEvidence
from metrics.drift.night_history import NightComparison
from metrics.drift.night_scores import Stream
from studies.domain import Estimate
from studies.errors import StudyError
from tests.page_words import says


def night(
    seed: int, *, accuracy: float = 0.9, silent: float = 0.0, items: int = 60
) -> pd.DataFrame:
    """Verdicts of one night: the same items are hard every night, a few vary."""
    rng, fixed = np.random.default_rng(seed), np.random.default_rng(1)
    hard = fixed.random(items) > accuracy
    vary = fixed.random(items) < 0.1
    rows = []
    for n in range(items):
        wrong = hard[n] or (vary[n] and rng.random() < 0.5)
        for pair in (("x", "y"), ("y", "x")):
            winner = None if rng.random() < silent else "y" if wrong else "x"
            rows.append((f"q{n}", *pair, winner, "judge", "x"))
    return pd.DataFrame(rows, columns=["item", "first", "second", "winner", "judge", "truth"])


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    path = tmp_path / "baseline.json"
    for seed in range(3):
        assert eh.gate(night(seed), path, save=True).exit_code == 0
    return path


def test_a_night_like_the_others_is_ok(baseline: Path) -> None:
    result = eh.gate(night(11), baseline)
    assert (result.outcome, result.exit_code) == ("ok", 0)
    assert {check.stream.kind for check in result.checks} == {"accuracy", "coverage", "consistency"}


def test_a_drop_is_found_and_said(baseline: Path) -> None:
    results = [eh.gate(night(seed, accuracy=0.7), baseline) for seed in (21, 22)]
    result = results[-1]
    assert (result.outcome, result.exit_code) == ("worse", 1)
    worse = [check for check in result.checks if check.outcome == "worse"]
    assert [check.stream.kind for check in worse] == ["accuracy"]
    assert worse[0].night is not None and (worse[0].night.difference.high or 0) < 0
    text = markdown(result)
    assert "Judge gate: worse" in text and text.count("\n| judge") == 3
    assert junit_xml(result).startswith("<?xml ")
    suite = ElementTree.fromstring(junit_xml(result))
    assert suite.attrib["failures"] == "1" and len(suite.findall("testcase/failure")) == 1
    assert ElementTree.fromstring(svg_badge(result)).attrib["aria-label"] == "judge: worse"


def test_missing_replies_are_found_as_coverage(baseline: Path) -> None:
    eh.gate(night(31, silent=0.3), baseline)
    result = eh.gate(night(32, silent=0.3), baseline)
    worse = {check.stream.kind for check in result.checks if check.outcome == "worse"}
    assert worse == {"coverage"}


def test_too_little_evidence_cannot_tell(tmp_path: Path) -> None:
    path = tmp_path / "few.json"
    eh.gate(night(1, items=8), path, save=True)
    result = eh.gate(night(2, items=8), path)
    assert (result.outcome, result.exit_code) == ("cannot tell", 2)
    other = night(3).assign(judge="another")
    assert eh.gate(other, path, record=False).exit_code == 2
    with pytest.raises(BaselineUnusable, match=r"no baseline.*save=True"):
        eh.gate(night(1), tmp_path / "absent.json")
    with pytest.raises(BaselineUnusable, match="against="):
        eh.gate(night(1))


@pytest.mark.parametrize("wrong", [{"alpha": 0.0}, {"alpha": -1}, {"drop": -0.1}, {"drop": np.nan}])
def test_a_share_out_of_range_is_refused_before_any_call(
    baseline: Path, wrong: dict[str, float]
) -> None:
    (name,) = wrong
    with pytest.raises(BaselineUnusable, match=f"^{name} is"):
        eh.gate(night(9), baseline, **wrong)  # type: ignore[arg-type]


def test_a_difference_that_rounds_to_zero_has_no_minus() -> None:
    assert [_percentage_points_text(x) for x in (-0.0003, 0.0, -0.015, None)] == [
        "+0.0",
        "+0.0",
        "−1.5",
        "–",
    ]


def test_a_baseline_of_few_nights_is_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    for seed, nights in enumerate((1, 2, 3, 4, 5)):
        saved = eh.gate(night(seed), path, save=True).checks[0].reason
        tested = eh.gate(night(9), path, record=False).checks[0].reason
        assert all((f"only {nights} baseline night" in text) == (nights < 5)
                   for text in (saved, tested))  # fmt: skip


def test_a_night_that_was_stopped_early_is_no_baseline() -> None:
    """All replies are readable, and there are 120 of 160 planned."""
    whole = as_study(night(1))
    stopped = replace(whole, measured=replace(whole.measured, planned=160))
    assert len(whole.frame) == 120
    with pytest.raises(BaselineUnusable, match=r"75\.0 % .*the whole night"):
        gate_check._refuse_night_with_few_verdicts(stopped, 0.76)
    gate_check._refuse_night_with_few_verdicts(stopped, 0.75)
    gate_check._refuse_night_with_few_verdicts(whole, 1.0)


def test_a_night_without_readable_verdicts_is_no_baseline(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    with pytest.raises(BaselineUnusable, match=r"0\.0 % .*needs 90 %.*--readable"):
        eh.gate(night(1, silent=1.0), path, save=True)
    assert not path.exists()
    half = night(1)
    half.loc[half.index[::2], "winner"] = None  # 60 of 120 replies
    with pytest.raises(BaselineUnusable, match=r"50\.0 %"):
        eh.gate(half, path, save=True, readable=0.51)
    assert eh.gate(half, path, save=True, readable=0.5).exit_code == 0
    before = path.read_bytes()
    with pytest.raises(BaselineUnusable):
        eh.gate(night(2, silent=1.0), path, save=True)
    assert path.read_bytes() == before


def test_a_judge_without_any_verdict_is_an_error_with_its_cause(baseline: Path) -> None:
    before = baseline.read_bytes()
    result = eh.gate(night(5, silent=1.0), baseline)
    assert (result.outcome, result.exit_code) == ("cannot tell", 2)
    suite = ElementTree.fromstring(junit_xml(result))
    assert (suite.attrib["errors"], suite.attrib["skipped"]) == ("3", "0")
    errors = suite.findall("testcase/error")
    assert all(says(one.attrib["message"], "none", "has a verdict") for one in errors)
    nights = {stream["nights"] for stream in json.loads(baseline.read_text())["streams"]}
    assert nights == {0} and baseline.read_bytes() == before


STUDY = """name: small
data: {source: probe, count: 12, seed: 1}
contestants: [precise, flawed]
prompts: [brief-letters]
judges: [JUDGE]
"""


def test_a_missing_baseline_is_said_before_any_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(STUDY.replace("JUDGE", "{name: fair, model: simulated}"))
    calls: list[str] = []
    monkeypatch.setattr("evenhand.running.study_runs.run", lambda *_, **__: calls.append("run"))
    outputs = ["--junit", str(tmp_path / "j.xml"), "--markdown", str(tmp_path / "m.md")]
    against = ["--against", str(tmp_path / "missing.json")]
    assert command(["gate", str(study), *against, *outputs]) == 2
    assert not calls
    (error,) = ElementTree.fromstring((tmp_path / "j.xml").read_text()).findall("testcase/error")
    assert "no baseline" in error.attrib["message"]
    assert says((tmp_path / "m.md").read_text(), "cannot tell", "Error", "no baseline")


@pytest.mark.parametrize("attempts", [", max_attempts: 1", ""])
def test_an_outage_is_an_error_with_the_endpoints_cause_and_keeps_its_store(
    tmp_path: Path, recwarn: pytest.WarningsRecorder, attempts: str
) -> None:
    """With more attempts the run ends before any call has a stored reply."""
    study = tmp_path / "study.yaml"
    study.write_text(STUDY.replace("JUDGE", "{name: fair, model: simulated, accuracy: 1}"))
    assert eh.gate(study, save=True).outcome == "ok"  # the baseline beside the study file
    dead = f"{{name: fair, model: m, base_url: 'http://127.0.0.1:9/v1'{attempts}}}"
    study.write_text(STUDY.replace("JUDGE", dead))
    result = eh.gate(study, store=tmp_path / "tonight.db")
    assert result.exit_code == 2
    errors = ElementTree.fromstring(junit_xml(result)).findall("testcase/error")
    assert len(errors) == 3
    assert all("connection refused" in one.attrib["message"] for one in errors)
    assert "connection refused" in markdown(result)
    assert len(list(tmp_path.glob("study-gate-*.db"))) == 1 and (tmp_path / "tonight.db").exists()
    with pytest.raises(BaselineUnusable, match=r"0\.0 %.*connection refused"):
        eh.gate(study, save=True, store=tmp_path / "again.db")


def test_a_night_is_recorded_unless_told_otherwise(baseline: Path) -> None:
    before = baseline.read_bytes()
    eh.gate(night(41), baseline, record=False)
    assert baseline.read_bytes() == before
    eh.gate(night(41), baseline)
    nights = {stream["nights"] for stream in json.loads(baseline.read_text())["streams"]}
    assert nights == {1}


def test_without_known_answers_verdicts_are_compared_with_other_nights(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    for seed in range(3):
        eh.gate(night(seed).drop(columns="truth"), path, save=True)
    assert eh.gate(night(9).drop(columns="truth"), path).outcome == "ok"
    result = eh.gate(night(10, accuracy=0.6).drop(columns="truth"), path)
    worse = {check.stream.kind for check in result.checks if check.outcome == "worse"}
    assert worse == {"agreement"}


def test_texts_of_a_study_are_inert_in_every_output(tmp_path: Path) -> None:
    name = "a|b <script>alert(1)</script> \x00\x1b[31m ]]> **x**"
    path = tmp_path / "baseline.json"
    eh.gate(night(1).assign(judge=name), path, save=True)
    result = eh.gate(night(2).assign(judge=name), path)
    rows = [line for line in markdown(result).splitlines() if line.startswith("| a")]
    assert len(rows) == 3
    assert all(row.replace("\\|", "").count("|") == 8 for row in rows)
    assert "<script" not in markdown(result) and "\x1b" not in str(result)
    ElementTree.fromstring(junit_xml(result))


def test_the_command_runs_a_study_file_and_reports_a_changed_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        "name: small\ndata: {source: probe, count: 12, seed: 1}\n"
        "contestants: [precise, flawed]\nprompts: [brief-letters]\n"
        "judges: [{name: fair, model: simulated, accuracy: 1}]\n"
    )
    path = tmp_path / "baseline.json"
    against = ["--against", str(path)]
    assert command(["gate", str(study), *against]) == 2  # no baseline yet
    assert command(["gate", str(study), *against, "--save-baseline"]) == 0
    (kept,) = tmp_path.glob("study-gate-*.db")
    assert len(eh.read(kept).frame) == 24  # tonight's replies: 12 items in both orders
    outputs = ["--junit", str(tmp_path / "j.xml"), "--badge", str(tmp_path / "b.svg")]
    outputs += ["--markdown", str(tmp_path / "m.md")]
    tonight = ["--store", str(tmp_path / "second.db")]
    assert command(["gate", str(study), *against, "--drop", "40", *outputs, *tonight]) == 0
    assert "Judge gate: ok" in (tmp_path / "m.md").read_text()
    assert (tmp_path / "j.xml").exists() and (tmp_path / "b.svg").exists()
    data = json.loads(path.read_text())
    assert data["models"] == {"fair": ["simulated"]}
    data["models"] = {"fair": ["simulated-2025-01-01"]}
    path.write_text(json.dumps(data))
    capsys.readouterr()
    tonight = ["--store", str(tmp_path / "third.db")]
    assert command(["gate", str(study), *against, "--drop", "40", *tonight]) == 0
    assert "Model version changed" in capsys.readouterr().out
    tonight = ["--store", str(tmp_path / "fourth.db")]
    options = [*against, "--drop", "40", "--same-version", *tonight, *outputs]
    assert command(["gate", str(study), *options]) == 1
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    (failure,) = suite.findall("testcase/failure")
    assert suite.attrib["failures"] == "1" and "simulated-2025-01-01" in failure.attrib["message"]


@pytest.mark.parametrize("version", [0, 99, None, "1"])
def test_a_baseline_of_another_version_is_refused(version: object, baseline: Path) -> None:
    data = json.loads(baseline.read_text())
    baseline.write_text(json.dumps({**data, "version": version}))
    with pytest.raises(BaselineUnusable, match="of this version"):
        load_baseline(baseline)


def parted_night(seed: int, *, judge: float = 0.9, system: float = 0.9) -> pd.DataFrame:
    """A night of anchor items and of new answers; each part has its own accuracy."""
    anchors = night(seed, accuracy=judge).assign(category="anchor")
    rest = night(seed + 100, accuracy=system).assign(category="new")
    return pd.concat([anchors, rest.assign(item="n" + rest["item"])], ignore_index=True)


@pytest.mark.parametrize(
    ("judge", "system", "cause"),
    [(0.9, 0.9, ""), (0.9, 0.2, "system judged changed"), (0.2, 0.2, "judge changed")],
)
def test_anchor_items_tell_the_judge_from_the_system(
    tmp_path: Path, judge: float, system: float, cause: str
) -> None:
    path = tmp_path / "baseline.json"
    for seed in range(5):
        eh.gate(parted_night(seed), path, save=True, anchors="anchor")
    result = eh.gate(parted_night(9, judge=judge, system=system), path, anchors="anchor")
    told = [text for text in result.changes if "Accuracy" in text]
    assert (len(told) == 1 and cause in told[0]) if cause else told == []
    assert result.outcome == ("worse" if cause else "ok")
    assert (cause in markdown(result)) if cause else ("Cause" not in markdown(result))


def test_a_category_of_anchors_without_items_is_named(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"fixed.*anchor, new"):
        eh.gate(parted_night(1), tmp_path / "b.json", save=True, anchors="fixed")


@pytest.mark.parametrize(
    ("floor", "consistency", "exceeds"),
    [(0.1, 0.85, True), (0.1, 0.95, False), (0.25, 0.75, False), (None, 0.95, True),
     (0.1, None, True), (None, None, True)],
)  # fmt: skip
def test_flips_exceed_the_noise_of_repeats_or_there_are_no_repeats(
    floor: float | None, consistency: float | None, exceeds: bool, monkeypatch: Any
) -> None:
    seen: list[Any] = []

    def known_floor(rows: pd.DataFrame) -> Any:
        seen.append(list(rows["n"]))
        return SimpleNamespace(value=floor)

    monkeypatch.setattr(gate_check, "noise_floor", known_floor)
    frame = pd.DataFrame({"judge": ["j", "j", "k"], "prompt": ["p", "q", "p"], "n": [1, 2, 3]})
    study: Any = SimpleNamespace(frame=frame)
    night: Any = SimpleNamespace(value=consistency)
    found = gate_check._flips_exceed_noise(study, Stream("j", "p", "consistency"), night)
    assert found == exceeds and seen == [[1]]


def test_the_noise_of_repeats_excuses_flips_on_anchor_items_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Verdicts of two of five comparisons flip, .4; between repeats, half of them change."""
    frame = pd.DataFrame({"judge": ["j", "other"], "prompt": ["p", "p"]})
    study: Any = SimpleNamespace(frame=frame)
    floors = {1: Estimate(0.5), 0: Estimate(None)}
    monkeypatch.setattr(gate_check, "noise_floor", lambda rows: floors[len(rows)])
    for prompt, value, exceeds in (
        ("p", 0.6, False),
        ("p (anchors)", 0.6, False),
        ("p (anchors)", 0.4, True),
        ("q (anchors)", 0.6, True),
    ):
        stream = Stream("j", prompt, "consistency")
        night: Any = SimpleNamespace(value=value)
        assert gate_check._flips_exceed_noise(study, stream, night) is exceeds


def test_a_badge_is_as_wide_as_its_words() -> None:
    """Seven pixels for each character and twelve for the margins; words in the middle."""
    for outcome, right in (("ok", 26), ("worse", 47), ("cannot tell", 89)):
        checks = (StreamCheck(Stream("j", "p", "accuracy"), outcome, ""),)
        image = ElementTree.fromstring(svg_badge(GateResult("s", checks)))
        assert image.attrib["width"] == str(47 + right) and image.attrib["height"] == "20"
        boxes = [one.attrib for one in image if one.tag.endswith("rect")]
        assert [one["width"] for one in boxes] == ["47", str(right)] and boxes[1]["x"] == "47"
        words = {one.text: float(one.attrib["x"]) for one in image.iter() if one.text}
        assert words == {"judge": 23.5, outcome: 47 + right / 2}


def test_a_single_call_with_a_verdict_is_a_readable_night() -> None:
    study = as_study(night(1, items=1).iloc[:1])
    gate_check._refuse_night_with_few_verdicts(
        replace(study, measured=replace(study.measured, planned=None)), 1.0
    )


def test_a_difference_is_shown_with_its_interval_if_it_has_one() -> None:
    def row(low: float | None, high: float | None) -> str:
        found = NightComparison(
            0.8, 0.75, Estimate(0.05, low, high, 20, 12), 0.1, ChangeEvidence(), 3.21
        )
        check = StreamCheck(Stream("j", "p", "accuracy"), "ok", "same", found, 40.0)
        return markdown(GateResult("s", (check,))).splitlines()[-1]

    assert "| 80.0 % | 75.0 % | +5.0 [+1.0, +9.0] | 12 | 3.21 of 40 |" in row(0.01, 0.09)
    assert "| +5.0 | 12 |" in row(None, None)


def test_an_unreadable_or_damaged_baseline_is_said_and_a_folder_takes_none(
    baseline: Path, tmp_path: Path
) -> None:
    data = json.loads(baseline.read_text())
    for text, said in (
        ("{", "cannot be read"),
        (json.dumps({key: data[key] for key in data if key != "models"}), "damaged"),
        (json.dumps({**data, "models": []}), "damaged"),
    ):
        baseline.write_text(text)
        with pytest.raises(BaselineUnusable, match=said):
            load_baseline(baseline)
    with pytest.raises(BaselineUnusable, match="cannot be read"):
        load_baseline(tmp_path)
    with pytest.raises(BaselineUnusable, match="no baseline at"):
        load_baseline(tmp_path / "none.json")
    with pytest.raises(StudyError):
        save_baseline(tmp_path / "none" / "b.json", Baseline("s", {}, {}))
    with pytest.raises(StudyError):
        _write_file(tmp_path, "text")
    _write_file(tmp_path / "a.md", "text")
    _write_file(None, "text")
    assert (tmp_path / "a.md").read_text() == "text"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.md", "baseline.json"]


def test_the_replies_of_another_night_are_not_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores: list[Path] = []
    monkeypatch.setattr("evenhand.running.study_runs.run", lambda _, store: stores.append(store))
    gate_check._run_tonight(tmp_path / "s.yaml", None)
    gate_check._run_tonight(tmp_path / "s.yaml", tmp_path / "mine.db")
    assert stores[0].parent == tmp_path and stores[0].name.startswith("s-gate-")
    assert stores[1] == tmp_path / "mine.db"
    (tmp_path / "mine.db").touch()
    with pytest.raises(StudyError, match=r"mine\.db exists"):
        gate_check._run_tonight(tmp_path / "s.yaml", tmp_path / "mine.db")
    assert len(stores) == 2


@pytest.mark.parametrize(
    ("items", "strength", "low", "exceeds", "outcome"),
    [
        (gate_check.MIN_ITEMS - 1, 99.0, -0.01, True, "cannot tell"),
        (gate_check.MIN_ITEMS, 10.0, -0.5, True, "worse"),
        (gate_check.MIN_ITEMS, 10.0, -0.5, False, "ok"),
        (gate_check.MIN_ITEMS, 9.99, -0.05, True, "cannot tell"),
        (gate_check.MIN_ITEMS, 9.99, None, True, "cannot tell"),
        (gate_check.MIN_ITEMS, 9.99, -0.0499, True, "ok"),
    ],
)
def test_the_outcome_of_a_stream_at_its_bounds(
    items: int, strength: float, low: float | None, exceeds: bool, outcome: str, monkeypatch: Any
) -> None:
    """Evidence from 10 on, and an interval that excludes a drop of 5 points; flips count for
    consistency alone."""
    monkeypatch.setattr(gate_check, "_flips_exceed_noise", lambda *_: exceeds)
    monkeypatch.setattr(gate_check, "_few_nights_warning", lambda _: "")
    tonight: Any = SimpleNamespace(
        difference=Estimate(0.0, low, 0.1, items=items), strength=strength
    )
    for kind in ("consistency", "accuracy"):
        stream = Stream("j", "p", kind)
        found, why = gate_check._decide_outcome(None, stream, None, tonight, 10.0, 0.05)
        flips = kind == "accuracy" and strength >= 10 and items == gate_check.MIN_ITEMS
        assert found == ("worse" if flips else outcome) and why


def test_anchor_items_that_cannot_tell_say_so() -> None:
    def lines(fixed: str | None, rest: str) -> list[str]:
        names = [("p", rest), *([] if fixed is None else [(f"p{ANCHORS}", fixed)])]
        return list(explain_worse_scores(
            StreamCheck(Stream("j", prompt, "accuracy"), outcome, "") for prompt, outcome in names
        ))  # fmt: skip

    for fixed, rest, said in (
        ("worse", "ok", "the judge changed"), ("worse", "worse", "the judge changed"),
        ("ok", "worse", "system judged changed"), ("cannot tell", "worse", "cannot tell"),
    ):  # fmt: skip
        (line,) = lines(fixed, rest)
        assert line.startswith("j, ") and says(line, said)
    for fixed, rest in ((None, "worse"), ("ok", "ok"), ("cannot tell", "ok")):
        assert lines(fixed, rest) == []


def test_a_notebook_shows_the_result_as_markdown() -> None:
    result = GateResult("s", (), error="no baseline")
    assert result._repr_markdown_() == str(result) == repr(result) and "no baseline" in str(result)
