"""The catalogue of sets that people know, as data: catalogue.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from studies.spec.field_reader import FieldReader, load_yaml

CATALOGUE_FILE: Final = Path(__file__).with_name("catalogue.yaml")


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A set by its name: where it is, how it is read, and what may be done with it."""

    name: str
    format: str
    licence: str
    holds: str
    rows: int
    megabytes: int
    hub: str = ""
    """What stands after `hub:`; empty where it is not on the Hub as a dataset."""
    home: str = ""
    split: str = ""
    splits: tuple[str, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    """The only columns to fetch, where the others are large; all if empty."""

    @property
    def summary(self) -> str:
        """One line: what it holds, how large it is, its licence."""
        size = f"{self.rows:,} rows, about {self.megabytes:,} MB"
        return f"{self.name}: {self.holds} ({size}; {self.licence})"


def _read_catalogue(path: Path) -> tuple[CatalogueEntry, ...]:
    entries = load_yaml(path.read_text(encoding="utf-8"))
    return tuple(_parse_entry(FieldReader(entry, path.name)) for entry in entries)  # type: ignore[attr-defined]


def _parse_entry(reader: FieldReader) -> CatalogueEntry:
    found = CatalogueEntry(
        name=reader.text("name"),
        format=reader.text("format"),
        licence=reader.text("licence"),
        holds=reader.text("holds"),
        rows=reader.whole("rows", 0),
        megabytes=reader.whole("megabytes", 0),
        hub=reader.text("hub"),
        home=reader.text("home"),
        split=reader.text("split"),
        splits=reader.texts("splits"),
        mapping=reader.text_map("mapping"),
        columns=reader.texts("columns"),
    )
    reader.refuse_unknown_keys()
    return found


ALL_SETS: Final = _read_catalogue(CATALOGUE_FILE)
HUB_SETS: Final = tuple(entry for entry in ALL_SETS if entry.hub)
"""Those that can be named as `hub:…`."""


def find_hub_set(repo: str, config: str = "") -> CatalogueEntry | None:
    """The entry of a Hub dataset, by its repository and, where that tells them apart, its file."""
    wanted = (f"{repo}:{config}", repo) if config else (repo,)
    for hub in wanted:
        for entry in HUB_SETS:
            if entry.hub.casefold() == hub.casefold():
                return entry
    return None
