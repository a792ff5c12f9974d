"""The stylesheet and the script of the page are in its HTML, and once only."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

from components.html.markup import Markup
from components.layout.page_head import SETTLE, make_head_move
from components.layout.theme import look_html, script_html
from tests.local_app import LocalApp

LOOK = Markup('<style>a > b { content: "\\\\" }</style>')
SCRIPT = Markup("<script>1 < 2</script>")


def page(head: str) -> bytes:
    """A page with its configuration as Gradio writes it."""
    values = {"css": '"head":"', "head": head, "title": "x"}
    config = json.dumps(values, separators=(",", ":")).replace("<", "\\u003c")
    return f"<html><head><script>c = {config}</script></head><body><app></body></html>".encode()


def test_the_head_of_the_configuration_moves_into_the_html():
    assert make_head_move(LOOK, SCRIPT)(page(LOOK + SCRIPT)) == page(SETTLE).replace(
        b"</head>", f"{LOOK}</head>".encode()
    ).replace(b"</body>", f"{SCRIPT}</body>".encode())


def test_another_head_and_a_page_without_one_stay_as_they_are():
    for other in (page("<style>a</style>"), page(LOOK), b"<html><head></head></html>"):
        assert make_head_move(LOOK, SCRIPT)(other) == other


def test_the_page_has_its_script_once_and_other_sites_get_it_with_the_configuration(
    tmp_path: Path,
) -> None:
    app = LocalApp(tmp_path / "evenhand.db")
    try:
        with urllib.request.urlopen(app.url, timeout=60) as answer:
            sent = answer.read().decode()
        with urllib.request.urlopen(f"{app.url}/config", timeout=60) as answer:
            head = json.load(answer)["head"]
    finally:
        app.close()
    assert head == look_html() + script_html()
    for once in ("evenhand = window.evenhand = {", ".gradio-container { width: 100%"):
        assert sent.count(once) == head.count(once) == 1
    look, script = str(look_html()), str(script_html())
    assert sent.index(look) < sent.index("</head>") < sent.index("eh-loading")
    assert sent.index("<gradio-app") < sent.index(script) < sent.index("</body>")
    assert f'"head":{json.dumps(SETTLE)}'.replace("<", "\\u003c") in sent
