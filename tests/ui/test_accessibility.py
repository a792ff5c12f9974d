"""axe finds nothing serious: on any tab, in any results view, drawer or menu, in both themes."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from components.results.view_drawing import VIEWS
from judges.planning.plan import save_plan
from studies.store.store import Store
from tests.judge_server import JudgeServer
from tests.judges.small_studies import endpoint, study_plan
from tests.ui.conftest import SUMMARY, open_filters, open_folds, open_view, show_file, show_settings
from tests.ui.test_pass_fail_page import ORDERED, save_ordered_study

axe_playwright = pytest.importorskip("axe_playwright_python.sync_playwright")
pytestmark = [pytest.mark.browser, pytest.mark.long]

SERIOUS = ("serious", "critical")
TABS = ("Home", "Study", "Run", "Inspect", "Vote")
"""Results is scanned view by view."""
RULES = {
    "light": {"resultTypes": ["violations"]},
    # What a page is made of does not change with its colours: in the dark only these are looked at.
    "dark": {"resultTypes": ["violations"], "runOnly": ["color-contrast", "link-in-text-block"]},
}
SETTLED = """() => !document.querySelector('.eh-html .html-container.pending, .eh-dim')"""


def violations(page, theme: str = "light") -> list[str]:
    """What axe calls serious, one line each, with the first elements it means."""
    found = axe_playwright.Axe().run(page, options=RULES[theme]).response["violations"]
    lines = []
    for rule in found:
        if rule["impact"] in SERIOUS:
            nodes = [f"{node['target']} {node['html'][:160]}" for node in rule["nodes"][:4]]
            head = f"{rule['id']} ({rule['impact']}, {len(rule['nodes'])}): "
            lines.append(head + " | ".join(nodes))
    return lines


def settle(page) -> None:
    page.wait_for_timeout(400)
    page.wait_for_function(SETTLED)
    page.wait_for_timeout(400)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_tab_has_a_serious_violation(visit, theme):
    page = visit(theme=theme)
    found = {}
    for name in TABS:
        page.get_by_role("tab", name=name, exact=True).first.click()
        settle(page)
        found[name] = violations(page, theme)
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_ballot_has_a_serious_violation(visit, theme):
    page = visit("tab=vote", theme=theme)
    page.fill(".eh-vote input[name=voter]", f"axe {theme}")
    page.click(".eh-vote button[type=submit]")
    page.wait_for_selector(".eh-vote .choices")
    settle(page)
    assert violations(page, theme) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_results_view_has_a_serious_violation(visit, theme):
    page = visit("tab=results&view=Paper", theme=theme)
    page.get_by_test_id("Paper-radio-label").wait_for(state="attached")
    found = {}
    for name in VIEWS:
        open_view(page, name)
        settle(page)
        open_folds(page)
        settle(page)
        found[name] = violations(page, theme)
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pass_fail_panels_and_all_examples_have_no_serious_violation(visit, app, tmp_path, theme):
    save_ordered_study(app.store, tmp_path)
    page = visit(theme=theme)
    page.locator('[data-unfold="#eh-all-examples"]').click()
    settle(page)
    found = {"home": violations(page, theme)}
    page = visit(f"tab=results&study={quote(ORDERED)}", theme=theme)
    for view, shown in (("Position", "#eh-pass-order .eh-shift"), ("Agreement", "#eh-pass-areas")):
        open_view(page, view)
        page.locator(shown).first.wait_for()
        open_folds(page)
        settle(page)
        found[view] = violations(page, theme)
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_state_of_a_run_has_a_serious_violation(visit, app, tmp_path, theme):
    """Run and Results during a run, Results frozen, and a run that was stopped."""
    name, found = f"Slow, {theme}", {}
    with JudgeServer(latency=(1.5, 2.5)) as server:
        judges = [endpoint(server.base_url, "slow", model=theme)]
        plan = study_plan(
            tmp_path, judges, 40, name=name, orders="both", concurrency=2, noise_floor=0.5
        )
        store = Store(app.store)
        save_plan(plan, store)
        store.close()
        page = visit(f"tab=run&study={quote(name)}", theme=theme)
        page.locator("#eh-start").click()
        page.locator("#eh-run-outcome .eh-notice").wait_for()
        found["run"] = violations(page, theme)
        page.get_by_role("tab", name="Results", exact=True).click()
        page.locator("[data-freeze]").click()
        page.locator("#eh-results-news [data-unfreeze]").wait_for()
        settle(page)
        found["frozen"] = violations(page, theme)
        page.get_by_role("tab", name="Run", exact=True).click()
        page.locator("#eh-stop").click()
        page.locator("#eh-start").wait_for()
        settle(page)
        found["stopped"] = violations(page, theme)
    assert {state: lines for state, lines in found.items() if lines} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_drawer_of_the_form_has_a_serious_violation(visit, theme):
    page, found = visit("tab=study", theme=theme), {}
    for opened, button in (
        (".eh-drawer.on", "Change embedded"),
        ("#eh-prompt-drawer", "Change brief-letters version 1"),
        ("#eh-prompt-drawer", "Edit brief-letters"),
    ):
        page.get_by_label(button).click()
        page.locator(opened).wait_for()
        settle(page)
        found[button] = violations(page, theme)
        page.keyboard.press("Escape")
        page.locator(opened).wait_for(state="hidden")
    page.get_by_role("button", name="Add a second judge", exact=True).click()
    page.locator("#f-judge-1-key").wait_for()
    settle(page)
    found["a provider and its key"] = violations(page, theme)
    page.keyboard.press("Escape")
    page.locator("#eh-plan [data-needs-key]").wait_for()
    settle(page)
    found["a key that is missing"] = violations(page, theme)
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_step_of_the_form_has_a_serious_violation(visit, theme):
    """The steps with everything unfolded, then the strip of a study that cannot be run."""
    page, found = visit("tab=study", theme=theme), {}
    show_settings(page)
    show_file(page)
    page.get_by_text("Other sources").click()
    page.get_by_text("What can this study tell?").click()
    page.locator("#eh-file-menu summary").click()
    settle(page)
    found["unfolded"] = violations(page, theme)
    page.keyboard.press("Escape")
    page.get_by_label("Change embedded").click()
    page.get_by_text("Remove this judge").click()
    page.locator("#eh-plan .eh-block").wait_for()
    page.locator(".eh-drawer.on").wait_for(state="detached")
    settle(page)
    found["blocked"] = violations(page, theme)
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_menu_of_results_has_a_serious_violation(visit, theme):
    page, found = visit("tab=results", theme=theme), {}
    page.wait_for_selector(SUMMARY)
    open_filters(page)
    page.locator("#eh-filter-prompt input").wait_for()
    settle(page)
    found["filters"] = violations(page, theme)
    assert {name: lines for name, lines in found.items() if lines} == {}
