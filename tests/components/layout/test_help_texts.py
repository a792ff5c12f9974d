"""The help: keys that the page has, and steps of the tour that point at its elements."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from components.home.tab import TOUR_OFFER
from components.layout.help_texts import KEYS, TOUR
from components.vote.vote_controls import PAIR_BUTTONS

ROOT = Path(__file__).resolve().parents[3]
CODE = {
    "Everywhere": "assets/page.js",
    "Home": "components/home",
    "Run": "assets/page.js",
    "Inspect": "components/inspect",
    "Vote": "components/vote",
}
NAMES = {"←": "ArrowLeft", "→": "ArrowRight", "↓": "ArrowDown", "Esc": "Escape"}
MOST_WORDS = 25


def source(path: str) -> str:
    place = ROOT / path
    files = [*place.glob("*.py"), *place.glob("*.html")] if place.is_dir() else [place]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


@pytest.mark.parametrize(
    ("tab", "key"), [(tab, key) for tab, rows in KEYS for keys, _ in rows for key in keys.split()]
)
def test_each_key_of_the_list_is_in_the_code_of_its_tab(tab, key):
    wanted = re.escape(NAMES.get(key, key))
    quoted = rf'["\s]{wanted}["\s]|\b{wanted}: \('
    assert re.search(quoted, source(CODE[tab])), f"{tab} has no key {key}"


def test_each_key_of_a_pairwise_ballot_is_in_the_list():
    listed = {NAMES.get(key, key) for keys, _ in dict(KEYS)["Vote"] for key in keys.split()}
    others = re.findall(r'ballot_button\([^)]*, "\w+", "\w", "(\w)', source(CODE["Vote"]))
    assert others
    assert {*others, *(one.key[1].split()[0] for one in PAIR_BUTTONS)} <= listed


def test_the_tour_covers_the_page_in_the_order_of_the_work():
    assert [step.title.split(":")[0].lower() for step in TOUR] == [
        "home", "study", "run", "results", "inspect", "share",
    ]  # fmt: skip
    assert all(step.tab in ("", step.title.split(":")[0].lower()) for step in TOUR)
    assert all(len(step.text.split()) <= MOST_WORDS for step in TOUR)


def test_each_step_points_at_an_element_of_the_page():
    page = "\n".join(
        file.read_text(encoding="utf-8")
        for file in (ROOT / "components").rglob("*.py")
        if file.name != "help_texts.py"
    )
    assert [step.anchor for step in TOUR if f'"{step.anchor[1:]}"' not in page] == []


def test_the_offer_can_be_taken_and_declined():
    assert re.findall(r'data-tour="(\w+)"', TOUR_OFFER) == ["0", "skip"]
