"""A newcomer's table of verdicts and labels in a real browser: sentence, then the false passes."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest

from studies.store.store import Store
from tests.judges.small_studies import run_text
from tests.ui.conftest import address, choose, open_fold, open_view
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.extra]
ROWS = [
    ("pass", "pass", 97), ("fail", "pass", 3), ("pass", "fail", 39), ("fail", "fail", 61),
    ("pass", "", 83), ("fail", "", 17),
]  # fmt: skip


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_from_the_file_to_the_false_passes_without_a_setting(
    visit, tmp_path: Path, width: int, theme: str
) -> None:
    lines = [f"{verdict},{label}" for verdict, label, n in ROWS for _ in range(n)]
    name = f"checks{width}"
    table = tmp_path / f"{name}.csv"
    table.write_text("\n".join(["verdict,label", *lines]) + "\n", encoding="utf-8")
    page = visit(width=width, theme=theme)
    choose(page, table, then="Show results")
    until(lambda: page.locator("#eh-study input").input_value() == name)
    finding = page.get_by_text("The judge passes 97 % of good answers and 39 % of bad ones.").first
    finding.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    open_view(page, "Agreement")
    areas = page.locator("#eh-pass-areas button")
    areas.first.wait_for()
    assert areas.count() == 4
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    false_passes = areas.filter(has_text="false passes")
    assert "39" in false_passes.inner_text()
    false_passes.click()
    page.wait_for_selector(".eh-inspect-filters .eh-fpill.on")
    assert "False passes" in page.locator(".eh-inspect-filters .eh-fpill.on").first.inner_text()
    assert "39" in page.locator(".eh-list .h").first.inner_text()


ORDERED = "Helpdesk, both orders"
STUDY = f"""
name: "{ORDERED}"
data: {{source: help.jsonl}}
judges: [{{name: leaning, model: simulated, first_bias: 0.3, accuracy: 0.8, seed: 2}}]
prompts: [pass-fail]
options: rotations
"""


def save_ordered_study(path: Path, folder: Path) -> None:
    """Save a study of labelled answers in three groups, judged with pass and with fail listed
    first, in the store at `path`; nothing if it is there."""
    lines = [
        {
            "id": f"t{k}", "category": ("refunds", "billing", "plans")[k % 3],
            "instruction": f"Ticket {k}?", "responses": {"bot": f"Answer {k}."},
            "labels": [{"contestant": "bot", "value": "fail" if k % 4 == 0 else "pass"}],
        }
        for k in range(60)
    ]  # fmt: skip
    (folder / "help.jsonl").write_text("\n".join(json.dumps(one) for one in lines), "utf-8")
    store = Store(path)
    if ORDERED not in {line.name for line in store.studies()}:
        run_text(store, STUDY, folder)
    store.close()


def test_errors_are_switched_and_a_cell_of_the_order_opens_its_replies(visit, app, tmp_path):
    save_ordered_study(app.store, tmp_path)
    page = visit(f"tab=results&study={quote(ORDERED)}&view=Agreement")
    open_fold(page, "Wrong verdicts")
    wrong = page.locator("#eh-pass-wrong")
    wrong.get_by_text("false pass").wait_for()
    page.locator("#eh-pass-errors label", has_text="False fails").click()
    wrong.get_by_text("false fail").wait_for()
    assert wrong.get_by_text("false pass").count() == 0
    until(lambda: "errors=False" in address(page))
    open_view(page, "Position")
    cells = page.locator("#eh-pass-order .eh-shift")
    cells.first.wait_for()
    assert cells.count() == 4  # all answers, and three groups
    cells.nth(2).click()
    until(lambda: "tab=inspect" in address(page) and "category=" in address(page))
    page.wait_for_selector(".eh-list .h")
    assert "20" in page.locator(".eh-list .h").first.inner_text()
