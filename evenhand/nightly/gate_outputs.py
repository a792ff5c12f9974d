"""Result of a gate (a night compared with a baseline) as JUnit XML and as an SVG badge."""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree

from evenhand.nightly.gate_result import GateResult

BADGE_COLOURS: Final = {"ok": "#2e7d32", "worse": "#b3261e", "cannot tell": "#757575"}
_CHARACTER_WIDTH: Final = 7
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(result: GateResult) -> str:
    """Return JUnit XML with one test for each check; a check with the outcome `cannot tell` is a
    skipped test."""
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
    """Return a text without the characters that are not allowed in XML."""
    return _NOT_XML.sub("\ufffd", text)


def badge(result: GateResult) -> str:
    """Return an SVG badge with the outcome."""
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
