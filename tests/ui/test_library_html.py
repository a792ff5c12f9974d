"""The HTML of the library's audits in a browser: texts of a study run no code."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.library.test_judge_audit import ATTACK, hostile_study

pytestmark = [pytest.mark.browser, pytest.mark.extra]


def test_a_browser_runs_nothing_of_an_audit(browser: Any) -> None:
    html = eh.audit(hostile_study())._repr_html_()
    page = browser.new_page()
    page.set_content(f"<title>calm</title><body>{html}</body>")
    page.wait_for_timeout(500)
    assert page.title() == "calm"
    assert page.locator("img, script").count() == 0
    page.set_content(f"<title>calm</title><body>{ATTACK}</body>")
    page.wait_for_function("document.title === 'run'", timeout=60_000)  # the attack itself works
    page.close()
