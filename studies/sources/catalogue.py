"""Catalogue of well-known data sets, read from catalogue.yaml."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from studies.spec.field_reader import FieldReader, load_yaml

CATALOGUE_FILE: Final = Path(__file__).with_name("catalogue.yaml")


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A data set with its location, format, size and licence."""

    name: str
    format: str
    licence: str
    holds: str
    """Description of the content of the data set."""
    rows: int
    megabytes: int
    hub: str = ""
    """Address on the Hub, without the prefix `hub:`; empty if the data set is not on the Hub."""
    home: str = ""
    split: str = ""
    splits: tuple[str, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    """Columns to download, for a data set whose other columns are large; empty for all columns."""

    @property
    def summary(self) -> str:
        """One line with name, content, size and licence."""
        size = f"{self.rows:,} rows, about {self.megabytes:,} MB"
        return f"{self.name}: {self.holds} ({size}; {self.licence})"


@cache
def all_data_sets() -> tuple[CatalogueEntry, ...]:
    """Return all data sets of the catalogue."""
    entries: Any = load_yaml(CATALOGUE_FILE.read_text(encoding="utf-8"))
    return tuple(_parse_entry(FieldReader(entry, CATALOGUE_FILE.name)) for entry in entries)


def _parse_entry(reader: FieldReader) -> CatalogueEntry:
    texts = ("name", "format", "licence", "holds", "hub", "home", "split")
    values: dict[str, Any] = {name: reader.text(name) for name in texts}
    values |= {name: reader.whole_number(name, 0) for name in ("rows", "megabytes")}
    values |= {name: reader.texts(name) for name in ("splits", "columns")}
    found = CatalogueEntry(**values, mapping=reader.text_map("mapping"))
    reader.refuse_unknown_keys()
    return found


def hub_sets() -> tuple[CatalogueEntry, ...]:
    """Return the data sets that can be opened as `hub:…`."""
    return tuple(entry for entry in all_data_sets() if entry.hub)


def find_hub_set(repo: str, config: str = "") -> CatalogueEntry | None:
    """Return the catalogue entry of a config (or file) of a Hub dataset; if it has none, the entry
    of the whole dataset, None without either."""
    known = {entry.hub.casefold(): entry for entry in reversed(hub_sets())}
    return known.get(f"{repo}:{config}".casefold()) or known.get(repo.casefold())
