"""BibTeX entries of the papers behind the protocols and the ratings."""

from pathlib import Path
from typing import Final

import yaml

BIBTEX_ENTRIES: Final[dict[str, str]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)


def bibtex(preset: str, *, pairs: bool) -> str:
    """BibTeX entries for a study: the paper of its preset, if there is one, and, with `pairs` (it
    compares pairs of answers), that of the Bradley–Terry model."""
    names = [preset] if preset in BIBTEX_ENTRIES else []
    names += ["bradley-terry"] if pairs else []
    return "\n\n".join(BIBTEX_ENTRIES[name] for name in names)
