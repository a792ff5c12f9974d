"""The store on a disk that forgets: kept as a file in a Hub dataset, fetched again at start.

A Space's disk is emptied with every restart. `EVENHAND_SNAPSHOT=owner/name` names a (private)
dataset of yours; the token is the secret HF_TOKEN. One file, one commit: a snapshot is whole or it
is not there.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

from huggingface_hub import HfApi
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
)

from studies.errors import StoreError, StoreUnusable
from studies.store.store import Store

SNAPSHOT_FILE: Final = "evenhand.db"
SNAPSHOT_INTERVAL: Final = 300.0
"""Seconds between two snapshots while something is new."""
POLL_INTERVAL: Final = 5.0
"""Seconds between two looks whether a run has come to rest: then one is made at once."""

_log: Final = logging.getLogger(__name__)


def hub_api(token: str | None) -> HfApi:
    """The Hub, or what HF_ENDPOINT names in its place."""
    return HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None, token=token)


def restore_snapshot(path: Path, repo: str, token: str | None) -> bool:
    """Fetches the last snapshot to a place where no store is yet; False if there is none.

    An unreachable Hub is an error and not an empty store: beginning anew would pay for all again.
    """
    if path.exists():
        return False
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = hub_api(token).hf_hub_download(
                repo, SNAPSHOT_FILE, repo_type="dataset", local_dir=folder
            )
            _check_integrity(Path(found), repo)
            path.parent.mkdir(parents=True, exist_ok=True)
            half = path.with_name(path.name + ".part")
            half.write_bytes(Path(found).read_bytes())
            for tail in ("-wal", "-shm"):  # of a file that was here before: not this one's
                path.with_name(path.name + tail).unlink(missing_ok=True)
            half.replace(path)
    except LocalEntryNotFoundError as error:  # not reached, though its parent says "not there"
        raise _fetch_error(repo, error, token) from None
    except (EntryNotFoundError, RepositoryNotFoundError):
        return False
    except (HfHubHTTPError, OSError, ValueError) as error:
        raise _fetch_error(repo, error, token) from None
    return True


def _fetch_error(repo: str, error: Exception, token: str | None) -> StoreUnusable:
    return StoreUnusable(
        f"the snapshot {repo} cannot be fetched: {_scrub_token(error, token)}. Start again when it "
        "can, or unset EVENHAND_SNAPSHOT to begin with an empty store"
    )


def _check_integrity(path: Path, repo: str) -> None:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        (said,) = connection.execute("PRAGMA quick_check").fetchone()
    except sqlite3.DatabaseError as error:
        said = str(error)
    finally:
        connection.close()
    if said != "ok":
        raise ValueError(f"{SNAPSHOT_FILE} in {repo} is no whole store ({said})")


def save_snapshot(store: Store, repo: str, token: str | None) -> None:
    """Puts the store as it is now into the dataset, in one commit."""

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / SNAPSHOT_FILE
        source = sqlite3.connect(f"file:{store.path}?mode=ro", uri=True)
        target = sqlite3.connect(copy)
        source.backup(target)  # consistent while judgements are being written
        target.execute("PRAGMA journal_mode=DELETE")
        target.close()
        source.close()
        api = hub_api(token)
        api.create_repo(repo, repo_type="dataset", private=True, exist_ok=True)
        api.upload_file(
            path_or_fileobj=copy, path_in_repo=SNAPSHOT_FILE, repo_id=repo, repo_type="dataset",
            commit_message="The store as it is now",
        )  # fmt: skip


class BackupThread:
    """Saves when something is new: every few minutes, when a run was paused or has ended, and once
    more at the end. A failure is logged, never raised: judging goes on, and the next look tries
    again."""

    def __init__(
        self,
        store: Store,
        repo: str,
        token: str | None,
        every: float = SNAPSHOT_INTERVAL,
        look: float = POLL_INTERVAL,
    ) -> None:
        self._store, self._repo, self._token = store, repo, token
        self._every, self._poll_interval = every, min(every, look)
        self._stop, self._ready = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._save_regularly, name="snapshot", daemon=True)
        self._thread.start()
        self._ready.wait(10)  # what is written from here on is new

    def close(self) -> None:
        self._stop.set()
        self._thread.join(60)

    def _save_regularly(self) -> None:
        seen, rest, since = self._version(), self._finished_runs(), time.monotonic()
        self._ready.set()
        while True:
            ended = self._stop.wait(self._poll_interval)
            resting = self._finished_runs()
            due = ended or resting != rest or time.monotonic() - since >= self._every
            if due and (version := self._version()) != seen:
                since = time.monotonic()
                if self._try_save():
                    seen, rest = version, resting
            if ended:
                return

    def _try_save(self) -> bool:
        try:
            save_snapshot(self._store, self._repo, self._token)
        except Exception as error:  # whatever it is, a lost snapshot must not end the page
            _log.warning("no snapshot to %s: %s", self._repo, _scrub_token(error, self._token))
            return False
        return True

    def _version(self) -> object:
        """Another number whenever somebody else has written: votes, verifications and links too."""
        return self._query("PRAGMA data_version")

    def _finished_runs(self) -> object:
        return self._query("SELECT count(*), max(ended) FROM runs WHERE state!='running'")

    def _query(self, sql: str) -> object:
        try:
            return self._store.read(sql).fetchone()
        except (StoreError, sqlite3.Error) as error:
            _log.warning("the store cannot be looked at: %s", error)
            return None


def snapshot_settings() -> tuple[str, str | None] | None:
    """(dataset, token) as the environment says; None where nothing is to be kept."""
    repo = os.environ.get("EVENHAND_SNAPSHOT", "")
    return (repo, os.environ.get("HF_TOKEN")) if repo else None


def _scrub_token(error: Exception, token: str | None) -> str:
    said = " ".join(str(error).split())[:300]
    return said.replace(token, "…") if token else said
