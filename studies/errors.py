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


class Forbidden(EvenhandError):
    pass


class StoreError(EvenhandError):
    pass


class NewerStore(StoreError):
    pass


class StoreUnusable(StoreError):
    pass


_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def not_written(path: Path, error: OSError) -> StudyError:
    """A file that could not be written, and what to do. Not where it was to lie: the page says this
    to strangers too."""
    advice = "make room on the disk, then try again" if error.errno in _NO_ROOM else "try again"
    return StudyError(f"cannot write {path.name}: {error.strerror}; {advice}")
