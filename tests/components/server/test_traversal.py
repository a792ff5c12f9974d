"""Path traversal: the file routes of the real app serve no files of the machine."""

from __future__ import annotations

import http.client
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.attacks.attack_list import OWN, PUBLIC
from tests.attacks.attack_log import Mode, attempt
from tests.local_app import LocalApp
from tests.samples import ALL, sample
from tests.ui.conftest import ROOT, App
from tests.ui.visitors import Visitor

ROUTES = (
    "/file=", "/gradio_api/file/", "/static/", "/assets/", "/svelte/", "/theme.css/",
    "/gradio_api/stream/", "/custom_component/x/y/", "/gradio_api/proxy=", "/",
)  # fmt: skip
SECRET = "traversal-canary-51c7"
Served = App | LocalApp
FILES = "file access"
BURSTING = "bombs and huge uploads"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page for strangers, with a file beside its store that nobody may have."""
    yield from served(tmp_path_factory.mktemp("served"), public=True)


@pytest.fixture(scope="module")
def own_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The same page on the machine of its only user."""
    yield from served(tmp_path_factory.mktemp("own"), public=False)


@pytest.fixture(scope="module", params=sample([PUBLIC, OWN], PUBLIC))
def each_app(request: pytest.FixtureRequest) -> tuple[Served, Mode]:
    return request.getfixturevalue("app" if request.param == PUBLIC else "own_app"), request.param


@pytest.fixture(scope="module")
def visitor(each_app: tuple[Served, Mode]) -> Visitor:
    """A visitor who has loaded the page."""
    made = Visitor(each_app[0].url)
    made.open()
    return made


def served(folder: Path, *, public: bool) -> Iterator[Served]:
    """`make test-all` starts a process: only there /proc shows the secret of the environment."""
    (folder / "store").mkdir()
    (folder / "store" / "secret.txt").write_text(SECRET)
    (folder / "store" / "uploads").mkdir()
    (folder / "store" / "uploads" / "0a0a0a0a-theirs.csv").write_text(f"a\n{SECRET}\n")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GRADIO_TEMP_DIR", str(folder / "tmp"))
        environment.setenv("EVENHAND_PUBLIC", str(int(public)))
        environment.setenv("SOME_SECRET", SECRET)
        running = (App if ALL else LocalApp)(folder / "store" / "evenhand.db")
        yield running
        running.close()


def asked(app: Served, path: str, method: str = "GET", body: bytes = b"", **headers: str):
    """The path as it is: no client of ours puts it right on the way."""
    connection = http.client.HTTPConnection("127.0.0.1", app.port, timeout=30)
    connection.putrequest(method, path, skip_accept_encoding=True)
    for name, value in {**headers, "Content-Length": str(len(body))}.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders(body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content


def targets(app: Served) -> list[str]:
    store = app.store.as_posix()
    inside = [store, f"{store}-wal", f"{app.store.parent}/secret.txt",
              f"{app.store.parent}/uploads/0a0a0a0a-theirs.csv", app.store.with_suffix(".log"),
              f"{ROOT}/app.py", f"{ROOT}/requirements.txt", f"{ROOT}/judges/providers.yaml",
              f"{ROOT}/.git/config"]  # fmt: skip
    found = ["/etc/passwd", "/proc/self/environ", "/proc/self/cmdline", "/proc/self/maps",
             "/dev/zero", *map(str, inside)]  # fmt: skip
    return found if ALL else [found[0], found[1], *map(str, inside[:4])]


def paths(app: Served) -> list[str]:
    """Every target as such and in disguise, on every route that serves files."""
    out = []
    for target in targets(app):
        bare, up = target.lstrip("/"), "../" * 12
        forms = [
            target, quote(target, safe=""), f"{up}{bare}", quote(f"{up}{bare}", safe=""),
            f"{up}{bare}".replace("../", "%2e%2e/"), f"{up}{bare}".replace("../", "..%2f"),
            f"{up}{bare}".replace("../", "%252e%252e%252f"), f"{up}{bare}".replace("../", "....//"),
            f"{up}{bare}".replace("/", "%5c"), f"/{target}", f"//{target}", f"/.{target}",
            f"file://{target}", f"{target}%00.png", f"{target}/.", f"assets/{up}{bare}",
            f"{app.store.parent.parent}/tmp/{up}{bare}", f"/dev/fd/../..{target}",
        ]  # fmt: skip
        out += [f"/gradio_api/file={form}" for form in forms]
        out += [f"{route}{up}{bare}" for route in ROUTES]
        out += [f"{route}{quote(target, safe='')}" for route in ROUTES]
    return out


def test_no_path_in_any_disguise_leads_to_a_file_of_the_machine(each_app):
    app, mode = each_app
    tried = paths(app)
    assert len(tried) > (500 if ALL else 200)
    page = asked(app, "/")[1][:200]
    for path in tried:
        answer, content = asked(app, path)
        with attempt(FILES, mode, path):
            served = answer.status == 200 and content[:200] != page  # no route: the page's
            assert not served, (path, content[:200])
            assert answer.status in (200, 307, 400, 403, 404, 405, 422), (path, answer.status)
            for secret in (SECRET.encode(), b"root:x:0", b"SQLite format 3", b"SOME_SECRET"):
                assert secret not in content, path


def test_the_route_does_give_out_what_was_uploaded(app):
    """So that the refusals above are refusals, and not a route that is not there."""
    _, (path,) = uploaded(app, "mine.csv")
    answer, content = asked(app, f"/gradio_api/file={path}")
    assert (answer.status, content) == (200, b"a,b\n1,2\n")


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
def test_no_other_method_does(method, each_app):
    app, mode = each_app
    for target in targets(app):
        answer, content = asked(app, f"/gradio_api/file={target}", method)
        with attempt(FILES, mode, f"{method} {target}"):
            assert answer.status >= 400 or not content, (method, target)
            assert int(answer.headers.get("Content-Length") or 0) < 200


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:9/x", "https://example.com/x", "//example.com/x",
                "http://169.254.169.254/latest/meta-data"],
)  # fmt: skip
def test_the_file_route_fetches_nothing_from_elsewhere_and_sends_nobody_there(address, each_app):
    app, mode = each_app
    for form in (address, quote(address, safe="")):
        for route in ("/gradio_api/file=", "/gradio_api/proxy="):
            answer, _ = asked(app, route + form)
            with attempt(FILES, mode, route + form):
                assert answer.status in (400, 403, 404, 405), (route + form, answer.status)
                assert "location" not in answer.headers


# ---- uploads -------------------------------------------------------------------------------

NAMES = ["../../../etc/cron.d/evil", "..\\..\\evil.csv", "/etc/passwd", "a/../../b.csv", "..", ".",
         "x" * 400 + ".csv", "<script>alert(1)</script>.csv", "nul\0byte.csv", "a\nb.csv",
         "%2e%2e%2fevil.csv", "~/.ssh/authorized_keys", ".bashrc", "evenhand.db"]  # fmt: skip


def uploaded(app: Served, name: str) -> tuple[int, list[str]]:
    edge = uuid.uuid4().hex
    shown = name.replace("\n", "%0A").replace('"', "%22")
    body = (
        f'--{edge}\r\nContent-Disposition: form-data; name="files"; filename="{shown}"\r\n'
        f"Content-Type: text/csv\r\n\r\na,b\n1,2\n\r\n--{edge}--\r\n"
    ).encode()
    kind = f"multipart/form-data; boundary={edge}"
    answer, content = asked(app, "/gradio_api/upload", "POST", body, Content_Type=kind)
    return answer.status, json.loads(content) if answer.status == 200 else []


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_an_upload_lands_in_the_temporary_folder_whatever_it_is_called(name, each_app):
    app, mode = each_app
    before = {path for path in app.store.parent.rglob("*") if "evenhand.db" not in path.name}
    status, kept = uploaded(app, name)
    folder = app.store.parent.parent / "tmp"
    with attempt(FILES, mode, f"an upload called {name!r}"):
        for path in kept:
            assert Path(os.path.realpath(path)).is_relative_to(folder.resolve()), path
        assert kept or status >= 400
        after = {path for path in app.store.parent.rglob("*") if "evenhand.db" not in path.name}
        assert after == before


@pytest.mark.parametrize("path", ["/etc/passwd", "secret.txt", "uploads/0a0a0a0a-theirs.csv"])
def test_a_path_that_was_never_uploaded_is_not_taken_for_an_upload(path, each_app, visitor):
    """The browser says where its upload lies: a stranger may say anything."""
    app, mode = each_app
    target = path if path.startswith("/") else str(app.store.parent / path)
    sent = [{"path": target, "meta": {"_type": "gradio.FileData"}, "orig_name": "a.csv"}]
    with attempt(FILES, mode, f"an upload at {path}"):
        with pytest.raises(AssertionError) as refused:
            visitor.fire("eh-upload", "upload", {"eh-upload": sent})
        assert "success" in str(refused.value) and SECRET not in str(refused.value)
        assert not [p for p in (app.store.parent / "uploads").iterdir() if "theirs" not in p.name]


def test_a_file_that_is_too_large_is_refused_while_it_comes(app):
    """Strangers may send 50 MB: what is longer is not written to the end."""
    edge = uuid.uuid4().hex
    head = (
        f'--{edge}\r\nContent-Disposition: form-data; name="files"; filename="a.csv"\r\n\r\n'
    ).encode()
    body = head + b"x" * (51 << 20) + f"\r\n--{edge}--\r\n".encode()
    kind = f"multipart/form-data; boundary={edge}"
    with attempt(BURSTING, PUBLIC, "an upload of 51 MB"):
        try:
            answer, _ = asked(app, "/gradio_api/upload", "POST", body, Content_Type=kind)
            assert answer.status == 413
        except (ConnectionError, http.client.HTTPException):
            pass  # it hung up
        kept = [p for p in (app.store.parent.parent / "tmp").rglob("*") if p.is_file()]
        assert all(path.stat().st_size < 50 << 20 for path in kept)


def test_the_page_tells_no_folder_of_its_machine(app):
    for path in ("/", "/config", "/gradio_api/info"):
        content = asked(app, path)[1].decode("utf-8", "replace")
        assert str(app.store.parent) not in content, path


# ---- what Gradio would take, and what it would keep ----------------------------------------


def test_a_thousand_files_in_one_upload_are_refused_by_their_sum(app):
    """Each may have 50 MB; all together 200, and that is known from the head."""
    connection = http.client.HTTPConnection("127.0.0.1", app.port, timeout=30)
    connection.putrequest("POST", "/gradio_api/upload")
    connection.putheader("Content-Type", "multipart/form-data; boundary=x")
    connection.putheader("Content-Length", str(1000 * (50 << 20)))
    connection.endheaders()
    answer = connection.getresponse()
    with attempt(BURSTING, PUBLIC, "an upload of a thousand files"):
        assert answer.status == 413 and "201 MB" in json.loads(answer.read())["detail"]
    connection.close()


def test_an_event_of_a_gigabyte_is_not_read_into_memory(app):
    """In pieces, without a length: it is cut off where it gets too long."""
    connection = http.client.HTTPConnection("127.0.0.1", app.port, timeout=30)
    connection.putrequest("POST", "/gradio_api/queue/join")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    piece, sent = b" " * 65536, 0
    try:
        while sent < 1 << 30:
            connection.send(b"10000\r\n" + piece + b"\r\n")
            sent += len(piece)
    except OSError:
        pass  # it hung up
    connection.close()
    with attempt(BURSTING, PUBLIC, "an event of a gigabyte"):
        assert sent < 100 << 20, f"{sent >> 20} MB were taken"
        assert asked(app, "/config")[0].status == 200


@pytest.mark.parametrize(
    "path", ["deep_link?session_hash={}", "vibe-code", "run-history/records", "runs",
             "stream/{}/0/1/playlist.m3u8", "component_server", "process_recording"],
)  # fmt: skip
def test_routes_of_gradio_that_nobody_needs_are_closed(path, each_app, visitor):
    app, mode = each_app
    for method in ("GET", "POST"):
        answer, _ = asked(app, f"/gradio_api/{path.format(visitor.session)}", method)
        with attempt(FILES, mode, f"{method} {path}"):
            assert answer.status == 404, (method, path)
    assert not list((app.store.parent.parent / "tmp").rglob("state.json"))
