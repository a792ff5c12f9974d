"""Read datasets of the Hugging Face Hub at a fixed commit; only the rows that `data.split` names
are streamed.

Address: `hub:owner/name[:config][@revision]`; config and revision are optional. A config with the
suffix of a table file is a file of the repository, which is read whole. No code of a dataset is
run, and only the user's own token is sent.
"""

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
from studies.sources import catalogue, hub_files
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
    """Read a Hub dataset: the rows of its split, or the file that its address names. Return the
    data spec, with empty settings filled in from the catalogue of known data sets; the table
    of rows; and the commit that was read. SourceError if the dataset cannot be read."""
    address = parse_hub_address(spec.source)
    known = catalogue.find_hub_set(address.repo, address.config)
    if known:
        detected = spec.format == "auto" and not spec.mapping
        format, mapping = known.format if detected else spec.format, spec.mapping or known.mapping
        spec = replace(spec, format=format, mapping=mapping, split=spec.split or known.split)
    # without a typed token, the one of the environment; in public mode users type theirs
    allowed = token or ("" if is_public() else HUB_TOKEN.read()) or False
    with _explain_hub_errors(address):
        from huggingface_hub import HfApi

        revision = address.revision or None
        info = HfApi(token=allowed).dataset_info(address.repo, revision=revision, timeout=20)
        commit = str(info.sha)
        if address.file:
            table = _read_repo_file(address, commit, allowed)
        else:
            columns = known.columns if known else ()
            table = _read_dataset_rows(address, spec.split, columns, commit, allowed)
    return spec, table, commit


def _read_dataset_rows(
    address: HubAddress, split: str, columns: tuple[str, ...], commit: str, token: str | bool
) -> SourceTable:
    """Read the rows of a Hub dataset that `split` names, such as "test[:200]", at a commit. If
    `split` states no end, at most MAX_DEFAULT_ROWS are read. `columns` are the columns to read
    from Parquet files (empty: all). StudyError if the dataset has several splits and `split`
    names none."""
    import datasets

    repo, (name, start, stop) = address.repo, _parse_split(split)
    hub_files.check_dataset_cards(repo, commit, token)
    builder = datasets.load_dataset_builder(
        repo, address.config or None, revision=commit, token=token
    )
    files = {str(k): [str(f) for f in v] for k, v in (builder.config.data_files or {}).items()}
    hub_files.check_data_files((file for paths in files.values() for file in paths), repo)
    if not name and len(files) != 1:
        raise StudyError(f"data.split: name one of the splits {', '.join(files) or '(none)'}")
    name = name or next(iter(files))
    if name in files and all(file.endswith(".parquet") for file in files[name]):
        stream = hub_files.stream_parquet(files[name], columns, token)
    else:
        stream = iter(builder.as_streaming_dataset(split=name).decode(False))
    rows = _collect_rows_within_limit(itertools.islice(stream, start, stop + 1), repo, name)
    notes: tuple[str, ...] = ()
    if len(rows) > stop - start and "[" not in split:
        more = f"{name}[:{2 * MAX_DEFAULT_ROWS}]"
        notes = (f"only the first {MAX_DEFAULT_ROWS:,} rows were read; split: {more} reads more",)
    selected = rows[: stop - start]
    found = tuple(dict.fromkeys(column for row in selected for column in row))
    return SourceTable(f"{repo} ({name})", "parquet", found, selected, notes=notes)


def _collect_rows_within_limit(rows: Iterator[Row], repo: str, split: str) -> list[Row]:
    """Return all `rows` as a list, with images as data URLs. SourceError if they are together
    larger than the limit; `repo` and `split` are named in its message."""
    out: list[Row] = []
    size, max_bytes = 0, current_limits().unpacked_bytes
    for row in rows:
        out.append({column: _images_as_urls(value) for column, value in row.items()})
        size += sum(len(one) if isinstance(one, str) else 64 for one in out[-1].values())
        if size > max_bytes:
            raise SourceError(
                f"{repo}: the slice is larger than can be read; read fewer rows, such as "
                f"split: {split}[:{len(out) // 2}]"
            )
    return out


def _parse_split(split: str) -> tuple[str, int, int]:
    """Return (name, first row, end) of a split: "test[10:200]" -> ("test", 10, 200), where row 200
    is not read. The name is "" if the text has none; the end is by default MAX_DEFAULT_ROWS
    after the first row. StudyError for an invalid text or a split without rows."""
    match = _SPLIT_PATTERN.fullmatch(split.strip())
    if match is None:
        raise StudyError(f"data.split: {split!r}: expected a name such as test, or test[:200]")
    start = int(match["start"] or 0)
    stop = int(match["stop"]) if match["stop"] else start + MAX_DEFAULT_ROWS
    if stop <= start:
        raise StudyError(f"data.split: {split!r} contains no rows; write test[:200], for example")
    return match["name"], start, stop


def _read_repo_file(address: HubAddress, commit: str, token: str | bool) -> SourceTable:
    """Read the file that `address` names, at a commit of its repository; SourceError if it is
    missing or, checked before the download, too large."""
    from huggingface_hub import HfApi, hf_hub_download

    repo, file = address.repo, address.file
    found = HfApi(token=token).get_paths_info(repo, [file], revision=commit, repo_type="dataset")
    if not found:
        raise SourceError(f"{repo}: no file {file!r} at {commit[:12]}; check its name on the Hub")
    current_limits().check_bytes(getattr(found[0], "size", 0), f"{repo}: {file}")
    path = hf_hub_download(repo, file, repo_type="dataset", revision=commit, token=token)
    return replace(read_table(Path(path)), name=f"{repo}: {file}")


def _images_as_urls(value: Any) -> Any:
    """Convert images given as bytes to data URLs, and those without bytes to their paths, also in
    lists; return other values unchanged."""
    if isinstance(value, dict) and set(value) == {"bytes", "path"}:
        return _image_data_url(value["bytes"]) if value["bytes"] else value["path"]
    if isinstance(value, list):
        return [_images_as_urls(part) for part in value]
    return value


_IMAGE_KINDS: Final = {b"\xff\xd8": "jpeg", b"\x89P": "png", b"GI": "gif", b"RI": "webp"}


def _image_data_url(content: bytes) -> str:
    kind = _IMAGE_KINDS.get(content[:2], "png")
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


@contextmanager
def _explain_hub_errors(address: HubAddress) -> Iterator[None]:
    """Context that converts errors of the Hub libraries to SourceErrors with advice."""
    try:
        yield
    except (SourceError, StudyError):
        raise
    except Exception as error:  # the library may raise any exception
        raise SourceError(_explain_error(error, address)) from None


OFFLINE_ADVICE: Final = (
    "no network? Download the dataset's files elsewhere and set one of them as the source"
)


def _explain_error(error: Exception, address: HubAddress) -> str:
    from huggingface_hub import errors

    repo, revision, name = address.repo, repr(address.revision), type(error).__name__
    at = f"{repo} at revision {revision}" if address.revision else repo
    if isinstance(error, errors.GatedRepoError):
        return (
            f"{repo} is gated: accept its terms on its page, then give a token that may "
            "read it (HF_TOKEN)"
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{repo} has no revision {revision}; check its page"
    if isinstance(error, errors.RepositoryNotFoundError):
        return (
            f"the Hub has no dataset {repo!r}, or it is private: check the spelling, or "
            "give a token that may read it (HF_TOKEN)"
        )
    if isinstance(error, errors.HfHubHTTPError):
        return (
            f"the Hub refused {at}: {_first_line(error)}; check the dataset's page and your token"
        )
    unreached = f"the Hub cannot be reached ({_first_line(error)}): {OFFLINE_ADVICE}"
    if isinstance(error, OSError):
        return unreached
    if "Connect" in name or "Timeout" in name or "Offline" in name:
        return f"{at}: {unreached}"
    if "scripts are no longer supported" in str(error):
        return (
            f"{at}: this dataset is a script, and scripts are not run; name one of its files "
            "instead, as hub:owner/name:data/file.jsonl"
        )
    return f"{at}: {name}: {_first_line(error)}"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
