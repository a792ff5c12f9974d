"""Errors in data, study files and stores.

EvenhandError
├── SourceError     in the data (a file, a picture, a typed item); names the place as far as known
├── StudyError      in a study file (names the field), or in a request about a study
│   └── UnknownStudy    a study that the store does not have
├── SettingError    an environment variable with an invalid value
├── AccessDenied    this visitor may not see, run or change a study
└── StoreError      in the store
    ├── StoreTooNew     written by a later version
    └── StoreUnusable   not a store, read-only, disk full
        └── StoreDamaged    bytes of the file are missing or wrong
"""

import errno
import shlex
from pathlib import Path
from typing import Final

TRY_AGAIN: Final = "then try again"
"""Last words of the advice after a failed write; for a run or a ballot, other words replace
them."""


class EvenhandError(Exception):
    """Base of all errors whose message is shown to the user."""


class SourceError(EvenhandError):
    pass


class StudyError(EvenhandError):
    pass


class UnknownStudy(StudyError):
    """Raised for a study that the store does not have, or that the current visitor may not see."""


class SettingError(EvenhandError):
    pass


class AccessDenied(EvenhandError):
    pass


class StoreError(EvenhandError):
    pass


class StoreTooNew(StoreError):
    pass


class StoreUnusable(StoreError):
    pass


class StoreDamaged(StoreUnusable):
    def __init__(self, path: Path, fault: str) -> None:
        name = shlex.quote(str(path))
        super().__init__(
            f"the store {path} cannot be read: {fault}. Nothing was changed. Restore a backup, or "
            f"copy what is readable to a new file: python -m studies repair {name}"
        )


_FILE_ERROR_ADVICE = {
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG): "make room on the disk, then try again",
    (errno.EISDIR,): "name a file, not a folder",
    (errno.ENOENT, errno.ENOTDIR): "name a path that exists",
    (errno.EEXIST,): "name a folder, not a file",
    (errno.EACCES, errno.EPERM, errno.EROFS): "name a path that you may read and write",
}


def file_error_advice(error: OSError) -> str:
    """Return advice for a file operation that the operating system refused."""
    return next(
        (advice for codes, advice in _FILE_ERROR_ADVICE.items() if error.errno in codes),
        "try again",
    )


def build_write_error(path: Path, error: OSError) -> StudyError:
    """Return the error for a file that could not be written, with advice.

    The message names the file without its folder, because other visitors of the page can see it.
    """
    return StudyError(
        f"cannot write {path.name}: {error.strerror or error}; {file_error_advice(error)}"
    )
