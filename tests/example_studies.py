"""Example study files shipped with the project, one per protocol and kind of judge."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from studies.spec.records_folder import RECORDS_VARIABLE
from studies.spec.study import Study, load_study

EXAMPLES_FOLDER: Final = Path(__file__).resolve().parents[1] / "assets" / "studies"


@dataclass(frozen=True, slots=True)
class ExampleStudy:
    path: Path
    study: Study

    @property
    def needs_records(self) -> bool:
        """Whether the study's data is in the folder named by EVENHAND_RECORDS, outside the
        project."""
        return f"${{{RECORDS_VARIABLE}}}" in self.study.data.source

    @property
    def uses_embedded_judge(self) -> bool:
        return any(judge.kind == "embedded" for judge in self.study.judges)


def load_examples() -> list[ExampleStudy]:
    """Load all examples, sorted by file name."""
    return [ExampleStudy(path, load_study(path)) for path in sorted(EXAMPLES_FOLDER.glob("*.yaml"))]
