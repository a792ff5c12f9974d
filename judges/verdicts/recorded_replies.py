"""Reader of verdicts in imported replies. It registers itself with studies/sources, which may not
import this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from judges.verdicts.verdict import parse_verdict
from judges.verdicts.verdict_formats import FORMATS
from studies.sources.building.recorded_verdict import RecordedReading
from studies.sources.reply_reading import register_reader

MARKED_FORMATS: Final = (
    "five-level",
    "arena-hard",
    "mt-bench",
    "rating-pair",
    "rating",
    "factuality",
    "selection-option",
    "overall-response",
    "final-answer",
    "json-winner",
    "result-n",
    "grade-letter",
)
"""Formats that can be detected from replies, because each states a verdict in its own way, such as
`[[A]]`; if two read equally many replies, the first is chosen. `label` is left out: any reply may
contain a label."""
MIN_DETECTED_SHARE: Final = 0.8
"""Minimum share of replies that a format must read to be detected; otherwise none is detected."""


class RecordedReplyReader:
    """The reader that data sources use for imported replies; it reads all verdict formats."""

    formats: Final = tuple(name for name in FORMATS if name != "none")

    def read(self, format: str, reply: str, options: int) -> RecordedReading:
        found = parse_verdict(format, reply, options)
        return RecordedReading(found.verdict, found.rule or format, found.reason)

    def detect(self, replies: Sequence[tuple[str, int]]) -> str:
        shares = {name: _readable_share(name, replies) for name in MARKED_FORMATS}
        best = max(shares, key=lambda name: shares[name])  # if equal, the strictest
        return best if shares[best] >= MIN_DETECTED_SHARE else ""


def _readable_share(format: str, replies: Sequence[tuple[str, int]]) -> float:
    read = [parse_verdict(format, reply, options).verdict for reply, options in replies]
    usable = [
        verdict is not None and (verdict.pick is not None or len(verdict.scores) == options)
        for verdict, (_, options) in zip(read, replies, strict=True)
    ]
    return sum(usable) / max(len(usable), 1)


register_reader(RecordedReplyReader())
