"""What can be wrong with data, study files and stores.

EvenhandError
├── SourceError     a data file: names file, line and field
├── StudyError      a study file: names the field
├── Forbidden       not this visitor's to see, run or change
└── StoreError      the judgement log
    ├── NewerStore      written by a later version
    └── StoreUnusable   not a store, read-only, disk full
"""

from __future__ import annotations

import errno
from pathlib import Path


class EvenhandError(Exception):
    """Base of every error whose message is meant for the person at the keyboard."""


class SourceError(EvenhandError):
    pass


class StudyError(EvenhandError):
    pass


class AccessDenied(EvenhandError):
    pass


class StoreError(EvenhandError):
    pass


class StoreTooNew(StoreError):
    pass


class StoreUnusable(StoreError):
    pass


_FILE_ERROR_ADVICE = {
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG): "make room on the disk, then try again",
    (errno.EISDIR,): "name a file, not a folder",
    (errno.ENOENT, errno.ENOTDIR): "name a place that is there",
    (errno.EEXIST,): "name a folder, not a file",
    (errno.EACCES, errno.EPERM, errno.EROFS): "name a place where you may read and write",
}


def file_error_advice(error: OSError) -> str:
    """What to do about a file that the system refuses."""
    return next(
        (told for kinds, told in _FILE_ERROR_ADVICE.items() if error.errno in kinds), "try again"
    )


def write_error(path: Path, error: OSError) -> StudyError:
    """A file that could not be written, and what to do. Not where it was to lie: the page says this
    to strangers too."""
    return StudyError(
        f"cannot write {path.name}: {error.strerror or error}; {file_error_advice(error)}"
    )
