"""Login with Hugging Face: account names, and the middleware around Gradio's routes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from components.server import hf_login
from components.server.hf_login import (
    LOGIN_MESSAGES,
    LOGIN_PATH,
    LOGOUT_PATH,
    OAUTH_INFO_KEY,
    LoginMiddleware,
    can_log_in,
    has_account_prefix,
)
from components.vote.ballot_actions import handle_ballot_action
from studies.settings import LOGIN_SETTINGS
from studies.store.ballot_queries import read_ballots
from studies.store.store import Store
from tests.components.vote.test_vote_actions import begin, press, state_of, study_of
from tests.page_words import says


@pytest.fixture
def on_a_space(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for setting in LOGIN_SETTINGS:
        monkeypatch.setenv(setting.name, "as the Hub says")
    monkeypatch.setenv("SYSTEM", "spaces")
    return monkeypatch


# ----------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    "name", ["hf:ann", "HF:ann", " hf : ann", "human:hf:ann", "ｈｆ：ann", "hf:", "Hf:\u2003ann"]
)
def test_the_name_of_an_account_cannot_be_typed(store: Store, name: str) -> None:
    study_of(store)
    html = handle_ballot_action(store, "s", {"act": "show", "voter": name})
    assert says(html, "name cannot", "used") and "Hugging Face accounts" in html
    assert read_ballots(store.read_connection, "s") == []


@pytest.mark.parametrize("name", ["ann", "hf", "hfann", "shelf:ann", "h f ann", "ann hf:"])
def test_other_names_can(store: Store, name: str) -> None:
    assert not has_account_prefix(name)
    study_of(store)
    assert "data-ballot" in handle_ballot_action(store, "s", {"act": "show", "voter": name})


def test_an_account_and_a_typed_name_are_two_voters(store: Store) -> None:
    study_of(store)
    typed = press(store, begin(store, "ann"), "ann", act="vote", pick=0, margin=1)
    assert "<b>1 of" in typed
    html = handle_ballot_action(store, "s", {"act": "show", "voter": "ann"}, "hf:ann")
    assert "<b>0 of" in html and says(html, "voting", "Hugging Face")
    handle_ballot_action(
        store, "s", {"act": "vote", "pick": 1, "margin": 1, "ballot": state_of(html)}, "hf:ann"
    )
    picks = {j.ask.judge: j.verdict.pick for j in store.judgements("s")
             if j.verdict and j.ask.judge.startswith("human:")}  # fmt: skip
    assert picks == {"human:ann": 0, "human:hf:ann": 1}


@pytest.mark.parametrize("what", ["vote", "next", "undo", "back", "again"])
def test_what_one_person_was_shown_nobody_else_votes_on(store: Store, what: str) -> None:
    """The login has ended, and the browser still remembers a name that was typed once."""
    study_of(store)
    mine = press(store, begin(store, "ann"), "ann", act="vote", pick=0, margin=1)
    theirs = handle_ballot_action(store, "s", {"act": "show"}, "hf:ann")
    before = written(store)
    asked = {"act": what, "pick": 1, "margin": 1, "ballot": state_of(theirs), "voter": "ann"}
    html = handle_ballot_action(store, "s", asked)
    assert says(html, "you", "ann. Nothing", "saved")
    assert state_of(html) == state_of(mine)
    assert written(store) == before


def written(store: Store) -> tuple[object, ...]:
    """All but when something was last on screen."""
    return [replace(one, seen=0.0) for one in read_ballots(store.read_connection, "s")], list(
        store.judgements("s")
    )


def test_an_account_is_logged_out_of_a_name_is_typed_anew(store: Store) -> None:
    study_of(store)
    logged, typed = handle_ballot_action(store, "s", {"act": "show"}, "hf:Ann"), begin(store, "Bo")
    assert f'data-log="{LOGOUT_PATH}"' in logged and "not you?" not in logged
    assert "not you?" in typed and "data-log" not in typed
    assert says(logged, "Voting", "Hugging Face") and "Voting as Bo" in typed  # as they are


# ------------------------------------------------------------------------------- first screen


def test_the_login_is_offered_only_where_it_works(store: Store, on_a_space) -> None:
    study_of(store)
    html = handle_ballot_action(store, "s", {"act": "show"})
    assert f'data-log="{LOGIN_PATH}"' in html and 'name="voter"' in html
    for gone in (*(setting.name for setting in LOGIN_SETTINGS), "SYSTEM"):
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv(gone)
            assert not can_log_in()
            assert "data-log" not in handle_ballot_action(store, "s", {"act": "show"})


@pytest.mark.parametrize("went", list(LOGIN_MESSAGES))
def test_a_login_that_failed_is_told_once(store: Store, on_a_space, went: str) -> None:
    study_of(store)
    nobody = handle_ballot_action(store, "s", {"act": "show"}, "", LOGIN_MESSAGES[went])
    assert (
        says(nobody, "You", "not logged")
        and LOGIN_MESSAGES[went] in nobody
        and "data-name" in nobody
    )
    known = handle_ballot_action(
        store, "s", {"act": "show", "voter": "ann"}, "", LOGIN_MESSAGES[went]
    )
    assert LOGIN_MESSAGES[went] in known and "choices" in known
    assert LOGIN_MESSAGES[went] not in press(store, known, act="next")


# ---------------------------------------------------------------------------------- on the way


async def breaks(request: Request) -> PlainTextResponse:
    raise RuntimeError("the secret is 12345")


async def forbids(request: Request) -> PlainTextResponse:
    return PlainTextResponse("no", 403)


async def sends_on(request: Request) -> RedirectResponse:
    assert request.url.query == ""
    request.session["_state_huggingface_new"] = {}
    return RedirectResponse("https://accounts.example/ask")


def page(leave, *outer: Middleware) -> TestClient:
    routes = [Route(LOGIN_PATH, leave), Route("/{path:path}", forbids)]
    made = Starlette(routes=routes, middleware=[*outer, Middleware(LoginMiddleware)])
    return TestClient(made, base_url="https://space.example", follow_redirects=False)


SESSION = Middleware(SessionMiddleware, secret_key="s", same_site="none", https_only=True)


@pytest.mark.parametrize("leave", [breaks, forbids])
def test_a_provider_that_cannot_be_reached_is_said_on_the_page(leave, caplog) -> None:
    answer = page(leave, SESSION).get(LOGIN_PATH, params={"_target_url": "/?study=s&token=t"})
    assert answer.status_code == 302
    assert answer.headers["location"] == "/?study=s&token=t&login=failed"
    assert "12345" not in caplog.text
    assert ("RuntimeError" in caplog.text) == (leave is breaks)


def test_the_address_that_is_left_is_told_to_nobody() -> None:
    answer = page(sends_on, SESSION).get(LOGIN_PATH, params={"_target_url": "/?study=s&token=t"})
    assert answer.headers["location"] == "https://accounts.example/ask"
    assert "Secure" in answer.headers["set-cookie"].title()


def test_without_a_session_nothing_is_touched() -> None:
    client = page(forbids)
    for path in (LOGIN_PATH, LOGOUT_PATH, "/login/callback?error=x", "/"):
        assert client.get(path).status_code == 403
    assert page(forbids, SESSION).post(LOGOUT_PATH).status_code == 405
    assert page(forbids, SESSION).get("/").status_code == 403


def test_an_account_with_a_name_is_logged_in_and_nothing_else_of_it_is_kept() -> None:
    info = {"preferred_username": "ann", "email": "ann@a.example"}
    session = {OAUTH_INFO_KEY: {"userinfo": info, "access_token": "secret", "expires_at": 9}}
    assert hf_login._keep_only_account_name(session)
    assert session[OAUTH_INFO_KEY]["userinfo"]["preferred_username"] == "ann"
    assert session[OAUTH_INFO_KEY]["expires_at"] == 9
    assert "secret" not in str(session) and "a.example" not in str(session)


@pytest.mark.parametrize("name", [None, "", "  ", 7, ["ann"]])
def test_an_account_without_a_name_is_not_logged_in(name: object) -> None:
    session = {OAUTH_INFO_KEY: {"userinfo": {"preferred_username": name}}}
    assert not hf_login._keep_only_account_name(session)
    assert OAUTH_INFO_KEY not in session


# ---------------------------------------------------------------------------------- whole logins


async def starts(request: Request) -> RedirectResponse:
    request.session[f"{hf_login.LOGIN_STATE_PREFIX}s1"] = {"nonce": 1}
    return RedirectResponse("https://accounts.example/ask")


async def logs_in(request: Request) -> RedirectResponse:
    info = {"preferred_username": request.query_params["code"]}
    request.session[OAUTH_INFO_KEY] = {"userinfo": info, "access_token": "t", "expires_at": 9}
    return RedirectResponse("/elsewhere")


async def shows(request: Request) -> PlainTextResponse:
    return PlainTextResponse(" ".join(sorted(request.session)))


def browser(callback=logs_in, start=starts) -> TestClient:
    routes = [
        Route(LOGIN_PATH, start),
        Route(hf_login.CALLBACK_PATH, callback),
        Route("/session", shows),
    ]
    made = Starlette(routes=routes, middleware=[SESSION, Middleware(LoginMiddleware)])
    return TestClient(made, base_url="https://space.example", follow_redirects=False)


def came_back(client: TestClient, **query: str) -> str:
    answer = client.get(hf_login.CALLBACK_PATH, params=query)
    assert answer.status_code == 302
    return answer.headers["location"]


def test_a_login_returns_to_the_page_it_left_and_keeps_only_the_account() -> None:
    client = browser()
    client.get(LOGIN_PATH, params={"_target_url": "/?study=s&token=t"})
    assert client.get("/session").text == f"{hf_login.LOGIN_STATE_PREFIX}s1 evenhand_back"
    assert came_back(client, state="s1", code="ann") == "/?study=s&token=t&login=done"
    assert client.get("/session").text == OAUTH_INFO_KEY
    answer = client.get(LOGOUT_PATH, params={"_target_url": "/?study=s&login=done"})
    assert answer.headers["location"] == "/?study=s"
    assert client.get("/session").text == ""


def test_a_second_login_forgets_the_first_that_was_not_finished() -> None:
    states = iter(("s1", "s2"))

    async def starts_next(request: Request) -> RedirectResponse:
        request.session[f"{hf_login.LOGIN_STATE_PREFIX}{next(states)}"] = {}
        return RedirectResponse("https://accounts.example/ask")

    session = {f"{hf_login.LOGIN_STATE_PREFIX}s1": {}, "other": 1}
    hf_login._delete_login_states(session)
    assert session == {"other": 1}
    client = browser(start=starts_next)
    client.get(LOGIN_PATH)
    client.get(LOGIN_PATH)
    assert client.get("/session").text == f"{hf_login.LOGIN_STATE_PREFIX}s2 evenhand_back"


@pytest.mark.parametrize(
    ("query", "result"),
    [
        ({"state": "s1", "error": "access_denied"}, "refused"),
        ({"state": "other", "code": "ann"}, "lost"),
        ({"state": "other", "error": "access_denied"}, "lost"),
        ({}, "lost"),
        ({"state": "s1", "code": " "}, "failed"),
        ({"state": "s1"}, "failed"),
    ],
)
def test_a_login_that_went_wrong_says_how_and_leaves_nothing(query, result) -> None:
    client = browser()
    client.get(LOGIN_PATH, params={"_target_url": "/?study=s"})
    assert came_back(client, **query) == f"/?study=s&login={result}"
    assert client.get("/session").text == ""


@pytest.mark.parametrize(
    ("address", "to"),
    [
        ("/?study=s", "/?study=s&login=done"),
        ("/?study=s&login=failed", "/?study=s&login=done"),
        ("", "/?tab=vote&login=done"),
        ("https://evil.example/?a=b", "/?tab=vote&login=done"),
        ("//evil.example/?a=b", "/?tab=vote&login=done"),
        ("/other?a=b", "/?tab=vote&login=done"),
        ("/?", "/?tab=vote&login=done"),
    ],
)
def test_a_login_returns_only_to_an_address_of_this_page(address: str, to: str) -> None:
    assert hf_login._redirect_with_result("done", address).headers["location"] == to


def test_a_long_address_is_replaced_as_a_cookie_could_not_hold_it() -> None:
    for length, kept in ((2_000, True), (2_001, False)):
        client = browser()
        address = "/?study=" + "s" * (length - len("/?study="))
        client.get(LOGIN_PATH, params={"_target_url": address})
        back = came_back(client, state="s1", code="ann")
        assert back == f"{address if kept else '/?tab=vote'}&login=done"
