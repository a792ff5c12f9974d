"""A study that is saved again or deleted during its run."""

from judges.planning.plan import load_stored_plan, make_plan, save_plan
from tests.judge_server import JudgeServer, Reply
from tests.judges.small_studies import QUICK, endpoint, engine, judgements, start_small, study_plan
from tests.page_words import says
from tests.waiting import until

VERDICT = "Overall, Response A is better."


def echo(asked):
    """What was asked decides what is answered: a reply under another's key is found out."""
    return Reply(f"{'new' if 'please' in asked.text else 'old'} words. {VERDICT}")


def reworded(plan):
    """The same study, every question put in other words."""
    path = plan.study.folder / "items.jsonl"
    path.write_text(path.read_text().replace('"question ', '"please, question '))
    return make_plan(plan.study)


def test_an_answer_is_never_kept_under_the_key_of_other_words(tmp_path, store):
    with JudgeServer(behaviour=echo, latency=0.02) as server, engine() as made:
        judges = [endpoint(server.base_url)]
        plan = study_plan(tmp_path, judges, items=80, concurrency=4)
        save_plan(plan, store)
        run = made.start(plan, store, settings=QUICK)
        until(lambda: run.snapshot().done >= 10)
        save_plan(reworded(plan), store)
        assert run.wait(120)
        assert run.state == "stopped"
        assert says(run.reason, "study", "changed meanwhile")
        assert [j.reply for j in judgements(store) if j.reply.startswith("old")] == []
        again = made.start(load_stored_plan(store, "small"), store, settings=QUICK)
        assert again.wait(120)
        assert again.state == "done"
    assert {j.reply for j in judgements(store)} == {f"new words. {VERDICT}"}
    assert store.status_counts("small") == {"planned": 80, "ok": 80}


def test_a_change_that_asks_the_same_does_not_end_the_run(tmp_path, store):
    # A budget is no part of what is sent: the same asks, another plan.
    with JudgeServer(behaviour=echo, latency=0.02) as server, engine() as made:
        judges = [endpoint(server.base_url)]
        plan = study_plan(tmp_path, judges, items=60, concurrency=4)
        save_plan(plan, store)
        run = made.start(plan, store, settings=QUICK)
        until(lambda: run.snapshot().done >= 10)
        save_plan(study_plan(tmp_path, judges, items=60, concurrency=4, budget_usd=5), store)
        assert run.wait(120)
        assert run.state == "done"
        assert server.bill.totals.calls == 60


def test_a_study_that_is_removed_while_it_runs_ends_its_run(tmp_path, store):
    with JudgeServer(behaviour=echo, latency=0.02) as server, engine() as made:
        run = start_small(made, store, tmp_path, server, items=200, concurrency=4)
        until(lambda: run.snapshot().done >= 10)
        store.delete_study("small")
        assert run.wait(120)
        assert run.state in ("done", "stopped", "failed")
        assert run.ended is not None
        assert server.bill.totals.calls < 200
