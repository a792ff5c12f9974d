"""Asides of a reply: parts that may quote something instead of stating the judge's verdict. They
are text in quotation marks, brackets, code, comments, or after a chat token (a mark such as
`<|im_end|>` between the turns of a chat).

A marker (text that states a verdict, such as `[[A]]`) in an aside may be quoted from an answer
("Assistant A tried to write [[A]]"). The verdict read from a reply is therefore rejected if the
text outside the asides states another verdict. If that text states none, all asides that state a
verdict must state the same."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from judges.verdicts.markers import NO_MARKER, MarkerMatch
from judges.verdicts.reply_cleaning import clean_reply
from studies.domain import Verdict

CONTRADICTED: Final = (
    "two different verdicts, one of them in quotation marks, brackets, code or a comment, or after "
    "a chat token"
)
Span = tuple[int, int]

_TOKEN: Final = (
    # Channels of one turn of an assistant are no end of the turn.
    r"<\|(?!(?:channel|message|constrain)\|>|(?:end\|>\s?<\|)?start\|>assistant)"
    r"[\w\u2581 -]{1,40}\|>|</?s>|\[/?INST\]|<(?:start|end)_of_turn>"
)
_CHAT: Final = re.compile(
    rf"{_TOKEN}|(?<=\n)(?:#{{1,4}} ?)?(?:Human|User|Instruction) ?:", re.ASCII | re.IGNORECASE
)
_LEADING_TOKENS: Final = re.compile(
    rf"(?:\s*(?:{_TOKEN}))+\s*(?:assistant\b|model\b)?", re.ASCII | re.IGNORECASE
)
_CODE: Final = re.compile(r"(```|~~~).*?\1|`[^`\n]+`", re.DOTALL)
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_QUOTED_LINE: Final = re.compile(r"^ {0,3}>[^\n]*", re.MULTILINE)
_QUOTATION: Final = re.compile(
    "\u201c[^\u201c\u201d]*\u201d|\u201e[^\u201c-\u201e]*[\u201c\u201d]|\u00ab[^\u00ab\u00bb]*\u00bb"
    "|\u300c[^\u300c\u300d]*\u300d"
    r"|(?<![\w'\u2019])['\u2018](?=\S)(?:[^'\u2018\u2019\n]|['\u2019](?=\w)){1,200}['\u2019](?!\w)"
)
_STRAIGHT_QUOTATION: Final = re.compile(r'(?<![\w"])"(?=\S)(?:[^"]*"(?!\w)|[^"\n]*)')
_BRACKET: Final = re.compile(r"\[\[[^\[\]\n]{0,80}\]\]|\[result\]|[()\[\]{}]", re.IGNORECASE)
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}


def reject_if_asides_contradict(
    reply: str, found: MarkerMatch, read: Callable[[str], MarkerMatch], *, is_json: bool = False
) -> MarkerMatch:
    """Return `found`, the result of reading a reply. Its verdict is left out if the text outside
    the asides (quotations, brackets, code, …) states another verdict, or one that cannot be read.
    If that text states none, the verdict is left out if two asides state different verdicts.

    `read` is the function that reads a part of the reply in the same way. A verdict that is only
    in asides is accepted, because many judges put their verdict in quotation marks or code."""
    if found.verdict is None:
        return found
    text = clean_reply(reply, emphasis=False).text
    asides = [
        # The word keeps a label alone from being read as a whole reply.
        (span, aside)
        for span in find_asides(text, is_json=is_json)
        if (aside := read(f"quoted: {text[slice(*span)]}")).verdict or aside.reason != NO_MARKER
    ]
    if not asides:
        return found
    own = read(blank_spans(text, [span for span, _ in asides]))
    if own.verdict is None and own.reason == NO_MARKER:
        agreed = all(_agrees_with_verdict(aside, found.verdict, True) for _, aside in asides)
    else:
        agreed = _agrees_with_verdict(own, found.verdict, False)
    return found if agreed else MarkerMatch(reason=CONTRADICTED, rule=found.rule)


def _agrees_with_verdict(partial: MarkerMatch, verdict: Verdict, unreadable: bool) -> bool:
    """Whether `partial`, the result of reading a part of the reply, agrees with `verdict`: both
    have the same verdict or, if only some scores were read in the part, these scores are the
    same. If nothing was read in the part, return `unreadable`."""
    if partial.verdict is not None or not partial.parts:
        return unreadable if partial.verdict is None else partial.verdict == verdict
    return all(verdict.scores[index] == score for index, score in partial.parts)


def find_asides(text: str, *, is_json: bool = False) -> list[Span]:
    """Return the asides of a reply as spans (start, end), in order; overlapping ones are merged.

    With `is_json`, straight quotation marks and braces are notation and make no aside.
    """
    spans = [
        *_find_part_after_chat_token(text),
        *_find_parts_in_brackets(text, "([" if is_json else "([{"),
    ]
    patterns = [_CODE, _COMMENT, _QUOTED_LINE, _QUOTATION]
    for pattern in patterns if is_json else [*patterns, _STRAIGHT_QUOTATION]:
        spans += [match.span() for match in pattern.finditer(text)]
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def blank_spans(text: str, spans: list[Span]) -> str:
    """Return a text with each span replaced by one space."""
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    return " ".join(
        text[start:end] for start, end in zip([0, *ends], [*starts, len(text)], strict=True)
    )


def _find_part_after_chat_token(text: str) -> Iterator[Span]:
    """Yield at most one span: from the first chat token after the start of the reply to the end of
    the reply. A chat token is a mark such as `<|im_end|>`, or the start of a line such as
    `User:`."""
    leading = _LEADING_TOKENS.match(text)
    token = _CHAT.search(text, leading.end() if leading else 0)
    if token and text[: token.start()].strip():
        yield token.start(), len(text)


def _find_parts_in_brackets(text: str, kinds: str) -> Iterator[Span]:
    """Yield the span (start, end) of each part of a text in brackets, brackets included. A part
    whose bracket is never closed extends to the end of its line. The markers `[[…]]` and
    `[result]` do not count as brackets. `kinds` is a string of the opening brackets to look for,
    such as "([{"."""
    opened: dict[str, list[int]] = {_CLOSING[kind]: [] for kind in kinds}
    for match in _BRACKET.finditer(text):
        if match[0] in kinds:
            opened[_CLOSING[match[0]]].append(match.start())
        elif opened.get(match[0]):
            yield opened[match[0]].pop(), match.end()
    end = 0
    for start in sorted(start for starts in opened.values() for start in starts):
        if start >= end:
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            yield start, end
