"""Evenhand's stylesheet and script, moved from Gradio's configuration into the HTML of the page.

Gradio sends the HTML given to launch(head=…) inside its configuration, and its script inserts it
shortly before the page is built. The browser then computes all styles a second time, and the page
with its first content contains the stylesheet twice.
"""

import json
import re
from collections.abc import Callable
from typing import Final

from components.html.markup import Markup

SETTLE: Final = Markup("<script>evenhand.settleTheme()</script>")
"""Script that stays in the configuration: Gradio has set the theme of the system by then, and
the reader may have chosen another."""
_GIVEN: Final = re.compile(rb'"head":("(?:[^"\\]++|\\.)*+")')
_END_OF_HEAD: Final = b"</head>"
_END_OF_BODY: Final = b"</body>"


def make_head_move(look: Markup, script: Markup) -> Callable[[bytes], bytes]:
    """Return a function that moves `look` to the end of the HTML head of a page and `script` to the
    end of its body, if `look` and `script` together are what was given to launch(head=…). Of
    another page nothing is changed."""

    def move(page: bytes) -> bytes:
        for found in _GIVEN.finditer(page):
            if json.loads(found.group(1)) == look + script:
                rest = json.dumps(SETTLE).replace("<", "\\u003c").encode()
                page = page[: found.start(1)] + rest + page[found.end(1) :]
                page = page.replace(_END_OF_HEAD, str(look).encode() + _END_OF_HEAD, 1)
                before, end, after = page.rpartition(_END_OF_BODY)
                return before + str(script).encode() + end + after
        return page

    return move
