"""Readers for a choice of one among N options: the default rule, and the rule in the code of Grade
Score (a paper on judges that choose among N options)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from judges.verdicts.asides import blank_spans, find_asides
from judges.verdicts.markers import LABEL_END, UNREADABLE_MARKER, MarkerMatch, last_match, score_at
from judges.verdicts.reply_cleaning import CleanedReply
from studies.domain import Verdict

_SELECTION: Final = re.compile(r"(?<!\w)selection ?:")
_OPTION: Final = re.compile(
    rf"(?:(?<!\w)options?[ -]?#?|#|(?<![\w.,#-]))([0-9]{{1,9}})(?!\.?[0-9]){LABEL_END}"
)
_ALTERNATIVE_OPTION: Final = re.compile(
    r"(?: ?(?:,|/|&|\+|=|or |and |to ){1,3}|[-\u2010-\u2015]) ?"
    r"(?:and |or )?(?:option )?#?([0-9]{1,9})"
)
_OPTION_REJECTED: Final = re.compile(
    r"(?<!\w)(?:not|neither|unlike|instead of|rather than|except)(?!\w)[^.\n]{0,40}\Z"
)
_REJECTED_LENGTH: Final = 60
_WORSE_OPTION: Final = re.compile(
    r" (?:is|was|seems)(?: not| ?n['\u2019]t|(?: [a-z]{1,20}){0,3}? (?:worse|inferior|weaker|less))"
    r"(?!\w)"
)


def read_selection(text: CleanedReply, n_options: int) -> MarkerMatch:
    """Read the option after the last `Selection:`, on the same line or, if that is empty, the
    next."""
    marker = last_match(_SELECTION, text.lower)
    if marker is None:
        return MarkerMatch()
    option = _OPTION.search(text.lower, marker.end(), _value_end(text.lower, marker.end()))
    if option is None:
        return MarkerMatch(reason=UNREADABLE_MARKER)
    before = text.lower[max(marker.end(), option.start() - _REJECTED_LENGTH) : option.start()]
    if _OPTION_REJECTED.search(before) or _WORSE_OPTION.match(text.lower, option.end()):
        return MarkerMatch(reason=UNREADABLE_MARKER)
    rival = _ALTERNATIVE_OPTION.match(text.lower, option.end())
    if rival and int(rival[1]) != int(option[1]):
        return MarkerMatch(reason=UNREADABLE_MARKER)
    return _match_option(text, marker.start(), option, n_options)


def read_gradelab_selection(text: CleanedReply, n_options: int) -> MarkerMatch:
    """Read by the rule of the paper Grade Score: the first "Option k" after the first "Selection"
    (without "Selection": in the whole reply)."""
    start = max(text.text.find("Selection"), 0)
    option = re.compile("Option ([0-9]{1,9})").search(text.text, start)
    if option is None:
        return MarkerMatch(rule="gradelab")
    return replace(_match_option(text, option.start(), option, n_options), rule="gradelab")


def _value_end(text: str, position: int) -> int:
    """Return the end of the line at index `position`, or of the next line if nothing follows on
    this one."""
    end = text.find("\n", position)
    if end >= 0 and not text[position:end].strip():
        position = end + 1
        if text.startswith("explanation", position):
            return position
        end = text.find("\n", position)
    return len(text) if end < 0 else end


def _match_option(
    text: CleanedReply, start: int, option: re.Match[str], n_options: int
) -> MarkerMatch:
    number = int(option[1])
    if not 1 <= number <= n_options:
        return MarkerMatch(reason=f"there is no option {number}")
    verdict = Verdict(pick=number - 1, scores=_read_grades(text.lower, n_options))
    return MarkerMatch(verdict, "", (start, option.end()))


_GRADING: Final = re.compile(r"(?<!\w)grading ?:")
_GRADE_OF: Final = re.compile(
    r"option ?#?([0-9]{1,9})(?![0-9]) ?[\])]? ?[:=(\u2013\u2014-] ?(?:grade|score|points)?"
    r" ?[:=]? ?[\[(]?(?=[0-9])"
)


def _read_grades(text: str, n_options: int) -> tuple[float, ...]:
    """Read the grades from 0 to 5 after `Grading:`, one for each option, which some prompts request
    before the choice; empty unless every option has one, and if quoted grades contradict them."""
    spans = [span for span in find_asides(text) if _GRADE_OF.search(text, *span)]
    grades = _last_grades(text, n_options)
    own = _last_grades(blank_spans(text, spans), n_options) if grades and spans else ()
    return grades if not own or own == grades else ()


def _last_grades(text: str, n_options: int) -> tuple[float, ...]:
    selection = last_match(_SELECTION, text)
    end = selection.start() if selection else len(text)
    grading = last_match(_GRADING, text, 0, end)
    grades: dict[int, float] = {}
    for option in _GRADE_OF.finditer(text, grading.end(), end) if grading else ():
        grade = score_at(text, option.end(), 5)
        grades.pop(int(option[1]), None)
        if grade and 0 <= grade[0] <= 5:
            grades[int(option[1])] = grade[0]
    wanted = range(1, n_options + 1)
    return tuple(grades[k] for k in wanted) if all(k in grades for k in wanted) else ()
