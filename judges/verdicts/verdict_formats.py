"""Verdict formats: how a prompt asks for a verdict (instruction at its end, labels), and how the
judge is made to keep to the form (start of the reply given in advance, grammar).

Replies are parsed by judges/verdicts/verdict.py."""

import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from judges.judge_errors import UnknownFormat
from studies.domain import FAIL, PASS

PASS_FAIL_FORMAT: Final = "pass-fail"
SCALE_FORMAT: Final = "score-scale"
RUBRIC_FORMAT: Final = "rubric"
POINT_FORMATS: Final = (PASS_FAIL_FORMAT, SCALE_FORMAT, RUBRIC_FORMAT)
"""Formats of verdicts on one answer with declared options."""


@dataclass(frozen=True, slots=True)
class Format:
    """A way in which a prompt asks for a verdict and a reply states it.

    `closing` is the prompt's instruction on how to state the verdict, `closing_prefilled` the one
    for a judge whose reply is pre-filled up to the label. In both, `$labels` becomes "A or B", and
    in a rubric `$criteria` one line for each criterion.
    """

    name: str
    labels: Literal["letters", "numbers", "none"] = "none"
    ties: str | None = None
    """Label for a tie; None if the format offers no tie."""
    closing: str = ""
    closing_prefilled: str = ""
    prefill: str | None = None
    """Start of the reply, up to the label, that is written for the judge; None if a label may have
    several tokens."""
    low: float = 0.0
    high: float = 0.0
    """Highest score, for formats with scores (`low` is the lowest)."""
    grammar: str | None = None
    """GBNF grammar that forces a readable verdict; `$labels` becomes `"A" | "B"`."""
    single_tokens: int = 26
    """Largest number of options at which every label is a single token."""
    option_texts: Mapping[str, str] = field(default_factory=dict)
    """Option of a verdict on one answer -> the words for it in the closing instruction."""

    def labels_for(self, n_options: int = 2) -> tuple[str, ...]:
        """Return the labels of the options in order: ("A", "B", …) or ("1", "2", …); () if the
        format has no labels. UnknownFormat if there are more options than letters."""
        if self.labels == "none":
            return ()
        if self.labels == "numbers":
            return tuple(str(number) for number in range(1, n_options + 1))
        if n_options > len(string.ascii_uppercase):
            raise UnknownFormat(
                f"The format {self.name} has 26 letters for labels, not enough for {n_options} "
                "options. Use a prompt with the format selection-option."
            )
        return tuple(string.ascii_uppercase[:n_options])

    def prefill_for(self, n_options: int = 2) -> str | None:
        """Return the start of the reply, up to the label, that can be given to the judge in
        advance; None if the format has none, or if with so many options a label takes several
        tokens."""
        return self.prefill if n_options <= self.single_tokens else None

    def grammar_for(self, n_options: int = 2) -> str | None:
        """Return a llama.cpp grammar that forces a readable verdict. None if the format has none,
        or if the start of the reply can be given in advance, so that none is needed."""
        if self.grammar is None or self.prefill_for(n_options) is not None:
            return None
        quoted = " | ".join(f'"{label}"' for label in self.labels_for(n_options))
        return self.grammar.replace("$labels", quoted)


def find_format(name: str) -> Format:
    try:
        return FORMATS[name]
    except KeyError:
        raise UnknownFormat(
            f"No verdict format named {name!r}. Known formats: {', '.join(FORMATS)}."
        ) from None


_SCORE_0_TO_10: Final = 'score ::= "10" | [0-9] ("." [0-9])?'
_SCORE_1_TO_10: Final = 'score ::= "10" | [1-9] ("." [0-9])?'
_FIVE_LEVELS: Final = 'level ::= "A>>B" | "A>B" | "A=B" | "B>A" | "B>>A"'
_FIVE_LEVEL_MEANING: Final = (
    "[[A>>B]] if A is much better, [[A>B]] if A is better, [[A=B]] if they are equally good, "
    "[[B>A]] if B is better, [[B>>A]] if B is much better"
)

_FORMAT_LIST: Final = (
    Format(
        name="overall-response",
        labels="letters",
        closing='Finish with this sentence: "Overall, Response X is better.", '
        "where X is your choice, $labels.",
        closing_prefilled="Say which response is better overall: Response $labels.",
        prefill="Overall, Response",
    ),
    Format(
        name="final-answer",
        labels="letters",
        closing='Answer only "Final Answer: X", where X is $labels, '
        'or "Unknown" if there is no clear choice.',
        closing_prefilled="Say which one is chosen: $labels.",
        prefill="Final Answer:",
    ),
    Format(
        name="selection-option",
        labels="numbers",
        closing='Write your choice on a line of its own as "Selection: Option k", where k is the '
        'number of your option, $labels; after it a line that begins with "Explanation:".',
        closing_prefilled="Say which option you select: Option $labels.",
        # The prefill ends with the space: tokenizers split " 1" into a space and a digit.
        prefill="Selection: Option ",
        grammar='root ::= "Selection: Option " label "\\n"\nlabel ::= $labels',
        single_tokens=9,
    ),
    Format(
        name="five-level",
        labels="letters",
        ties="A=B",
        closing='Finish with one line that reads "Final Verdict is: [[V]]", where [[V]] is '
        f"{_FIVE_LEVEL_MEANING}.",
        closing_prefilled=f'Finish with "Final Verdict is:" and {_FIVE_LEVEL_MEANING}.',
        grammar=f'root ::= "Final Verdict is: [[" level "]]"\n{_FIVE_LEVELS}',
    ),
    Format(
        name="arena-hard",
        labels="letters",
        ties="A=B",
        closing=f"Finish with one of these labels: {_FIVE_LEVEL_MEANING}.",
        closing_prefilled=f"Finish with one of these labels: {_FIVE_LEVEL_MEANING}.",
        grammar=f'root ::= "[[" level "]]"\n{_FIVE_LEVELS}',
    ),
    Format(
        name="factuality",
        labels="letters",
        low=0,
        high=10,
        closing="Finish with these two lines, each with a score from 0 to 10 in place of x:\n"
        "Response A Visual Factuality Score: x/10\n"
        "Response B Visual Factuality Score: x/10",
        closing_prefilled="Finish with two lines, the Response A Visual Factuality Score and the "
        "Response B Visual Factuality Score, each from 0/10 to 10/10.",
        grammar='root ::= "Response A Visual Factuality Score: " score "/10\\n'
        'Response B Visual Factuality Score: " score "/10"\n'
        f"{_SCORE_0_TO_10}",
    ),
    Format(
        name="mt-bench",
        labels="letters",
        ties="C",
        closing="Finish with your verdict in exactly this form: [[A]] if assistant A is better, "
        "[[B]] if assistant B is better, [[C]] for a tie.",
        closing_prefilled="Give your verdict as a letter: A if assistant A is better, "
        "B if assistant B is better, C for a tie.",
        # After "[[" the embedded judge rarely continues with a label (probability mass .01-.07);
        # after this text it does (.98).
        prefill="Final verdict: Assistant",
    ),
    Format(
        name="rating",
        low=1,
        high=10,
        closing="Finish with a rating from 1 to 10 in double brackets, "
        'in exactly this form: "Rating: [[5]]" if the rating were 5.',
        closing_prefilled="Rate the response from 1 (worst) to 10 (best).",
        grammar=f'root ::= "Rating: [[" score "]]"\n{_SCORE_1_TO_10}',
    ),
    Format(
        name="rating-pair",
        labels="letters",
        low=1,
        high=10,
        closing="Finish with two ratings from 1 to 10 in double brackets, that of A first, "
        "that of B second, with a comma between them: [[7, 4]] if they were 7 and 4.",
        closing_prefilled="Rate both from 1 (worst) to 10 (best), A first, B second.",
        grammar=f'root ::= "[[" score ", " score "]]"\n{_SCORE_1_TO_10}',
    ),
    Format(
        name="json-winner",
        labels="letters",
        ties="tie",
        closing='Finish with a JSON object whose key "winner" holds your choice: '
        '{"winner": "A"}, {"winner": "B"} or {"winner": "tie"}.',
        closing_prefilled="Name the winner: A, B or tie.",
        prefill='{"winner": "',
    ),
    Format(
        name="result-n",
        low=1,
        high=5,
        closing="Finish with [RESULT] and a whole number from 1 to 5.",
        closing_prefilled="Finish with [RESULT] and a whole number from 1 to 5.",
        grammar='root ::= "[RESULT] " [1-5]',
    ),
    Format(
        name="grade-letter",
        low=0,
        high=1,
        closing="Finish with a line that gives the grade: GRADE: C if the answer is correct, "
        "GRADE: P if it is partly correct, GRADE: I if it is incorrect.",
        closing_prefilled="Grade the answer: C if correct, P if partly correct, I if incorrect.",
        grammar='root ::= "GRADE: " [CPI]',
    ),
    Format(
        name=PASS_FAIL_FORMAT,
        low=0,
        high=1,
        closing="Finish with one of these lines: $labels.",
        closing_prefilled="Give your verdict: $labels.",
        prefill="Verdict:",
        grammar='root ::= "Verdict: " ($labels)',
        option_texts={
            PASS: '"Verdict: PASS" if the answer is good enough',
            FAIL: '"Verdict: FAIL" if the answer is not good enough',
        },
    ),
    Format(
        name=SCALE_FORMAT,
        closing='Finish with a line "Score: X", where X is one of these options: $labels.',
        closing_prefilled="Choose one of these options as the score: $labels.",
        prefill="Score:",
        grammar='root ::= "Score: " ($labels)',
    ),
    Format(
        name=RUBRIC_FORMAT,
        closing=(
            "Finish with these lines, each with one of the levels $labels in place of X:\n$criteria"
        ),
        closing_prefilled=(
            "Give one of the levels $labels for each criterion, one line for each:\n$criteria"
        ),
        grammar="root ::= $lines\nlevel ::= $labels",
    ),
    Format(
        name="label",
        labels="letters",
        closing="Answer with the label of your choice alone: $labels.",
        closing_prefilled="Answer with the label of your choice alone: $labels.",
        prefill="Answer:",
    ),
    Format(name="none"),
)

FORMATS: Final[Mapping[str, Format]] = MappingProxyType({form.name: form for form in _FORMAT_LIST})
