"""Find files in the values of an event that are named by an address instead of an upload.

Gradio downloads such a file before any handler runs. This module does not import gradio.
"""

import re
from typing import Any, Final
from urllib.parse import unquote

_ADDRESS: Final = re.compile(r"\s*(?:[a-z][a-z0-9+.-]+:|//|\\\\)", re.IGNORECASE)
"""The start of an address: a scheme of two letters or more, or the name of another machine."""
_FILE_ROUTE: Final = "/gradio_api/file="


def find_remote_file(value: Any) -> str:
    """Address of a file, at any depth of `value`, that Gradio would download; "" if there is none.

    For an upload the page sends its path, and perhaps the address at which this server returns it;
    such an address does not count."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "meta" in part and (address := _remote_address_of(part)):
                return address
            waiting.extend(part.values())
        elif isinstance(part, (list, tuple)):
            waiting.extend(part)
    return ""


def _remote_address_of(file: dict[str, Any]) -> str:
    """Address from which Gradio would download a file; "" for an upload."""
    path, url = file.get("path"), file.get("url")
    if isinstance(path, str) and _ADDRESS.match(path):
        return path
    own = f"{_FILE_ROUTE}{path}"
    return url if isinstance(url, str) and url and not unquote(url).endswith(own) else ""
