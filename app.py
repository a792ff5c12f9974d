"""Evenhand: is your LLM judge even-handed? The front door: settings, store, page, launch."""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from components import demo
from components.page_tab import create_page
from components.space import FROZEN, SEED
from components.theme import launch_look
from judges.engine import Engine
from studies import snapshot
from studies.database import default_path
from studies.errors import EvenhandError
from studies.store import Store

HERE = Path(__file__).resolve().parent


def port_is_free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    on_space = "SPACE_ID" in os.environ
    parser.add_argument("--host", default="0.0.0.0" if on_space else "127.0.0.1")
    parser.add_argument("--port", type=int, default=int(os.environ.get("PORT", "7860")))
    parser.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
    parser.add_argument(
        "--mcp", action="store_true", help="offer the API to models too (requirements-mcp.txt)"
    )
    return parser.parse_args(arguments)


def open_store(path: Path | None, here: Path = HERE) -> tuple[Store, bool]:
    """The store, and whether it is only to be shown.

    A frozen study lies beside this file: it is shown from a copy, so that the folder stays as it
    is. A published one begins with its seed, once.
    """
    if (here / FROZEN).is_file():
        copy = Path(tempfile.mkdtemp(prefix="evenhand-")) / FROZEN
        shutil.copyfile(here / FROZEN, copy)
        return Store(copy), True
    target = path or default_path()
    if kept := snapshot.settings():
        snapshot.restore(target, *kept)
    if (here / SEED).is_file() and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(here / SEED, target)
    store = Store(target)
    demo.open_demo(store)
    return store, False


def main(arguments: list[str] | None = None) -> int:
    chosen = options(arguments)
    if not port_is_free(chosen.host, chosen.port):
        print(
            f"error: port {chosen.port} on {chosen.host} is taken. Is another Evenhand running? "
            f"Open http://{chosen.host}:{chosen.port}, or choose another with --port",
            file=sys.stderr,
        )
        return 2
    try:
        store, frozen = open_store(chosen.store)
    except EvenhandError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    engine = None if frozen else Engine()
    kept = None if frozen else snapshot.settings()
    keeper = snapshot.Keeper(store, *kept) if kept else None
    blocks = create_page(store, engine)
    blocks.queue(default_concurrency_limit=16)
    settings: dict[str, Any] = {"server_name": chosen.host, "server_port": chosen.port}
    if chosen.mcp:
        if find_spec("mcp") is None:
            print("error: --mcp needs: pip install -r requirements-mcp.txt", file=sys.stderr)
            return 2
        settings["mcp_server"] = True
    try:
        blocks.launch(**settings, show_error=False, state_session_capacity=200, **launch_look())
    finally:
        if engine:
            engine.close()
        if keeper:
            keeper.close()
        store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
