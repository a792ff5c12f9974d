"""Readers of replies that choose one of the options listed in the prompt.

The options are N answers, of which the best is chosen (read by Evenhand's rule, or by that in the
code of the paper Grade Score), or the possible verdicts on one answer: pass or fail, or the scores
of a scale, in a rubric for each criterion.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from judges.verdicts import asides, markers, verdict_formats
from judges.verdicts.reply_cleaning import CleanedReply, lower_ascii
from studies.domain import PASS_FAIL_OPTIONS, Verdict
from studies.frames.arrangement import Arrangement

_SELECTION: Final = re.compile(r"(?<!\w)selection ?:")
_OPTION: Final = re.compile(
    rf"(?:(?<!\w)options?[ -]?#?|#|(?<![\w.,#-]))([0-9]{{1,9}})(?!\.?[0-9]){markers.LABEL_END}"
)
_NAMED_OPTION: Final = re.compile(_OPTION.pattern.replace("|#|(?<![\\w.,#-])", ""))
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


@markers.register_marker_reader("selection-option", _SELECTION)
def _read_selection(
    text: CleanedReply, marker: re.Match[str], n_options: int
) -> markers.MarkerMatch:
    """Read the option after the last `Selection:`, on the same line or, if that is empty, the
    next."""
    end = _end_of_value_line(text.lower, marker.end())
    option = _OPTION.search(text.lower, marker.end(), end)
    if option and option.start() > marker.end() + 3:  # a count: "of the 3 options, Option 2"
        option = _NAMED_OPTION.search(text.lower, marker.end(), end) or option
    if option is None:
        return markers.MarkerMatch(reason=markers.UNREADABLE_MARKER)
    before = text.lower[max(marker.end(), option.start() - _REJECTED_LENGTH) : option.start()]
    if _OPTION_REJECTED.search(before) or _WORSE_OPTION.match(text.lower, option.end()):
        return markers.MarkerMatch(reason=markers.UNREADABLE_MARKER)
    rival = _ALTERNATIVE_OPTION.match(text.lower, option.end())
    if rival and int(rival[1]) != int(option[1]):
        return markers.MarkerMatch(reason=markers.UNREADABLE_MARKER)
    return _verdict_of_option(text, marker.start(), option, n_options)


@markers.register_reply_reader("selection-option", "gradelab")
def _read_gradelab_selection(text: CleanedReply, n_options: int) -> markers.MarkerMatch:
    """Read the option chosen, by the rule of the paper Grade Score: k of the first "Option k" after
    the first "Selection" (without "Selection": in the whole reply). Without one, a match without
    verdict."""
    start = max(text.text.find("Selection"), 0)
    option = re.compile("Option ([0-9]{1,9})").search(text.text, start)
    if option is None:
        return markers.MarkerMatch(rule="gradelab")
    return replace(_verdict_of_option(text, option.start(), option, n_options), rule="gradelab")


def _end_of_value_line(text: str, position: int) -> int:
    """Return the index at which the value that is expected at `position` ends: the end of this line
    or, if the rest of this line is empty, the end of the next line. If the next line begins with
    "explanation", it has no value, and the index of its start is returned."""
    end = text.find("\n", position)
    if end >= 0 and not text[position:end].strip():
        position = end + 1
        if text.startswith("explanation", position):
            return position
        end = text.find("\n", position)
    return len(text) if end < 0 else end


def _verdict_of_option(
    text: CleanedReply, start: int, option: re.Match[str], n_options: int
) -> markers.MarkerMatch:
    number = int(option[1])
    if not 1 <= number <= n_options:
        return markers.MarkerMatch(reason=f"there is no option {number}")
    verdict = Verdict(pick=number - 1, scores=_read_grades(text.lower, n_options))
    return markers.MarkerMatch(verdict, "", (start, option.end()))


_GRADING: Final = re.compile(r"(?<!\w)grading ?:")
_GRADE_OF: Final = re.compile(
    r"option ?#?([0-9]{1,9})(?![0-9]) ?[\])]? ?[:=(\u2013\u2014-] ?(?:grade|score|points)?"
    r" ?[:=]? ?[\[(]?(?=[0-9])"
)


def _read_grades(text: str, n_options: int) -> tuple[float, ...]:
    """Read the grades, from 0 to 5, that some prompts ask for before the choice: one for each
    option, after `Grading:`. Empty if an option has no grade, or if other grades are found when
    quoted parts of the reply are left out."""
    spans = [span for span in asides.find_asides(text) if _GRADE_OF.search(text, *span)]
    grades = _grades_after_last_heading(text, n_options)
    own = (
        _grades_after_last_heading(asides.blank_spans(text, spans), n_options)
        if grades and spans
        else ()
    )
    return grades if not own or own == grades else ()


def _grades_after_last_heading(text: str, n_options: int) -> tuple[float, ...]:
    selection = markers.last_match(_SELECTION, text)
    end = selection.start() if selection else len(text)
    grading = markers.last_match(_GRADING, text, 0, end)
    grades: dict[int, float] = {}
    for option in _GRADE_OF.finditer(text, grading.end(), end) if grading else ():
        grade = markers.score_at(text, option.end(), 5)
        grades.pop(int(option[1]), None)
        if grade and 0 <= grade[0] <= 5:
            grades[int(option[1])] = grade[0]
    wanted = range(1, n_options + 1)
    return tuple(grades[k] for k in wanted) if all(k in grades for k in wanted) else ()


_OPENING: Final = "[ \\n]?[\"'\u201c\u2018(\\[{<]{0,3} ?"
_BETWEEN: Final = (
    f"[\"'\u201d\u2019)\\]}}>]{{0,4}} ?(?:/|\\||,|or|and|to|{markers.DASH}) ?"
    "[\"'\u201c\u2018(\\[{<]{0,3}"
)
_VERDICT: Final = re.compile(r"(?<!\w)verdict ?:")
_PASS_OR_FAIL: Final = re.compile(rf"{_OPENING}(pass|fail)(?:ed|s|es)?{markers.LABEL_END}")
_SECOND_VERDICT: Final = re.compile(rf"{_BETWEEN}(?:pass|fail)")
# "Verdict: PASS is not warranted": the word is named, but not given.
_VERDICT_REJECTED: Final = re.compile(
    "[\"'\u201d\u2019)\\]}>]{0,4} ?(?:is|was|would|could|should|can|does)"
    rf"(?:n['\u2019]t| ?not){markers.LABEL_END}"
)
_OPENING_MARKS: Final = re.compile(_OPENING)
_BETWEEN_OPTIONS: Final = re.compile(_BETWEEN)
_OPTION_END: Final = re.compile(rf"{markers.LABEL_END}(?![.,][0-9]| ?[/%]|[\])]? ?out of )")
_SCORE: Final = re.compile(r"(?<!\w)score ?:")


def read_verdict_on_one_answer(
    format: str, text: CleanedReply, options: Sequence[str], arrangement: Arrangement
) -> markers.MarkerMatch:
    """Read the verdict on one answer from a reply: pass or fail, a score, or the scores of a rubric
    (their mean, then the score of each criterion). Without a verdict, the result has the reason.

    `format` is the prompt's verdict format; `options` are the possible verdicts, from the lowest
    to the highest. `arrangement` states in which order and with which letters the request
    offered them, and the order of the criteria."""
    values = _scores_by_option_name(tuple(options), arrangement)
    if format == verdict_formats.RUBRIC_FORMAT:
        return _read_rubric(text, values, arrangement.criteria)
    pass_fail = format == verdict_formats.PASS_FAIL_FORMAT
    marker = markers.last_match(_VERDICT if pass_fail else _SCORE, text.lower)
    if marker is not None and pass_fail and not arrangement.letters:
        # Read `Verdict: PASS` or `Verdict: FAIL` as a score of 1 or 0.
        word = _PASS_OR_FAIL.match(text.lower, marker.end())
        after = (_SECOND_VERDICT, _VERDICT_REJECTED)
        if word is None or any(one.match(text.lower, word.end()) for one in after):
            return markers.MarkerMatch(reason=markers.UNREADABLE_MARKER)
        score = 1.0 if word[1] == "pass" else 0.0
        return markers.MarkerMatch(Verdict(scores=(score,)), "", (marker.start(), word.end()))
    if marker is None or not options:
        return markers.MarkerMatch()
    found = _option_score_at(text, marker.end(), values)
    if found is None:
        return markers.MarkerMatch(reason=markers.UNREADABLE_MARKER)
    return markers.MarkerMatch(Verdict(scores=(found[0],)), "", (marker.start(), found[1]))


def _read_rubric(
    text: CleanedReply, values: Mapping[str, float], criteria: Sequence[str]
) -> markers.MarkerMatch:
    """Read a rubric: one line `<criterion>: <level>` for each criterion, where a level is one of
    the possible scores (`values`: its text -> score). The scores of the result are the mean of
    the levels, then the levels in the order of `criteria`."""
    levels: dict[str, float] = {}
    spans: list[tuple[int, int]] = []
    for name in criteria:
        marker = _find_criterion(text.lower, name, criteria)
        found = _option_score_at(text, marker[1], values) if marker else None
        if marker and found is None:
            return markers.MarkerMatch(reason=f"the level of {name} cannot be read")
        if marker and found:
            levels[name] = found[0]
            spans.append((marker[0], found[1]))
    if not levels:
        return markers.MarkerMatch()
    if missing := next((name for name in criteria if name not in levels), None):
        parts = tuple((criteria.index(name) + 1, level) for name, level in levels.items())
        return markers.MarkerMatch(reason=f"no level for {missing}", parts=parts)
    span = (min(start for start, _ in spans), max(end for _, end in spans))
    scores = [levels[name] for name in criteria]
    return markers.MarkerMatch(Verdict(scores=(sum(scores) / len(scores), *scores)), "", span)


def score_spans(
    text: CleanedReply, options: Sequence[str], arrangement: Arrangement
) -> list[tuple[int, int]] | None:
    """Return where the score (level) of each criterion of a rubric stands in the cleaned reply, as
    (start, end), in the order in which the request listed the criteria; None if one is missing."""
    values = _scores_by_option_name(tuple(options), arrangement)
    spans = []
    for name in arrangement.criteria:
        marker = _find_criterion(text.lower, name, arrangement.criteria)
        if marker is None:
            return None
        opening = _OPENING_MARKS.match(text.lower, marker[1])
        start = opening.end() if opening else marker[1]
        named = _option_at(text.lower, start, values)
        if not named:
            return None
        spans.append((start, start + len(named)))
    return spans


def _find_criterion(text: str, criterion: str, criteria: Sequence[str]) -> tuple[int, int] | None:
    """Find the last `<criterion>:` in a text in lower case; return its start and the index after
    the colon, None if there is none. It must be a whole word, and not the end of the longer name
    of another one of `criteria`."""
    name, at = lower_ascii(criterion), len(text)
    longer = [one for one in map(lower_ascii, criteria) if one != name and one.endswith(name)]
    while (at := text.rfind(name, 0, at)) >= 0:
        colon = at + len(name) + text.startswith(" ", at + len(name))
        whole = at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "_-")
        before = at + len(name)
        whole &= not any(text.startswith(one, max(before - len(one), 0)) for one in longer)
        if whole and text.startswith(":", colon):
            return at, colon + 1
        at += len(name) - 1
    return None


def _scores_by_option_name(options: tuple[str, ...], arrangement: Arrangement) -> dict[str, float]:
    """Return text -> score, for every text by which a reply can name an option: the option itself,
    and its letter if the request assigns letters."""
    values = score_by_option(options)
    paired = zip(arrangement.letters, arrangement.options, strict=False)
    lettered = {letter: values[option] for letter, option in paired if option in values}
    return lettered | values | lettered  # the letter A counts, not an option that is named A


@lru_cache(maxsize=256)
def score_by_option(options: tuple[str, ...]) -> dict[str, float]:
    """Return option -> score: its number if all options are numbers; 1 for pass, 0 for fail;
    otherwise its rank, 1 for the lowest."""
    if set(options) == set(PASS_FAIL_OPTIONS):
        return {option: float(PASS_FAIL_OPTIONS.index(option)) for option in options}
    try:
        return {option: float(option) for option in options}
    except ValueError:
        return {option: float(place) for place, option in enumerate(options, start=1)}


def _option_score_at(
    text: CleanedReply, start: int, values: Mapping[str, float]
) -> tuple[float, int] | None:
    """Return the score of the option named at index `start`, and the index where the name ends;
    None if no option is named, or a second one follows ("PASS or FAIL")."""
    opening = _OPENING_MARKS.match(text.lower, start)
    start = opening.end() if opening else start
    if named := _option_at(text.lower, start, values):
        end = start + len(named)
        between = _BETWEEN_OPTIONS.match(text.lower, end)
        second = between and _option_at(text.lower, between.end(), values)
        return None if second else (values[named], end)
    number = markers.score_at(text.lower, start, round(max(values.values())))
    numeric = all(name.replace(".", "", 1).lstrip("-").isdigit() for name in values)
    return number if number and number[0] in values.values() and numeric else None


def _option_at(text: str, start: int, values: Mapping[str, float]) -> str:
    """Return the longest option at index `start`; "" if there is none, or if the word or number
    goes on after it: "4.5" is not the option 4."""
    found = [name for name in values if text.startswith(lower_ascii(name), start)]
    longest = max(found, key=len, default="")
    return longest if longest and _OPTION_END.match(text, start + len(longest)) else ""
