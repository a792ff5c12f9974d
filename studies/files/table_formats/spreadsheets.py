"""Read the first visible sheet of an Excel workbook (.xlsx) as rows of a table."""

import datetime
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from studies.errors import SourceError
from studies.files import archives, read_limits

_UNREADABLE: Final = (
    zipfile.BadZipFile, zlib.error, SyntaxError, LookupError, ValueError, TypeError, AttributeError,
    ArithmeticError, OSError, EOFError,
)  # fmt: skip
"""Errors of openpyxl for a damaged workbook; an error of the XML parser is a SyntaxError."""


def read_first_visible_sheet(
    path: Path, limits: read_limits.ReadLimits
) -> Iterator[tuple[str, list[Any]]]:
    """Yield, for each non-empty row of the first visible sheet, the sheet's name ("" if it is the
    only sheet) and the cells. SourceError if the workbook cannot be read or exceeds the limits.

    For formulas, the values stored in the workbook are used.
    """
    import openpyxl  # type: ignore[import-untyped]

    with archives.open_archive(path, limits):
        pass  # checks the sizes; openpyxl reads the file itself
    try:
        yield from _read_first_sheet(openpyxl, path, limits)
    except SourceError:
        raise
    except _UNREADABLE as error:
        raise SourceError(
            f"{path.name}: not a readable Excel workbook ({error}); save it again as .xlsx, or as "
            "CSV"
        ) from None


def _read_first_sheet(
    openpyxl: Any, path: Path, limits: read_limits.ReadLimits
) -> Iterator[tuple[str, list[Any]]]:
    book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
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


def _plain_value(cell: Any) -> Any:
    """Return the value of a cell; a date or time as ISO text."""
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else cell
