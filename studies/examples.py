"""The study files that come with the project: one for each protocol and kind of judge."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from studies.places import RECORDS
from studies.study import Study, load

FOLDER: Final = Path(__file__).resolve().parents[1] / "assets" / "studies"


@dataclass(frozen=True, slots=True)
class Example:
    path: Path
    study: Study

    @property
    def needs_records(self) -> bool:
        """Whether its data lies outside the project, where EVENHAND_RECORDS says."""
        return f"${{{RECORDS}}}" in self.study.data.source

    @property
    def embedded(self) -> bool:
        return any(judge.kind == "embedded" for judge in self.study.judges)


def examples() -> list[Example]:
    """All of them, by file name."""
    return [Example(path, load(path)) for path in sorted(FOLDER.glob("*.yaml"))]
