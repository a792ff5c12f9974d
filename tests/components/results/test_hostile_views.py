"""Views of a study whose every text is HTML that means harm: all of it is shown as text.

`tests/ui/test_hostile_text.py` looks at the same study in a browser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.results.view_drawing import PAIR_VIEWS, VIEWS, render_view_uncached
from studies.store.store import Store
from tests.ui.hostile import HOST, PAYLOADS, STUDY, fill

FORBIDDEN = {"script", "iframe", "object", "embed", "link", "style", "base", "form", "video", "img"}
ADDRESSES = {"src", "href", "xlink:href", "action", "data", "srcdoc", "poster", "style"}


class HarmFinder(HTMLParser):
    """Finds the tags and attributes of the payloads, and collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.harm: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in FORBIDDEN:
            self.harm.append(tag)
        for name, value in attrs:
            address = name in ADDRESSES and re.search(rf"javascript:|{HOST}", value or "")
            if name.startswith("on") or address:
                self.harm.append(f"{tag} {name}={value}")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("hostile")
    fill(folder / "evenhand.db", folder)
    store = Store(folder / "evenhand.db")
    yield store
    store.close()


def html_of(made: Mapping[str, Any]) -> str:
    return "\n".join(part for part in made.values() if isinstance(part, str))


@pytest.mark.parametrize("view", PAIR_VIEWS)
def test_every_text_of_a_hostile_study_is_text_in_every_view(hostile: Store, view: str) -> None:
    study = FilteredStudy(hostile, STUDY)
    found = HarmFinder()
    found.feed(html_of(render_view_uncached(study, view, VIEWS[view].initial_values(study))))
    assert found.harm == []
    assert PAYLOADS[1] in "".join(found.text)


def test_the_check_finds_what_it_looks_for() -> None:
    found = HarmFinder()
    found.feed(PAYLOADS[1] + PAYLOADS[3] + PAYLOADS[5] + PAYLOADS[9])
    assert {one.split("=")[0] for one in found.harm} == {
        "img", "img src", "img onerror", "b onmouseover", "b onfocus", "a href", "p style",
    }  # fmt: skip
