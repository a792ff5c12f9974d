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

from components.layout.theme import appearance_settings
from components.page_tab import create_page
from components.server.access import Access, current_access
from components.server.allowed_hosts import Hosts, configured_hosts, serve_only
from components.server.fair_queue_tab import configure_queue
from components.server.memory import limit_heap_retention
from components.server.request_limits import RequestLimits
from components.server.temp_files import TempFileQuota
from components.share.publish import FROZEN_STORE, SEED_STORE
from components.study.plan import demo_studies
from judges.engine.engine import Engine
from judges.engine.public_engine import PublicEngine
from judges.money.host_key import load_host_key
from judges.security import redaction
from studies.errors import EvenhandError
from studies.sharing import hub_backup
from studies.sharing.expiry import ExpiryThread
from studies.sharing.visitor_store import VisitorStore
from studies.store.database import default_store_path
from studies.store.store import Store

APP_FOLDER = Path(__file__).resolve().parent


def port_is_free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def parse_options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    on_space = "SPACE_ID" in os.environ
    parser.add_argument("--host", default="0.0.0.0" if on_space else "127.0.0.1")
    parser.add_argument("--port", type=int, default=int(os.environ.get("PORT", "7860")))
    parser.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
    parser.add_argument(
        "--mcp", action="store_true", help="offer the API to models too (requirements-mcp.txt)"
    )
    return parser.parse_args(arguments)


def open_store(path: Path | None, here: Path = APP_FOLDER) -> tuple[Store, bool]:
    """The store, and whether it is only to be shown.

    A frozen study lies beside this file: it is shown from a copy, so that the folder stays as it
    is. A published one begins with its seed, once.
    """
    if (here / FROZEN_STORE).is_file():
        copy = Path(tempfile.mkdtemp(prefix="evenhand-")) / FROZEN_STORE
        shutil.copyfile(here / FROZEN_STORE, copy)
        return Store(copy), True
    target = path or default_store_path()
    if kept := hub_backup.snapshot_settings():
        hub_backup.restore_snapshot(target, *kept)
    if (here / SEED_STORE).is_file() and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(here / SEED_STORE, target)
    store = Store(target)
    demo_studies.open_demo(store)
    return store, False


def build_store_and_engine(store: Store, access: Access) -> tuple[Store, Engine]:
    """The store as the page sees it and the engine that asks: whole on one's own machine, guarded
    where strangers share them."""
    if not access.public:
        return store, Engine()
    shown = VisitorStore(
        store, most_studies=access.studies or 0, open_votes=access.open_votes
    )  # fmt: skip
    return shown, PublicEngine(shown, access.run_limits, load_host_key())


def launch_settings(access: Access) -> dict[str, Any]:
    """What never differs but in size: no trace of an error, no statistics, no file of the disk."""
    return {
        "show_error": False,
        "enable_monitoring": False,
        "allowed_paths": [],
        "max_file_size": access.caps.file_bytes,
        "state_session_capacity": access.sessions,
    }


def page_settings(access: Access, room: TempFileQuota | None, hosts: Hosts) -> dict[str, Any]:
    """How the page looks, behind checks of the hosts, routes and sizes of requests."""
    made = appearance_settings()
    made["app_kwargs"]["lifespan"] = serve_only(hosts)
    gate = Middleware(RequestLimits, most_uploaded=access.upload_bytes or 0, room=room)
    made["app_kwargs"]["middleware"].insert(0, gate)
    return made


def _exit_on_signal(*_: object) -> None:
    """A Space is stopped by a signal, and so is a service: what is in flight is stored and the last
    snapshot made, as after Ctrl-C."""
    sys.exit(0)


def main(arguments: list[str] | None = None) -> int:
    chosen, access = parse_options(arguments), current_access()
    limit_heap_retention()
    redaction.install_redaction()
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
        shown, engine = (store, None) if frozen else build_store_and_engine(store, access)
    except EvenhandError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    kept = None if frozen else hub_backup.snapshot_settings()
    keeper = hub_backup.BackupThread(store, *kept) if kept else None
    reaper = ExpiryThread(store, access.expiry_days) if access.expiry_days and not frozen else None
    room = TempFileQuota(access.temp_bytes) if access.temp_bytes else None
    blocks = create_page(shown, engine)
    configure_queue(blocks, access)
    settings = {"server_name": chosen.host, "server_port": chosen.port, **launch_settings(access)}
    if chosen.mcp:
        if find_spec("mcp") is None:
            print("error: --mcp needs: pip install -r requirements-mcp.txt", file=sys.stderr)
            return 2
        settings["mcp_server"] = True
    signal.signal(signal.SIGTERM, _exit_on_signal)
    try:
        blocks.launch(**settings, **page_settings(access, room, hosts))
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
