"""Voters who log in with Hugging Face: the app as on a Space, an account provider on loopback, and
a real browser; where only the way of a login counts, a client that keeps cookies."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest

from components.server.hf_login import TARGET_PARAMETER
from studies.exchange.export import write_export
from studies.sharing.visitor_store import VisitorStore
from studies.sharing.visitors import as_visitor, visitor_from_secret
from studies.store.store import Store
from tests.judges.security.tls_judge import make_certificate
from tests.login_provider import CLIENT, SECRET, Provider
from tests.ui.conftest import App
from tests.ui.test_vote_page import enter, press, study_of, votes
from tests.ui.tls_front import Front

pytestmark = pytest.mark.browser
STUDY = "On a Space"
OWNER = "the secret of whoever made the study"


class Space:
    """The app, what stands before it, whose accounts it knows, and a link for voters."""

    def __init__(self, folder, patch: pytest.MonkeyPatch) -> None:
        self.front = Front(*make_certificate(folder))
        self.provider = Provider(f"{self.front.url}/login/callback")
        for name, value in {
            "SYSTEM": "spaces", "SPACE_ID": "me/space", "SPACE_HOST": self.front.host,
            "OAUTH_CLIENT_ID": CLIENT, "OAUTH_CLIENT_SECRET": SECRET,
            "OAUTH_SCOPES": "openid profile", "OPENID_PROVIDER_URL": self.provider.url,
        }.items():  # fmt: skip
            patch.setenv(name, value)
        self.path = folder / "evenhand.db"
        self.token = self._share()
        self.app = App(self.path)
        self.front.port = self.app.port

    def _share(self) -> str:
        bare = Store(self.path)
        store = VisitorStore(bare)
        with as_visitor(visitor_from_secret(OWNER)):
            study_of(store, STUDY)
            token = store.create_share_link(STUDY, votes=True)
        store.close()
        bare.close()
        return token

    @property
    def link(self) -> str:
        asked = {"study": STUDY, "tab": "vote", "blind": 1, "token": self.token}
        return f"{self.front.url}/?{urlencode(asked)}"

    def log(self) -> str:
        self.app.log.flush()
        return (self.path.with_suffix(".log")).read_text("utf-8")

    def close(self) -> None:
        self.app.close()
        self.provider.close()
        self.front.close()


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Space]:
    with pytest.MonkeyPatch.context() as patch:
        made = Space(tmp_path_factory.mktemp("space"), patch)
        yield made
        made.close()


@pytest.fixture
def store(space: Space) -> Iterator[Store]:
    looked = Store(space.path)
    yield looked
    looked.close()


@pytest.fixture
def page(browser, space: Space):
    """A browser of its own, on the link for voters."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, ignore_https_errors=True)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(space.link)
    page.wait_for_selector(".eh-vote")
    yield page
    context.close()


@pytest.fixture
def client(space: Space) -> Iterator[httpx.Client]:
    """A browser's way through a login, without the page."""
    space.provider.account, space.provider.broken = "ann", False
    with httpx.Client(base_url=space.front.url, verify=False, timeout=30) as made:
        yield made
    space.provider.account, space.provider.broken = "ann", False


def held(cookies: list[dict[str, str]]) -> dict[str, object]:
    """What the signed cookie says: whoever has it can read it."""
    (value,) = [cookie["value"] for cookie in cookies if cookie["name"] == "session"]
    return dict(json.loads(base64.b64decode(value.split(".")[0] + "===")))


def test_an_account_votes_comes_back_and_logs_out(page, space: Space, store: Store) -> None:
    page.get_by_role("button", name="Log in with Hugging Face").click()
    page.click("#authorize")
    page.wait_for_selector(".eh-vote .choices")
    assert "voting as ann on Hugging Face" in page.inner_text(".eh-vote [role=status]")
    assert page.evaluate("document.body.classList.contains('eh-blind')")  # the voters' page still
    assert space.provider.scopes == ["openid profile"]
    press(page, "ArrowRight")
    assert votes(store, STUDY, "hf:ann") == [1]
    page.reload()
    page.wait_for_selector(".eh-vote .choices")
    assert page.inner_text(".eh-vote [role=status]").startswith("1 of ")
    press(page, "ArrowLeft")
    assert votes(store, STUDY, "hf:ann") == [1, 0]
    kept = held(page.context.cookies())
    assert set(kept) == {"oauth_info"} and set(kept["oauth_info"]) == {"userinfo", "expires_at"}
    page.get_by_role("button", name="log out").first.click()
    page.wait_for_selector(".eh-vote input[name=voter]")
    page.fill(".eh-vote input[name=voter]", "hf:ann")
    page.click(".eh-vote button[type=submit]")
    page.get_by_text("reserved for Hugging Face accounts; log in").wait_for()
    enter(page, "ann")  # the same name, typed: somebody else
    press(page, "ArrowDown")
    assert votes(store, STUDY, "hf:ann") == [1, 0] and votes(store, STUDY, "ann") == ["tie"]
    _look_for_secrets(page, space, store)


def _look_for_secrets(page, space: Space, store: Store) -> None:
    """Nothing that the provider gave, nor what it is asked with, is kept, shown or told."""
    for name in ("jsonl", "csv", "votes"):
        write_export(store, STUDY, name, space.path.parent / f"export-{name}")
    kept = str(page.context.cookies()) + page.evaluate("JSON.stringify({...localStorage})")
    places = {path.name: path.read_bytes() for path in space.path.parent.glob("e*")}
    places |= {"page": page.content().encode(), "browser": kept.encode()}
    assert {"evenhand.db", "evenhand.log", "export-votes"} <= set(places)
    secrets = [SECRET, *space.provider.given]
    assert len(secrets) > 3  # a code, a token, a signed name
    for secret in secrets:
        assert [name for name, found in places.items() if secret.encode() in found] == []
    heard = space.log() + "".join(space.provider.addresses)
    assert space.token not in heard and "Redirect URI" in heard  # Gradio prints where it sends one


# ------------------------------------------------------------------- the way of a login, alone


def begin(client: httpx.Client, back: str = "/?study=s&tab=vote") -> dict[str, str]:
    """To the provider; what it was asked."""
    sent = client.get("/login/huggingface", params={TARGET_PARAMETER: back})
    assert sent.status_code == 302
    return {k: v[0] for k, v in parse_qs(urlsplit(sent.headers["location"]).query).items()}


def come_back(client: httpx.Client, space: Space, asked: dict[str, str], **said: str) -> str:
    code = space.provider.code_for(asked)
    answer = said or {"code": code, "state": asked["state"]}
    return client.get("/login/callback", params=answer).headers["location"]


def test_a_login_ends_where_it_began_and_nowhere_else(client: httpx.Client, space: Space) -> None:
    home = "/?study=s&tab=vote&login=done"
    assert come_back(client, space, begin(client)) == home
    again = begin(client, "/?study=s&login=lost&tab=vote")
    assert come_back(client, space, again) == home
    for elsewhere in ("https://evil.example/?a=b", "//evil.example", "/\\evil.example", "", "/?"):
        assert come_back(client, space, begin(client, elsewhere)) == "/?tab=vote&login=done"
    long = begin(client, "/?study=" + "x" * 5_000)
    assert come_back(client, space, long) == "/?tab=vote&login=done"
    assert (
        client.get("/logout", params={TARGET_PARAMETER: "/?study=s"}).headers["location"]
        == "/?study=s"
    )
    assert client.get("/logout", params={TARGET_PARAMETER: "//evil.example"}).headers[
        "location"
    ] == ("/?tab=vote")


def test_a_refused_login_and_one_begun_elsewhere_log_nobody_in(
    client: httpx.Client, space: Space
) -> None:
    asked = begin(client)
    refused = {"error": "access_denied", "error_description": "<b>", "state": asked["state"]}
    assert come_back(client, space, asked, **refused).endswith("&login=refused")
    # The state was of one use, and another's is of none: no second try, no loop.
    assert come_back(client, space, asked).endswith("login=lost")
    begin(client)
    asked = {**begin(client), "state": "of-somebody-else"}
    assert come_back(client, space, asked).endswith("login=lost")
    assert "session" not in client.cookies


def test_an_account_without_a_name_and_a_provider_that_fails_log_nobody_in(
    client: httpx.Client, space: Space
) -> None:
    space.provider.account = None
    assert come_back(client, space, begin(client)).endswith("&login=failed")
    space.provider.account, space.provider.broken = "ann", True
    assert come_back(client, space, begin(client)).endswith("&login=failed")
    space.provider.broken = False
    asked = begin(client)
    said = {"code": "never given", "state": asked["state"]}
    assert come_back(client, space, asked, **said).endswith("&login=failed")
    assert "session" not in client.cookies
    assert "failed: OAuthError" in space.log()


def test_logins_that_were_broken_off_do_not_fill_the_cookie(
    client: httpx.Client, space: Space
) -> None:
    for _ in range(30):
        begin(client)
    assert len(client.cookies["session"]) < 2_000
    assert come_back(client, space, begin(client)).endswith("login=done")
