"""The example study files that come with the project."""

import re
from functools import lru_cache
from typing import Final

from studies.errors import StudyError
from studies.sources.load import ASSETS_FOLDER

EXAMPLES_FOLDER: Final = ASSETS_FOLDER / "studies"


@lru_cache(maxsize=1)
def example_names() -> list[str]:
    """Names of the example files without suffix; empty if there are none."""
    return sorted(path.stem for path in EXAMPLES_FOLDER.glob("*.yaml"))


@lru_cache(maxsize=64)
def example_title(name: str) -> str:
    """Return the name of the study in the example file `name`, found without parsing the whole
    file; if the file has no name in it, return `name`."""
    found = re.search(r"^name:\s*(.+?)\s*$", example_text(name), re.MULTILINE)
    return found[1].strip("\"'") if found else name


def example_text(name: str) -> str:
    if name not in example_names():
        raise StudyError(f"no example named {name!r}. Known: {', '.join(example_names())}")
    return (EXAMPLES_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
