"""Result of a gate (a run compared with earlier ones) as JUnit XML and as an SVG badge."""

import re
from typing import Final
from xml.etree import ElementTree

from evenhand.nightly.gate_result import GateResult, StreamCheck

BADGE_COLOURS: Final = {"ok": "#2e7d32", "worse": "#b3261e", "cannot tell": "#757575"}
_CHARACTER_WIDTH: Final = 7
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(result: GateResult) -> str:
    """Return the result as JUnit XML, one test for each check. A check with the outcome "worse" is
    a failure. One with the outcome "cannot tell" is an error if there was no verdict tonight to
    compare, else skipped. One more test is added if nothing could be compared at all (an error),
    and one if a changed model version counts as a failure."""
    tests = [(check.title, _junit_element_name(check), check.reason) for check in result.checks]
    if result.version_fails and result.versions:
        tests.append(("same model version as before", "failure", "; ".join(result.versions)))
    if result.error:
        tests.append(("comparison with the baseline", "error", result.error))
    kinds = [kind for _, kind, _ in tests]
    counts = {
        "tests": str(len(tests)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "skipped": str(kinds.count("skipped")),
    }
    suite = ElementTree.Element("testsuite", {"name": _xml_text(result.study), **counts})
    for title, kind, reason in tests:
        names = {"classname": "evenhand.gate", "name": _xml_text(title)}
        case = ElementTree.SubElement(suite, "testcase", names)
        if kind:
            ElementTree.SubElement(case, kind, {"message": _xml_text(reason)})
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def _junit_element_name(check: StreamCheck) -> str:
    """Return the name of the JUnit element of a check: error, skipped or failure; "" for a passed
    check."""
    if check.outcome == "cannot tell":
        return "error" if check.failed else "skipped"
    return "failure" if check.outcome == "worse" else ""


def _xml_text(text: str) -> str:
    """Return a text with � in place of each character that XML does not allow."""
    return _NOT_XML.sub("\ufffd", text)


def svg_badge(result: GateResult) -> str:
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
