"""Consents: an environment variable is sent only to origins the user allowed."""

from __future__ import annotations

import base64
import io
import json
import os
from contextlib import nullcontext
from pathlib import Path
from urllib.parse import quote

import pytest

from evenhand.nightly.gate_command import main as gate
from judges.__main__ import main
from judges.judge_errors import ConsentNeeded, KeyRefused, PlanError
from judges.operations.check_judge import check_judge
from judges.planning.plan import save_plan
from judges.security.key_consents import (
    FILE,
    NO_CONSENTS,
    Consents,
    KeyDestination,
    TypedKey,
    key_destination_of,
    listed_key_destinations,
    obtain_judge_key_consents,
    origin_of,
    parse_typed_keys,
    typed_keys_of_judges,
    user_consents,
)
from judges.security.key_store import KEY_MASK, SecretKey
from studies.domain import JudgeSpec
from tests.attacks.attack_list import OWN, PUBLIC
from tests.attacks.attack_log import attempt
from tests.canary_forms import CANARY, found_in
from tests.judge_server import JudgeServer
from tests.judge_server.asked import Asked
from tests.judges.bulk.batch_stand_in import BatchServer
from tests.judges.small_studies import QUICK, endpoint, engine, study_plan, write_items
from tests.page_words import pattern, says

VARIABLE = "OPENAI_API_KEY"
LEAK = "a typed key leaks"
ABUSE = "the owner's key, abused"


class Listener:
    """The behaviour of a judge server that keeps the keys it is sent."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def __call__(self, asked: Asked) -> str:
        self.keys.append(asked.api_key)
        return "Overall, Response A is better. [[A]]"


class Terminal(io.StringIO):
    """Standard input of a person who answers."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, CANARY)


# ---- origins and typed keys ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://API.OpenAI.com:443/v1", "https://api.openai.com"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000"),
        ("http://[::1]:9/v1/", "http://[::1]:9"),
        ("https://b\u00fccher.example/v1", "https://xn--bcher-kva.example"),
        ("https://host.example./v1", "https://host.example"),
        ("http://api.openai.com/v1", "http://api.openai.com"),
        ("ftp://host/v1", ""),
        ("no address", ""),
        ("", ""),
    ],
)
def test_an_origin_is_scheme_host_and_port(url, origin):
    assert origin_of(url) == origin


def test_a_typed_key_is_for_the_host_it_was_typed_for_whatever_the_judge_is_called(each_mode):
    typed = parse_typed_keys(
        json.dumps({"gpt": {"key": f" {CANARY} ", "url": "https://a.example/v1"}})
    )
    assert typed_keys_of_judges([JudgeSpec("gpt", "m", "https://A.example:443/v2")], typed) == {
        "gpt": CANARY
    }
    for other in ("https://b.example/v1", "http://a.example/v1", "https://a.example:8443/v1", ""):
        with attempt(LEAK, each_mode, f"the same judge at {other!r}"):
            with pytest.raises(KeyRefused, match=pattern("typed", "a.example, not")) as refused:
                typed_keys_of_judges([JudgeSpec("gpt", "m", other)], typed)
            assert CANARY[:8] not in str(refused.value) + repr(typed)
    assert typed_keys_of_judges([JudgeSpec("other", "m", "https://a.example/v1")], typed) == {}


@pytest.mark.parametrize("sent", ["", None, "[]", "{", '{"a": "k"}', '{"a": {"key": ""}}'])
def test_what_is_no_typed_key_is_none(sent):
    assert parse_typed_keys(sent) == {}


def test_a_key_without_a_valid_address_goes_nowhere():
    with pytest.raises(KeyRefused):
        typed_keys_of_judges([JudgeSpec("gpt", "m", "nowhere")], {"gpt": TypedKey(CANARY, "")})


# ---- consents -------------------------------------------------------------------------------


def test_the_variable_of_a_listed_provider_goes_to_that_provider_alone():
    consents = user_consents()
    assert consents.allows(KeyDestination(VARIABLE, "https://api.openai.com"))
    for origin in ("http://api.openai.com", "https://api.openai.com:8443", "https://openai.com"):
        with attempt(ABUSE, OWN, f"{VARIABLE} to {origin}"):
            assert not consents.allows(KeyDestination(VARIABLE, origin))
    with attempt(ABUSE, OWN, "HOME to a provider"):
        assert not consents.allows(KeyDestination("HOME", "https://api.openai.com"))
    assert all(origin_of(pair.origin) == pair.origin for pair in listed_key_destinations())


def test_a_consent_is_stored_as_two_names_and_a_broken_file_allows_nothing():
    pair = KeyDestination(VARIABLE, "http://127.0.0.1:8000")
    user_consents().store_consent(pair)
    stored = Path(os.environ["XDG_CONFIG_HOME"]) / "evenhand" / FILE
    assert json.loads(stored.read_text()) == [list(pair)]
    assert user_consents().allows(pair)
    stored.write_text("[[")
    assert not user_consents().allows(pair)


@pytest.mark.parametrize(
    "pair",
    [
        KeyDestination("A B", "http://h"),
        KeyDestination("A", "http://h/v1"),
        KeyDestination("A", ""),
    ],
)
def test_what_is_no_pair_is_not_stored(pair):
    with pytest.raises(PlanError, match=pattern("expected", "variable", "origin")):
        user_consents().store_consent(pair)
    assert not (Path(os.environ["XDG_CONFIG_HOME"]) / "evenhand" / FILE).exists()


def test_where_no_pair_can_be_confirmed_none_is_offered_or_taken():
    judge = JudgeSpec("j", "m", "http://h/v1", api_key_env=VARIABLE)
    assert NO_CONSENTS.destinations_without_consent([judge]) == ()
    with attempt(ABUSE, PUBLIC, "a visitor allows a variable", "a variable for its provider"):
        with pytest.raises(PlanError, match="type your key"):
            NO_CONSENTS.store_consent(KeyDestination(VARIABLE, "http://h"))
        assert not NO_CONSENTS.allows(KeyDestination(VARIABLE, "https://api.openai.com"))


# ---- every path that sends ------------------------------------------------------------------


def test_a_run_and_a_check_send_a_variable_only_after_consent(tmp_path, store):
    listener = Listener()
    with JudgeServer(behaviour=listener) as server, engine() as asking:
        plan = study_plan(tmp_path, [endpoint(server.base_url, api_key_env=VARIABLE)], items=2)
        save_plan(plan, store)
        for act in (
            lambda: asking.start(plan, store, settings=QUICK),
            lambda: check_judge(plan, plan.study.judges[0]),
        ):
            refusal = pytest.raises(ConsentNeeded, match=r"send \$OPENAI_API_KEY to http://127\.0")
            with attempt(ABUSE, OWN, "a study that names a variable"), refusal:
                act()
        assert server.bill.totals.calls == 0
        user_consents().store_consent(KeyDestination(VARIABLE, origin_of(server.base_url)))
        assert asking.start(plan, store, settings=QUICK).wait(120)
        assert (
            check_judge(plan, plan.study.judges[0], consents=asking.consents(store)).read.status
            == "ok"
        )
    assert set(listener.keys) == {CANARY}


def test_an_extraction_judge_needs_consent_too(tmp_path, store):
    with JudgeServer() as server, engine() as asking:
        reader = endpoint(server.base_url, name="reader", api_key_env=VARIABLE)
        plan = study_plan(
            tmp_path, [endpoint(server.base_url)], items=2, extraction={"judge": reader}
        )
        save_plan(plan, store)
        with pytest.raises(ConsentNeeded, match="judge 'reader'"):
            asking.start(plan, store, settings=QUICK)
        assert server.bill.totals.calls == 0


# ---- the command line -----------------------------------------------------------------------


def write_study(folder: Path, url: str) -> list[str]:
    write_items(folder / "items.jsonl", 2)
    judge = {"name": "judge", "model": "judge", "base_url": url, "api_key_env": VARIABLE}
    values = {"name": "small", "data": {"source": "items.jsonl"}, "judges": [judge],
              "prompts": ["visit-reference-free"], "orders": "one"}  # fmt: skip
    (folder / "study.yaml").write_text(json.dumps(values))
    return [str(folder / "study.yaml"), "--store", str(folder / "evenhand.db")]


@pytest.mark.parametrize("command", ["run", "check", "retry"])
def test_without_a_terminal_a_command_refuses_until_it_is_allowed(
    command, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    listener = Listener()
    with JudgeServer(behaviour=listener) as server:
        study = write_study(tmp_path, server.base_url)
        assert main([command, *study]) == 2
        told = capsys.readouterr().err
        assert (
            says(told, "$OPENAI_API_KEY", "not sent", "http://127.0.0.1") and "--allow-keys" in told
        )
        assert listener.keys == []
        assert main([command, *study, "--allow-keys"]) == 0
        assert main([command, *study]) == 0, "it is remembered"
    assert set(listener.keys) == {CANARY}


@pytest.mark.parametrize("command", ["run", "check", "retry", "submit-batch", "collect-batch"])
def test_consents_that_come_with_a_folder_are_not_believed(command, tmp_path, monkeypatch):
    """The folder of a stranger: study, data, and a file of consents beside the store."""
    monkeypatch.setattr("sys.stdin", io.StringIO())
    listener = Listener()
    with JudgeServer(behaviour=listener) as server:
        study = write_study(tmp_path, server.base_url)
        for folder in (tmp_path, tmp_path / "evenhand", tmp_path / ".config" / "evenhand"):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / FILE).write_text(json.dumps([[VARIABLE, origin_of(server.base_url)]]))
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("EVENHAND_STORE", study[-1])
        if command.endswith("batch"):
            study.insert(1, str(tmp_path / "batch"))
            assert main(["export-batch", *study]) == 0
        with attempt(ABUSE, OWN, f"{command} in a folder with consents"):
            assert main([command, *study]) == 2
            assert listener.keys == []
            assert server.bill.totals.calls == 0


@pytest.mark.parametrize(("answer", "code"), [("n\n", 2), ("\n", 2), ("", 2), ("y\n", 0)])
def test_on_a_terminal_a_command_asks(answer, code, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    listener = Listener()
    with JudgeServer(behaviour=listener) as server:
        assert main(["run", *write_study(tmp_path, server.base_url)]) == code
    assert says(capsys.readouterr().err, "wants", "send $OPENAI_API_KEY", "http://127.0.0.1")
    assert bool(listener.keys) == (code == 0)


@pytest.mark.parametrize(
    ("answer", "stored"), [("y\n", True), (" YES \n", True), ("n\n", False), ("", False)]
)
def test_the_question_is_shown_before_the_answer_is_read(answer, stored, monkeypatch):
    """A question without a line end may wait in the stream; it has to be flushed."""
    shown, waiting = [], io.StringIO()

    class Screen(io.StringIO):
        def write(self, text: str) -> int:
            return waiting.write(text)

        def flush(self) -> None:
            shown.append(waiting.getvalue())

    class Person(Terminal):
        def readline(self, size: int = -1) -> str:
            assert shown, "asked, and not shown"
            return super().readline(size)

    monkeypatch.setattr("sys.stderr", Screen())
    monkeypatch.setattr("sys.stdin", Person(answer))
    pair = KeyDestination(VARIABLE, "https://judge.example.org")
    judge = JudgeSpec("j", "m", f"{pair.origin}/v1", VARIABLE)
    with nullcontext() if stored else pytest.raises(ConsentNeeded):
        obtain_judge_key_consents([judge], user_consents(), allowed=False)
    assert f"${VARIABLE} to {pair.origin}" in shown[0]
    assert user_consents().allows(pair) == stored


def test_allow_is_a_command_of_its_own(capsys):
    assert main(["allow", VARIABLE, "http://127.0.0.1:8000/v1"]) == 0
    assert {f"${VARIABLE}", "http://127.0.0.1:8000"} <= set(capsys.readouterr().out.split())
    assert user_consents().allows(KeyDestination(VARIABLE, "http://127.0.0.1:8000"))
    assert main(["allow", VARIABLE, "nowhere"]) == 2
    assert says(capsys.readouterr().err, "expected", "variable", "origin")


def test_a_batch_needs_consent_and_takes_no_other_variable_along(tmp_path, capsys, monkeypatch):
    """The client of the SDK adds organisation, project and custom headers of the environment."""
    monkeypatch.setenv("OPENAI_ORG_ID", "org-canary")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-canary")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: header-canary")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with JudgeServer() as server:
        batches = BatchServer(server.base_url)
        study, folder = write_study(tmp_path, batches.url), str(tmp_path / "batch")
        study = [study[0], folder, *study[1:]]
        assert main(["export-batch", *study]) == 0
        assert main(["submit-batch", *study]) == 2
        assert says(capsys.readouterr().err, "$OPENAI_API_KEY", "not sent")
        assert batches.headers_seen == []
        assert main(["submit-batch", *study, "--allow-keys"]) == 0
        batches.shutdown()
        batches.server_close()
    assert {headers["authorization"] for headers in batches.headers_seen} == {f"Bearer {CANARY}"}
    assert "org-canary" not in str(batches.headers_seen)
    assert "project-canary" not in str(batches.headers_seen)
    assert "header-canary" not in str(batches.headers_seen)


SHORT = "short-key-137"


def repeat_key(asked: Asked) -> str:
    """A reply with the key, which no reader can read, so that an extraction is asked for it."""
    return f"Your key is {asked.api_key}, and {quote(asked.api_key)}."


def write_pictures(folder: Path) -> None:
    pixel = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    (folder / "a.png").write_bytes(pixel)
    line = {"id": "q0", "instruction": "?", "responses": {"x": "1", "y": "2"}, "images": ["a.png"]}
    (folder / "items.jsonl").write_text(json.dumps(line))


@pytest.mark.parametrize("key", [CANARY, SHORT])
@pytest.mark.parametrize("way", ["run", "check", "extraction", "describe", "collect-batch", "gate"])
def test_a_key_that_the_endpoint_repeats_is_in_no_file(way, key, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv(VARIABLE, key)
    allowed = ["--allow-keys"]
    with JudgeServer(behaviour=repeat_key) as server:
        batches = BatchServer(server.base_url, api_key=key) if way == "collect-batch" else None
        study = write_study(tmp_path, batches.url if batches else server.base_url)
        path = Path(study[0])
        values = json.loads(path.read_text())
        if way == "extraction":
            values["extraction"] = {"judge": {**values["judges"][0], "name": "reader"}}
        if way == "describe":
            write_pictures(tmp_path)
            values["judges"][0]["vision"] = True
        path.write_text(json.dumps(values))
        if batches:
            study.insert(1, str(tmp_path / "batch"))
            for command in ("export-batch", "submit-batch", "collect-batch", "collect-batch"):
                main([command, *study, *(allowed if command != "export-batch" else [])])
            assert list((tmp_path / "batch").glob("*.output.jsonl"))
            batches.shutdown()
            batches.server_close()
        elif way == "describe":
            out = str(tmp_path / "new.jsonl")
            main(["describe", study[0], "--judge", "judge", "--out", out, *allowed])
        elif way == "gate":
            assert main(["allow", VARIABLE, server.base_url]) == 0
            files = ["--against", str(tmp_path / "base.json"), "--store", str(tmp_path / "new.db")]
            gate([study[0], *files, "--save-baseline"])
        else:
            main(["check" if way == "check" else "run", *study, *allowed])
        assert server.bill.totals.calls > 0
    told = capsys.readouterr()
    held = {one.name: one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()}
    with attempt(LEAK, OWN, f"{way}: the endpoint repeats a key of {len(key)} characters"):
        assert [(name, form) for name, data in held.items() for form in found_in(data, key)] == []
        assert key not in told.out + told.err
        if way != "check":
            assert any(KEY_MASK.encode() in data for data in held.values())


def test_a_placeholder_of_a_local_server_is_no_key_to_mask():
    assert (
        SecretKey("not-needed").mask_whole_key_in_reply("a key is not-needed")
        == "a key is not-needed"
    )
    assert SecretKey("secret").mask_whole_key_in_reply("a secret") == "a secret"


# ---- a public page --------------------------------------------------------------------------


def test_given_consents_reach_no_other_variable_and_no_other_host():
    lent = Consents(frozenset({KeyDestination("HOUSE_KEY", "https://api.openai.com")}))
    for variable, url in ((VARIABLE, "https://api.openai.com/v1"), ("HOUSE_KEY", "https://b/v1")):
        with pytest.raises(ConsentNeeded):
            lent.require_consent(JudgeSpec("j", "m", url, api_key_env=variable))


# ---- single rules ---------------------------------------------------------------------------


def test_a_judge_without_a_variable_sends_none():
    with_variable = JudgeSpec("j", "m", "http://h/v1", VARIABLE)
    assert key_destination_of(with_variable) == KeyDestination(VARIABLE, "http://h")
    assert key_destination_of(JudgeSpec("j", "m", "http://h/v1")) is None
    assert key_destination_of(JudgeSpec("j", "simulated", "", VARIABLE)) is None


@pytest.mark.parametrize("text", ["", "[1]", "hosts: {A: b}", "variables: [A]"])
def test_providers_without_variables_are_an_error(tmp_path, text):
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(PlanError, match=pattern("p.yaml", "variables")):
        listed_key_destinations(tmp_path / "p.yaml")


def test_the_variable_of_a_provider_is_for_its_host_by_https(tmp_path):
    (tmp_path / "p.yaml").write_text("variables: {A_KEY: a.example, B_KEY: b.example}")
    assert listed_key_destinations(tmp_path / "p.yaml") == {
        KeyDestination("A_KEY", "https://a.example"),
        KeyDestination("B_KEY", "https://b.example"),
    }


@pytest.mark.parametrize("named", ["", "relative"])
def test_without_an_absolute_folder_of_settings_consents_are_in_the_home_folder(
    tmp_path, monkeypatch, named
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", named)
    assert user_consents().path == tmp_path / ".config" / "evenhand" / FILE


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Api.Example.org/v1", "https://api.example.org"),
        ("http://h:8080/a?b", "http://h:8080"),
        ("http://[::1]:80/", "http://[::1]"),
        ("https://h.:444", "https://h:444"),
        ("ftp://h/", ""),
        ("https://", ""),
        ("http://h:port/", ""),
        ("http://h\x00/", ""),
    ],
)
def test_the_origin_is_scheme_host_and_port(url: str, origin: str) -> None:
    assert origin_of(url) == origin
