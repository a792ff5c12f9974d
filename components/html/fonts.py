"""Fonts of the pages that open without a server, as data inside the file."""

from __future__ import annotations

import base64
import importlib.util
from pathlib import Path
from typing import Final

_FONT_FILES: Final = (
    ("IBM Plex Sans", 400, "IBMPlexSans/IBMPlexSans-Regular.woff2"),
    ("IBM Plex Sans", 700, "IBMPlexSans/IBMPlexSans-Bold.woff2"),
    ("IBM Plex Mono", 400, "IBMPlexMono/IBMPlexMono-Regular.woff2"),
)


def page_fonts() -> list[tuple[str, int, str]]:
    """Gradio's IBM Plex fonts: family, weight and data in base64; empty if the font files are not
    found."""
    found = importlib.util.find_spec("gradio")
    folders = (found.submodule_search_locations or []) if found else []
    fonts = []
    for folder in folders:
        for family, weight, name in _FONT_FILES:
            font = Path(folder) / "templates/frontend/static/fonts" / name
            if font.is_file():
                fonts.append((family, weight, base64.b64encode(font.read_bytes()).decode()))
    return fonts
