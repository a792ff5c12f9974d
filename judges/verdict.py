"""Reading a verdict out of a reply, or out of the probabilities of its labels.

A reply never makes it raise, nor takes more than linear time. What is done to a reply first:
judges/normalise.py. One function per format: judges/readers.py, judges/selection.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from judges.formats import format_named
from judges.markers import Found
from judges.normalise import clean, raw_span
from judges.readers import reader_for
from studies.records import Verdict

RULES: Final = ("default", "last", "gradelab")
LEAST_LABEL_MASS: Final = 0.5
"""Below this the judge was about to say something else: no reading of its labels is honest."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A verdict in label order, the rule that gave it, and why there is none if there is none."""

    verdict: Verdict | None
    rule: str
    truncated: bool = False
    reason: str = ""
    mass: float | None = None
    probabilities: tuple[float, ...] = ()


def read(format: str, reply: str, n_options: int = 2, rule: str = "default") -> Reading:
    """The verdict of a reply, its pick and scores by label: 0 is A or 1, 1 is B or 2."""
    found, truncated = _find(format, reply, n_options, rule)
    reason = "" if found.verdict else found.reason
    return Reading(found.verdict, found.rule, truncated, reason)


def marker_span(
    format: str, reply: str, n_options: int = 2, rule: str = "default"
) -> tuple[int, int] | None:
    """Where the verdict that was read stands in the raw reply, for the page to box it."""
    found, _ = _find(format, reply, n_options, rule)
    if found.verdict is None or found.span is None:
        return None
    return raw_span(reply, found.span, emphasis=format != "json-winner")


def read_probabilities(
    labels: Sequence[str], token_probabilities: Mapping[str, float], tie: str | None = None
) -> Reading:
    """The label the judge was most likely to say next. Exactly equal labels are a tie."""
    names = [*labels] if tie is None else [*labels, tie]
    mass_of = dict.fromkeys(names, 0.0)
    for token, probability in token_probabilities.items():
        name = token.strip(" \t\r\n\u2581\u0120")
        if name in mass_of and 0 < probability <= 1 + 1e-6:
            mass_of[name] += probability
    mass = math.fsum(mass_of.values())
    shares = tuple(mass_of[name] / mass for name in names) if mass > 0 else ()
    seen = shares[: len(labels)]
    if mass < LEAST_LABEL_MASS:
        reason = f"the labels together have probability {mass:.3f}, less than one half"
        return Reading(None, "probabilities", reason=reason, mass=mass, probabilities=seen)
    best = [index for index, share in enumerate(shares) if share == max(shares)]
    drawn = len(best) > 1 or best[0] >= len(labels)
    verdict = Verdict(
        pick="tie" if drawn else best[0],
        margin=0 if drawn else 1,
        label_probabilities=seen,
        label_mass=mass,
    )
    return Reading(verdict, "probabilities", mass=mass, probabilities=seen)


def _find(format: str, reply: str, n_options: int, rule: str) -> tuple[Found, bool]:
    name = format_named(format).name
    if rule not in RULES:
        raise ValueError(f"No reading rule named {rule!r}. Known rules: {', '.join(RULES)}.")
    text = clean(reply, emphasis=name != "json-winner")
    if text.truncated:
        return Found(reason="the reasoning block is not closed"), True
    if not text.text.strip():
        return Found(reason="empty reply"), False
    return reader_for(name, rule)(text, n_options), False
