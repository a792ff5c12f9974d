"""A newcomer's table of verdicts and labels in a real browser: sentence, then the false passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.conftest import choose
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
    choose(page, "verdicts", table)
    until(lambda: page.locator("#eh-study input").input_value() == name)
    areas = page.locator("#eh-pass-areas button")
    areas.first.wait_for()
    finding = page.get_by_text("The judge passes 97 % of good answers and 39 % of bad ones.").first
    finding.wait_for()
    assert areas.count() == 4
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    false_passes = areas.filter(has_text="false passes")
    assert "39" in false_passes.inner_text()
    false_passes.click()
    page.wait_for_selector(".eh-inspect-filters .eh-fpill.on")
    assert "False passes" in page.locator(".eh-inspect-filters .eh-fpill.on").first.inner_text()
    assert "39" in page.locator(".eh-list .h").first.inner_text()
