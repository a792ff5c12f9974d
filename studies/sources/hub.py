"""Read datasets of the Hugging Face Hub: only the rows of the slice are streamed, at a fixed
commit.

Address: `hub:owner/name[:config][@revision]`; config and revision are optional. A config with the
suffix of a table file is a file of the repository. No code of a dataset is run, and only the user's
own token is sent.
"""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from studies.errors import SourceError, StudyError
from studies.files.read_limits import current_limits
from studies.files.tables import Row, SourceTable, is_table_file, read_table
from studies.settings import HUB_TOKEN, is_public
from studies.sources.catalogue import CatalogueEntry, find_hub_set
from studies.sources.hub_files import check_cards, check_files, stream_parquet
from studies.spec.study import DataSpec

HUB_PREFIX: Final = "hub:"
MAX_DEFAULT_ROWS: Final = 20_000
"""Number of rows that are read if `data.split` names no end; `split: test[:50000]` reads more."""

_SOURCE_PATTERN: Final = re.compile(
    r"hub:(?P<repo>[\w.-]+/[\w.-]+)(?::(?P<config>[^@]+))?(?:@(?P<revision>[^@]+))?"
)
_SPLIT_PATTERN: Final = re.compile(r"(?P<name>[\w.-]*)(?:\[(?P<start>\d*):(?P<stop>\d*)\])?")


@dataclass(frozen=True, slots=True)
class HubAddress:
    """Repository, config and revision of a Hub dataset."""

    repo: str
    config: str
    revision: str

    @property
    def file(self) -> str:
        """Path of a file in the repository, if the config names one; else empty."""
        return self.config if self.config and is_table_file(Path(self.config)) else ""


def parse_hub_address(source: str) -> HubAddress:
    match = _SOURCE_PATTERN.fullmatch(source.strip())
    if match is None:
        raise StudyError(
            f"data.source: {source!r}: expected hub:owner/name, hub:owner/name:config or "
            "hub:owner/name@revision"
        )
    return HubAddress(match["repo"], match["config"] or "", match["revision"] or "")


def read_hub(spec: DataSpec, token: str | None = None) -> tuple[DataSpec, SourceTable, str]:
    """Read the rows of the split; return the data spec completed from the catalogue, the rows and
    the commit."""
    address = parse_hub_address(spec.source)
    known = find_hub_set(address.repo, address.config)
    spec = _apply_catalogue(spec, known)
    allowed = token or _own_token() or False
    with _explain_hub_errors(address):
        commit = _resolve_commit(address, allowed)
        if address.file:
            table = _read_repo_file(address, commit, allowed)
        else:
            columns = known.columns if known else ()
            table = _read_rows(address, spec, columns, commit, allowed)
    return spec, table, commit


def _own_token() -> str:
    """Return the Hub token from the environment; "" in public mode, where users type their
    token."""
    return "" if is_public() else HUB_TOKEN.read()


def _apply_catalogue(spec: DataSpec, known: CatalogueEntry | None) -> DataSpec:
    if known is None:
        return spec
    return replace(
        spec,
        format=known.format if spec.format == "auto" and not spec.mapping else spec.format,
        mapping=spec.mapping or known.mapping,
        split=spec.split or known.split,
    )


def _resolve_commit(address: HubAddress, token: str | bool) -> str:
    from huggingface_hub import HfApi

    info = HfApi(token=token).dataset_info(
        address.repo, revision=address.revision or None, timeout=20
    )
    return str(info.sha)


def _read_rows(
    address: HubAddress, spec: DataSpec, columns: tuple[str, ...], commit: str, token: str | bool
) -> SourceTable:
    import datasets

    name, start, stop = _parse_split(spec.split)
    check_cards(address.repo, commit, token)
    builder = datasets.load_dataset_builder(
        address.repo, address.config or None, revision=commit, token=token
    )
    files = builder.config.data_files or {}
    check_files((str(file) for split in files.values() for file in split), address.repo)
    name = name or _only_split([str(split) for split in files])
    if name in files and all(str(file).endswith(".parquet") for file in files[name]):
        stream = stream_parquet([str(file) for file in files[name]], columns, token)
    else:
        stream = iter(builder.as_streaming_dataset(split=name).decode(False))
    rows = _collect_bounded(itertools.islice(stream, start, stop + 1), address.repo, name)
    notes = []
    if len(rows) > stop - start and "[" not in spec.split:
        more = f"{name}[:{2 * MAX_DEFAULT_ROWS}]"
        notes.append(
            f"only the first {MAX_DEFAULT_ROWS:,} rows were read; split: {more} reads more"
        )
    selected = rows[: stop - start]
    found = tuple(dict.fromkeys(column for row in selected for column in row))
    return SourceTable(f"{address.repo} ({name})", "parquet", found, selected, notes=tuple(notes))


def _collect_bounded(rows: Iterator[Row], repo: str, split: str) -> list[Row]:
    out: list[Row] = []
    size, max_bytes = 0, current_limits().unpacked_bytes
    for row in rows:
        out.append({column: _images_as_urls(value) for column, value in row.items()})
        size += _row_size(out[-1])
        if size > max_bytes:
            raise SourceError(
                f"{repo}: the slice is larger than can be read; read fewer rows, such as "
                f"split: {split}[:{len(out) // 2}]"
            )
    return out


def _parse_split(split: str) -> tuple[str, int, int]:
    """Return name, first row and end (exclusive): "test[10:200]" -> ("test", 10, 200)."""
    match = _SPLIT_PATTERN.fullmatch(split.strip())
    if match is None:
        raise StudyError(f"data.split: {split!r}: expected a name such as test, or test[:200]")
    start = int(match["start"] or 0)
    stop = int(match["stop"]) if match["stop"] else start + MAX_DEFAULT_ROWS
    if stop <= start:
        raise StudyError(f"data.split: {split!r} contains no rows; write test[:200], for example")
    return match["name"], start, stop


def _only_split(names: list[str]) -> str:
    if len(names) != 1:
        raise StudyError(f"data.split: name one of the splits {', '.join(names) or '(none)'}")
    return names[0]


def _read_repo_file(address: HubAddress, commit: str, token: str | bool) -> SourceTable:
    """Read one file of the repository; its size is checked before it is downloaded."""
    from huggingface_hub import HfApi, hf_hub_download

    api = HfApi(token=token)
    found = api.get_paths_info(address.repo, [address.file], revision=commit, repo_type="dataset")
    if not found:
        raise SourceError(
            f"{address.repo}: no file {address.file!r} at {commit[:12]}; check its name on the Hub"
        )
    current_limits().check_bytes(getattr(found[0], "size", 0), f"{address.repo}: {address.file}")
    path = hf_hub_download(
        address.repo, address.file, repo_type="dataset", revision=commit, token=token
    )
    return replace(read_table(Path(path)), name=f"{address.repo}: {address.file}")


def _images_as_urls(value: Any) -> Any:
    """Convert images given as bytes to data URLs, also in lists; return other values unchanged."""
    if isinstance(value, dict) and set(value) == {"bytes", "path"}:
        return _data_url(value["bytes"]) if value["bytes"] else value["path"]
    if isinstance(value, list):
        return [_images_as_urls(part) for part in value]
    return value


_IMAGE_KINDS: Final = {b"\xff\xd8": "jpeg", b"\x89P": "png", b"GI": "gif", b"RI": "webp"}


def _data_url(content: bytes) -> str:
    kind = _IMAGE_KINDS.get(content[:2], "png")
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _row_size(row: Row) -> int:
    return sum(len(value) if isinstance(value, str) else 64 for value in row.values())


@contextmanager
def _explain_hub_errors(address: HubAddress) -> Iterator[None]:
    """Convert errors of the Hub libraries to SourceErrors with advice."""
    from huggingface_hub import errors

    at = f" at revision {address.revision!r}" if address.revision else ""
    try:
        yield
    except (SourceError, StudyError):
        raise
    except errors.GatedRepoError:
        raise SourceError(
            f"{address.repo} is gated: accept its terms on its page, then give a token that may "
            "read it (HF_TOKEN)"
        ) from None
    except errors.RevisionNotFoundError:
        raise SourceError(
            f"{address.repo} has no revision {address.revision!r}; check its page"
        ) from None
    except errors.RepositoryNotFoundError:
        raise SourceError(
            f"the Hub has no dataset {address.repo!r}, or it is private: check the spelling, or "
            "give a token that may read it (HF_TOKEN)"
        ) from None
    except errors.HfHubHTTPError as error:
        raise SourceError(
            f"the Hub refused {address.repo}{at}: {_first_line(error)}; check the dataset's page "
            "and your token"
        ) from None
    except (ConnectionError, OSError) as error:
        raise SourceError(
            f"the Hub cannot be reached ({_first_line(error)}): {OFFLINE_ADVICE}"
        ) from None
    except Exception as error:  # the library may raise any exception
        raise SourceError(f"{address.repo}{at}: {_explain_error(error)}") from None


OFFLINE_ADVICE: Final = (
    "no network? Download the dataset's files elsewhere and set one of them as the source"
)


def _explain_error(error: Exception) -> str:
    name = type(error).__name__
    if "Connect" in name or "Timeout" in name or "Offline" in name:
        return f"the Hub cannot be reached ({_first_line(error)}): {OFFLINE_ADVICE}"
    if "scripts are no longer supported" in str(error):
        return (
            "this dataset is a script, and scripts are not run; name one of its files instead, as "
            "hub:owner/name:data/file.jsonl"
        )
    return f"{name}: {_first_line(error)}"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
