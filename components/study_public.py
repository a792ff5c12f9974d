"""What a study may name where strangers use the page: no file of the machine, no variable of it.

The study file is written in the browser, so that every path in it is a stranger's. Uploads, the
built-in set, the Hub and the folder of records that the owner opened are theirs to read.
"""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import Final

from studies.errors import StudyError
from studies.places import RECORDS
from studies.sources.load import BUILT_IN
from studies.study import DataSpec, Study

OPEN: Final = ("hub:", "uploads/", f"${{{RECORDS}}}/")
PROMPTS: Final = "prompts/"


def is_public() -> bool:
    said = os.environ.get("EVENHAND_PUBLIC", "1" if "SPACE_ID" in os.environ else "")
    return said not in ("", "0")


def check_data(spec: DataSpec) -> None:
    """Raises where a public page would read a file of its machine."""
    if not is_public():
        return
    for name in (spec.source, *spec.files.values()):
        inside = ".." not in PurePath(name).parts
        if name not in BUILT_IN and not (name.startswith(OPEN) and inside):
            raise StudyError(
                f"data.source: {name!r} is a file of the machine that runs this page; upload "
                "yours, or name a dataset of the Hub"
            )


def check_rest(study: Study) -> None:
    """The same for prompts, and for keys that are the owner's."""
    if not is_public():
        return
    for name in study.prompts:
        path = PurePath(name)
        if path.suffix and (not name.startswith(PROMPTS) or ".." in path.parts):
            raise StudyError(f"prompts: {name!r} is a file of this machine; write it in the editor")
    judges = [*study.judges, *([study.extraction] if study.extraction else [])]
    for judge in judges:
        if judge.api_key_env:
            raise StudyError(
                f"judge {judge.name!r}: api_key_env names a variable of this machine; type your "
                "key instead"
            )
