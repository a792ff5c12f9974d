"""Start the Evenhand dashboard, which measures the position bias of LLM judges."""

from __future__ import annotations

import argparse
import atexit
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from components.server.stub_files import skip_stub_files

with skip_stub_files():
    import gradio  # noqa: F401 - before the modules that use it

from starlette.middleware import Middleware

from components.layout import loading_screen, theme
from components.page.page_opening import compute_summary_ahead, loading_screen_content
from components.page.page_tab import create_page
from components.server.access import Access, current_access
from components.server.allowed_hosts import Hosts, configured_hosts, make_host_check_lifespan
from components.server.fair_queue_tab import configure_queue_and_sessions
from components.server.gradio_private import (
    change_server_settings,
    check_private_names,
    launch_arguments_without_self_test,
    refuse_remote_files,
    use_new_upload_folders,
)
from components.server.limits.memory import limit_heap_retention
from components.server.limits.request_limits import RequestLimits
from components.server.limits.slow_clients import limit_connections
from components.server.limits.temp_files import TempFileQuota
from components.server.page_requests import PageHook
from components.server.private_name import GradioChanged
from components.share.publish import FROZEN_STORE, SEED_STORE
from components.study.plan import demo_studies
from judges.engine.engine import Engine
from judges.engine.public_engine import PublicEngine
from judges.money.host_key import load_host_key_settings
from judges.security import key_store
from studies.errors import EvenhandError, StoreUnusable
from studies.settings import PORT, check_settings, is_space
from studies.sharing import expiry, hub_backup, read_only_store
from studies.sharing.visitor_store import VisitorStore
from studies.store.database import default_store_path
from studies.store.recovery.rolling_backups import DailyBackupThread
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


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--host", default="0.0.0.0" if is_space() else "127.0.0.1", help="the address to listen at"
    )
    parser.add_argument("--port", type=int, default=PORT.read(), help="the port of the page")
    parser.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
    parser.add_argument(
        "--mcp", action="store_true", help="also serve the API as MCP tools (requirements/mcp.txt)"
    )
    return parser


def open_store(path: Path | None, app_folder: Path = APP_FOLDER) -> tuple[Store, bool]:
    """Open the store for the page; return it, and whether the page is read-only.

    If `app_folder` has a frozen store (as on a read-only page), a copy of it is opened, which is
    deleted when Python ends. Otherwise the store at `path` (None: the default path) is opened,
    and the demo studies are added. If that file does not exist yet, it is first filled: from the
    latest backup on the Hugging Face Hub, if backups are configured, else from the initial store
    that `app_folder` of a published Space may have. StoreUnusable if the store may not be
    written."""
    if (app_folder / FROZEN_STORE).is_file():
        copy = Path(tempfile.mkdtemp(prefix="evenhand-")) / FROZEN_STORE
        atexit.register(shutil.rmtree, copy.parent, ignore_errors=True)
        shutil.copyfile(app_folder / FROZEN_STORE, copy)
        return read_only_store.ReadOnlyStore(copy), True
    target = path or default_store_path()
    if backup := hub_backup.snapshot_repo_and_token():
        hub_backup.restore_snapshot(target, *backup)
    if (app_folder / SEED_STORE).is_file() and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(app_folder / SEED_STORE, target)
    _require_writable(target)
    store = Store(target)
    demo_studies.import_demo_studies(store)
    return store, False


def _require_writable(path: Path) -> None:
    """Raise StoreUnusable if the store file at `path` exists but may not be written."""
    effective = os.access in os.supports_effective_ids
    if path.is_file() and not os.access(path, os.W_OK, effective_ids=effective):
        raise StoreUnusable(
            f"the store {path} is read-only; allow writing to it, or choose another with --store"
        )


def store_and_engine_for_access(store: Store, access: Access) -> tuple[Store, Engine]:
    """Return the store and the engine of the page: unrestricted on a private machine, with limits
    per visitor in public mode."""
    if not access.public:
        return store, Engine()
    visitor_store = VisitorStore(
        store,
        most_studies=access.studies or 0,
        open_votes=access.open_votes,
        has_room=_make_visitor_storage_check(store, access),
    )
    return visitor_store, PublicEngine(visitor_store, access.run_limits, load_host_key_settings())


def _make_visitor_storage_check(store: Store, access: Access) -> Callable[[], bool]:
    """Return a function that takes no arguments and returns whether visitors may store more data:
    always True if their data have no limit. If there is no room, the function first deletes studies
    that were not used for a while, and returns whether there is room then."""
    most = access.visitor_bytes
    return expiry.VisitorStorageLimit(store, most).make_room_if_needed if most else lambda: True


def protective_launch_arguments(access: Access) -> dict[str, Any]:
    """Return those arguments of Gradio's launch() that protect the server: visitors see no error
    traces, no monitoring page and no local files; the size of files and the number of sessions
    are limited."""
    return {
        "show_error": False,
        "enable_monitoring": False,
        "allowed_paths": [],
        "max_file_size": access.caps.file_bytes,
        "state_session_capacity": access.sessions,
    }


def page_launch_arguments(
    access: Access,
    quota: TempFileQuota | None,
    hosts: Hosts,
    *,
    mcp: bool = False,
    home: bool = True,
    preview: loading_screen.Preview = lambda _: None,
) -> dict[str, Any]:
    """Return those arguments of Gradio's launch() that set the appearance of the page and check
    each request (host, route and size). `quota`: limit of the size of all uploaded files together;
    `mcp`: whether the routes of MCP tools are open; `home`: whether the page has a Home tab;
    `preview`: function that gets the query parameters of the page's address and returns the content
    to show while the page loads, or None."""
    settings = theme.appearance_launch_arguments(home=home, preview=preview)
    settings["app_kwargs"]["lifespan"] = make_host_check_lifespan(hosts)
    limits = Middleware(
        RequestLimits, max_upload_bytes=access.upload_bytes or 0, quota=quota, mcp=mcp
    )
    settings["app_kwargs"]["middleware"].insert(0, limits)
    return settings


def _exit_on_signal(*_: object) -> None:
    """Handle SIGTERM: exit the process as after Ctrl-C, so that replies in flight are stored and
    the last snapshot of the store is made."""
    sys.exit(0)


def _print_error(error: object) -> int:
    """Print an error; return the exit code."""
    print(f"error: {error}", file=sys.stderr)
    return 2


def main(arguments: list[str] | None = None) -> int:
    try:
        check_settings()
    except EvenhandError as error:
        return _print_error(error)
    chosen, access = build_parser().parse_args(arguments), current_access()
    if not 0 <= chosen.port <= 65_535:
        build_parser().error(f"--port is {chosen.port}, not {PORT.expected}")
    if chosen.mcp and find_spec("mcp") is None:
        return _print_error("--mcp needs more packages: pip install -r requirements/mcp.txt")
    limit_heap_retention()
    key_store.install_redaction(lossy=True)  # an error must reach the page, log or not
    if not port_is_free(chosen.host, chosen.port):
        return _print_error(
            f"port {chosen.port} on {chosen.host} is in use, perhaps by another Evenhand: "
            f"open http://{chosen.host}:{chosen.port}, or choose another port with --port"
        )
    try:
        hosts = configured_hosts(chosen.host, public=access.public)
        store, frozen = open_store(chosen.store)
        page_store, engine = (store, None) if frozen else store_and_engine_for_access(store, access)
    except EvenhandError as error:
        return _print_error(error)
    backup = None if frozen else hub_backup.snapshot_repo_and_token()
    backup_thread = hub_backup.SnapshotThread(store, *backup) if backup else None
    days = None if frozen else access.expiry_days
    expiry_thread = expiry.ExpiryThread(store, days) if days else None
    daily_thread = None if frozen else DailyBackupThread(store.path)
    room = (lambda: True) if frozen else _make_visitor_storage_check(store, access)
    quota = TempFileQuota(access.temp_bytes, has_room=room) if access.temp_bytes else None
    blocks = create_page(page_store, engine)
    settings = {
        "server_name": chosen.host,
        "server_port": chosen.port,
        **protective_launch_arguments(access),
    }
    if chosen.mcp:
        settings["mcp_server"] = True
    signal.signal(signal.SIGTERM, _exit_on_signal)
    try:
        check_private_names(blocks, public=access.public)
        configure_queue_and_sessions(blocks, access)
        refuse_remote_files(blocks)
        use_new_upload_folders(blocks)
        change_server_settings(blocks, limit_connections)
        settings |= launch_arguments_without_self_test(blocks)
        preview = partial(loading_screen_content, page_store, engine)
        shown = page_launch_arguments(
            access, quota, hosts, mcp=chosen.mcp, home=not frozen, preview=preview
        )
        requests = Middleware(PageHook, on_request=partial(compute_summary_ahead, page_store))
        shown["app_kwargs"]["middleware"].append(requests)
        blocks.launch(**settings, **shown, quiet=True, prevent_thread_lock=True)
        address = f"http://{chosen.host}:{chosen.port}"
        print(f"Evenhand: {address}\nStore:    {store.path}\nTo stop:  Ctrl-C", flush=True)
        blocks.block_thread()
    except GradioChanged as error:
        return _print_error(error)
    finally:
        opened = (expiry_thread, engine, backup_thread, daily_thread, quota, page_store, store)
        for part in opened:
            if part is not None:
                part.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
