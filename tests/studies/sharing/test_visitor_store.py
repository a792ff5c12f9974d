"""Visitors sharing a store: each sees and changes only permitted rows, for any query."""

from __future__ import annotations

import inspect
import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from judges.engine.engine import Engine
from judges.planning.plan import load_stored_plan, make_plan, save_plan
from studies.domain import Verdict
from studies.errors import AccessDenied, StudyError
from studies.people.vote_session import open_vote_session
from studies.sharing.visitor_store import VisitorStore
from studies.sharing.visitors import (
    ANONYMOUS,
    Visitor,
    as_visitor,
    current_visitor,
    new_secret,
    visitor_from_secret,
)
from studies.spec.derived_names import candidate_study_name, writer_study_name
from studies.spec.study import parse_study
from studies.store.ballot_queries import (
    VotingRules,
    checks_by_item,
    read_ballots,
    selection_reasons,
)
from studies.store.queries import (
    alignment_queries,
    cost_queries,
    item_queries,
    judge_spending,
    plan_queries,
    run_costs,
    run_queries,
    visitor_queries,
)
from studies.store.store import Store
from tests.page_words import pattern

STUDY = """
name: {name}
data: {{source: probe, count: 2, seed: {seed}}}
contestants: [precise, flawed]
judges: [{{name: fair, model: simulated, accuracy: 1, seed: {seed}}}]
prompts: [brief-letters]
"""
SECRETS = new_secret(), new_secret()
A, B = (visitor_from_secret(secret) for secret in SECRETS)


def save(store: Store, name: str, seed: int = 1) -> None:
    save_plan(make_plan(parse_study(STUDY.format(name=name, seed=seed))), store)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A house, and a study of A's that was run."""
    bare = Store(tmp_path_factory.mktemp("prepared") / "evenhand.db")
    save(bare, "house")
    guarded = VisitorStore(bare)
    with as_visitor(A):
        save(guarded, "a's", seed=2)
    engine = Engine()
    assert engine.start(load_stored_plan(bare, "a's"), bare).wait(120)
    engine.close()
    guarded.close()
    with sqlite3.connect(bare.path) as plain:
        plain.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    bare.close()
    return bare.path


@pytest.fixture
def guarded(prepared: Path, tmp_path: Path) -> Iterator[VisitorStore]:
    copy = tmp_path / "evenhand.db"
    shutil.copyfile(prepared, copy)
    bare = Store(copy)
    made = VisitorStore(bare, most_studies=3)
    yield made
    made.close()
    bare.close()


def test_a_study_belongs_to_who_saves_it_and_only_its_hash_is_kept(guarded: VisitorStore) -> None:
    rows = dict(guarded.unrestricted.read("SELECT name, owner FROM studies").fetchall())
    assert rows == {"house": "", "a's": A.owner}
    file = guarded.path.read_bytes()
    assert A.owner.encode() in file
    assert SECRETS[0].encode() not in file


@pytest.mark.parametrize(
    ("visitor", "seen"), [(A, {"house", "a's"}), (B, {"house"}), (ANONYMOUS, {"house"})]
)
def test_everybody_sees_the_house_and_their_own(
    guarded: VisitorStore, visitor: Visitor, seen: set[str]
) -> None:
    with as_visitor(visitor):
        assert {line.name for line in guarded.studies()} == seen
        assert guarded.can_read("a's") == ("a's" in seen)


READS = {
    "study": lambda s, n: s.study(n).name,
    "plan_sha": lambda s, n: s.plan_sha(n),
    "items": lambda s, n: s.items(n),
    "item_facts": lambda s, n: s.item_facts(n),
    "asks": lambda s, n: list(s.asks(n)),
    "pending_asks": lambda s, n: s.pending_asks(n, "fair", -1, 10, again=("ok",)),
    "planned": lambda s, n: s.status_counts(n)["planned"],
    "count_asks_without_twins": lambda s, n: s.count_asks_without_twins(n),
    "judgements": lambda s, n: list(s.judgements(n)),
    "latest_judgements": lambda s, n: s.latest_judgements(n, 5),
    "frame_rows": lambda s, n: s.frame_rows(n),
    "frame": lambda s, n: len(s.frame(n)),
    "planned_prompt_yaml": lambda s, n: s.planned_prompt_yaml(n, "brief-letters"),
    "runs": lambda s, n: s.runs(n),
    "plans_calls": lambda s, n: s.plans_calls(n),
    "token_totals": lambda s, n: sum(s.token_totals(n)),
    "search_judgements": lambda s, n: s.search_judgements(n, "a"),
    "cached_on_disk": lambda s, n: s.cached_on_disk(n, "how many", lambda: len(s.frame_rows(n))),
    "memoised": lambda s, n: s.memoised(n, ("rows",), lambda: s.frame_rows(n)),
    "find_memoised": lambda s, n: (
        s.memoised(n, ("rows",), lambda: s.frame_rows(n)) and s.find_memoised(n, ("rows",))
    ),
    "creation_time": lambda s, n: s.creation_time(n),
    "planned_prompt_texts": lambda s, n: s.planned_prompt_texts(n),
    "answered_keys": lambda s, n: s.answered_keys(n),
    "ask_counts_by_status": lambda s, n: s.ask_counts_by_status(n, "live"),
    "ask_counts_by_rater_and_status": lambda s, n: s.ask_counts_by_rater_and_status(n),
    "read_blocks": lambda s, n: list(
        s.read_blocks(
            n,
            "SELECT key FROM plan p JOIN studies s ON s.id=p.study AND s.name=:study "
            "WHERE p.position BETWEEN :first AND :last",
        )
    ),
}
QUERIES = {
    "count_asks_to_repeat": lambda s, n: plan_queries.count_asks_to_repeat(
        s, n, ("ok",), pending=True
    ),
    "attempt_totals": lambda s, n: run_costs.attempt_totals(s, n),
    "call_cost_table": lambda s, n: len(cost_queries.call_cost_table(s, n)),
    "answer_checks_in_study_data": lambda s, n: item_queries.answer_checks_in_study_data(s, n),
    "count_links": lambda s, n: visitor_queries.count_links(s, n),
    "count_items_judges_people_prompts": lambda s, n: any(
        plan_queries.count_items_judges_people_prompts(s, n)
    ),
    "count_pair_multi_and_strong_verdicts": lambda s, n: any(
        plan_queries.count_pair_multi_and_strong_verdicts(s, n)
    ),
    "extraction_costs": lambda s, n: cost_queries.extraction_costs(s, n),
    "failure_counts": lambda s, n: cost_queries.failure_counts(s, n),
    "has_live_run": lambda s, n: run_queries.has_live_run(s, n),
    "item_ids": lambda s, n: item_queries.item_ids(s, n),
    "judge_costs": lambda s, n: cost_queries.judge_costs(s, n),
    "judge_spending": lambda s, n: judge_spending.judge_spending(s, n, "fair").replies,
    "count_judge_asks_by_item": lambda s, n: plan_queries.count_judge_asks_by_item(s, n),
    "comparisons_not_by_people": lambda s, n: list(plan_queries.comparisons_not_by_people(s, n)),
    "stamp_of_verdicts_not_by_people": lambda s, n: any(
        plan_queries.stamp_of_verdicts_not_by_people(s, n)
    ),
    "mean_call_dollars": lambda s, n: judge_spending.mean_call_dollars(s, n),
    "mean_call_tokens": lambda s, n: judge_spending.mean_call_tokens(s, n),
    "mean_prompt_and_reply_tokens": lambda s, n: judge_spending.mean_prompt_and_reply_tokens(s, n),
    "ask_cost_count_and_mean": lambda s, n: plan_queries.ask_cost_count_and_mean(s, n, "fair")[0],
    "owner_of": lambda s, n: visitor_queries.owner_of(s, n),
    "count_pending_asks_by_judge": lambda s, n: plan_queries.count_pending_asks_by_judge(
        s, n, ("ok",)
    ),
    "count_asks_by_status": lambda s, n: plan_queries.count_asks_by_status(s, n, ("ok",), 2**62),
    "first_and_last_reply_times": lambda s, n: any(cost_queries.first_and_last_reply_times(s, n)),
    "reported_models": lambda s, n: cost_queries.reported_models(s, n),
    "study_spending": lambda s, n: run_costs.study_spending(s, n),
    "derived_studies": lambda s, n: alignment_queries.derived_studies(s, n),
    "read_label_split_text": lambda s, n: (
        not s.owns(n) or alignment_queries.write_label_split_text(s, n, "{}"),
        alignment_queries.read_label_split_text(s, n),
    )[1],
}
"""Queries of other modules that take a store and the name of a study."""
EMPTY_HERE = {
    "tokens",
    "call_cost_table",
    "answer_checks_in_study_data",
    "count_links",
    "derived_studies",
    "extraction_costs",
    "failure_counts",
    "has_live_run",
    "study_spending",
}
"""Reads that return nothing to the owner either: the study has no such rows."""


def test_no_read_by_name_tells_anything_of_another_visitors_study(guarded: VisitorStore) -> None:
    for read_name, read in (READS | QUERIES).items():
        with as_visitor(A):
            mine = read(guarded, "a's")
        assert mine or read_name in EMPTY_HERE, f"{read_name} tells its owner nothing: a poor test"
        with as_visitor(B):
            try:
                theirs = read(guarded, "a's")
            except StudyError as error:
                assert "a's" not in str(error).partition("Known")[2]
            else:
                assert not theirs, f"{read_name} tells B of A's study"


def test_the_reads_tried_above_are_all_that_take_a_study(guarded: VisitorStore) -> None:
    """A new method of the store that takes a study's name wants a line in READS."""
    taking = {
        name
        for name, method in inspect.getmembers(Store, inspect.isfunction)
        if not name.startswith("_")
        and {"name", "study"} & set(list(inspect.signature(method).parameters)[1:2])
    }
    tried = {*READS, "status_counts"} - {"planned"}
    elsewhere = {
        "save_study",
        "delete_study",
        "rename_study",
        "set_combine_rule",
        "name_to_save_under",
        "owns",
        "item",
        "judgement",
        "judgements_awaiting_extraction",
        "questions",
        "recorded_judgements",
        "yaml_of_only_version",
        "prompts_with_reference",  # as the next line
        "scale_of_prompt",  # reads `planned_prompt_yaml` and `yaml_of_only_version`
        "version",
        "folder_of",
        "salt_of",
        "prepare_frame_without_rows",  # reads `item_facts`, returns nothing
        "set_voting_rules",
    }
    assert taking - tried - elsewhere == set()
    modules = (
        alignment_queries,
        cost_queries,
        item_queries,
        judge_spending,
        plan_queries,
        run_costs,
        run_queries,
        visitor_queries,
    )
    assert {module.__name__.split(".")[-1] for module in modules} == {
        path.stem
        for path in Path(plan_queries.__file__).parent.glob("*.py")
        if re.search(r"^def \w+\(\s*store: StoreFile, study: str", path.read_text(), re.MULTILINE)
    }
    functions = {
        name
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and list(inspect.signature(function).parameters)[:2] == ["store", "study"]
    }
    assert functions - {"write_label_split_text"} == QUERIES.keys()


def test_what_is_read_by_key_needs_a_study_that_one_may_see(guarded: VisitorStore) -> None:
    with as_visitor(A):
        key = next(guarded.judgements("a's")).ask.key
        item = next(iter(guarded.items("a's")))
        assert guarded.request(key) is not None
        assert guarded.judgement("a's", key) is not None
    with as_visitor(B):
        assert guarded.request(key) is None
        assert guarded.judgement("a's", key) is None
        assert guarded.judgement("house", key) is None
        assert guarded.item("a's", item) is None
        assert guarded.questions("a's", [item]) == {}
        assert list(guarded.recorded_judgements("a's")) == []
        assert guarded.judgements_awaiting_extraction("a's", ["brief-letters"], 0, 9) == []
        assert guarded.read("SELECT count(*) FROM replies WHERE key=?", (key,)).fetchone() == (0,)
        assert guarded.runs() == []
    with as_visitor(A):
        assert guarded.read("SELECT count(*) FROM replies WHERE key=?", (key,)).fetchone() == (1,)
        assert len(guarded.runs()) == 1


def test_a_link_reads_one_study_and_changes_nothing(guarded: VisitorStore) -> None:
    with as_visitor(A):
        save(guarded, "a's other", seed=3)
        token = guarded.create_share_link("a's")
    kept = guarded.unrestricted.read("SELECT token FROM shares").fetchall()
    assert token not in str(kept)
    reader = visitor_from_secret("", token)
    with as_visitor(reader):
        assert {line.name for line in guarded.studies()} == {"house", "a's"}
        assert len(list(guarded.judgements("a's"))) == 4
        assert not guarded.owns("a's")
        with pytest.raises(AccessDenied, match="reload the page"):
            guarded.delete_study("a's")
    with as_visitor(Visitor(B.owner, reader.share)):
        assert guarded.can_read("a's")
        with pytest.raises(AccessDenied, match="not yours"):
            guarded.create_share_link("a's")
        with pytest.raises(AccessDenied):
            guarded.delete_study("a's")
        with pytest.raises(AccessDenied):
            save(guarded, "a's", seed=5)
    with as_visitor(A):
        assert guarded.count_links("a's") == 1
        assert guarded.revoke_links("a's") == 1
    with as_visitor(reader):
        assert not guarded.can_read("a's")


@pytest.mark.parametrize("name", ["house", "a's"])
def test_nobody_overwrites_or_deletes_what_is_not_theirs(guarded: VisitorStore, name: str) -> None:
    before = guarded.unrestricted.study(name), guarded.unrestricted.status_counts(name)
    with as_visitor(B):
        with pytest.raises(AccessDenied, match=pattern("not yours", "change")):
            save(guarded, name, seed=9)
        with pytest.raises((AccessDenied, StudyError)):
            guarded.delete_study(name)
    assert (guarded.unrestricted.study(name), guarded.unrestricted.status_counts(name)) == before


CHANGES = (
    "UPDATE studies SET yaml='x' WHERE name=?",
    "UPDATE studies SET owner=visitor() WHERE name=? AND owner!=''",
    "DELETE FROM studies WHERE name=?",
    "DELETE FROM plan WHERE study=(SELECT id FROM studies WHERE name=?)",
    "UPDATE plan SET judge='x' WHERE study=(SELECT id FROM studies WHERE name=?)",
    "DELETE FROM study_items WHERE study=(SELECT id FROM studies WHERE name=?)",
    "INSERT INTO shares SELECT 'x', id, 0, 1 FROM studies WHERE name=?",
    "INSERT INTO ballots(study, voter, position, item, shown, mode, chosen, state) "
    "SELECT id, 'human:b', 0, 'i', '', 'pair', 'random', 'open' FROM studies WHERE name=?",
    "DELETE FROM judgements WHERE key IN "
    "(SELECT key FROM plan WHERE study=(SELECT id FROM studies WHERE name=?))",
    "UPDATE replies SET reply='x' WHERE key IN "
    "(SELECT key FROM plan WHERE study=(SELECT id FROM studies WHERE name=?))",
    "DELETE FROM runs WHERE study=?",
    "DELETE FROM attempts WHERE ?!=''",
    "INSERT INTO allowance(day, visitor, run, reserved) SELECT '', '', ?, -5",
)


@pytest.mark.parametrize("change", CHANGES)
def test_no_statement_of_a_visitor_changes_anothers_rows(
    guarded: VisitorStore, change: str
) -> None:
    with as_visitor(B), pytest.raises(AccessDenied):
        guarded.writer.run(lambda c: c.execute(change, ("a's",)))


def test_a_name_becomes_ones_own_with_a_mark_whether_it_is_taken_or_not(
    guarded: VisitorStore,
) -> None:
    with as_visitor(B):
        mine = guarded.name_to_save_under("a's")
        assert mine == f"a's ({B.owner[:6]})"
        assert guarded.name_to_save_under("house") == f"house ({B.owner[:6]})"
        assert guarded.name_to_save_under("free") == f"free ({B.owner[:6]})"
        save(guarded, mine, seed=4)
        assert guarded.name_to_save_under("a's") == mine
        assert guarded.name_to_save_under(mine) == mine
    with as_visitor(A):
        assert guarded.name_to_save_under("a's") == "a's"
        guarded.delete_study("a's")
    with as_visitor(B):
        assert guarded.name_to_save_under("a's") == mine  # theirs stays where it was


def test_a_visitor_keeps_only_so_many_studies(guarded: VisitorStore) -> None:
    with as_visitor(A):
        save(guarded, "2", seed=4)
        save(guarded, "3", seed=5)
        with pytest.raises(StudyError, match="limit of studies"):
            save(guarded, "4", seed=6)
        save(guarded, "3", seed=7)  # the same name again is no further study
    assert "4" not in {line.name for line in guarded.unrestricted.studies()}


def test_who_has_no_secret_changes_nothing(guarded: VisitorStore) -> None:
    for secret in ("", "short", None, 7, ["x"] * 40, "x" * 5000):
        with as_visitor(visitor_from_secret(secret)):
            assert current_visitor() == ANONYMOUS
            with pytest.raises(AccessDenied, match="reload the page"):
                save(guarded, "new")


def test_a_links_token_is_nobodys_secret(guarded: VisitorStore) -> None:
    with as_visitor(A):
        token = guarded.create_share_link("a's")
    with as_visitor(visitor_from_secret(token)):
        assert not guarded.can_read("a's")
    with as_visitor(visitor_from_secret("", SECRETS[0])):
        assert not guarded.can_read("a's")


def test_visitors_folders_are_apart(guarded: VisitorStore) -> None:
    with as_visitor(A):
        a = guarded.folder
    with as_visitor(B):
        b = guarded.folder
    assert a != b
    assert a.parent == b.parent == guarded.path.parent / "visitors"
    assert guarded.unrestricted.folder == guarded.path.parent
    with as_visitor(A):
        assert guarded.folder_of("a's") == a
        read = visitor_from_secret("", guarded.create_share_link("a's"))
    with as_visitor(read):
        assert guarded.folder_of("a's") == a  # the pictures of a study that one may see
        assert guarded.folder_of("house") == guarded.path.parent
    with as_visitor(B):
        assert not guarded.folder_of("a's").exists()
        assert guarded.folder_of("a's") != a


def test_a_bare_store_asks_nobody(store: Store, tmp_path: Path) -> None:
    save(store, "mine")
    assert store.name_to_save_under("mine") == "mine"
    assert store.unrestricted is store
    with sqlite3.connect(tmp_path / "evenhand.db") as plain:
        assert plain.execute("SELECT owner FROM studies").fetchall() == [("",)]


# ------------------------------------------------------------------------------------ votes


def vote(store: Store, study: str, name: str = "ann") -> None:
    ballot_box = open_vote_session(store, study, f"human:{name}", "pair")
    ballot = ballot_box.next_ballot()
    assert ballot is not None
    ballot_box.vote(ballot.position, ballot.done, Verdict(0), "well put")


def people(store: Store, study: str) -> int:
    return sum(
        ask.judge.startswith("human:") for ask in (j.ask for j in store.recorded_judgements(study))
    )


def test_who_may_look_may_not_vote_and_who_may_not_look_sees_no_vote(guarded: VisitorStore) -> None:
    with as_visitor(A):
        vote(guarded, "a's")
        assert people(guarded, "a's") == 1
        assert len(read_ballots(guarded.read_connection, "a's")) == 1
        read = visitor_from_secret("", guarded.create_share_link("a's")).share
    with as_visitor(Visitor(B.owner, read)):
        assert people(guarded, "a's") == 1
        with pytest.raises(AccessDenied, match="link for voters"):
            vote(guarded, "a's", "bob")
    with as_visitor(B):
        assert read_ballots(guarded.read_connection, "a's") == []
        assert checks_by_item(read_ballots(guarded.read_connection, "a's")) == {}
        assert selection_reasons(guarded.read_connection, "a's") == {}
        with pytest.raises((AccessDenied, StudyError)):
            vote(guarded, "a's", "bob")
        with pytest.raises(AccessDenied):
            vote(guarded, "house", "bob")
    assert people(guarded.unrestricted, "a's") == 1
    assert people(guarded.unrestricted, "house") == 0


def test_a_link_for_voters_lets_people_vote_and_no_more(guarded: VisitorStore) -> None:
    with as_visitor(A):
        token = guarded.create_share_link("a's", votes=True)
    with as_visitor(Visitor(B.owner, visitor_from_secret("", token).share)):
        vote(guarded, "a's", "bob")
        for act in (
            lambda: guarded.set_voting_rules("a's", VotingRules(votes=9)),
            lambda: guarded.create_share_link("a's"),
            lambda: save(guarded, "a's", seed=7),
            lambda: guarded.delete_study("a's"),
            lambda: vote(guarded, "house", "bob"),
        ):
            with pytest.raises(AccessDenied):
                act()
    with as_visitor(A):
        assert people(guarded, "a's") == 1
        save(guarded, "a's", seed=2)  # what was voted stays
        assert people(guarded, "a's") == 1


def test_the_house_may_open_its_studies_for_votes(guarded: VisitorStore) -> None:
    opened = VisitorStore(guarded.unrestricted, open_votes=True)
    with as_visitor(B):
        vote(opened, "house", "bob")
        with pytest.raises(AccessDenied):
            opened.set_voting_rules("house", VotingRules(votes=9))
        with pytest.raises(AccessDenied):
            save(opened, "house", seed=9)
    opened.close()
    assert people(guarded.unrestricted, "house") == 1


def test_a_study_of_another_visitor_is_neither_renamed_nor_counted_otherwise(
    guarded: VisitorStore,
) -> None:
    with as_visitor(B):
        for change in (
            lambda: guarded.rename_study("a's", "b's"),
            lambda: guarded.rename_study("house", "mine"),
            lambda: guarded.set_combine_rule("a's", "strict"),
        ):
            with pytest.raises((StudyError, AccessDenied)):
                change()
    names = {line.name for line in guarded.unrestricted.studies()}
    assert names == {"house", "a's"}
    with as_visitor(A):
        with pytest.raises(StudyError):
            guarded.rename_study("a's", "a's study")
        save(guarded, '"a\'s, pilot: one"', seed=3)
    with as_visitor(B):
        save(guarded, '"a\'s, pilot: of b"', seed=4)
    with as_visitor(A):
        renamed = guarded.name_to_save_under("a's study")
        guarded.rename_study("a's", renamed)
        assert guarded.owns(renamed) and guarded.owns(f"{renamed}, pilot: one")
    with as_visitor(B):
        assert guarded.owns("a's, pilot: of b")


def test_studies_made_from_a_study_have_its_visitors_mark_once(guarded: VisitorStore) -> None:
    with as_visitor(B):
        mine = guarded.name_to_save_under("x")
        for made in (candidate_study_name(mine, "j", "p"), writer_study_name(mine, "p", "j")):
            assert guarded.name_to_save_under(made) == made
    with as_visitor(A):
        assert guarded.name_to_save_under(mine) == f"{mine} ({A.owner[:6]})"


def test_prompts_of_a_visitor_s_study_and_writes_of_runs_are_not_given(
    guarded: VisitorStore,
) -> None:
    def fail(_: sqlite3.Connection) -> None:
        raise sqlite3.IntegrityError("another")

    with as_visitor(A):
        assert guarded.unrestricted.yaml_of_only_version("a's", "brief-letters") is not None
        assert guarded.yaml_of_only_version("a's", "brief-letters") is None
        text = guarded.unrestricted.yaml_of_only_version("house", "brief-letters")
        assert text is not None and guarded.yaml_of_only_version("house", "brief-letters") == text
        with pytest.raises(AccessDenied, match="without visitor limits"):
            guarded.writer.submit_from_loop(None, None)
        with pytest.raises(sqlite3.IntegrityError, match="another"):
            guarded.writer.run(fail)
