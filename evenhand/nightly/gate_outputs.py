"""Results of a gate for other tools: Markdown for a pull request, JUnit XML, an SVG badge."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree

if TYPE_CHECKING:
    from evenhand.nightly.gate_check import GateResult, StreamCheck

BADGE_COLOURS: Final = {"ok": "#2e7d32", "worse": "#b3261e", "cannot tell": "#757575"}
_CHARACTER_WIDTH: Final = 7
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def markdown(result: GateResult) -> str:
    """A table with one row for each check, for a comment on a pull request."""
    lines = [
        f"### Judge gate: {result.outcome}",
        "",
        f"Study {_cell(result.study)}. Each night is compared with all earlier ones, item by item.",
        "",
        "| check | result | tonight | before | difference [95 % CI] | items | evidence |",
        "|---|---|---|---|---|---|---|",
        *(_row(check) for check in result.checks),
    ]
    lines += [f"\n**Model version changed.** {_cell(text)}" for text in result.versions]
    return "\n".join(lines)


def _row(check: StreamCheck) -> str:
    night = check.night
    reason = f"{check.outcome}: {check.reason}"
    if night is None:
        return f"| {_cell(check.title)} | {_cell(reason)} | | | | | |"
    got = night.difference
    shown = _points(got.value)
    if got.low is not None and got.high is not None:
        shown += f" [{_points(got.low)}, {_points(got.high)}]"
    evidence = f"{night.evidence.e_value:.3g} of {check.threshold:,.0f}"
    cells = (
        _cell(check.title), _cell(reason), _share(night.value), _share(night.before), shown,
        f"{got.items:,}", evidence,
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _points(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.1f}".replace("-", "−")


def _cell(text: str) -> str:
    """A text that is one cell: no marks of Markdown, HTML or tables."""
    plain = escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\`*_{}\[\]|<>#!~])", r"\\\1", plain)


def junit(result: GateResult) -> str:
    """JUnit XML: one test for each check; `cannot tell` is skipped."""
    counts = {
        "tests": str(len(result.checks)),
        "failures": str(sum(check.outcome == "worse" for check in result.checks)),
        "skipped": str(sum(check.outcome == "cannot tell" for check in result.checks)),
    }
    suite = ElementTree.Element("testsuite", {"name": _xml_text(result.study), **counts})
    for check in result.checks:
        names = {"classname": "evenhand.gate", "name": _xml_text(check.title)}
        case = ElementTree.SubElement(suite, "testcase", names)
        if check.outcome != "ok":
            kind = "failure" if check.outcome == "worse" else "skipped"
            ElementTree.SubElement(case, kind, {"message": _xml_text(check.reason)})
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def _xml_text(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)


def badge(result: GateResult) -> str:
    """An SVG badge with the outcome."""
    label, message = "judge", result.outcome
    left, right = (_CHARACTER_WIDTH * len(text) + 12 for text in (label, message))
    colour = BADGE_COLOURS[result.outcome]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{label}: {message}"><rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2}" y="14">{label}</text>'
        f'<text x="{left + right / 2}" y="14">{message}</text></g></svg>\n'
    )
