"""Read the first sheet of an Excel workbook (.xlsx) as rows of a table."""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from studies.errors import SourceError
from studies.files.read_limits import ReadLimits


def read_sheet(path: Path, limits: ReadLimits) -> Iterator[tuple[str, list[Any]]]:
    """Yield the sheet's name and the cells of each row that is not empty.

    Formulas give the values that the workbook stores for them.
    """
    import openpyxl

    check_archive(path, limits)
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        raise SourceError(
            f"{path.name}: not a readable Excel workbook ({error}); save it again as .xlsx, or as "
            "CSV"
        ) from None
    try:
        sheet = next((sheet for sheet in book.worksheets if sheet.sheet_state == "visible"), None)
        if sheet is None:
            raise SourceError(f"{path.name}: the workbook has no visible sheet; add one")
        title = sheet.title if len(book.worksheets) > 1 else ""
        for count, cells in enumerate(sheet.iter_rows(values_only=True)):
            limits.check_rows(count, path.name)
            limits.check_columns(len(cells), path.name)
            if any(cell is not None for cell in cells):
                yield title, [_plain_value(cell) for cell in cells]
    finally:
        book.close()


def check_archive(path: Path, limits: ReadLimits) -> None:
    """Refuse an archive that unpacks to more than the limits, from its table of contents.

    The sizes there can be false, so readers also bound what they unpack.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError):
        raise SourceError(
            f"{path.name}: incomplete or damaged zip archive; copy or save it again"
        ) from None
    packed = sum(entry.compress_size for entry in entries)
    limits.check_unpacked(sum(entry.file_size for entry in entries), max(packed, 1), path.name)


def _plain_value(cell: Any) -> Any:
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else cell
