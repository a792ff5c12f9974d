"""A key that must be found nowhere, and the shapes in which a leak would show it."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

CANARY = "zq7Canary/Wv+93kd-LLm0x_Tail8Zed"
"""Not of a shape that any pattern knows: what takes it out must know the key itself."""


def encoded(key: str, before: str = "", after: str = "") -> dict[str, str]:
    whole = f"{before}{key}{after}"
    return {
        "as it is": whole,
        "base64": base64.b64encode(whole.encode()).decode(),
        "base64 for addresses": base64.urlsafe_b64encode(whole.encode()).decode(),
        "percent": quote(whole, safe=""),
        "hex": whole.encode().hex(),
        "JSON": json.dumps({"key": whole}),
        "its end": f"…{key[-8:]}",
        "its beginning": f"{key[:10]}…",
    }


def found_in(content: bytes | str, key: str = CANARY) -> list[str]:
    """The forms of a key that stand in something."""
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    shown = {name: form.strip("…=") for name, form in encoded(key).items()}
    wide = {f"{name}, two bytes a letter": form.encode("utf-16-le") for name, form in shown.items()}
    plain = {name: form.encode() for name, form in shown.items()}
    return [name for name, form in {**plain, **wide}.items() if form in raw]
