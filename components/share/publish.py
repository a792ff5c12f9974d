"""A study as a folder that runs by itself: frozen (read-only, no judges) or as a whole Space."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any, Final

import yaml
from huggingface_hub.errors import HfHubHTTPError

from studies.errors import EvenhandError, StudyError
from studies.sharing.hub_backup import hub_api
from studies.store.store import Store

PROJECT_ROOT: Final = Path(__file__).resolve().parents[2]
FROZEN_STORE: Final = "frozen.db"
SEED_STORE: Final = "seed.db"
"""Beside app.py: the page then shows this store read-only, or begins with a copy of it."""

SHIPPED_FOLDERS: Final = ("components", "judges", "metrics", "studies", "assets")
_IGNORED_FILES: Final = shutil.ignore_patterns("__pycache__", "*.pyc", "screenshots")
_RUN_REQUIREMENTS: Final = ("xllamacpp", "authlib", "itsdangerous")
"""What only a page that asks needs: judges that it runs itself, people that log in."""


class PublishFailed(EvenhandError):
    """The Hub did not take the Space."""


def freeze(store: Store, study: str, folder: Path) -> None:
    """The page with the data of one study: it shows, it asks nobody."""
    _write_folder(store, study, folder, FROZEN_STORE, asks=False)


def publish(store: Store, study: str, folder: Path) -> None:
    """The whole app as a Space, which begins with this study."""
    _write_folder(store, study, folder, SEED_STORE, asks=True)


def _write_folder(store: Store, study: str, folder: Path, name: str, *, asks: bool) -> None:
    store.study(study)
    if folder.exists() and not folder.is_dir():
        raise StudyError(f"{folder} is a file; name a new folder")
    if folder.exists() and any(folder.iterdir()):
        raise StudyError(f"{folder} is not empty; name a new folder, nothing is written over")
    folder.mkdir(parents=True, exist_ok=True)
    for package in SHIPPED_FOLDERS:
        shutil.copytree(PROJECT_ROOT / package, folder / package, ignore=_IGNORED_FILES)
    for file in ("app.py", "LICENSE"):
        shutil.copyfile(PROJECT_ROOT / file, folder / file)
    (folder / "requirements.txt").write_text(_requirements(asks), encoding="utf-8")
    (folder / "README.md").write_text(_readme(study, frozen=name == FROZEN_STORE), encoding="utf-8")
    copy_study(store, study, folder / name)


def copy_study(store: Store, study: str, path: Path) -> None:
    """A store that holds this study alone, with the requests and prompts behind its rows."""
    source = sqlite3.connect(f"file:{store.path}?mode=ro", uri=True)
    target = sqlite3.connect(path)
    with source, target:
        source.backup(target)
    source.close()
    target.close()
    copied = Store(path)
    for line in copied.studies():
        if line.name != study:
            copied.delete_study(line.name)
    copied.close()
    compact = sqlite3.connect(path)
    compact.execute("DELETE FROM prompts WHERE sha NOT IN (SELECT prompt_sha FROM requests) "
                    "AND name NOT IN (SELECT prompt FROM plan)")  # fmt: skip
    # Everybody's from now on: no visitor, link or run of another study goes along.
    compact.execute("UPDATE studies SET owner=''")
    for table in ("shares", "allowance", "runs WHERE study NOT IN (SELECT name FROM studies)",
                  "attempts WHERE owner NOT IN (SELECT owner FROM runs)"):  # fmt: skip
        compact.execute(f"DELETE FROM {table}")
    compact.commit()
    compact.execute("PRAGMA journal_mode=DELETE")  # one file, no -wal beside it
    compact.execute("VACUUM")
    compact.close()


def _requirements(asks: bool) -> str:
    lines = (
        (PROJECT_ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    )
    return "".join(line for line in lines if asks or not line.startswith(_RUN_REQUIREMENTS))


def _readme(study: str, *, frozen: bool) -> str:
    """The front matter of our own Space, with this study's name."""
    _, front, _ = (PROJECT_ROOT / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    values: dict[str, Any] = yaml.safe_load(front)
    values["title"] = study[:60]
    if frozen:
        for name in ("preload_from_hub", "hf_oauth"):  # no judge and no person is asked here
            values.pop(name, None)
    told = (
        "A finished study, shown read-only: every number with its interval, every mark one click "
        "from the replies behind it. No judge can be asked here."
        if frozen
        else "The whole dashboard, which begins with this study."
    )
    front = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
    run = "pip install -r requirements.txt && python app.py"
    return f"---\n{front}---\n\n# {study}\n\n{told}\n\nMade with Evenhand. To run it: `{run}`\n"


def push_space(folder: Path, repo: str, token: str | None) -> str:
    """Uploads the folder as a Space; returns its address. The token is the user's own."""
    if not token:
        raise PublishFailed("pushing needs your own token in HF_TOKEN (write access)")
    try:
        api = hub_api(token)
        api.create_repo(repo, repo_type="space", space_sdk="gradio", exist_ok=True)
        api.upload_folder(repo_id=repo, repo_type="space", folder_path=folder)
    except (HfHubHTTPError, OSError, ValueError) as error:
        said = " ".join(str(error).replace(token, "…").split())[:300]
        raise PublishFailed(f"the Hub did not take {repo}: {said}") from None
    return f"{api.endpoint}/spaces/{repo}"
