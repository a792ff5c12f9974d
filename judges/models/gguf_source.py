"""GGUF weights that a judge names in the study file: a file on this machine or in a Hub repository.

The key `weights` is a path such as `/models/judge.gguf` or `~/judge.gguf`, or
`hub:owner/repo/file.gguf`, optionally with `@revision`. A Hub file is downloaded once, on request,
into the cache of the Hub library. The hash of the file is part of the key of every call.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from judges.models.weights import WeightsMissing, find_weights
from studies import settings
from studies.settings import is_public

HUB_PREFIX: Final = "hub:"
GGUF_SUFFIX: Final = ".gguf"
GGUF_MAGIC: Final = b"GGUF"
_HUB_FILE: Final = re.compile(
    r"hub:(?P<repo>[\w.-]{1,96}/[\w.-]{1,96})/(?P<file>[\w./ -]{1,200}\.gguf)"
    r"(?:@(?P<revision>[\w./-]{1,100}))?",
    re.ASCII | re.IGNORECASE,
)

Progress = Callable[[int, int], None]
"""Function that is called with the bytes received so far and the bytes of the whole file."""


@dataclass(frozen=True, slots=True)
class HubWeights:
    """One GGUF file of a Hub repository."""

    repo: str
    file: str
    revision: str = "main"

    def __str__(self) -> str:
        return f"{HUB_PREFIX}{self.repo}/{self.file}@{self.revision}"


def check_weights_name(text: str) -> None:
    """Raise WeightsMissing unless the text names a GGUF file by path or on the Hub."""
    if text.startswith(HUB_PREFIX):
        parse_hub_weights(text)
    elif not text.lower().endswith(GGUF_SUFFIX):
        raise WeightsMissing(
            f"weights: {text[:120]!r} is not a .gguf file. Name a file, such as "
            "/models/judge.gguf, or hub:owner/repo/file.gguf."
        )


def parse_hub_weights(text: str) -> HubWeights:
    match = _HUB_FILE.fullmatch(text)
    if match is None or ".." in match["file"].split("/"):
        raise WeightsMissing(
            f"weights: {text[:120]!r} does not name a file of the Hub. "
            "Write hub:owner/repo/file.gguf, optionally followed by @revision."
        )
    return HubWeights(match["repo"], match["file"], match["revision"] or "main")


def locate_weights(named: str) -> Path:
    """Return the path of the weights that a judge names in its setting `weights`; without a name,
    the path of the default weights (`find_weights`)."""
    if not named:
        return find_weights()
    if is_public():
        raise WeightsMissing(
            "weights: a public page loads its own weights only. Run Evenhand on your own machine "
            "to use others, or remove `weights` from the judge."
        )
    check_weights_name(named)
    if named.startswith(HUB_PREFIX):
        found = cached_hub_weights(parse_hub_weights(named))
        if found is None:
            raise WeightsMissing(
                f"weights: {named} is not on this machine yet. Download it with "
                f"`python -m judges download {named}`, or with the button at the judge."
            )
        return found
    return _check_local_file(Path(named).expanduser())


def _check_local_file(path: Path) -> Path:
    if not path.is_file():
        raise WeightsMissing(
            f"weights: {path} is not a file. Correct the path; a relative one starts at "
            f"{Path.cwd()}."
        )
    with path.open("rb") as file:
        if file.read(len(GGUF_MAGIC)) != GGUF_MAGIC:
            raise WeightsMissing(f"weights: {path} is not a GGUF model. Choose a .gguf file.")
    return path.resolve()


def cached_hub_weights(weights: HubWeights) -> Path | None:
    """Return the path of the downloaded copy of a Hub file; None if the file was not downloaded to
    this machine."""
    from huggingface_hub import try_to_load_from_cache  # slow to import and seldom needed

    cached = try_to_load_from_cache(weights.repo, weights.file, revision=weights.revision)
    return Path(cached) if isinstance(cached, str) else None


def size_on_hub(weights: HubWeights) -> int:
    """Ask the Hub for the size of a file in bytes, without downloading it."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    try:
        endpoint = settings.HUB_ENDPOINT.read() or None
        url = hf_hub_url(weights.repo, weights.file, revision=weights.revision, endpoint=endpoint)
        size = get_hf_file_metadata(url, endpoint=endpoint).size
    except Exception as error:
        raise _hub_error(weights, error) from None
    if size is None:
        raise WeightsMissing(f"weights: the Hub gives no size for {weights}; try again later.")
    return size


def download_weights(weights: HubWeights, progress: Progress | None = None) -> Path:
    """Download a Hub file into the cache; an interrupted download continues where it ended."""
    from huggingface_hub import hf_hub_download

    try:
        found = hf_hub_download(
            weights.repo,
            weights.file,
            revision=weights.revision,
            endpoint=settings.HUB_ENDPOINT.read() or None,
            tqdm_class=_progress_class(progress),
        )
    except Exception as error:
        raise _hub_error(weights, error) from None
    return Path(found)


def _hub_error(weights: HubWeights, error: Exception) -> WeightsMissing:
    """Describe a failure of the Hub library in one line, with the next step."""
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    if isinstance(error, GatedRepoError):
        why = "its owner wants the licence accepted: do so on its page and set HF_TOKEN"
    elif isinstance(error, RepositoryNotFoundError):
        why = "there is no such repository, or it is private: check the name, or set HF_TOKEN"
    elif isinstance(error, RevisionNotFoundError):
        why = f"the repository has no revision {weights.revision}: check the part after @"
    elif isinstance(error, EntryNotFoundError):
        why = "the repository has no such file: check its list of files"
    else:
        why = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
        why += "; check the connection and try again"
    return WeightsMissing(f"weights: {weights} cannot be downloaded: {why}.")


def _progress_class(progress: Progress | None) -> type[Any]:
    """Return a progress bar for the Hub library that calls `progress` and prints nothing."""
    from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]

    class ReportingBar(tqdm):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            silent = {**options, "disable": True}
            super().__init__(*arguments, **silent)  # type: ignore[no-untyped-call]
            self.total_bytes = int(options.get("total") or 0)
            self.received = int(options.get("initial") or 0)

        def update(self, n: float | None = 1) -> None:
            self.received += int(n or 0)
            if progress is not None:
                progress(self.received, self.total_bytes)

    return ReportingBar
