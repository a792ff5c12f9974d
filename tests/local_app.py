"""app.main in the tests' own process: the real page without the seconds that a new process takes to
import Gradio."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

import app
from components.page.page_tab import create_page
from tests.demo_store import copy_demo
from tests.waiting import free_port


@contextmanager
def app_main() -> Iterator[Callable[[list[str]], int]]:
    """app.main without its settings of the whole process (signals, allocator, masked streams);
    its changes to Gradio's classes are undone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "signal", SimpleNamespace(signal=lambda *_: None, SIGTERM=None))
        patch.setattr(app, "limit_heap_retention", lambda: None)
        patch.setattr(app.key_store, "install_redaction", lambda **_: None)
        patch.setattr(gr.routes, "StateHolder", gr.routes.StateHolder)
        patch.setattr(gr.http_server, "Server", gr.http_server.Server)
        for name in ("async_ssrf_protected_get", "hash_seed"):
            patch.setattr(gr.processing_utils, name, getattr(gr.processing_utils, name))
        yield app.main


class LocalApp:
    """The page, served on a port of its own from a thread; `options`: more of its command."""

    def __init__(self, store: Path, options: tuple[str, ...] = ()) -> None:
        self.store, self.port = store, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._pages: list[gr.Blocks] = []
        self._codes: list[int] = []
        self._launched = threading.Event()
        arguments = ["--port", str(self.port), "--store", str(store), *options]
        self._thread = threading.Thread(target=self._run, args=[arguments], daemon=True)
        copy_demo(store)
        self._thread.start()
        self._wait(120)

    def _run(self, arguments: list[str]) -> None:
        with app_main() as main, pytest.MonkeyPatch.context() as patch:
            patch.setattr(app, "create_page", self._create_page)
            self._codes.append(main(arguments))

    def _create_page(self, *values: Any) -> gr.Blocks:
        page = create_page(*values)
        wait_for_end = page.block_thread

        def block_thread() -> None:
            """Called at the end of launch(), when nothing more is requested from the page."""
            self._launched.set()
            wait_for_end()

        page.block_thread = block_thread  # type: ignore[method-assign]
        self._pages.append(page)
        return page

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._launched.wait(0.05):
            assert self._thread.is_alive(), f"app.main ended with {self._codes}"
            assert time.monotonic() < until, "the page did not come up"

    def close(self) -> None:
        self._pages[0].close(verbose=False)
        self._thread.join(60)
        assert self._codes == [0]
