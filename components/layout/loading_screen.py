"""The loading screen: logo, purpose and empty cards until Gradio's script has built the page.

Gradio sends an empty page, and its script takes seconds to fill it on a slow machine. The loading
screen is part of the HTML that the server sends, so that it is drawn at once. Its CSS hides it as
soon as Gradio has drawn a control.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from components.html.markup import ASSETS, EMPTY, Markup, fill, json_script, read_program_file
from components.html.pieces import logo_html

TITLE: Final = "Is your LLM judge even-handed?"
LEAD: Final = (
    "Evenhand asks a judge the same question twice, changing only the order of the answers, and "
    "shows how often and which way its verdict changes."
)
OTHER_TABS: Final = ("study", "run", "results", "inspect", "vote")
LOADING: Final = "Loading the page…"


@dataclass(frozen=True)
class FirstContent:
    """Contents of a page before its first event has been answered."""

    loading: Markup
    """Content of the loading screen."""
    values: Mapping[str, str]
    """elem_id of a component -> the value with which the page draws it first."""


Preview = Callable[[Mapping[str, str]], FirstContent | None]
"""Function from query parameters to the first content; None: empty cards."""
_BODY: Final = b"<gradio-app"
_CARD_TAGS: Final = re.compile(rb"<meta\s+(?:property|name)=\"(?:og|twitter):[^>]*>\s*")
"""Meta tags from which chats and other sites draw the card of a link. Gradio's tags, which describe
Gradio, are removed."""
LINK_CARD: Final = fill(
    '<meta property="og:title" content="Evenhand: {}"><meta property="og:description" content="{}">'
    '<meta property="og:type" content="website"><meta property="og:site_name" content="Evenhand">'
    '<meta name="twitter:card" content="summary_large_image">',
    TITLE,
    LEAD,
)
"""HTML meta tags for the preview of a link to the page; the address of its picture is added for
each request."""
PICTURE: Final = ASSETS / "screenshots" / "bias_light.png"
PICTURE_PATH: Final = "/card.png"
"""Path at which the server has the picture of the card."""


class LoadingScreen:
    """Middleware for the page at "/": puts the loading screen before Gradio's element, and into the
    head the tags that other sites read to preview a link to the page. It also serves the picture of
    that preview, at PICTURE_PATH."""

    def __init__(
        self, app: ASGIApp, *, home: bool = True, preview: Preview = lambda _: None
    ) -> None:
        """`home`: whether the page has a Home tab. `preview`: function of the query parameters that
        returns the content of the loading screen and the first values of components, or None for
        empty cards."""
        self._app, self._home, self._preview = app, home, preview

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == PICTURE_PATH and PICTURE.is_file():
            await Response(PICTURE.read_bytes(), media_type="image/png")(scope, receive, send)
            return
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
        first = await to_thread.run_sync(self._preview, query)
        screen = loading_html(query, home=self._home, content=first.loading if first else None)
        inserted = str(screen + first_values_html(first.values if first else {})).encode()
        start: Message | None = None
        parts: list[bytes] = []

        async def insert(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            parts.append(message.get("body", b""))
            if start is None or message.get("more_body"):
                return
            body = b"".join(parts)
            if start["status"] == 200:
                head, found, rest = body.partition(b"</head>")
                card = str(link_preview_tags(scope)).encode() if found else b""
                body = _CARD_TAGS.sub(b"", head) + card + found + rest
                body = body.replace(_BODY, inserted + _BODY, 1)
            headers = [one for one in start["headers"] if one[0].lower() != b"content-length"]
            length = (b"content-length", str(len(body)).encode())
            await send({**start, "headers": [*headers, length]})
            await send({"type": "http.response.body", "body": body})

        await self._app(scope, receive, insert)


def first_values_html(values: Mapping[str, str]) -> Markup:
    """Script tags that prepare Gradio's configuration of the page before Gradio reads it. `values`:
    elem_id of a component -> the value that it has from the start."""
    script = read_program_file(ASSETS / "first.js")
    return fill("{}<script>{}</script>", json_script("eh-first", values), script)


def link_preview_tags(scope: Scope) -> Markup:
    """HTML meta tags from which other sites make a preview of a link to this page. The address of
    the preview's picture starts with the address at which the browser requested the page."""
    if not PICTURE.is_file():
        return LINK_CARD
    address = f"{Request(scope).base_url}{PICTURE_PATH[1:]}"
    return LINK_CARD + fill('<meta property="og:image" content="{}">', address)


def loading_html(
    query: Mapping[str, str], *, home: bool = True, content: Markup | None = None
) -> Markup:
    """HTML of the loading screen. `query`: query parameters of the page's address; `home`: whether
    the page has a Home tab; `content`: HTML shown in place of the empty cards."""
    theme, tab = query.get("__theme", ""), query.get("tab", "")
    # Gradio shows the first tab until the page has opened the tab of the address. The address of
    # Home may name a study too: that of the header.
    waits = home and (tab in OTHER_TABS or (tab != "home" and "study" in query))
    on_home = home and tab in ("", "home") and not waits
    names = [theme] if theme in ("light", "dark") else []
    names += ["with-content"] if content else ["other-tab"] if waits else []
    names += ["at-home"] if content and on_home else []
    return fill(
        '{}<div id="eh-loading" class="{}" role="status"><div class="top">'
        '{}</div><div class="all">{}<p class="state">{}</p>'
        '<div class="{}">{}</div></div></div>',
        read_program_file(ASSETS / "loading.html"),
        " ".join(names),
        logo_html(),
        fill('<div class="words"><h1>{}</h1><p>{}</p></div>', TITLE, LEAD)
        if on_home and not content
        else EMPTY,
        LOADING,
        "cards" if on_home and not content else "",
        # It cannot be clicked or focused: the page's script does not know it.
        fill('<div class="content" inert>{}</div>', content)
        if content
        else Markup('<div class="card"></div>') * 3,
    )
