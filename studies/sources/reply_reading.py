"""Read verdicts from the replies in a file, for files that contain replies instead of verdicts.

The reading functions are in the judges package, which imports this module and registers them here
(judges/verdicts/verdict.py).
"""

from collections.abc import Sequence
from typing import Final, Protocol

from studies.errors import SourceError, StudyError
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.recorded_verdict import VerdictReading
from studies.texts.counts import count

AUTO_READ: Final = "auto"


class VerdictReader(Protocol):
    """Protocol for an object that reads the verdicts in recorded replies of judges. Replies have
    one of several formats; a format states how a reply marks its verdict."""

    @property
    def format_names(self) -> Sequence[str]:
        """Names of the verdict formats."""

    def read(self, format: str, reply: str, options: int) -> VerdictReading:
        """Return the verdict in a reply about `options` answers, or the reason why none was
        read."""

    def detect_format(self, replies: Sequence[tuple[str, int]]) -> str:
        """Return the format in which these replies state their verdicts; "" if no format is clear.
        `replies` are pairs of a reply and the number of options it chose from."""


_registered: list[VerdictReader] = []


def register_verdict_reader(reader: VerdictReader) -> None:
    _registered[:] = [reader]


def replace_verdicts_from_replies(builder: SourceBuilder, format: str) -> None:
    """Replace the verdicts of a source by those read from its replies, which are in the verdict
    format `format` (`auto`: detected from the replies); add notes with the counts.

    SourceError if there are no replies, if no format is clear, or if the file does not record
    which answer its replies call A."""
    reader = _require_reader_for_format(format)
    if not builder.labels_recorded:
        raise SourceError(
            "the file does not record which answer its replies call A, so no verdict can be read "
            "from them; remove data.read"
        )
    replies = builder.reply_samples()
    if not replies:
        raise SourceError(
            "the file contains no judge's replies, so no verdict can be read from them; map a "
            "column to 'reply' in data.mapping, or remove data.read"
        )
    how = "set by data.read"
    if format == AUTO_READ:
        format, how = reader.detect_format(replies), "detected; data.read sets another format"
        if not format:
            raise SourceError(
                "the replies have no plain verdict markers. Set the verdict format in data.read "
                f"({', '.join(reader.format_names)}), or map a column to 'winner' in data.mapping"
            )
    counts = builder.reread_verdicts(lambda reply, options: reader.read(format, reply, options))
    builder.notes.append(
        f"{count(counts.read, 'verdict')} read from {counts.replies:,} replies as {format} "
        f"({how}); {counts.replies - counts.read:,} unusable"
    )
    if counts.changed:
        builder.notes.append(
            f"{count(counts.changed, 'verdict')} read from replies, unlike recorded in the file: "
            "what was read is used"
        )


def _require_reader_for_format(format: str) -> VerdictReader:
    """Return the registered reader; StudyError if there is none, or if it does not support the
    format."""
    if not _registered:
        raise StudyError(
            "data.read: replies cannot be read here, because no reader is registered; import the "
            "file with python -m studies import or on the page"
        )
    known = _registered[0].format_names
    if format not in (AUTO_READ, *known):
        raise StudyError(
            f"data.read: replies are not read as {format!r}; known: {AUTO_READ}, {', '.join(known)}"
        )
    return _registered[0]
