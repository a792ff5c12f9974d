"""Parsing of a verdict from the text of a reply, or from the probabilities of its labels.

Parsing never raises an error because of a reply and takes linear time. Replies are cleaned first
(reply_cleaning.py), then read by one function per format (readers.py, option_readers.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from judges.verdicts.markers import MarkerMatch
from judges.verdicts.point_readers import read_point_verdict
from judges.verdicts.readers import reader_for
from judges.verdicts.reply_cleaning import clean_reply, original_span
from judges.verdicts.verdict_formats import POINT_FORMATS, find_format
from studies.domain import Verdict
from studies.frames.arrangement import Arrangement, parse_arrangement

READING_RULES: Final = ("default", "last", "gradelab")
MIN_LABEL_MASS: Final = 0.5
"""Minimum total probability of the labels. Below it the judge would most likely have written
something else, so no verdict is read."""


@dataclass(frozen=True, slots=True)
class ParsedVerdict:
    """A verdict in label order (A, B, …), the rule that gave it, and the reason if there is no
    verdict."""

    verdict: Verdict | None
    rule: str
    truncated: bool = False
    reason: str = ""
    mass: float | None = None
    probabilities: tuple[float, ...] = ()


def parse_verdict(
    format: str,
    reply: str,
    n_options: int = 2,
    rule: str = "default",
    scale: Sequence[str] = (),
    labels: Sequence[str] = (),
) -> ParsedVerdict:
    """Parse a reply. Choice and scores are in label order: index 0 is label A or 1, index 1 is B or
    2.

    `scale`: the options of a prompt that judges one answer, from the lowest to the highest.
    `labels`: the labels of its ask; without them, the options are in that order.
    """
    found, truncated = _find_marker(format, reply, n_options, rule, scale, labels)
    reason = "" if found.verdict else found.reason
    return ParsedVerdict(found.verdict, found.rule, truncated, reason)


def marker_span(
    format: str,
    reply: str,
    n_options: int = 2,
    rule: str = "default",
    scale: Sequence[str] = (),
    labels: Sequence[str] = (),
) -> tuple[int, int] | None:
    """Return the span of the verdict in the raw reply, for highlighting on the page."""
    found, _ = _find_marker(format, reply, n_options, rule, scale, labels)
    if found.verdict is None or found.span is None:
        return None
    return original_span(reply, found.span, emphasis=format != "json-winner")


def read_probabilities(
    labels: Sequence[str], token_probabilities: Mapping[str, float], tie: str | None = None
) -> ParsedVerdict:
    """Take the most probable label as the verdict; exactly equal probabilities are a tie."""
    names = [*labels] if tie is None else [*labels, tie]
    mass_of = dict.fromkeys(names, 0.0)
    for token, probability in token_probabilities.items():
        name = token.strip(" \t\r\n\u2581\u0120")
        if name in mass_of and 0 < probability <= 1 + 1e-6:
            mass_of[name] += probability
    mass = math.fsum(mass_of.values())
    shares = tuple(mass_of[name] / mass for name in names) if mass > 0 else ()
    seen = shares[: len(labels)]
    if mass < MIN_LABEL_MASS:
        reason = f"the labels together have probability {mass:.3f}, less than one half"
        return ParsedVerdict(None, "probabilities", reason=reason, mass=mass, probabilities=seen)
    best = [index for index, share in enumerate(shares) if share == max(shares)]
    drawn = len(best) > 1 or best[0] >= len(labels)
    verdict = Verdict(
        pick="tie" if drawn else best[0],
        margin=0 if drawn else 1,
        label_probabilities=seen,
        label_mass=mass,
    )
    return ParsedVerdict(verdict, "probabilities", mass=mass, probabilities=seen)


def read_option_probabilities(
    options: Mapping[str, float],
    arrangement: Arrangement,
    token_probabilities: Mapping[str, float],
) -> ParsedVerdict:
    """Take the most probable option as the score of one answer; none if two are equally probable.

    `options`: option -> score, from the lowest to the highest. The probabilities of the verdict are
    in that order, so that they give an expected score.
    """
    named = dict(zip(arrangement.options, arrangement.names, strict=True))
    if arrangement.is_pass_fail and not arrangement.letters:
        named = {option: option.upper() for option in named}
    read = read_probabilities([named[option] for option in options], token_probabilities)
    if read.verdict is None or not isinstance(read.verdict.pick, int):
        reason = read.reason or "two options are equally probable"
        return replace(read, verdict=None, reason=reason)
    score = list(options.values())[read.verdict.pick]
    return replace(read, verdict=replace(read.verdict, pick=None, scores=(score,)))


def _find_marker(
    format: str,
    reply: str,
    n_options: int,
    rule: str,
    scale: Sequence[str],
    labels: Sequence[str],
) -> tuple[MarkerMatch, bool]:
    name = find_format(format).name
    if rule not in READING_RULES:
        raise ValueError(
            f"No reading rule named {rule!r}. Known rules: {', '.join(READING_RULES)}."
        )
    text = clean_reply(reply, emphasis=name != "json-winner")
    if text.truncated:
        return MarkerMatch(reason="the reasoning block is not closed"), True
    if not text.text.strip():
        return MarkerMatch(reason="empty reply"), False
    if name in POINT_FORMATS:
        arrangement = parse_arrangement(tuple(labels) or tuple(scale))
        return read_point_verdict(name, text, scale, arrangement), False
    return reader_for(name, rule)(text, n_options), False
