"""Write a study as a folder that can be served alone: a read-only page on which no judge can be
called, or a whole Space."""

import shutil
from pathlib import Path
from typing import Any, Final

import yaml
from huggingface_hub.errors import HfHubHTTPError

from studies.errors import EvenhandError, StudyError
from studies.sharing.hub_backup import hub_api
from studies.store.queries.study_copy import remove_private_and_unused_rows
from studies.store.recovery.backup import copy_store
from studies.store.store import Store

PROJECT_ROOT: Final = Path(__file__).resolve().parents[2]
IS_INSTALLED: Final = not __name__.startswith("components.")
"""Whether this code runs from the wheel, where all packages are inside the package `evenhand`."""
_START_SCRIPT: Final = """import sys

from evenhand.app import main

if __name__ == "__main__":
    sys.exit(main())
"""
FROZEN_STORE: Final = "frozen.db"
SEED_STORE: Final = "seed.db"
"""FROZEN_STORE and SEED_STORE are files beside app.py. A page with a frozen store shows it
read-only; with a seed store, the page starts with a copy of it as its store."""

SHIPPED_FOLDERS: Final = ("components", "judges", "metrics", "studies", "assets")
SHIPPED_FILES: Final = ("app.py", "docs/GLOSSARY.md")
"""Files that the page needs at its start, copied to the same relative paths as in the checkout."""
_IGNORED_FILES: Final = shutil.ignore_patterns("__pycache__", "*.pyc", "screenshots")
_RUN_REQUIREMENTS: Final = ("xllamacpp", "authlib", "itsdangerous")
"""Packages for the embedded judge and for the login; a read-only page does not need them."""


class PublishFailed(EvenhandError):
    """Raised if the Space could not be uploaded to the Hub, for example without a token."""


def write_frozen_page(store: Store, study: str, folder: Path) -> None:
    """Write a folder with a read-only page of one study, on which no judge can be called;
    StudyError if the folder exists and is not empty."""
    _write_app_folder(store, study, folder, FROZEN_STORE, runs=False)


def write_space_folder(store: Store, study: str, folder: Path) -> None:
    """Write a folder with the whole app as a Space that starts with this study; StudyError if the
    folder exists and is not empty."""
    _write_app_folder(store, study, folder, SEED_STORE, runs=True)


def _write_app_folder(
    store: Store, study: str, folder: Path, store_file: str, *, runs: bool
) -> None:
    store.study(study)
    if folder.exists() and not folder.is_dir():
        raise StudyError(f"{folder} is a file, not a folder; name a new folder")
    if folder.exists() and any(folder.iterdir()):
        raise StudyError(f"{folder} is not empty and was not changed; name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    home = _copy_code(folder)
    (folder / "requirements.txt").write_text(_requirements_text(runs), encoding="utf-8")
    (folder / "README.md").write_text(
        _space_readme_text(study, frozen=store_file == FROZEN_STORE), encoding="utf-8"
    )
    copy_study(store, study, home / store_file)


def _copy_code(folder: Path) -> Path:
    """Copy the app's code to `folder`; return the folder in which the copied app will look for its
    store. If Evenhand is installed as a package, the package is copied, with an app.py that starts
    it."""
    shutil.copyfile(PROJECT_ROOT / "LICENSE", folder / "LICENSE")
    if IS_INSTALLED:
        home = folder / PROJECT_ROOT.name
        shutil.copytree(PROJECT_ROOT, home, ignore=_IGNORED_FILES)
        (folder / "app.py").write_text(_START_SCRIPT, encoding="utf-8")
        return home
    for package in SHIPPED_FOLDERS:
        shutil.copytree(PROJECT_ROOT / package, folder / package, ignore=_IGNORED_FILES)
    for name in SHIPPED_FILES:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(PROJECT_ROOT / name, folder / name)
    return folder


def copy_study(store: Store, study: str, path: Path) -> None:
    """Write a new store with one study, and with the requests and prompts of its judgements."""
    copy_store(store.path, path)
    copied = Store(path)
    for line in copied.studies():
        if line.name != study:
            copied.delete_study(line.name)
    copied.close()
    remove_private_and_unused_rows(path)


def _requirements_text(runs: bool) -> str:
    lines = (
        (PROJECT_ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    )
    return "".join(line for line in lines if runs or not line.startswith(_RUN_REQUIREMENTS))


def _space_readme_text(study: str, *, frozen: bool) -> str:
    """README of a published Space: the metadata of the project's README with the study's name as
    title, a sentence on the page, and the command that runs it. `frozen`: a page on which nothing
    can be run or voted."""
    _, front, _ = (PROJECT_ROOT / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    values: dict[str, Any] = yaml.safe_load(front)
    values["title"] = study[:60]
    if frozen:
        for name in ("preload_from_hub", "hf_oauth"):  # needed only for judges and voters
            values.pop(name, None)
    description = (
        "This page shows a finished study, read-only. A click on a number opens its replies. "
        "Judges cannot be run here."
        if frozen
        else "This page is the whole dashboard with this study."
    )
    front = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
    run = "pip install -r requirements.txt && python app.py"
    return (
        f"---\n{front}---\n\n# {study}\n\n{description}\n\nMade with Evenhand. To run it: `{run}`\n"
    )


def push_space(folder: Path, repo: str, token: str | None, sdk: str = "gradio") -> str:
    """Upload `folder` as the Hugging Face Space `repo` (owner/name) with the user's token; return
    the address of the Space. `sdk`: kind of Space, "gradio" for the app or "static" for a board.
    PublishFailed without a token, or if the upload fails."""
    if not token:
        raise PublishFailed(
            "the upload needs a token: set HF_TOKEN to your own token with write access"
        )
    try:
        api = hub_api(token)
        api.create_repo(repo, repo_type="space", space_sdk=sdk, exist_ok=True)
        api.upload_folder(repo_id=repo, repo_type="space", folder_path=folder)
    except (HfHubHTTPError, OSError, ValueError) as error:
        reason = " ".join(str(error).replace(token, "…").split())[:300]
        raise PublishFailed(f"{repo} could not be uploaded to the Hub: {reason}") from None
    return f"{api.endpoint}/spaces/{repo}"
