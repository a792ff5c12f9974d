"""Checks on the files of a Hub dataset: only tables inside its repository are read.

The dataset card names the data files and is untrusted text. The library `datasets` refuses files
outside the repository only after it has requested them from the address in the card. Therefore the
card is checked before the library reads it, and the resulting list of files before any row is read.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

from studies.errors import SourceError
from studies.files.read_limits import current_limits
from studies.files.table_formats.parquet import check_row_groups, column_paths, read_bounded_batches

CARD_FILES: Final = ("README.md", ".huggingface.yaml")
"""Files of a repository that can name its data files."""

MAX_CARD_BYTES: Final = 1 << 20
ARCHIVE_SUFFIXES: Final = frozenset(
    {".zip", ".tar", ".tgz", ".7z", ".rar", ".npz", ".npy", ".pkl", ".pickle", ".h5", ".pt"}
)
"""Suffixes of files that are refused: archives and serialised objects."""

BLOCK_BYTES: Final = 1 << 20
"""Number of bytes that one request downloads."""


def check_dataset_cards(repo: str, commit: str, token: str | bool) -> None:
    """Raise SourceError if a dataset card (a file of CARD_FILES) is too large or names data outside
    its repository."""
    from huggingface_hub import HfApi, hf_hub_download

    found = HfApi(token=token).get_paths_info(
        repo, list(CARD_FILES), revision=commit, repo_type="dataset"
    )
    for entry in found:
        if getattr(entry, "size", 0) > MAX_CARD_BYTES:
            raise SourceError(
                f"{repo}: its {entry.path} is too large for a dataset card; download the data "
                "and use the file as source"
            )
        path = hf_hub_download(repo, entry.path, repo_type="dataset", revision=commit, token=token)
        for named in data_paths_in_card(Path(path).read_text(encoding="utf-8", errors="replace")):
            if named.startswith(("/", "~", "\\")) or any(part in named for part in _OUTSIDE_MARKS):
                raise _outside_repo_error(repo, named)


_FRONT_START: Final = re.compile(r"\s*---[\r\n]+")
_FRONT_END: Final = re.compile(r"[\r\n]---\s*?(?:[\r\n]|$)")

_OUTSIDE_MARKS: Final = ("..", "::", "://", ":\\")


def data_paths_in_card(card: str) -> Iterator[str]:
    """Yield the paths of data files and data folders that a dataset card (its text) names; none for
    invalid YAML, SourceError if its YAML is too large."""
    import yaml  # with the loader; not needed for other sources

    from studies.spec.yaml_text import BoundedYamlLoader, YamlTooLarge

    front = extract_front_matter(card)
    text = card if front is None else front
    try:
        values = yaml.load(text, BoundedYamlLoader)
    except YamlTooLarge as error:
        raise SourceError(
            f"the card of this dataset cannot be read: {error.problem}; download the data and "
            "use the file as source"
        ) from None
    except (yaml.YAMLError, RecursionError):
        return  # the library cannot read it either
    configs = values.get("configs") if isinstance(values, dict) else None
    for config in configs if isinstance(configs, list) else ():
        if isinstance(config, dict):
            yield from _flatten_texts(config.get("data_files"))
            yield from _flatten_texts(config.get("data_dir"))


def extract_front_matter(card: str) -> str | None:
    """Return the YAML front matter of a card, between two lines of three dashes, else None.

    Start and end are searched separately, because one pattern for both would take quadratic time on
    a card of empty lines.
    """
    start = _FRONT_START.match(card)
    if start is None:
        return None
    if end := _FRONT_END.search(card, start.end()):
        return card[start.end() : end.start()].rstrip("\r\n")
    empty = start[0].endswith(("\n\n", "\r\r", "\r\n", "\n\r"))
    return "" if empty and _FRONT_END.match(card, start.end() - 1) else None


def _flatten_texts(value: Any) -> Iterator[str]:
    """Yield a text, or all texts inside lists and objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _flatten_texts(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _flatten_texts(part)


def check_data_files(files: Iterable[str], repo: str) -> None:
    """Raise SourceError for a data file outside the repository, and for an archive or serialised
    object."""
    for file in files:
        if not file.startswith(f"hf://datasets/{repo}@") or "/../" in file or "::" in file:
            raise _outside_repo_error(repo, file)
        if ARCHIVE_SUFFIXES & set(PurePosixPath(file.lower()).suffixes):
            name = PurePosixPath(file).name
            raise SourceError(
                f"{repo}: {name} is an archive, which is not unpacked; name a table file of the "
                "dataset instead, as hub:owner/name:data/file.jsonl"
            )


def _outside_repo_error(repo: str, path: str) -> SourceError:
    return SourceError(
        f"{repo}: it names data outside of its repository ({path[:80]!r}); it is not read"
    )


def stream_parquet(
    files: list[str], columns: tuple[str, ...], token: str | bool
) -> Iterator[dict[str, Any]]:
    """Yield the rows of Parquet files with only these `columns`; all columns if none are given or
    a file has none of them. Only the row groups that the caller reads are downloaded.

    The reader of the library `datasets` is not used: it downloads 32 MB or more at a time,
    and its threads continue after the caller has stopped."""
    import pyarrow.parquet as parquet
    from huggingface_hub import HfFileSystem

    system, limits = HfFileSystem(token=token), current_limits()
    for file in files:
        name = PurePosixPath(file).name
        with system.open(file, "rb", block_size=BLOCK_BYTES) as stream:
            metadata = parquet.read_metadata(stream)
            check_row_groups(metadata, name, limits)
            known = {path.split(".")[0] for path in column_paths(metadata)}
            wanted = [column for column in columns if column in known] or None
            for batch in read_bounded_batches(stream, metadata, name, limits, wanted, 64):
                yield from batch.to_pylist()
