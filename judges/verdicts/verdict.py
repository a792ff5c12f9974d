"""Parsing of a verdict from the text of a reply, or from the probabilities of its labels; and the
reader of imported replies, which registers itself with studies/sources.

Parsing never raises an error because of a reply and takes linear time. Replies are cleaned first
(reply_cleaning.py), then read by one function per format (readers.py, point_readers.py).
"""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import judges.verdicts.readers  # noqa: F401  registers the readers
from judges.verdicts import asides, point_readers, verdict_formats
from judges.verdicts.markers import READERS, MarkerMatch
from judges.verdicts.reply_cleaning import CleanedReply, clean_reply, original_span
from studies.domain import Verdict
from studies.frames.arrangement import Arrangement, parse_arrangement
from studies.sources.building.recorded_verdict import VerdictReading
from studies.sources.reply_reading import register_verdict_reader

READING_RULES: Final = ("default", "last", "gradelab")
MIN_LABEL_MASS: Final = 0.5
"""Minimum total probability of the labels; with less, the judge was about to write something else,
and no verdict is read."""

_TOKEN_MARGIN: Final = " \t\r\n\u2581\u0120"
"""Characters that may surround a label in a token; tokenizers write a space as U+2581 or U+0120."""


@dataclass(frozen=True, slots=True)
class ParsedVerdict:
    """Result of reading a reply: the verdict, or the reason why there is none, and the rule that
    was used. A choice or score refers to the labels (0 is A, 1 is B), not to the models that
    wrote the answers."""

    verdict: Verdict | None
    rule: str
    truncated: bool = False
    reason: str = ""
    mass: float | None = None
    probabilities: tuple[float, ...] = ()
    span: tuple[int, int] | None = field(default=None, compare=False)
    """Span of the verdict in the cleaned reply."""


def parse_verdict(
    format: str,
    reply: str,
    n_options: int = 2,
    rule: str = "default",
    scale: Sequence[str] = (),
    labels: Sequence[str] = (),
) -> ParsedVerdict:
    """Parse the verdict of a reply to a prompt with the given verdict format. Choice and scores are
    in label order: index 0 is label A or 1, index 1 is B or 2. An unknown format raises
    UnknownFormat, an unknown rule ValueError.

    `n_options` is the number of answers shown, `rule` one of READING_RULES. `scale` lists the
    options of a prompt that judges one answer, from the lowest to the highest. `labels` are the
    labels of the ask; without labels, the options are in the order of `scale`.
    """
    name = verdict_formats.find_format(format).name
    if rule not in READING_RULES:
        raise ValueError(
            f"No parsing rule named {rule!r}. Known rules: {', '.join(READING_RULES)}."
        )
    is_json = name == "json-winner"
    text = clean_reply(reply, emphasis=not is_json)
    if text.truncated or not text.text.strip():
        reason = "the reasoning block is not closed" if text.truncated else "empty reply"
        return ParsedVerdict(None, MarkerMatch().rule, text.truncated, reason)
    is_point = name in verdict_formats.POINT_FORMATS
    arrangement = parse_arrangement(tuple(labels) or tuple(scale)) if is_point else None

    def read(cleaned: CleanedReply) -> MarkerMatch:
        if arrangement is not None:
            return point_readers.read_verdict_on_one_answer(name, cleaned, scale, arrangement)
        return (READERS.get((name, rule)) or READERS[name, "default"])(cleaned, n_options)

    found = read(text)
    if rule != "gradelab":  # that is the published rule, as it is
        found = asides.reject_if_asides_contradict(
            reply,
            found,
            lambda part: read(clean_reply(part, emphasis=not is_json)),
            is_json=is_json,
        )
    reason = "" if found.verdict else found.reason
    return ParsedVerdict(found.verdict, found.rule, reason=reason, span=found.span)


def verdict_span(
    format: str,
    reply: str,
    n_options: int = 2,
    rule: str = "default",
    scale: Sequence[str] = (),
    labels: Sequence[str] = (),
) -> tuple[int, int] | None:
    """Return the span of the verdict in the raw reply, for highlighting on the page; None if no
    verdict is read. Parameters as for `parse_verdict`."""
    read = parse_verdict(format, reply, n_options, rule, scale, labels)
    if read.verdict is None or read.span is None:
        return None
    return original_span(reply, read.span, emphasis=format != "json-winner")


def read_most_probable_label(
    labels: Sequence[str], token_probabilities: Mapping[str, float], tie: str | None = None
) -> ParsedVerdict:
    """Take the most probable label as the verdict. `token_probabilities` is token -> probability at
    the place of the label. `tie` is the label for a tie, if the format has one. The verdict is a
    tie if `tie` is the most probable, or if several labels share the highest probability.

    No verdict is read if all labels together have a probability below MIN_LABEL_MASS."""
    names = [*labels] if tie is None else [*labels, tie]
    mass_of = dict.fromkeys(names, 0.0)
    for token, probability in token_probabilities.items():
        name = token.strip(_TOKEN_MARGIN)
        if name in mass_of and 0 < probability <= 1 + 1e-6:
            mass_of[name] += probability
    mass = math.fsum(mass_of.values())
    shares = tuple(mass_of[name] / mass for name in names) if mass > 0 else ()
    seen = shares[: len(labels)]
    if mass < MIN_LABEL_MASS:
        reason = (
            "the judge's next word is probably none of the labels: together, they have a "
            f"probability of {mass:.3f}, less than one half"
        )
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
    options: Mapping[str, float], arrangement: Arrangement, token_probabilities: Mapping[str, float]
) -> ParsedVerdict:
    """Take the most probable option as the verdict on one answer; no verdict if two options share
    the highest probability, or if all together are improbable (MIN_LABEL_MASS).

    `options` is option -> score, from the lowest to the highest; the probabilities in the result
    have this order. `arrangement` states the letters that stand for the options in the request.
    `token_probabilities` is token -> probability at the place of the verdict."""
    named = dict(zip(arrangement.options, arrangement.names_in_reply, strict=True))
    if arrangement.is_pass_fail and not arrangement.letters:
        named = {option: option.upper() for option in named}
    read = read_most_probable_label([named[option] for option in options], token_probabilities)
    if read.verdict is None or not isinstance(read.verdict.pick, int):
        reason = read.reason or "two options are equally probable"
        return replace(read, verdict=None, reason=reason)
    score = list(options.values())[read.verdict.pick]
    return replace(read, verdict=replace(read.verdict, pick=None, scores=(score,)))


def read_level_probabilities(
    options: Mapping[str, float],
    arrangement: Arrangement,
    by_criterion: Sequence[Mapping[str, float]],
) -> ParsedVerdict:
    """Take the most probable score (level) of each criterion of a rubric. No verdict if, for one
    criterion, two scores share the highest probability, or all together are improbable.

    `by_criterion` has for each criterion, in the order of the request, token -> probability at
    the place of its score. The scores of the result are the mean over the criteria, then the
    score of each criterion. The probabilities of the result are those of all possible scores of
    the first criterion, from the lowest to the highest, then those of the second, and so on."""
    read = [read_option_probabilities(options, arrangement, one) for one in by_criterion]
    masses = [one.mass for one in read if one.mass is not None]
    mass = min(masses, default=None)
    for name, one in zip(arrangement.criteria, read, strict=True):
        if one.verdict is None:
            reason = f"the level of {name}: {one.reason}"
            return ParsedVerdict(None, "probabilities", reason=reason, mass=mass)
    levels = [score for one in read if one.verdict for score in one.verdict.scores]
    shares = tuple(share for one in read for share in one.probabilities)
    verdict = Verdict(
        scores=(math.fsum(levels) / len(levels), *levels),
        label_probabilities=shares,
        label_mass=mass,
    )
    return ParsedVerdict(verdict, "probabilities", mass=mass, probabilities=shares)


def rubric_level_token_indices(
    tokens: Sequence[str], options: Sequence[str], arrangement: Arrangement
) -> list[int] | None:
    """Return, for each criterion of a rubric, the index of the token that states its score (level).
    None if a score is missing or is only a part of a token, or if quoted parts of the reply
    state other scores."""
    reply = "".join(tokens)
    cleaned = clean_reply(reply)
    spans = None if cleaned.truncated else point_readers.score_spans(cleaned, options, arrangement)
    read = parse_verdict(
        verdict_formats.RUBRIC_FORMAT, reply, scale=options, labels=arrangement.labels
    )
    if not spans or read.reason == asides.CONTRADICTED:
        return None
    starts = [0]
    for token in tokens:
        starts.append(starts[-1] + len(token))
    places = []
    for span in spans:
        start, end = original_span(reply, span)
        place = bisect_right(starts, start) - 1
        if tokens[place].strip(_TOKEN_MARGIN) != reply[start:end]:
            return None
        places.append(place)
    return places


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
`[[A]]`; if two read equally many replies, the one listed first is chosen. The format `label` is
left out: any reply may contain a label."""
MIN_DETECTED_SHARE: Final = 0.8
"""Minimum share of replies that a format must read to be detected; otherwise none is detected."""


class RecordedReplyReader:
    """Reads the verdicts of imported replies, for the modules that read data files. It reads all
    verdict formats except those whose options only the prompt states (score scales and rubrics)."""

    format_names: Final = tuple(
        name
        for name in verdict_formats.FORMATS
        if name not in ("none", verdict_formats.SCALE_FORMAT, verdict_formats.RUBRIC_FORMAT)
    )

    def read(self, format: str, reply: str, options: int) -> VerdictReading:
        found = parse_verdict(format, reply, options)
        return VerdictReading(found.verdict, found.rule or format, found.reason)

    def detect_format(self, replies: Sequence[tuple[str, int]]) -> str:
        """Return the format that reads most of the replies, each given with its number of options;
        "" if none reads MIN_DETECTED_SHARE of them."""
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


register_verdict_reader(RecordedReplyReader())
