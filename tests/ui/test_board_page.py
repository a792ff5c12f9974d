"""The page of a board, opened from a file: table, sorting, filters, themes, verdicts; axe finds
nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from components.share.board.board_files import write_board
from components.share.board.board_page import board_page
from components.share.board.record_tree import records_of_file
from tests.components.share.board.example_board import build_example

pytestmark = [pytest.mark.browser, pytest.mark.extra]
DEMO = Path(__file__).parents[2] / "assets" / "demo"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    board = tmp_path_factory.mktemp("page") / "board"
    write_board([records_of_file(DEMO / "second.yaml")], board, "Example")
    return (board / "index.html").as_uri()


def opened(browser: Any, address: str, width: int = 1280, scheme: str = "light") -> tuple[Any, Any]:
    """A page on the board, and the list of its errors."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    page.goto(address)
    return page, errors


def prompts(page: Any) -> list[str]:
    """The prompts of the rows; the board has one judge."""
    cells = page.locator("#board-table tbody td:nth-child(2)").all_inner_texts()
    return [text.splitlines()[1].split(" ")[0] for text in cells]


def test_the_reader_sorts_filters_and_opens_the_verdicts_behind_a_number(
    browser: Any, address: str
) -> None:
    page, errors = opened(browser, address)
    by_accuracy = prompts(page)
    assert len(by_accuracy) == 6 and by_accuracy[0] == "brief-reference"
    page.get_by_role("button", name="Accuracy").first.click()
    assert prompts(page) == by_accuracy[::-1]
    page.get_by_role("button", name="Consistency").first.click()
    assert page.locator("th[aria-sort]").inner_text().startswith("Consistency")
    page.get_by_role("button", name="Consistency of qwen2.5-coder-1.5b, brief-examples").click()
    page.wait_for_selector("#verdicts-table tbody tr")
    # 33.1 % of 384 pairs are consistent: both verdicts of 384 − 127 pairs
    assert "514 of 768 judgements" in page.locator("#verdicts-count").inner_text()
    flips = page.locator("#verdicts-table tbody td:last-child").all_inner_texts()
    assert set(flips) == {"yes"}
    page.get_by_role("button", name="Close").click()
    page.locator("#theme").click()
    assert page.evaluate("document.documentElement.classList.contains('dark')")
    assert errors == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing(browser: Any, address: str, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page, errors = opened(browser, address, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = axe.Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    page.locator("button.value").first.click()
    page.wait_for_selector("#verdicts-table tbody tr")
    found += axe.Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    lines = [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]
    assert lines == [] and errors == []


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_example(tmp_path_factory.mktemp("example") / "board")


def twelve_rows(example: Path) -> Path:
    """A page of twelve rows on one set of items whose marks lie close together, beside the
    example."""
    board = json.loads((example / "board.json").read_text())
    row = next(one for one in board["rows"] if one["prompt"] == "brief-reference")
    board["rows"] = []
    for k in range(12):
        one = json.loads(json.dumps(row))
        one |= {"id": str(k + 1), "judge": f"a judge with a long name {k}", "tokens": 400 + 3 * k}
        value = 0.8 + 0.004 * (k % 3)
        one["numbers"]["accuracy"] |= {"value": value, "low": value - 0.02, "high": value + 0.02}
        board["rows"].append(one)
    path = example / "twelve.html"
    path.write_text(board_page(board, "0" * 64))
    return path


@pytest.mark.parametrize("which", ["example", "twelve"])
def test_names_in_the_chart_overlap_neither_each_other_nor_a_mark(
    browser: Any, example: Path, which: str
) -> None:
    path = example / "index.html" if which == "example" else twelve_rows(example)
    page, errors = opened(browser, path.as_uri(), 1440)
    page.evaluate("document.fonts.ready")
    boxes = page.evaluate("""() => ['text', 'circle'].map((name) =>
        [...document.querySelectorAll(`#board-chart ${name}`)].map((one) => {
          const box = one.getBoundingClientRect();
          return [one.textContent, box.left, box.top, box.right, box.bottom];
        }))""")
    names, marks = boxes
    assert len(marks) == (9 if which == "example" else 12)
    named = page.locator("#board-chart .name").count()
    assert named == len(marks)
    both = [(a, b) for at, a in enumerate(names) for b in [*names[at + 1 :], *marks]]
    meeting = [
        (a[0], b[0])
        for a, b in both
        if a[1] < b[3] - 1 and b[1] < a[3] - 1 and a[2] < b[4] - 1 and b[2] < a[4] - 1
    ]
    assert meeting == [] and errors == []
