"""The extraction judge, parsing stored replies again, and retrying failed asks."""

from dataclasses import replace
from pathlib import Path

import pytest

from components.study.form import judges as judge_form
from judges.__main__ import main
from judges.engine.outcome import Extractor
from judges.engine.run_state import RunSettings
from judges.judge_errors import PlanError
from judges.operations.check_judge import (
    _store_changed_judgements,
    check_judge,
    reread_and_store_verdicts,
)
from judges.rendering.prompt import parse_prompt
from studies.domain import RETRYABLE_STATUSES, Ask, Judgement
from studies.spec.study import dump_study
from studies.store.queries.run_costs import attempt_totals
from studies.store.rows import put_judgement
from tests.judge_server import Asked, Fault, JudgeServer, Reply, always, say
from tests.judges.small_studies import endpoint, judgements, run_through, study_plan
from tests.page_words import pattern, says

VAGUE = "I lean towards the second one in the end."


def vague_judge(asked: Asked) -> str:
    """Two roles at one server: a judge in riddles, and one that reads them."""
    if asked.model == "extractor":
        return "Final Answer: B" if VAGUE in asked.text else "Unknown"
    return VAGUE


def with_extraction(folder: Path, url: str, items: int = 6, **more: object):  # type: ignore[no-untyped-def]
    extractor = endpoint(url, "reader", model="extractor")
    judges = [endpoint(url)]
    return study_plan(folder, judges, items=items, extraction={"judge": extractor}, **more)


def test_a_verdict_found_by_the_extraction_judge_is_evidence_of_its_own_kind(store, tmp_path):
    with JudgeServer(behaviour=vague_judge) as server:
        plan = with_extraction(tmp_path, server.base_url)
        run = run_through(plan, store)
        assert server.bill.totals.calls == 12, "one ask and one extraction an item"
        dollars = float(server.bill.totals.dollars)
    found = judgements(store)
    assert [j.status for j in found] == ["extracted"] * 6
    assert {j.verdict.pick for j in found if j.verdict} == {1}
    assert {j.reply for j in found} == {VAGUE}, "the judge's own words stay"
    assert {j.rule for j in found} == {"extraction: reader"}
    snapshot = run.snapshot()
    assert snapshot.counts == {"planned": 6, "pending": 0, "extracted": 6}
    assert snapshot.extractions == 6
    assert snapshot.spent == pytest.approx(dollars)
    assert {a.judge: a.calls for a in attempt_totals(store, "small")} == {"judge": 6, "reader": 6}
    assert len(store.frame("small")) == 6, "extractions are outside the frame"


def test_with_crossed_labels_the_extracted_label_still_finds_its_slot(store, tmp_path):
    with JudgeServer(behaviour=vague_judge) as server:
        plan = with_extraction(tmp_path, server.base_url, items=12, labels="crossed")
        run_through(plan, store)
    picks = {(j.ask.labels, j.verdict.pick) for j in judgements(store) if j.verdict}
    assert picks == {(("A", "B"), 1), (("B", "A"), 0)}


def test_unknown_stays_unreadable_and_is_not_asked_again(store, tmp_path):
    def shy(asked: Asked) -> str:
        return "Unknown" if asked.model == "extractor" else "Both have merits."

    with JudgeServer(behaviour=shy) as server:
        plan = with_extraction(tmp_path, server.base_url)
        run_through(plan, store)
        assert server.bill.totals.calls == 12
        run = run_through(plan, store)
        assert server.bill.totals.calls == 12
    assert run.snapshot().counts == {"planned": 6, "pending": 0, "unreadable": 6}


def test_an_extraction_that_failed_is_made_up_for_by_the_next_run(store, tmp_path):
    with JudgeServer(behaviour=vague_judge) as server:
        down = always(Fault("server_error"))
        down.when = lambda asked: asked.model == "extractor"
        server.schedule(down)
        plan = with_extraction(tmp_path, server.base_url, items=3)
        run_through(plan, store, settings=RunSettings(attempts=2, first_backoff=0.01))
        assert store.status_counts("small") == {"planned": 3, "unreadable": 3}
        server.schedule()
        before = server.bill.totals.calls
        run_through(plan, store)
        assert server.bill.totals.calls == before + 3, "the judge itself is not asked again"
    assert store.status_counts("small") == {"planned": 3, "extracted": 3}


def test_a_readable_reply_is_never_extracted(store, tmp_path):
    with JudgeServer() as server:
        run_through(with_extraction(tmp_path, server.base_url), store)
        assert server.bill.totals.calls == 6


def test_a_simulated_judge_cannot_extract(store, tmp_path):
    with JudgeServer() as server:
        judges = [endpoint(server.base_url), {"name": "sim", "model": "simulated"}]
        plan = study_plan(tmp_path, judges, extraction={"judge": "sim"})
        with pytest.raises(PlanError, match=pattern("simulated", "cannot read")):
            run_through(plan, store)


# --- reread -------------------------------------------------------------------------------------


def test_reading_again_changes_nothing_if_the_parser_has_not_changed(store, tmp_path):
    with JudgeServer(behaviour=vague_judge) as server:
        run_through(with_extraction(tmp_path, server.base_url), store)
        calls = server.bill.totals.calls
        done = reread_and_store_verdicts(store, "small")
        assert server.bill.totals.calls == calls
    assert (done.read, done.changed) == (6, {})


def test_reading_again_finds_what_an_older_parser_missed_and_drops_what_it_made_up(store, tmp_path):
    with JudgeServer() as server:
        run_through(study_plan(tmp_path, [endpoint(server.base_url)], items=4), store)
    first, second, third, _ = judgements(store)
    assert first.verdict is not None
    missed = replace(first, status="unreadable", verdict=None)
    invented = replace(second, reply="No idea.")
    other = replace(third, verdict=replace(first.verdict, pick=1))
    store.writer.run(lambda c: [put_judgement(c, j) for j in (missed, invented, other)])
    done = reread_and_store_verdicts(store, "small")
    assert done.read == 4
    assert done.changed == {
        "unreadable -> ok": 1, "ok -> unreadable": 1, "ok, another verdict": 1,
    }  # fmt: skip
    assert store.status_counts("small") == {"planned": 4, "ok": 3, "unreadable": 1}
    assert reread_and_store_verdicts(store, "small").changed == {}


def test_reading_again_does_not_undo_what_a_run_stores_meanwhile(store, tmp_path):
    with JudgeServer() as server:
        run_through(study_plan(tmp_path, [endpoint(server.base_url)], items=2), store)
    first, second = judgements(store)
    newer = replace(first, reply="Overall, Response B is better.", time=first.time + 1)
    store.writer.run(lambda c: put_judgement(c, newer))
    stale = [(one, replace(one, status="unreadable", verdict=None)) for one in (first, second)]
    _store_changed_judgements(store, stale)
    assert [(j.status, j.reply) for j in judgements(store)] == [
        ("ok", newer.reply), ("unreadable", second.reply),
    ]  # fmt: skip


def test_the_command_says_what_changed(store, tmp_path, capsys):
    with JudgeServer() as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=4)
        run_through(plan, store)
    first = judgements(store)[0]
    store.writer.run(lambda c: put_judgement(c, replace(first, status="unreadable", verdict=None)))
    assert main(["reread", "--study", "small", "--store", str(store.path)]) == 0
    out = capsys.readouterr().out
    assert says(out, "4", "parsed", "1 changed")
    assert "unreadable -> ok 1" in out


# --- retry --------------------------------------------------------------------------------------


def test_retry_asks_again_only_what_failed(store, tmp_path, capsys):
    kinds = {"q0": "empty_content", "q1": "context_overflow", "q2": "refusal", "q3": "length"}
    with JudgeServer() as server:
        rules = []
        for item, kind in kinds.items():
            rule = always(Fault(kind))
            rule.containing = f"question {item[1:]}\n"
            rules.append(rule)
        server.schedule(*rules)
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=8)
        run_through(plan, store)
        before = store.status_counts("small")
        assert before == {
            "planned": 8, "ok": 4, "empty": 1, "too_long": 1, "refusal": 1, "truncated": 1,
        }  # fmt: skip
        calls = server.bill.totals.calls
        run_through(plan, store)
        assert server.bill.totals.calls == calls, "a resume takes them as they are"
        server.schedule()
        (tmp_path / "study.yaml").write_text(dump_study(plan.study))
        code = main(["retry", str(tmp_path / "study.yaml"), "--store", str(store.path)])
        assert server.bill.totals.calls == calls + 3, "a refusal is an answer"
    assert code == 0
    assert store.status_counts("small") == {"planned": 8, "ok": 7, "refusal": 1}
    assert "planned 8, done 8" in capsys.readouterr().out


def test_a_retry_that_fails_keeps_the_reply_it_had(store, tmp_path):
    long = Reply("I would say that", reasoning="x" * 4000)
    with JudgeServer(behaviour=lambda _: long) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url, max_tokens=16)], items=2)
        run_through(plan, store)
        replies = [(j.status, j.finish) for j in judgements(store)]
        server.schedule(always(Fault("server_error")))
        again = RunSettings(
            attempts=2, first_backoff=0.01, retry_statuses=frozenset(RETRYABLE_STATUSES)
        )
        run_through(plan, store, settings=again)
    assert replies == [("truncated", "length")] * 2
    assert [(j.status, j.finish) for j in judgements(store)] == replies


def test_a_retry_by_name_needs_no_file(store, tmp_path, capsys):
    with JudgeServer(rules=[always(Fault("empty_content"))]) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=3)
        run_through(plan, store)
        assert store.status_counts("small") == {"planned": 3, "empty": 3}
        server.schedule()
        (tmp_path / "items.jsonl").unlink()
        assert main(["retry", "--study", "small", "--store", str(store.path)]) == 0
    assert store.status_counts("small") == {"planned": 3, "ok": 3}


# --- the other commands -------------------------------------------------------------------------


def test_run_ends_with_a_summary_and_zero_only_if_nothing_is_left(tmp_path, capsys):
    with JudgeServer(behaviour=say("Overall, Response A is better.")) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=5)
        (tmp_path / "study.yaml").write_text(dump_study(plan.study))
        arguments = ["run", str(tmp_path / "study.yaml"), "--store", str(tmp_path / "s.db")]
        assert main(arguments) == 0
        out = capsys.readouterr().out
        assert "small: done" in out
        assert "planned 5, done 5" in out
        assert "ok 5" in out
        assert says(out, "attempts", "far", "5; $")
        server.schedule(always(Fault("unauthorized")))
        more = study_plan(tmp_path, [endpoint(server.base_url)], items=9)
        (tmp_path / "study.yaml").write_text(dump_study(more.study))
        assert main(arguments) == 1
    assert says(capsys.readouterr().out, "refused", "API key (401)")


def test_check_asks_each_judge_once_and_shows_what_came_back(tmp_path, capsys):
    with JudgeServer() as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=5)
        (tmp_path / "study.yaml").write_text(dump_study(plan.study))
        assert main(["check", str(tmp_path / "study.yaml")]) == 0
        assert server.bill.totals.calls == 1
    out = capsys.readouterr().out
    assert says(out, "Overall, Response", "better")
    assert says(out, "reading", "exactly-one: picks", "1")


def test_check_says_why_the_probabilities_give_no_verdict(tmp_path, capsys):
    with JudgeServer(behaviour=lambda _: Reply("A", labels={"A": 0.1, "B": 0.2})) as server:
        judges = [endpoint(server.base_url, read="probabilities")]
        plan = study_plan(tmp_path, judges, prompts=["brief-letters"])
        (tmp_path / "study.yaml").write_text(dump_study(plan.study))
        assert main(["check", str(tmp_path / "study.yaml")]) == 1
        check = check_judge(plan, plan.study.judges[0])
    assert check.read.status == "unreadable" and check.read.verdict is not None
    assert check.read.detail and f"probabilities: {check.read.detail}" in capsys.readouterr().out
    assert not says(judge_form.test_result_html(check), "parsed", "rule")


def test_a_study_without_a_name_or_file_is_asked_for(tmp_path, capsys):
    assert main(["reread", "--store", str(tmp_path / "s.db")]) == 2
    assert "--study NAME" in capsys.readouterr().err


def test_nothing_is_extracted_for_what_the_plan_no_longer_has(tmp_path):
    study = study_plan(tmp_path, [endpoint("http://127.0.0.1:9/v1")], items=1)
    extractor = Extractor(study, study.study.judges[0], {"brief-letters": study.prompts[0]})
    items = {item.id: item for item in study.items}
    asked = Ask("k", study.items[0].id, "judge", "brief-letters", ("x", "y"), ("A", "B"))
    assert extractor.is_still_planned(Judgement(asked, "unreadable"), items)
    for other in ({"prompt": "gone"}, {"judge": "gone"}, {"item": "gone"}):
        assert not extractor.is_still_planned(
            Judgement(replace(asked, **other), "unreadable"), items
        )


@pytest.mark.parametrize(
    ("read", "told"), [("text", "Answer only"), ("probabilities", "Say which one is chosen")]
)
def test_an_extraction_judge_read_by_probabilities_is_asked_for_the_label_alone(
    tmp_path, read, told
):
    plan = with_extraction(tmp_path, "http://127.0.0.1:9/v1", items=1)
    prompt = parse_prompt(
        "name: own\nversion: 1\nsource: ours\nprotocol: extraction\nverdict: final-answer\n"
        'messages:\n  - user: "$reply $closing"\n'
    )
    (item,) = plan.items
    ask = Ask("k", item.id, "judge", plan.prompts[0].name, tuple(item.responses)[:2], ("A", "B"))
    reader = replace(plan.judge("judge"), read=read)
    extractor = Extractor(plan, reader, {ask.prompt: prompt})
    unread = Judgement(ask, "unreadable", reply=VAGUE)
    _, call = extractor.build_ask_and_call(unread, {item.id: item})
    assert told in str(call.messages) and VAGUE in str(call.messages)
