"""Stored sessions: their state is kept, typed values are not."""

from __future__ import annotations

import pickle
import time
import urllib.error
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from gradio.state_holder import StateHolder

from components.page.page_tab import create_page
from components.server.access import LOCAL, PUBLIC
from components.server.fair_queue_tab import configure_queue_and_sessions
from components.server.fair_turns import identify_client
from components.server.gradio_private import FairQueue, MinimalSessionState, MinimalStateHolder
from judges.engine.engine import Engine
from studies.store.store import Store
from tests.ui.visitors import Visitor

KEY = "sk-typed-3f9a-into-a-box"


@pytest.fixture(scope="module")
def small() -> Iterator[tuple[gr.Blocks, str]]:
    """A page that counts in a gr.State, relabels its box, and is told a key."""
    with gr.Blocks() as blocks:
        seen = gr.State(0)
        key = gr.Textbox(type="password", elem_id="key", label="Key")
        told = gr.Textbox(elem_id="told")
        press = gr.Button(elem_id="press")

        def count(n: int, typed: str) -> list[Any]:
            return [n + 1, gr.Textbox(label=f"Key {n + 1}"), f"{n + 1} {len(typed or '')}"]

        press.click(count, [seen, key], [seen, key, told])
    configure_queue_and_sessions(blocks, PUBLIC)
    _, url, _ = blocks.launch(prevent_thread_lock=True, quiet=True, ssr_mode=False)
    yield blocks, url.rstrip("/")
    blocks.close()


def test_state_is_kept_from_event_to_event_and_apart_for_each_session(small):
    one, other = Visitor(small[1]), Visitor(small[1])
    told = [one.fire("press", "click", {"key": KEY})["told"] for _ in range(3)]
    assert told == [f"{n} {len(KEY)}" for n in (1, 2, 3)]
    assert other.fire("press", "click", {"key": ""})["told"] == "1 0"


def test_a_key_that_was_typed_is_nowhere_in_the_session(small):
    blocks, url = small
    visitor = Visitor(url)
    visitor.fire("press", "click", {"key": KEY})
    held = blocks.state_holder.session_data[visitor.session]
    assert isinstance(blocks.state_holder, MinimalStateHolder) and isinstance(
        held, MinimalSessionState
    )
    assert held.state_data and held.config_values == {}
    labels = [getattr(part, "label", "") for part in held.blocks_config.blocks.values()]
    assert "Key 1" in labels, "what a handler changed about a part is known"
    kept = {name: value for name, value in vars(held).items() if name != "blocks_config"}
    assert KEY.encode() not in pickle.dumps(kept)


def test_nothing_that_takes_long_is_called_past_the_queue(small):
    visitor = Visitor(small[1])
    step = visitor._step("press", "click", "")
    body = {"data": [None, KEY], "fn_index": step["id"], "session_hash": visitor.session}
    with pytest.raises(urllib.error.HTTPError) as refused:
        visitor._post(f"{visitor.api}/run/predict", body)
    assert refused.value.code == 404


@pytest.mark.extra
def test_a_session_of_the_whole_page_costs_little(tmp_path):
    """Gradio's own takes a tenth of a second of everybody's event loop, and a megabyte."""
    store, engine = Store(tmp_path / "evenhand.db"), Engine()
    blocks = create_page(store, engine)

    def seconds(holder: StateHolder, sessions: int) -> float:
        holder.set_blocks(blocks)
        began = time.process_time()
        for number in range(sessions):
            holder[f"session {number}"]
        return (time.process_time() - began) / sessions

    light, whole = seconds(MinimalStateHolder(), 20), seconds(StateHolder(), 2)
    engine.close()
    store.close()
    assert light < whole / 10, f"{1000 * light:.1f} ms against {1000 * whole:.1f} ms"


def test_on_one_s_own_machine_it_is_first_come_first_served():
    with gr.Blocks() as blocks:
        gr.Button()
    configure_queue_and_sessions(blocks, LOCAL)
    assert not isinstance(blocks._queue, FairQueue) and blocks.api_open
    configure_queue_and_sessions(blocks, PUBLIC)
    assert isinstance(blocks._queue, FairQueue) and not blocks.api_open


@pytest.mark.parametrize(
    ("space", "told", "address"),
    [("", ["1.1.1.1"], "9.9.9.9"), ("me/it", [], "9.9.9.9"), ("me/it", ["1.1.1.1"], "1.1.1.1"),
     ("me/it", ["6.6.6.6, 1.1.1.1"], "1.1.1.1"), ("me/it", ["6.6.6.6", "1.1.1.1"], "1.1.1.1")],
)  # fmt: skip
def test_an_address_that_a_visitor_writes_into_a_header_is_not_believed(
    space, told, address, monkeypatch
):
    monkeypatch.setenv("SPACE_ID", space) if space else monkeypatch.delenv(
        "SPACE_ID", raising=False
    )
    asked = SimpleNamespace(
        client=SimpleNamespace(host="9.9.9.9"), headers=SimpleNamespace(getlist=lambda _: told)
    )
    assert identify_client("s", asked).address == address
    assert identify_client(None, asked).session == address
