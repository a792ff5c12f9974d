"""Label probabilities are stored as received and can be parsed again without a call."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from judges.engine.outcome import ReplyOutcome
from judges.models.chat_completion import parse_completion as answer_of
from judges.operations.check_judge import _reread_judgement, reread_and_store_verdicts
from studies.__main__ import main
from studies.domain import Ask, Judgement, Verdict
from studies.exchange.recorded_studies import read_exported_judgements
from studies.frames import reply_facts
from studies.store.database import connect
from studies.store.store import Store
from tests.judge_server import JudgeServer, Reply
from tests.judges.small_studies import endpoint, judgements, run_through, study_plan

PROMPT = """
name: {name}
version: 1
source: a test
protocol: pairwise
messages:
  - user: |-
      Question: $task

      Response $label_first: $first

      Response $label_second: $second

      $closing
verdict: {verdict}
"""
SHARES = {"A": 0.25, "B": 0.15, "C": 0.55}
"""With a C for ties the judge says tie; without one its labels have 0.40, less than one half."""


def write_prompt(folder: Path, name: str, verdict: str) -> str:
    path = folder / f"{name}.yaml"
    path.write_text(PROMPT.format(name=name, verdict=verdict))
    return str(path)


def by_showing(found: list[Judgement]) -> dict[tuple[str, tuple[str, ...]], Judgement]:
    return {(j.ask.item, j.ask.shown): j for j in found}


def asked(store: Store, folder: Path, name: str, verdict: str, **more: object) -> list[Judgement]:
    """A study of four asks with one prompt, answered by the same leaning judge."""
    folder.mkdir(exist_ok=True)
    prompt = write_prompt(folder, name, verdict)
    with JudgeServer(behaviour=lambda _: Reply(" C", labels=SHARES)) as server:
        judge = endpoint(server.base_url, read="probabilities")
        plan = study_plan(
            folder, [judge], items=4, prompts=[prompt], labels="crossed", name=name, **more
        )
        run_through(plan, store)
    return judgements(store, name)


def test_a_stored_reply_reads_under_another_format_as_a_fresh_ask_would(store, tmp_path):
    before = asked(store, tmp_path / "one", "plain", "label")
    assert {j.status for j in before} == {"unreadable"}
    fresh = by_showing(asked(store, tmp_path / "two", "ties", "mt-bench"))
    assert {j.verdict.pick for j in fresh.values() if j.verdict} == {"tie"}
    # The prompt of the first study is given the format of the second: only the reading changes.
    other = PROMPT.format(name="plain", verdict="mt-bench")
    store.writer.run(lambda c: c.execute("UPDATE prompts SET yaml=? WHERE name='plain'", (other,)))
    done = reread_and_store_verdicts(store, "plain")
    assert (done.read, done.not_parsed, done.changed) == (4, 0, {"unreadable -> ok": 4})
    for showing, judgement in by_showing(judgements(store, "plain")).items():
        assert judgement.status == "ok"
        assert judgement.verdict == fresh[showing].verdict
        assert judgement.rule == fresh[showing].rule
    assert reread_and_store_verdicts(store, "plain").changed == {}


def test_a_rule_for_words_changes_nothing_about_probabilities(store, tmp_path):
    asked(store, tmp_path / "one", "ties", "mt-bench")
    for rule in ("default", "last", "gradelab"):
        assert reread_and_store_verdicts(store, "ties", rule).changed == {}


def test_what_an_older_reading_got_wrong_is_put_right(store, tmp_path):
    right = asked(store, tmp_path / "one", "ties", "mt-bench")
    store.writer.run(lambda c: c.execute("UPDATE judgements SET pick=0, margin=1"))
    assert reread_and_store_verdicts(store, "ties").changed == {"ok, another verdict": 4}
    assert [j.verdict for j in judgements(store, "ties")] == [j.verdict for j in right]


def test_the_log_probabilities_are_kept_to_the_digit_and_survive_an_export(store, tmp_path, capsys):
    stored = asked(store, tmp_path / "one", "ties", "mt-bench")
    kept = dict(json.loads(stored[0].top_logprobs))
    assert kept == {f" {label}": math.log(share) for label, share in SHARES.items()}
    main(["export", "ties", "--store", str(store.path)])
    out = tmp_path / "out.jsonl"
    out.write_text(capsys.readouterr().out)
    back = list(read_exported_judgements(out, "elsewhere"))
    assert [j.top_logprobs for j in back] == [j.top_logprobs for j in stored]


def test_a_narrow_read_never_touches_what_was_said(store, tmp_path, monkeypatch):
    """But for measures of the texts, none of which is registered here."""
    monkeypatch.setattr(reply_facts, "REPLY_FACTS", {})
    asked(store, tmp_path / "one", "ties", "mt-bench")
    store.status_counts("ties")  # this thread's connection is open
    touched: set[str] = set()

    def note(action: int, table: str | None, *_: object) -> int:
        touched.add(table or "")
        return 0

    store._local.connection.set_authorizer(note)
    assert len(store.frame("ties")) == 4
    store.status_counts("ties")
    assert "judgements" in touched
    assert "replies" not in touched


def older_store(path: Path) -> None:
    """A store as the second version left it."""
    connection = connect(path)
    connection.execute("ALTER TABLE replies DROP COLUMN top")
    connection.execute("ALTER TABLE studies DROP COLUMN owner")
    connection.execute("DROP TABLE shares")
    connection.execute("DROP TABLE allowance")
    connection.execute("DROP TABLE ballots")
    connection.execute("DROP TABLE adapted_requests")
    connection.execute("DROP TABLE alignments")
    connection.execute("ALTER TABLE attempts DROP COLUMN reasoning_tokens")
    connection.execute("PRAGMA user_version=2")
    connection.close()


def test_an_older_store_keeps_its_readings_and_says_that_it_cannot_read_them_again(
    tmp_path, capsys
):
    path = tmp_path / "old.db"
    first = Store(path)
    before = asked(first, tmp_path / "one", "ties", "mt-bench")
    first.close()
    older_store(path)
    store = Store(path)
    now = judgements(store, "ties")
    assert [(j.verdict, j.reply) for j in now] == [(j.verdict, j.reply) for j in before]
    assert {j.top_logprobs for j in now} == {""}
    done = reread_and_store_verdicts(store, "ties")
    assert (done.read, done.not_parsed, done.changed) == (0, 4, {})
    store.close()


@pytest.mark.parametrize("text", ["Overall, \ud83d is better.", "\udc00"])
def test_half_a_character_in_a_reply_is_no_reason_to_lose_it(text, store, tmp_path):
    body = {"choices": [{"message": {"content": text}, "finish_reason": text}], "model": text}
    answer = answer_of(json.dumps(body).encode())
    assert answer.text == answer.model == text.encode("utf-8", "replace").decode()
    with JudgeServer(behaviour=lambda _: text) as server:
        run_through(study_plan(tmp_path, [endpoint(server.base_url)], items=1), store)
    (judgement,) = judgements(store)
    assert judgement.status == "unreadable"
    assert "?" in judgement.reply


@pytest.mark.parametrize(("top", "kept"), [("", True), ('[["A", -0.1], ["B", -3.0]]', False)])
def test_an_extraction_without_its_log_probabilities_keeps_its_verdict(
    top: str, kept: bool
) -> None:
    """Its verdict was read from probabilities; without them it cannot be read again."""
    outcomes = {
        "reply": ReplyOutcome("unreadable", None, "", ""),
        "extraction": ReplyOutcome("ok", Verdict(1), "", ""),
    }

    def request(name: str, by_probabilities: bool) -> Any:
        return SimpleNamespace(
            by_probabilities=by_probabilities, parse_reply=lambda *_: outcomes[name]
        )

    judgement = Judgement(judgement_ask(), "extracted", verdict=Verdict(0), reply="a")
    store: Any = SimpleNamespace(extraction_of=lambda _: ("e", "B", "stop", top))
    now = _reread_judgement(
        store, judgement, request("reply", False), "default", lambda _: request("extraction", True)
    )
    assert now.verdict == Verdict(0 if kept else 1)


def judgement_ask() -> Ask:
    return Ask("k", "q", "j", "p", ("x", "y"), ("A", "B"))
