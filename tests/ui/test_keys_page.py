"""Keys in the real page: to which host a typed key and a variable go, and what the page says."""

from __future__ import annotations

import pytest

from tests.canary_forms import CANARY
from tests.judge_server import JudgeServer
from tests.judge_server.asked import Asked
from tests.page_words import says
from tests.ui.conftest import App
from tests.ui.test_page import asked
from tests.waiting import free_port, until

pytestmark = pytest.mark.browser

VARIABLE = "EVENHAND_TEST_KEY"
STUDY = """name: {name}
data: {{source: probe, count: 2, seed: 7}}
contestants: [flawed, precise]
judges:
- {{name: gpt, model: judge, base_url: '{url}'{more}}}
prompts: [brief-letters]
orders: one
"""


class Listener:
    """The behaviour of a judge server that keeps the keys it is sent."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def __call__(self, asked: Asked) -> str:
        self.keys.append(asked.api_key)
        return "Overall, Response A is better."


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, CANARY)
        running = App(tmp_path_factory.mktemp("page") / "evenhand.db")
    yield running
    running.close()


def open_file(page, path, text: str) -> None:
    path.write_text(text)
    with page.expect_file_chooser() as chooser:
        page.locator("#eh-file-menu summary").click()
        page.locator("#eh-file-menu").get_by_text("Open a study file").click()
    chooser.value.set_files(path)
    name = text.splitlines()[0].removeprefix("name: ")
    until(lambda: page.locator("#eh-study input").input_value() == name)
    until(lambda: page.locator("#eh-run").is_visible())


def judges(page) -> str:
    return page.locator("#eh-judges").inner_text()


def test_a_key_typed_for_one_host_is_not_sent_to_another_under_the_same_name(visit, tmp_path):
    mine, theirs = Listener(), Listener()
    with JudgeServer(behaviour=mine) as first, JudgeServer(behaviour=theirs) as second:
        page, path = visit("tab=study"), tmp_path / "study.yaml"
        open_file(page, path, STUDY.format(name="my own", url=first.base_url, more=""))
        page.get_by_label("Change gpt").first.click()
        box = page.locator("#f-judge-0-key")
        box.fill("k" * 513)
        until(lambda: "more than 512 characters" in judges(page))
        box.fill(CANARY)
        at = first.base_url.removesuffix("/v1")
        until(lambda: f"key set, goes to {at} only" in judges(page))
        page.locator(".eh-drawer.on .ft").get_by_text("Test: 1 call").click()
        until(lambda: mine.keys)
        page.keyboard.press("Escape")
        page.locator(".eh-drawer.on").wait_for(state="detached")
        open_file(page, path, STUDY.format(name="sent to me", url=second.base_url, more=""))
        until(lambda: f"key removed: it was typed for {at}" in judges(page))
        page.locator("#eh-try").click()
        until(lambda: theirs.keys)
    assert mine.keys == [CANARY]
    assert CANARY not in theirs.keys


def test_a_variable_goes_to_a_new_host_only_after_the_button_is_pressed(visit, tmp_path):
    listener = Listener()
    with JudgeServer(behaviour=listener) as server:
        page, at = visit("tab=study"), server.base_url.removesuffix("/v1")
        text = STUDY.format(name="wants", url=server.base_url, more=f", api_key_env: {VARIABLE}")
        open_file(page, tmp_path / "study.yaml", text)
        asked = f"This study wants to send ${VARIABLE} to {at}."
        until(lambda: asked in page.locator("#eh-study-said").inner_text())
        page.locator("#eh-try").click()
        until(lambda: "wants to send" in page.locator(".toast-wrap").inner_text())
        assert listener.keys == []
        page.get_by_role("button", name=f"Allow ${VARIABLE} for {at}").first.click()
        until(lambda: asked not in page.locator("#eh-study-said").inner_text())
        page.locator("#eh-try").click()
        until(lambda: listener.keys)
    assert set(listener.keys) == {CANARY}


def test_a_run_goes_on_with_the_key_typed_again_after_its_endpoint_was_dead(visit, tmp_path):
    """The counts of the page agree while the endpoint is dead, and the black button takes the key
    that was typed in the Run tab."""
    port = free_port()
    study = STUDY.format(name="dead and back", url=f"http://127.0.0.1:{port}/v1", more="")
    study = study.replace("count: 2", "count: 12").replace("orders: one", "concurrency: 6")
    with JudgeServer(port=port, latency=lambda index: 0.0 if index < 4 else 4.0, api_keys={CANARY}):
        page = visit("tab=study")
        open_file(page, tmp_path / "study.yaml", study)
        page.get_by_label("Change gpt").first.click()
        page.locator("#f-judge-0-key").fill(CANARY)
        until(lambda: "key set" in judges(page))
        page.keyboard.press("Escape")
        page.locator(".eh-drawer.on").wait_for(state="detached")
        page.locator("#eh-run").click()
        until(lambda: asked(page)[0] >= 3)
    until(lambda: page.locator("#eh-start").is_visible(), 240)
    done, planned = asked(page)
    told = " ".join(page.locator(".tabitem:visible").first.inner_text().split())
    assert planned == 24 and 3 <= done < planned
    left = planned - done
    assert says(told, f"{done} replies of {planned} calls", f"Run {left} calls", f"{left} left")
    assert "connection refused" in told and "price unknown" in told and not says(told, "free")
    with JudgeServer(port=port, api_keys={CANARY}):
        page.locator("#eh-start").click()  # the key was held for the run only
        key = page.locator("input[type=password]:visible")
        key.wait_for()
        until(lambda: "refused the API key" in page.locator("#eh-run-notices").inner_text())
        assert asked(page) == (done, planned)
        key.fill(CANARY)
        page.locator("#eh-start").click()
        until(lambda: asked(page) == (planned, planned))


def test_a_key_typed_while_the_form_is_drawn_for_a_new_address_is_kept(visit):
    """The answer to the new address comes in the middle of the key."""
    with JudgeServer() as server:
        page = visit("tab=study")
        page.get_by_role("button", name="Add a second judge", exact=True).click()
        key = page.locator("#f-judge-1-key")
        key.wait_for()
        held = []
        page.route("**/queue/join**", lambda route: held.append(route))
        page.locator('[data-field="judge.1.base_url"]').fill(server.base_url)
        key.click()
        page.keyboard.type(CANARY[:5], delay=30)
        until(lambda: page.evaluate("1") and held)
        for one in held:
            one.continue_()
        page.unroute("**/queue/join**")
        page.keyboard.type(CANARY[5:], delay=30)
        page.locator('[data-field="judge.1.model"]').fill("judge")
        page.locator('[data-field="judge.1.model"]').press("Tab")
        until(lambda: "Use judge" in page.locator(".eh-drawer.on").inner_text())
        assert key.input_value() == CANARY
        assert page.locator('[data-field="judge.1.base_url"]').input_value() == server.base_url
