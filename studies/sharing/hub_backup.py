"""Backup of the store as a file in a Hub dataset, restored at start.

The disk of a Space is emptied at every restart. `EVENHAND_SNAPSHOT=owner/name` names a (private)
dataset; the token is the secret HF_TOKEN. A snapshot is one file in one commit, so it is either
complete or absent.
"""

import logging
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from huggingface_hub import HfApi
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
)

from studies import errors, settings
from studies.store.queries.run_queries import data_version, paused_or_ended_runs_stamp
from studies.store.recovery.backup import copy_store, find_damage
from studies.store.store import Store

SNAPSHOT_FILE: Final = "evenhand.db"
SNAPSHOT_INTERVAL: Final = 300.0
"""Seconds between two snapshots while the store changes."""
POLL_INTERVAL: Final = 5.0
"""Seconds between two checks whether a run has paused or ended; if so, a snapshot is made."""

_log: Final = logging.getLogger(__name__)


def hub_api(token: str | None) -> HfApi:
    """Return a client of the Hub, or of the server in HF_ENDPOINT."""
    return HfApi(endpoint=settings.HUB_ENDPOINT.read() or None, token=token)


def restore_snapshot(path: Path, repo: str, token: str | None) -> bool:
    """Download the last snapshot of a store from the Hub dataset `repo` to `path` and return True;
    a write-ahead log that an earlier file left there is deleted. Return False if `path` exists or
    there is no snapshot. If the dataset does not exist, it is created.

    StoreUnusable if the Hub cannot be reached, the token may not see or create the dataset, or the
    snapshot is damaged: with an empty store, all judgements would be paid for again."""
    if path.exists():
        return False
    try:
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = _download_snapshot(repo, token, folder)
            except RepositoryNotFoundError:  # the Hub says so too of one that the token may not see
                _create_dataset(repo, token)
                found = _download_snapshot(repo, token, folder)
            _check_integrity(Path(found), repo)
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(path.name + ".part")
            partial.write_bytes(Path(found).read_bytes())
            for tail in ("-wal", "-shm"):  # write-ahead logs of an earlier file at this path
                path.with_name(path.name + tail).unlink(missing_ok=True)
            partial.replace(path)
    except LocalEntryNotFoundError as error:  # a failed connection, not a missing file
        raise _build_download_error(repo, error, token) from None
    except EntryNotFoundError:
        return False
    except (HfHubHTTPError, OSError, ValueError) as error:
        raise _build_download_error(repo, error, token) from None
    return True


def _download_snapshot(repo: str, token: str | None, folder: str) -> str:
    download = hub_api(token).hf_hub_download
    return download(repo, SNAPSHOT_FILE, repo_type="dataset", local_dir=folder)


def _create_dataset(repo: str, token: str | None) -> None:
    """Create the private Hub dataset `repo` unless it exists."""
    hub_api(token).create_repo(repo, repo_type="dataset", private=True, exist_ok=True)


def _build_download_error(repo: str, error: Exception, token: str | None) -> errors.StoreUnusable:
    return errors.StoreUnusable(
        f"the snapshot {repo} cannot be fetched: {_error_text_without_token(error, token)}. "
        "Restart when the Hub is reachable and the token may write this dataset, or unset "
        "EVENHAND_SNAPSHOT to start with an empty store"
    )


def _check_integrity(path: Path, repo: str) -> None:
    if damage := find_damage(path):
        raise ValueError(f"{SNAPSHOT_FILE} in {repo} is damaged ({damage})")


def upload_snapshot(store: Store, repo: str, token: str | None) -> None:
    """Upload a consistent copy of the store to the Hub dataset `repo` in one commit; a missing
    dataset is created as a private one."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / SNAPSHOT_FILE
        copy_store(store.path, copy)
        _create_dataset(repo, token)
        hub_api(token).upload_file(
            path_or_fileobj=copy,
            path_in_repo=SNAPSHOT_FILE,
            repo_id=repo,
            repo_type="dataset",
            commit_message="Snapshot of the store",
        )


class SnapshotThread:
    """Thread that uploads a changed store every few minutes, when a run pauses or ends, and when
    the process ends.

    Errors are logged and not raised. A failed upload is tried again after pauses that double, up to
    the interval.
    """

    def __init__(
        self,
        store: Store,
        repo: str,
        token: str | None,
        every: float = SNAPSHOT_INTERVAL,
        poll: float = POLL_INTERVAL,
    ) -> None:
        self._store, self._repo, self._token = store, repo, token
        self._every, self._poll_interval = every, min(every, poll)
        self._stop, self._ready = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._upload_regularly, name="snapshot", daemon=True)
        self._thread.start()
        self._ready.wait(10)  # writes after this point count as changes

    def close(self) -> None:
        self._stop.set()
        self._thread.join(60)

    def _upload_regularly(self) -> None:
        saved, finished, since = (
            self._data_version_of_store(),
            self._paused_or_ended_runs_stamp(),
            time.monotonic(),
        )
        self._ready.set()
        pause = 0.0  # after a failure, seconds until the next try
        while True:
            ended = self._stop.wait(self._poll_interval)
            finished_now = self._paused_or_ended_runs_stamp()
            run_ended = finished_now != finished and not pause
            due = ended or run_ended or time.monotonic() - since >= (pause or self._every)
            if due and (version := self._data_version_of_store()) != saved:
                since = time.monotonic()
                if self._try_upload():
                    saved, finished, pause = version, finished_now, 0.0
                else:
                    pause = min(self._every, 2 * (pause or self._poll_interval))
            if ended:
                return

    def _try_upload(self) -> bool:
        try:
            upload_snapshot(self._store, self._repo, self._token)
        except Exception as error:  # no failure of a snapshot may stop the page
            _log.warning(
                "no snapshot to %s: %s", self._repo, _error_text_without_token(error, self._token)
            )
            return False
        return True

    def _data_version_of_store(self) -> object:
        return self._run_query(data_version)

    def _paused_or_ended_runs_stamp(self) -> object:
        return self._run_query(paused_or_ended_runs_stamp)

    def _run_query(self, query: Callable[[Store], object]) -> object:
        """Return the result of a query on the store; None, after a logged warning, if the store
        cannot be read."""
        try:
            return query(self._store)
        except (errors.StoreError, sqlite3.Error) as error:
            _log.warning("the store cannot be read for a snapshot: %s", error)
            return None


def snapshot_repo_and_token() -> tuple[str, str | None] | None:
    """Return dataset and token from the environment; None if snapshots are disabled."""
    repo = settings.SNAPSHOT.read()
    return (repo, settings.HUB_TOKEN.read() or None) if repo else None


def _error_text_without_token(error: Exception, token: str | None) -> str:
    """Return the first 300 characters of an error's message, with "…" in place of the token."""
    message = " ".join(str(error).split())
    return (message.replace(token, "…") if token else message)[:300]
