"""Evenhand: is your LLM judge even-handed? The front door: settings, store, page, launch."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from starlette.middleware import Middleware

from components import demo
from components.access import Access, mode
from components.allowed_hosts import Hosts, configured_hosts, serve_only
from components.gate import Gate
from components.page_tab import create_page
from components.queue_tab import open_queue
from components.room import Room
from components.space import FROZEN, SEED
from components.theme import launch_look
from judges import redaction
from judges.allowance import house
from judges.engine import Engine
from judges.shared import SharedEngine
from studies import snapshot
from studies.database import default_path
from studies.errors import EvenhandError
from studies.guarded import VisitorsStore
from studies.heap import give_back_large
from studies.reaper import Reaper
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


def open_doors(store: Store, access: Access) -> tuple[Store, Engine]:
    """The store as the page sees it and the engine that asks: whole on one's own machine, guarded
    where strangers share them."""
    if not access.public:
        return store, Engine()
    shown = VisitorsStore(
        store, most_studies=access.studies or 0, open_votes=access.open_votes
    )  # fmt: skip
    return shown, SharedEngine(shown, access.run_limits, house())


def launch_rules(access: Access) -> dict[str, Any]:
    """What never differs but in size: no trace of an error, no statistics, no file of the disk."""
    return {
        "show_error": False,
        "enable_monitoring": False,
        "allowed_paths": [],
        "max_file_size": access.caps.file_bytes,
        "state_session_capacity": access.sessions,
    }


def look(access: Access, room: Room | None, hosts: Hosts) -> dict[str, Any]:
    """How the page looks, behind checks of the hosts, routes and sizes of requests."""
    made = launch_look()
    made["app_kwargs"]["lifespan"] = serve_only(hosts)
    gate = Middleware(Gate, most_uploaded=access.uploads or 0, room=room)
    made["app_kwargs"]["middleware"].insert(0, gate)
    return made


def _end(*_: object) -> None:
    """A Space is stopped by a signal, and so is a service: what is in flight is stored and the last
    snapshot made, as after Ctrl-C."""
    sys.exit(0)


def main(arguments: list[str] | None = None) -> int:
    chosen, access = options(arguments), mode()
    give_back_large()
    redaction.install()
    if not port_is_free(chosen.host, chosen.port):
        print(
            f"error: port {chosen.port} on {chosen.host} is taken. Is another Evenhand running? "
            f"Open http://{chosen.host}:{chosen.port}, or choose another with --port",
            file=sys.stderr,
        )
        return 2
    try:
        hosts = configured_hosts(chosen.host, public=access.public)
        store, frozen = open_store(chosen.store)
        shown, engine = (store, None) if frozen else open_doors(store, access)
    except EvenhandError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    kept = None if frozen else snapshot.settings()
    keeper = snapshot.Keeper(store, *kept) if kept else None
    reaper = Reaper(store, access.kept_days) if access.kept_days and not frozen else None
    room = Room(access.passing) if access.passing else None
    blocks = create_page(shown, engine)
    open_queue(blocks, access)
    settings = {"server_name": chosen.host, "server_port": chosen.port, **launch_rules(access)}
    if chosen.mcp:
        if find_spec("mcp") is None:
            print("error: --mcp needs: pip install -r requirements-mcp.txt", file=sys.stderr)
            return 2
        settings["mcp_server"] = True
    signal.signal(signal.SIGTERM, _end)
    try:
        blocks.launch(**settings, **look(access, room, hosts))
    finally:
        if reaper:
            reaper.close()
        if engine:
            engine.close()
        if keeper:
            keeper.close()
        if room:
            room.close()
        shown.close()
        store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
