"""Access in public mode: the table of limits, and every handler called with forged inputs by a
visitor who does not own the study."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from gradio.helpers import special_args
from gradio_client import Client
from gradio_client.exceptions import AppError

from app import protective_launch_arguments, store_and_engine_for_access
from components.__main__ import main
from components.api_tab import make_reading_api_functions
from components.inspect.comparison_index import PAGE_SIZE
from components.layout.theme import appearance_launch_arguments
from components.page.page_tab import create_page
from components.server.access import ACCESS_TABLE_ROWS, LOCAL, PUBLIC, access_table, current_access
from components.server.fair_queue_tab import configure_queue_and_sessions
from components.server.visitor_identity_tab import _hide_paths, find_or_make_secret
from components.study.jobs import save_uploads_as_data
from components.study.plan.public_checks import check_prompts_and_judges
from components.study.plan.study_preview import plan_from_text
from judges.engine.public_engine import RunLimits
from judges.judge_errors import PlanError
from judges.planning.plan import load_stored_plan, make_plan, save_plan
from studies.errors import StudyError
from studies.sharing.visitor_store import VisitorStore
from studies.sharing.visitors import as_visitor, new_secret, visitor_from_secret
from studies.spec.study import parse_study
from studies.store.store import Store
from tests.attacks.attack_list import PUBLIC as SHARED
from tests.attacks.attack_log import attempt
from tests.components.server.strangers import Stranger
from tests.growth import count_calls
from tests.page_words import pattern, says
from tests.samples import ALL
from tests.waiting import until

ROOT = Path(__file__).parents[3]
READING = "reading another's run"
DENIAL = "denial of service"
MARK = "xyzzy-of-a"
"""In every text of A's study: where it is seen, something leaked."""
STUDY = """
name: {name}
data: {{source: {source}, seed: 1}}
judges: [{{name: {mark}-judge, model: simulated, accuracy: 1, seed: 2}}]
prompts: [brief-letters]
"""
SECRET = new_secret()
MANY = 20_000 if ALL else 4_000
"""Items of a study that is too large; each takes a fifteenth of a millisecond to read."""
A_STUDY = "private one"


def items(folder: Path, count: int = 6) -> Path:
    path = folder / "items.jsonl"
    lines = [
        {"id": f"{MARK}-{n}", "instruction": f"{MARK} asks {n}", "category": f"{MARK}-kind",
         "responses": {f"{MARK}-x": f"{MARK} says {n}", f"{MARK}-y": f"{MARK} answers {n}"}}
        for n in range(count)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def small(name: str, mark: str) -> str:
    text = STUDY.format(name=name, source="probe", mark=mark)
    return text.replace("seed: 1}", "seed: 1, count: 2}")


def handle(page: Page, event: Any, values: dict[str, Any], forged: object) -> str:
    """A handler called as Gradio calls it, without its queue: all that it answers, as text."""
    inputs = [
        values.get(type(part).__name__, values.get(str(getattr(part, "elem_id", "")), part_value))
        for part in event.inputs
        for part_value in [getattr(part, "value", None)]
    ]
    target = next((block for block, _ in event.targets if block is not None), None)
    data = gr.EventData(page.blocks.blocks[target], forged) if target is not None else None
    given, *_ = special_args(event.fn, inputs, gr.Request(query_params={}, headers={}), data)
    return repr(event.fn(*given))


class Counted:
    """Notes how many rows were asked for."""

    def __init__(self, read: Any) -> None:
        self.read, self.limit = read, 0

    def __call__(self, name: str, *, first: int = 0, limit: int = 10**9) -> Any:
        self.limit = limit
        return self.read(name, first=first, limit=limit)


class Page:
    """A public page with a study of A's that was run; `run` is its run's id."""

    def __init__(self, folder: Path) -> None:
        self.bare = Store(folder / "evenhand.db")
        save_plan(make_plan(parse_study(small("house", "plain"))), self.bare)
        self.store, self.engine = store_and_engine_for_access(self.bare, PUBLIC)
        with as_visitor(visitor_from_secret(SECRET)):
            text = STUDY.format(name=A_STUDY, source=items(folder), mark=MARK)
            save_plan(make_plan(parse_study(text)), self.store)
            run = self.engine.start(load_stored_plan(self.store, A_STUDY), self.store)
            assert run.wait(60)
            self.run = run.id
        self.blocks = create_page(self.store, self.engine)
        configure_queue_and_sessions(self.blocks, PUBLIC)
        _, url, _ = self.blocks.launch(
            prevent_thread_lock=True,
            quiet=True,
            **protective_launch_arguments(PUBLIC),
            **appearance_launch_arguments(),
        )
        self.url = url.rstrip("/")

    def close(self) -> None:
        self.blocks.close()
        self.engine.close()
        self.store.close()
        self.bare.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVENHAND_PUBLIC", "1")
        made = Page(tmp_path_factory.mktemp("shared"))
        yield made
        made.close()


@pytest.fixture(scope="module")
def opened(page: Page) -> Stranger:
    """A stranger who has loaded the page."""
    stranger = Stranger(page.url)
    stranger.open()
    return stranger


# ---------------------------------------------------------------------------------- the table


@pytest.mark.parametrize(
    ("environment", "public"),
    [
        ({}, False),
        ({"EVENHAND_PUBLIC": "1"}, True),
        ({"SPACE_ID": "me/space"}, True),
        ({"SPACE_ID": "me/space", "EVENHAND_PUBLIC": "0"}, False),
        ({"EVENHAND_PUBLIC": ""}, False),
    ],
)
def test_a_space_is_public_unless_its_owner_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], public: bool
) -> None:
    for name in ("SPACE_ID", "EVENHAND_PUBLIC"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert current_access() == (PUBLIC if public else LOCAL)


def test_whatever_strangers_can_use_up_has_a_limit() -> None:
    for name in ("asks", "studies", "upload_bytes", "runs_each", "runs", "concurrency",
                 "queue", "expiry_days"):  # fmt: skip
        assert getattr(PUBLIC, name) > 0
        assert getattr(LOCAL, name) is None
    assert PUBLIC.rows == LOCAL.rows <= 500
    assert not PUBLIC.machine_files


def test_the_table_is_printed_from_the_values_that_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["access"]) == 0
    assert capsys.readouterr().out.strip() == access_table()
    lines = access_table().splitlines()
    assert len(lines) == 2 + len(ACCESS_TABLE_ROWS)
    assert all(line.count("|") == 4 for line in lines)
    assert f"{PUBLIC.asks:,}" in access_table()


# ------------------------------------------------------------------------- every handler


def test_every_handler_is_behind_the_door(page: Page) -> None:
    state = next(part for part in page.blocks.blocks.values() if isinstance(part, gr.BrowserState))
    unguarded = {
        event.api_name
        for event in page.blocks.fns.values()
        if event.fn is not None and (not event.inputs or event.inputs[0] is not state)
    }
    assert unguarded == {
        "list_studies", "study_metrics", "judgements", "plan_study", "run_study", "run_status",
        "stop_run",
    }  # fmt: skip
    assert all(
        event.api_visibility == "private"
        for event in page.blocks.fns.values()
        if event.fn is not None and event.api_name not in unguarded
    )


FORGED = {
    "study": A_STUDY, "judge": "", "key": "", "do": "open study", "customdata": {"study": A_STUDY},
}  # fmt: skip


def handlers(page: Page) -> list[Any]:
    return [e for e in page.blocks.fns.values() if e.fn is not None and e.inputs
            and isinstance(e.inputs[0], gr.BrowserState)]  # fmt: skip


def test_no_handler_takes_another_visitors_study(page: Page) -> None:
    taking = [e for e in handlers(page) if any(p.elem_id == "eh-study" for p in e.inputs)]
    assert len(taking) > 30
    told = []
    for event in taking[::4]:
        values = {"BrowserState": SECRET, "eh-study": A_STUDY, "eh-run-id": page.run}
        with contextlib.suppress(Exception):
            told.append(handle(page, event, values, FORGED))
    assert sum(MARK in text for text in told) > 3, "the owner sees it: a fair test"
    for event in taking:
        values = {"BrowserState": new_secret(), "eh-study": A_STUDY, "eh-run-id": page.run}
        with attempt(READING, SHARED, f"{event.fn.__name__} {event.targets}"):
            with pytest.raises(gr.Error) as refused:
                handle(page, event, values, FORGED)
            assert says(refused.value.message, "you", "see")


def test_where_the_door_forgets_to_ask_the_store_shows_nothing(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check that somebody forgets must not be a leak: the views of the store stand behind it."""
    monkeypatch.setattr(VisitorStore, "require_readable", lambda self, name: None)
    values = {"BrowserState": new_secret(), "eh-study": A_STUDY, "eh-run-id": page.run}
    answered = 0
    for event in handlers(page):
        if any(part.elem_id == "eh-study" for part in event.inputs):
            try:
                said = handle(page, event, values, FORGED)
            except Exception as error:
                said = repr(error)
            else:
                answered += 1
            with attempt(READING, SHARED, f"{event.fn.__name__} {event.targets}"):
                assert MARK not in said, f"{event.fn.__name__} {event.targets}: {said[:800]}"
    assert answered > 10


def test_nothing_that_a_stranger_can_send_brings_up_a_private_text(page: Page) -> None:
    """Handlers that read what was clicked, with clicks that name A's study and A's run."""
    values = {"BrowserState": new_secret(), "eh-study": "house", "eh-run-id": page.run}
    clicked = [event for event in handlers(page) if event.collects_event_data]
    assert len(clicked) > 10
    answered = 0
    for event in clicked:
        for forged in (FORGED, {"run": page.run}, {"run": page.run, "do": "start"}):
            try:
                said = handle(page, event, values, forged)
            except Exception as error:
                said = repr(error)
            else:
                answered += 1
            with attempt(READING, SHARED, f"{event.fn.__name__} {event.targets} {forged}"):
                assert MARK not in said, f"{event.fn.__name__} {event.targets}: {said[:800]}"
    assert answered > 10


def test_over_the_wire_a_run_is_neither_shown_stopped_nor_exported(page: Page) -> None:
    owner, stranger = Stranger(page.url, SECRET), Stranger(page.url)
    for visitor in (owner, stranger):
        visitor.open()
        seen = visitor.call(
            visitor.step("eh-study", "change", "eh-run-opened"),
            {"eh-study": A_STUDY if visitor is owner else "house", "eh-run-id": page.run},
        )
        assert (MARK in seen[1]) == (visitor is owner)
        assert ("No such run" in seen[1]) == (visitor is stranger)
    for press, event, sent in (
        ("eh-stop", "click", None), ("eh-start", "click", None),
        ("eh-exports", "select", {"export": "jsonl"}), ("eh-exports", "select", {"export": "../x"}),
    ):  # fmt: skip
        worked, said = stranger.call(stranger.step(press, event), {"eh-study": A_STUDY}, sent)
        with attempt(READING, SHARED, f"a stranger presses {press} {sent}"):
            assert not worked and MARK not in said
    exported = owner.step("eh-exports", "select")
    worked, said = owner.call(exported, {"eh-study": A_STUDY}, {"export": "jsonl"})
    assert worked
    for forged in ({"export": "../x"}, {"export": "__class__"}, {}, None, 5):
        assert not owner.call(exported, {"eh-study": A_STUDY}, forged)[0]


def test_a_link_reads_and_never_runs(page: Page) -> None:
    with as_visitor(visitor_from_secret(SECRET)):
        token = page.store.create_share_link(A_STUDY)
    values = {"BrowserState": new_secret(), "eh-token": token, "eh-study": A_STUDY}
    by_id = {
        page.blocks.blocks[block].elem_id: event
        for event in handlers(page)
        for block, on in event.targets
        if block is not None and on == "click"
    }
    assert MARK in handle(page, by_id["eh-draw"], values, None)
    for press in ("eh-stop", "eh-pause", "eh-start", "eh-retry", "eh-link-make", "eh-link-voters",
                  "eh-link-withdraw"):  # fmt: skip
        refusal = pytest.raises(gr.Error, match="not yours")
        with attempt(READING, SHARED, f"a reader presses {press}"), refusal:
            handle(page, by_id[press], values, None)
    with as_visitor(visitor_from_secret(SECRET)):
        page.store.revoke_links(A_STUDY)
    refusal = pytest.raises(gr.Error, match=pattern("you", "see"))
    with attempt(READING, SHARED, "a link that was withdrawn"), refusal:
        handle(page, by_id["eh-draw"], values, None)


def test_a_house_study_is_looked_at_and_run_only_as_a_copy(page: Page) -> None:
    stranger = Stranger(page.url)
    stranger.open()
    assert not stranger.call(stranger.step("eh-start", "click"), {"eh-study": "house"})[0]
    text = small("house", "mine")
    worked, said = stranger.call(
        stranger.step("eh-run", "click"), {"eh-yaml": text, "eh-keys": "{}"}
    )
    assert worked, said
    mark = visitor_from_secret(stranger.secret).owner[:6]
    names = {line.name for line in page.bare.studies()}
    assert f"house ({mark})" in names
    assert page.bare.study("house").judges[0].name == "plain-judge"


# ------------------------------------------------------------------------------ programs


def test_programs_say_who_they_are_and_get_no_more_than_that(page: Page) -> None:
    client, mine = Client(page.url, ssl_verify=False, verbose=False), new_secret()
    names = {line["name"] for line in client.predict(api_name="/list_studies")}
    assert A_STUDY not in names and "house" in names
    seen = client.predict(token=SECRET, api_name="/list_studies")
    assert A_STUDY in {line["name"] for line in seen}
    for call, token in (
        ("study_metrics", mine),
        ("judgements", ""),
        ("judgements", visitor_from_secret(SECRET).owner),
        ("run_status", mine),
        ("stop_run", page.run),
    ):
        with attempt(READING, SHARED, f"the API, {call}"):
            with pytest.raises(AppError) as refused:
                client.predict(A_STUDY, token=token, api_name=f"/{call}")
            assert MARK not in str(refused.value)
    assert MARK in str(client.predict(A_STUDY, 0, 9, token=SECRET, api_name="/judgements"))


def test_the_token_of_a_link_owns_nothing(page: Page) -> None:
    with as_visitor(visitor_from_secret(SECRET)):
        token = page.store.create_share_link(A_STUDY)
    client = Client(page.url, ssl_verify=False, verbose=False)
    assert MARK in str(client.predict(A_STUDY, 0, 9, token=token, api_name="/judgements"))
    before = {line.name for line in page.bare.studies()}
    for call, given in (("run_study", small("by a reader", "mine")), ("stop_run", A_STUDY)):
        with attempt(READING, SHARED, f"the API, {call} with the token of a link"):
            with pytest.raises(AppError):
                client.predict(given, token=token, api_name=f"/{call}")
            assert {line.name for line in page.bare.studies()} == before
    reader = Stranger(page.url, secret=token)
    reader.open()
    with attempt(READING, SHARED, "the token of a link as the secret of a browser"):
        assert not reader.call(reader.step("eh-run", "click"), {"eh-yaml": small("b", "c")})[0]
        assert {line.name for line in page.bare.studies()} == before
    with as_visitor(visitor_from_secret(SECRET)):
        page.store.revoke_links(A_STUDY)


def test_the_name_of_a_saved_study_does_not_tell_which_names_others_have(page: Page) -> None:
    client, mine = Client(page.url, ssl_verify=False, verbose=False), new_secret()
    mark = visitor_from_secret(mine).owner[:6]
    for name in (A_STUDY, "a name of nobody"):
        with attempt(READING, SHARED, f"a study named {name!r}"):
            saved = client.predict(small(name, "mine"), token=mine, api_name="/run_study")["study"]
            assert saved == f"{name} ({mark})"
            asked = partial(client.predict, saved, token=mine, api_name="/run_status")
            until(lambda asked=asked: asked()["state"] != "running")


def test_two_programs_with_one_name_for_their_study_have_two_studies(page: Page) -> None:
    text = small("same name", "mine")
    names = []
    client = Client(page.url, ssl_verify=False, verbose=False)
    for secret in (new_secret(), new_secret()):
        study = client.predict(text, token=secret, api_name="/run_study")["study"]
        asked = partial(client.predict, study, token=secret, api_name="/run_status")
        until(lambda asked=asked: asked()["state"] != "running")
        told: Any = asked()
        assert told["counts"]["ok"] == told["counts"]["planned"] > 0
        names.append(study)
    assert names[0] != names[1]
    assert all(re.fullmatch(r"same name \([0-9a-f]{6}\)", name) for name in names)
    with pytest.raises(AppError, match=pattern("not", "given", "id")):
        client.predict(text, api_name="/run_study")


# ------------------------------------------------------------------------------- limits


def test_a_huge_slice_is_refused_with_numbers_before_it_is_planned(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    many = items(uploads, MANY)
    text = STUDY.format(name="huge", source=f"uploads/{many.name}", mark="x")
    text = text.replace("prompts: [", "repeats: 50\nprompts: [brief-numbers, ")
    with pytest.raises(PlanError):
        plan_from_text(text, tmp_path)  # reads the file

    def refuse() -> None:
        with pytest.raises(PlanError) as found:
            plan_from_text(text, tmp_path)
        told.append(str(found.value))

    told: list[str] = []
    with attempt(DENIAL, SHARED, f"a study of {200 * MANY:,} calls"):
        assert count_calls(refuse) < 200 * MANY, "fewer function calls than the study has calls"
    # items x 2 orders x 50 repeats x 2 prompts x 1 judge
    assert says(told[0], f"about {200 * MANY:,} calls ({MANY:,}", "1", "2")
    assert says(told[0], "accepts", f"{PUBLIC.asks:,} calls")
    fits = text.replace("seed: 1}", "seed: 1, count: 25}")
    assert len(plan_from_text(fits, tmp_path).items) == 25
    monkeypatch.setenv("EVENHAND_PUBLIC", "0")
    assert len(plan_from_text(text, tmp_path).items) == MANY


def test_no_table_is_longer_than_a_page(page: Page) -> None:
    assert PUBLIC.rows >= PAGE_SIZE
    assert not any(isinstance(part, gr.Dataframe) for part in page.blocks.blocks.values())
    functions = {function.__name__: function for function in make_reading_api_functions(page.bare)}
    page.bare.judgements = Counted(page.bare.judgements)  # type: ignore[method-assign]
    assert len(functions["judgements"](A_STUDY, 0, 10**9)) == 12
    with attempt(DENIAL, SHARED, "10**9 rows of a table"):
        assert page.bare.judgements.limit <= PUBLIC.rows  # type: ignore[attr-defined]


def test_a_visitors_uploads_together_have_a_limit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    sent = items(tmp_path, 2)
    mine, other = tmp_path / "mine", tmp_path / "other"
    text = save_uploads_as_data("name: x\n", [sent], mine)
    with (mine / "uploads" / "large.bin").open("wb") as large:
        large.truncate(PUBLIC.upload_bytes)
    with attempt(DENIAL, SHARED, "200 MB of uploads"), pytest.raises(StudyError, match="200 MB"):
        save_uploads_as_data(text, [sent], mine)
    assert "uploads/" in save_uploads_as_data(text, [sent], other)
    monkeypatch.setenv("EVENHAND_PUBLIC", "0")
    assert "uploads/" in save_uploads_as_data(text, [sent], mine)


def test_a_variable_of_the_machine_is_no_ones_key_but_the_houses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    text = (
        "name: x\ndata: {source: probe}\nprompts: [brief-letters]\njudges: "
        "[{name: j, model: MODEL, base_url: https://api.openai.com/v1, api_key_env: HOUSE_KEY}]"
    )
    monkeypatch.setenv("HOUSE_KEY", "sk-of-the-house")
    with pytest.raises(StudyError, match=pattern("type your", "instead")):
        check_prompts_and_judges(parse_study(text.replace("MODEL", "gpt-4o-mini")))
    monkeypatch.setenv("EVENHAND_HOUSE_KEY_ENV", "HOUSE_KEY")
    monkeypatch.setenv("EVENHAND_HOUSE_MODELS", "gpt-4o-mini")
    check_prompts_and_judges(parse_study(text.replace("MODEL", "gpt-4o-mini")))
    with pytest.raises(StudyError, match="for gpt-4o-mini only"):
        check_prompts_and_judges(parse_study(text.replace("MODEL", "gpt-4o")))


def test_the_launch_shows_nothing_it_need_not(page: Page) -> None:
    config = Stranger(page.url).config
    assert config["show_error"] is False
    assert config["run_history"] is False
    assert config["footer_links"] == []
    assert config["max_file_size"] == PUBLIC.caps.file_bytes
    assert page.blocks.allowed_paths == []
    assert page.blocks.enable_monitoring is False
    assert page.blocks._queue.max_size == PUBLIC.queue
    for access in (LOCAL, PUBLIC):
        rules = {**protective_launch_arguments(access), **appearance_launch_arguments()}
        assert rules["show_error"] is rules["run_history"] is rules["enable_monitoring"] is False
        assert rules["allowed_paths"] == rules["footer_links"] == []


@pytest.mark.parametrize("asked", ["7", "[]", "{", "[[7]]", '["Position bias"]'])
def test_an_error_of_ours_tells_a_stranger_nothing_of_the_machine(
    page: Page, opened: Stranger, asked: str
) -> None:
    step = opened.step("eh-draw", "click")
    worked, said = opened.call(step, {"eh-study": "house", "eh-asked": asked})
    assert not worked
    assert str(page.bare.path.parent) not in said
    assert "Traceback" not in said and ".py" not in said


def test_the_secret_of_the_browsers_storage_survives_a_restart_and_is_the_owners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPACE_ID", raising=False)
    store = tmp_path / "evenhand.db"
    first = find_or_make_secret(store)
    assert find_or_make_secret(store) == first
    assert len(first) >= 24
    assert (tmp_path / "evenhand.db-secret").stat().st_mode & 0o777 == 0o600
    assert find_or_make_secret(tmp_path / "other.db") != first
    (tmp_path / "full.db-secret").touch()  # the disk was full
    assert len(find_or_make_secret(tmp_path / "full.db")) >= 24
    assert len(list(tmp_path.iterdir())) == 3, "no temporary file is left"
    monkeypatch.setenv("SPACE_ID", "me/space")  # its disk forgets
    on_space = find_or_make_secret(tmp_path / "space.db")
    assert find_or_make_secret(tmp_path / "again.db") == on_space != first
    monkeypatch.setenv("EVENHAND_SECRET", "as the owner says")
    assert find_or_make_secret(store) == "as the owner says"


def test_the_security_page_holds_the_table_that_is_in_force():
    page = Path(__file__).resolve().parents[3] / "docs" / "security.md"
    assert access_table() in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("study", [["a", "list"], {"a": 1}, 7])
def test_no_error_says_where_the_store_lies(page: Page, opened: Stranger, study: object) -> None:
    """SQLite cannot look for a list, and our words for that name the file."""
    for name, rest in (("study_metrics", [""]), ("judgements", [0, 1])):
        (step,) = [one for one in opened.steps() if one["api_name"] == name]
        stranger = Stranger(page.url)
        data = {"data": [study, *rest, ""], "fn_index": step["id"], "event_data": None}
        stranger._post(f"{stranger.api}/queue/join", {**data, "session_hash": stranger.session})
        with pytest.raises(AssertionError) as refused:
            stranger._answer()
        told = str(refused.value)
        assert str(page.bare.path.parent) not in told and "error" in told


def test_a_place_in_an_error_is_left_out_however_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "evenhand.db"
    told = _hide_paths(f"the store {path} is gone: {path.parent} was removed", path)
    assert says(told, "evenhand.db", "gone", "folder", "removed")
    assert _hide_paths("no place in it", path) == "no place in it"


def test_an_operator_sets_open_votes_and_the_size_of_all_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    monkeypatch.setenv("EVENHAND_VOTES", "open")
    monkeypatch.setenv("EVENHAND_VISITORS_MB", "7")
    found = current_access()
    assert found.open_votes and found.visitor_bytes == 7 << 20
    monkeypatch.delenv("EVENHAND_VISITORS_MB")
    assert current_access().visitor_bytes == 5_000 << 20
    monkeypatch.setenv("EVENHAND_PUBLIC", "0")
    assert current_access().visitor_bytes is None and current_access().open_votes


def test_a_run_has_the_limits_of_its_mode() -> None:
    assert PUBLIC.run_limits == RunLimits(
        asks=5_000, runs_per_visitor=1, total_runs=8, concurrency=16, paused=64,
        runs_per_address=4, embedded_asks=1_000, longest_pause=1_800.0,
    )  # fmt: skip
    assert LOCAL.run_limits == RunLimits(*[10**9] * 7, None)
