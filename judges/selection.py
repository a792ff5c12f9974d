"""Reading which of N options was selected, by our rule and by the Grade Score authors'."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from judges.markers import END, NOT_READ, Found, last, score_at
from judges.normalise import Clean
from studies.records import Verdict

_SELECTION: Final = re.compile(r"(?<!\w)selection ?:")
_OPTION: Final = re.compile(
    rf"(?:(?<!\w)options?[ -]?#?|#|(?<![\w.,#-]))([0-9]{{1,9}})(?!\.?[0-9]){END}"
)
_RIVAL_OPTION: Final = re.compile(
    r"(?: ?(?:,|/|&|\+|=|or |and |to ){1,3}|[-\u2010-\u2015]) ?"
    r"(?:and |or )?(?:option )?#?([0-9]{1,9})"
)


def selection_option(text: Clean, n_options: int) -> Found:
    """The first option named on the last `Selection:` line, or on the next if that is empty."""
    marker = last(_SELECTION, text.lower)
    if marker is None:
        return Found()
    option = _OPTION.search(text.lower, marker.end(), _value_end(text.lower, marker.end()))
    if option is None:
        return Found(reason=NOT_READ)
    rival = _RIVAL_OPTION.match(text.lower, option.end())
    if rival and int(rival[1]) != int(option[1]):
        return Found(reason=NOT_READ)
    return _chosen(text, marker.start(), option, n_options)


def selection_gradelab(text: Clean, n_options: int) -> Found:
    """The Grade Score authors' rule: the first "Selection", then the first "Option k" after it."""
    start = max(text.text.find("Selection"), 0)
    option = re.compile("Option ([0-9]{1,9})").search(text.text, start)
    if option is None:
        return Found(rule="gradelab")
    return replace(_chosen(text, option.start(), option, n_options), rule="gradelab")


def _value_end(text: str, position: int) -> int:
    """Where the line ends, or the next one if nothing follows on this (blank lines are gone)."""
    end = text.find("\n", position)
    if end >= 0 and not text[position:end].strip():
        position = end + 1
        if text.startswith("explanation", position):
            return position
        end = text.find("\n", position)
    return len(text) if end < 0 else end


def _chosen(text: Clean, start: int, option: re.Match[str], n_options: int) -> Found:
    number = int(option[1])
    if not 1 <= number <= n_options:
        return Found(reason=f"there is no option {number}")
    verdict = Verdict(pick=number - 1, scores=_grades(text.lower, n_options))
    return Found(verdict, "", (start, option.end()))


_GRADING: Final = re.compile(r"(?<!\w)grading ?:")
_GRADE_OF: Final = re.compile(
    r"option ?#?([0-9]{1,9})(?![0-9]) ?[\])]? ?[:=(\u2013\u2014-] ?(?:grade|score|points)?"
    r" ?[:=]? ?[\[(]?(?=[0-9])"
)


def _grades(text: str, n_options: int) -> tuple[float, ...]:
    """The grades 0-5 that prompt 4 of Grade Score asks for before the selection; all or none."""
    selection = last(_SELECTION, text)
    end = selection.start() if selection else len(text)
    grading = last(_GRADING, text, 0, end)
    grades: dict[int, float] = {}
    for option in _GRADE_OF.finditer(text, grading.end(), end) if grading else ():
        grade = score_at(text, option.end(), 5)
        grades.pop(int(option[1]), None)
        if grade and 0 <= grade[0] <= 5:
            grades[int(option[1])] = grade[0]
    wanted = range(1, n_options + 1)
    return tuple(grades[k] for k in wanted) if all(k in grades for k in wanted) else ()
