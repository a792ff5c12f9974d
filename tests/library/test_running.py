"""Functions as judges: synchronous and asynchronous, resumed runs, failures."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import evenhand as eh
from evenhand.running import study_runs
from evenhand.running.function_judge import FunctionJudge, FunctionModel, collect_judges
from evenhand.running.study_runs import NotebookProgress
from studies.domain import JudgeSpec
from studies.errors import StudyError
from tests.metrics.catalogue.test_catalogue import estimate_paths
from tests.metrics.record_paths import find_record
from tests.page_words import pattern

ROWS = [
    (f"q{n}", f"question {n}", "good", "bad", "the right answer", "the wrong answer", "good")
    for n in range(4)
]
COLUMNS = ["item", "question", "first", "second", "first_answer", "second_answer", "truth"]


def texts_only() -> eh.JudgedStudy:
    return eh.study(pd.DataFrame(ROWS, columns=COLUMNS).assign(winner=None), name="texts")


def test_a_function_judges_resumes_and_is_measured(tmp_path: Path) -> None:
    calls: list[Any] = []

    def finds_right(messages: list[dict[str, Any]]) -> str:
        calls.append(messages)
        text = str(messages[-1]["content"])
        first = text.index("right") < text.index("wrong")
        return f"Overall, Response {'A' if first else 'B'} is better."

    async def always_first(messages: list[dict[str, Any]]) -> str:
        return "Overall, Response A is better."

    judges = [eh.judge(finds_right), eh.judge(always_first, name="first")]
    store = tmp_path / "run.db"
    done = eh.run(texts_only(), judges, store=store, progress=False)
    assert len(calls) == 8 and len(done.frame) == 16
    table = eh.audit(done).table.set_index(["judge", "measure"])["value"]
    assert table["finds_right", "accuracy"] == 1.0
    assert table["first", "first_share"] == 1.0
    again = eh.run(texts_only(), judges, store=store, progress=False)
    assert len(calls) == 8, "stored replies are not asked for again"
    assert len(again.frame) == 16


def test_a_function_that_fails_is_reported(tmp_path: Path) -> None:
    @eh.judge(name="broken")
    def broken(messages: list[dict[str, Any]]) -> str:
        raise RuntimeError("no such model")

    with pytest.warns(UserWarning, match="no such model|stopped|calls have no reply"):
        done = eh.run(texts_only(), [broken], store=tmp_path / "run.db", progress=False)
    assert not (done.frame["pick"] >= 0).any()


def test_a_study_file_is_run_with_its_own_judges(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(
        "name: small\ndata: {source: probe, count: 3, seed: 1}\n"
        "contestants: [precise, flawed]\nprompts: [brief-letters]\n"
        "judges: [{name: fair, model: simulated, accuracy: 1}]\n"
    )
    done = eh.run(file, progress=False)
    assert done.judges == ["fair"] and done.store == (tmp_path / "study.db").resolve()
    assert (done.frame["pick"] == done.frame["known_answer"]).all()
    other = {"name": "first", "model": "simulated", "accuracy": 0.5, "first_bias": 1.0}
    more = eh.run(done, [other], store=tmp_path / "more.db", progress=False)
    assert len(more.frame) == len(done.frame) == 6 and more.judges == ["first"]


def test_judges_need_names_and_runs_need_texts() -> None:
    with pytest.raises(StudyError, match="needs a name"):
        eh.judge(lambda messages: "A")
    table = pd.DataFrame([("q", "x", "y", "x")], columns=["item", "first", "second", "winner"])
    with pytest.raises(StudyError, match=pattern("questions", "answers", "not known")):
        eh.run(eh.study(table), [])


class CellOutput:
    """The part of a notebook's display functions that a progress bar uses."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def Pretty(self, text: str) -> str:
        return text

    def display(self, text: str, display_id: bool) -> CellOutput:
        self.shown.append(text)
        return self

    def update(self, text: str) -> None:
        self.shown[-1] = text


def test_progress_in_a_notebook_replaces_its_line() -> None:
    cell = CellOutput()
    out = NotebookProgress(cell)
    for text in ("\r\033[K[██··] 2 of 4", "\r\033[K[████] 4 of 4", "\r\033[K"):
        out.write(text)
    assert cell.shown == ["[████] 4 of 4"]


def test_a_prompt_is_improved_by_rules_that_remove_a_weakness(tmp_path: Path) -> None:
    rows = [
        (f"q{n}", f"question {n}", "good", "bad", f"right {n}", f"wrong {n}", "good")
        for n in range(64)
    ]
    table = pd.DataFrame(rows, columns=COLUMNS).assign(winner=None)

    @eh.judge(name="weak")
    def weak(messages: list[dict[str, Any]]) -> str:
        text = str(messages[-1]["content"])
        first = text.index("right") < text.index("wrong")
        ruled = "Prefer right words." in str(messages[0]["content"])
        return f"Overall, Response {'A' if first or not ruled else 'B'} is better."

    store = tmp_path / "run.db"
    done = eh.run(eh.study(table, name="texts"), [weak], store=store, progress=False)
    found = eh.align(done, judges=[weak], rules=["Prefer right words."], examples=0, progress=False)
    assert found.recommendation.startswith("Adopt brief-letters+rules: +50.0 points")
    assert list(found.table.index) == ["brief-letters", "brief-letters+rules"]
    assert found.table.loc["brief-letters+rules", "agreement"] == 1.0
    assert found.table.loc["brief-letters", "flips"] == 1.0
    assert "hold-out 32 items" in str(found)
    at = ("alignment", "judges", "weak", "brief-letters")
    paths = [(*at, *path) for path in estimate_paths(found.section)]
    assert len(paths) > 12 and all(find_record(path) for path in paths)
    with pytest.raises(StudyError, match="run it first"):
        eh.align(eh.study(table, name="texts"))


def test_a_pass_fail_prompt_is_improved_on_labelled_answers(tmp_path: Path) -> None:
    """The table has no columns of comparisons, and every estimate has a record."""
    items = [
        {"id": f"q{n}", "instruction": f"question {n}", "responses": {"bot": f"word {n % 2}"},
         "labels": [{"contestant": "bot", "value": "pass" if n % 2 else "fail"}]}
        for n in range(60)
    ]  # fmt: skip
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(one) + "\n" for one in items))
    (tmp_path / "study.yaml").write_text(
        "name: checks\ndata: {source: items.jsonl}\nprompts: [pass-fail]\n"
    )

    @eh.judge(name="lenient")
    def lenient(messages: list[dict[str, Any]]) -> str:
        ruled = "Zero fails." in str(messages[0]["content"])
        return f"Verdict: {'FAIL' if ruled and 'word 0' in messages[-1]['content'] else 'PASS'}"

    store = tmp_path / "run.db"
    done = eh.run(tmp_path / "study.yaml", [lenient], store=store, progress=False)
    found = eh.align(done, judges=[lenient], rules=["Zero fails."], examples=0, progress=False)
    assert found.recommendation.startswith("Adopt pass-fail+rules: +")
    assert found.table.loc["pass-fail+rules", "agreement"] == 1.0
    assert not {"flips", "first_share", "distance"} & set(found.table.columns)
    assert list(found.table["calls"]) == [30, 30]
    at = ("alignment", "judges", "lenient", "pass-fail")
    paths = [(*at, *path) for path in estimate_paths(found.section)]
    assert len(paths) > 8 and all(find_record(path) for path in paths)


def test_a_function_may_return_an_awaitable_and_must_return_text() -> None:
    async def later(messages: Any) -> str:
        return messages[0]["content"]

    messages = [{"role": "user", "content": "hi"}]
    call: Any = SimpleNamespace(messages=messages, judge=SimpleNamespace(model="m"))
    for function in (later, lambda given: later(given), lambda given: given[0]["content"]):
        reply = asyncio.run(FunctionModel(function, 1).complete(call))
        assert (reply.text, reply.finish, reply.model) == ("hi", "stop", "m")
    with pytest.raises(TypeError, match="int, not text"):
        asyncio.run(FunctionModel(lambda _: 3, 1).complete(call))
    made = FunctionJudge("mine", lambda given: given[0]["content"])
    assert made(messages) == "hi"


def test_judges_are_specifications_dictionaries_or_functions() -> None:
    spec = JudgeSpec("a", "m", endpoint="http://h/v1")
    given = {"name": "b", "model": "simulated"}
    made = FunctionJudge("mine", lambda _: "A")
    specs, functions = collect_judges([spec, given, made])
    assert [one.name for one in specs] == ["a", "b", "mine"] and specs[0] is spec
    assert specs[1].kind == "simulated" and functions == {specs[2].endpoint: made}
    with pytest.raises(StudyError, match=r"judges\[1\]"):
        collect_judges([spec, {"name": "b"}])


def test_outside_a_notebook_progress_goes_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert study_runs.progress_stream() is sys.stderr
    for shell in (None, SimpleNamespace()):
        module = SimpleNamespace(get_ipython=lambda shell=shell: shell)
        monkeypatch.setitem(sys.modules, "IPython", module)
        assert study_runs.progress_stream() is sys.stderr
    shell = SimpleNamespace(kernel=1)
    display = SimpleNamespace(Pretty=str)
    module = SimpleNamespace(get_ipython=lambda: shell, display=display)
    monkeypatch.setitem(sys.modules, "IPython", module)
    stream = study_runs.progress_stream()
    assert isinstance(stream, NotebookProgress) and stream._display is display
    assert stream.isatty() is True and stream.flush() is None
    silent = study_runs._SilentStream()
    assert (silent.isatty(), silent.write("four"), silent.flush()) == (False, 4, None)
