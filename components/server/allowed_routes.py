"""The routes that the server answers; every other route gets status 404.

Gradio registers routes that Evenhand does not use: links to a state of the page write typed values
to the disk, recordings start ffmpeg, a proxy fetches pages, monitoring reads statistics. An allow
list also refuses routes that a later Gradio release adds. This module does not import gradio.
"""

import re
from typing import Final, NamedTuple

_READ: Final = frozenset(("GET", "HEAD"))
_SEND: Final = frozenset(("POST",))
_NAME: Final = r"[^/]{1,200}"


class AllowedRoute(NamedTuple):
    methods: frozenset[str]
    path: re.Pattern[str]
    use: str


def _make_allowed_route(methods: frozenset[str], path: str, use: str) -> AllowedRoute:
    return AllowedRoute(methods, re.compile(path, re.DOTALL), use)


UPLOAD_PATH: Final = "/gradio_api/upload"
ALLOWED_ROUTES: Final = tuple(
    _make_allowed_route(methods, path, use)
    for methods, path, use in (
        (_READ, r"/", "the page"),
        (_READ, r"/config", "the page's components and events, for the page and gradio_client"),
        (_READ, r"/(?:assets|static)/.+", "scripts, styles and fonts of Gradio's page"),
        (_READ, r"/(?:theme\.css|favicon\.ico|manifest\.json|robots\.txt)", "theme, icon, robots"),
        (_READ, r"/card\.png", "the picture of a link to the page"),
        (_READ, r"/gradio_api/file=.+", "exports, uploads, plotly.js; Gradio checks the path"),
        (_READ, r"/gradio_api/info/?", "the functions of the API"),
        (_READ, r"/gradio_api/app_id", "whether a page that lost its connection is outdated"),
        (_READ, rf"/gradio_api/heartbeat/{_NAME}", "the end of a session"),
        (_READ, r"/gradio_api/queue/(?:data|status)", "answers to events, length of the queue"),
        (_READ, r"/gradio_api/startup-events", "requested by Gradio's launch() at the start"),
        (_READ, r"/gradio_api/upload_progress", "the progress bar of an upload"),
        (_READ, rf"/gradio_api/call/(?:v2/)?{_NAME}/{_NAME}", "answers to calls of the API"),
        (_SEND, rf"/gradio_api/call/(?:v2/)?{_NAME}", "calls of the API"),
        (_SEND, rf"/gradio_api/run/{_NAME}", "events outside the queue: Pause and Stop"),
        (_SEND, r"/gradio_api/(?:queue/join|cancel|reset)", "events and their end"),
        (_SEND, re.escape(UPLOAD_PATH), "uploads, limited by RequestLimits"),
        (_READ, r"/login/(?:huggingface|callback)|/logout", "login of voters on a Space"),
    )
)
MCP_ROUTE: Final = _make_allowed_route(
    frozenset(("GET", "HEAD", "POST", "DELETE")), r"/gradio_api/mcp(?:/.*)?", "MCP, with --mcp"
)


def is_allowed_route(method: str, path: str, *, mcp: bool = False) -> bool:
    routes = (*ALLOWED_ROUTES, MCP_ROUTE) if mcp else ALLOWED_ROUTES
    return any(method in one.methods and one.path.fullmatch(path) for one in routes)
