"""The loading screen is in the HTML that the server sends, and only there."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

import components
from components.html.markup import ASSETS, Markup
from components.layout.loading_screen import (
    LEAD,
    TITLE,
    LoadingScreen,
    first_values_html,
    loading_html,
)

COMPONENTS = Path(components.__file__).parent
SCRIPT = re.sub(r"#eh-[a-z0-9-]+", "", (ASSETS / "page.js").read_text(encoding="utf-8"))
"""The script without the ids that it looks for."""
PAGE = b"<html><body><gradio-app></gradio-app></body></html>"


def answer(path: str, *, status: int = 200, query: bytes = b"", home: bool = True) -> Any:
    """Status, headers and body of a response that went through the middleware, sent in parts."""
    sent: list[dict[str, Any]] = []

    async def page(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"text/html"), (b"content-length", str(len(PAGE)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": PAGE[:20], "more_body": True})
        await send({"type": "http.response.body", "body": PAGE[20:]})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request"}

    headers = [(b"host", b"judges.test:7860")]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query,
             "headers": headers}  # fmt: skip
    asyncio.run(LoadingScreen(page, home=home)(scope, receive, send))
    body = b"".join(one.get("body", b"") for one in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]), body.decode(errors="replace")


def test_the_page_begins_with_its_purpose_and_has_the_right_length():
    status, headers, body = answer("/")
    assert status == 200 and TITLE in body and LEAD in body
    assert body.index("eh-loading") < body.index("<gradio-app>") and body.endswith("</html>")
    assert int(headers[b"content-length"]) == len(body.encode())


def test_first_values_cannot_end_their_script():
    made = first_values_html({"eh-home-studies": "</script><b>"})
    assert '{"eh-home-studies":"\\u003c/script>\\u003cb>"}' in made and made.count("</script>") == 2


GRADIO_HEAD = (
    b'<html><head><meta property="og:title" content="Gradio" /><meta\n\tproperty="og:image"\n'
    b'\tcontent="https://example.org/gradio.png" /><meta name="twitter:creator" content="@G" />'
    b"<title>Evenhand</title></head>"
)


def test_the_card_of_a_link_names_the_page_and_no_outside_address(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "PAGE", PAGE.replace(b"<html>", GRADIO_HEAD))
    _, headers, body = answer("/")
    head = body.partition("</head>")[0]
    assert "Gradio" not in head and "<title>Evenhand</title>" in head
    (picture,) = re.findall(r'property="og:image" content="([^"]*)"', head)
    assert picture == "http://judges.test:7860/card.png" and head.count("http") == 1
    status, sent, image = answer("/card.png")
    assert status == 200 and sent[b"content-type"] == b"image/png" and "PNG" in image[:8]
    assert f'property="og:title" content="Evenhand: {TITLE}"' in head
    assert f'property="og:description" content="{LEAD}"' in head
    assert head.count("og:title") == 1 and "@G" not in head
    assert int(headers[b"content-length"]) == len(body.encode())


def test_other_tabs_get_no_title_and_other_paths_are_unchanged():
    for query in (b"tab=results", b"study=x", b"study=x&tab=vote&blind=1"):
        _, _, body = answer("/", query=query)
        assert "eh-loading" in body and TITLE not in body
    assert TITLE not in answer("/", home=False)[2]  # a frozen study has no Home
    for path, status in (("/config", 200), ("/", 401)):
        assert answer(path, status=status)[2] == PAGE.decode()


def test_home_is_not_shown_before_the_tab_of_the_address():
    assert "other-tab" in loading_html({"tab": "results"}).partition("<div")[2]
    assert "other-tab" in loading_html({"study": "x"}).partition("<div")[2]
    on_home = {"tab": "home", "study": "x"}  # the address of Home once a study is open
    assert TITLE in loading_html(on_home)
    for query, home in (
        ({}, True), (on_home, True), ({"tab": "nonsense"}, True), ({"tab": "results"}, False),
    ):  # fmt: skip
        assert "other-tab" not in loading_html(query, home=home).partition("<div")[2]


def test_the_theme_of_the_address_is_taken_and_nothing_else_of_it():
    assert 'class="dark"' in loading_html({"__theme": "dark"})
    hostile = '"><script>alert(1)</script>'
    made = loading_html({"__theme": hostile, "tab": hostile, "study": hostile})
    assert "<script" not in made and 'class="other-tab"' in made


def test_a_preview_replaces_the_empty_cards_and_cannot_be_clicked():
    made = loading_html({"tab": "results"}, content=Markup("<h1>Most verdicts change.</h1>"))
    assert "with-content" in made and 'class="card"' not in made
    assert '<div class="content" inert><h1>Most' in made


def test_styles_and_scripts_name_only_ids_that_the_page_has():
    """A rule for an id that is gone does nothing: the loading screen would cover the page."""
    files = [*COMPONENTS.rglob("*.py"), *COMPONENTS.rglob("*.html")]
    made = "".join(path.read_text(encoding="utf-8") for path in files)
    for name in ("loading.html", "style.css", "page.js"):
        text = (ASSETS / name).read_text(encoding="utf-8")
        missing = {
            one
            for one in re.findall(r"#(eh-[a-z0-9-]+)", text)
            if one not in made + SCRIPT
            and f"{one.rpartition('-')[0]}-{{" not in made  # an id built from a name
        }
        assert missing == set(), name


def shown(query: dict[str, str], **more: Any) -> tuple[list[str], bool, str, int]:
    """Classes of the screen; whether it has the title; class of its box; number of empty cards."""
    made = str(loading_html(query, **more))
    classes = re.findall(r'id="eh-loading" class="([^"]*)"', made)[0].split()
    box = re.findall(r'</p><div class="([^"]*)">', made)[0]
    return classes, f"<h1>{TITLE}</h1>" in made, box, made.count('<div class="card"></div>')


def test_title_and_cards_belong_to_home_alone_and_content_replaces_both():
    content = Markup("<h1>Found.</h1>")
    assert shown({}) == shown({"tab": "home"}) == ([], True, "cards", 3)
    assert shown({"tab": "results"}) == (["other-tab"], False, "", 3)
    assert shown({"study": "s"}) == (["other-tab"], False, "", 3)
    assert shown({"tab": "nonsense"}) == ([], False, "", 3)
    assert shown({}, content=content) == (["with-content", "at-home"], False, "", 0)
    assert shown({"tab": "vote"}, content=content) == (["with-content"], False, "", 0)
    assert shown({"__theme": "light"}, home=False) == (["light"], False, "", 3)
    assert shown({"__theme": "dark", "tab": "run"}) == (["dark", "other-tab"], False, "", 3)
    assert shown({}, home=False, content=content) == (["with-content"], False, "", 0)
