"""Replies whose reasons favour another answer than their verdict, found by rule.

A reply counts only if it names two answers, states a verdict, and says of at least one answer that
it is better, right, worse or wrong. It contradicts itself if none of these statements favours the
answer that the verdict chooses. The verdict itself is never read differently because of it.
"""

import math
import re
from collections.abc import Iterator
from typing import Final

LEAST_CHARACTERS: Final = 40
"""Minimum length of a reply that is examined; a shorter one has no room for a verdict and a
reason."""
MAX_CHARACTERS: Final = 20_000
"""Maximum length of a reply that is examined."""

_NOUN = r"(?:response|answer|assistant|option|model|candidate|solution|output)"
_LABEL = r"([A-Z]|\d{1,2})"
_VERDICTS: Final = (
    re.compile(r"\[\[\s*([A-Z]|\d{1,2})\s*\]\]"),
    re.compile(r"\[\[\s*([A-Z])\s*(>{1,2}|<{1,2})\s*([A-Z])\s*\]\]"),
    re.compile(rf'"winner"\s*:\s*"{_LABEL}"'),
    re.compile(
        r"\b(?:[Ff]inal (?:[Aa]nswer|[Vv]erdict|[Cc]hoice)(?: is)?|"
        r"[Ss]election|[Vv]erdict|[Ww]inner)"
        rf"\s*:\s*(?i:{_NOUN}\s+)?{_LABEL}\b"
    ),
    re.compile(rf"\b[Oo]verall,?\s+(?i:{_NOUN})\s+{_LABEL}\s+is\s+(?:the\s+)?(?:better|best)\b"),
)
_SUBJECT: Final = (
    rf"(?:\b(?i:{_NOUN})\s+{_LABEL}\b|(?:^|(?<=[.!?:;,\n] )|(?<=\b(?:that) ))([A-Z])\b)"
)
_ADVERBS: Final = (
    r"(?:also |clearly |much |far |slightly |overall |therefore |thus |significantly |generally |"
    r"the |a |an |both |indeed |definitely |certainly |somewhat |even )*"
)
_QUALITY: Final = (
    r"(?:accurate|correct|helpful|complete|relevant|precise|convincing|useful|reliable|thorough|"
    r"informative|appropriate|factual|truthful|coherent)"
)
_GOOD: Final = (
    rf"(?:better|superior|stronger|preferable|best|right|winner|more {_QUALITY}|{_QUALITY})\b"
)
_BAD: Final = (
    rf"(?:worse|inferior|weaker|wrong|incorrect|inaccurate|irrelevant|false|misleading|flawed|"
    rf"incomplete|unhelpful|less {_QUALITY})\b"
)
_VERB: Final = r"\s+(?:is|was|seems|appears|remains|gives|provides|offers)\s+"
_GOOD_OF: Final = re.compile(rf"{_SUBJECT}{_VERB}{_ADVERBS}{_GOOD}")
_BAD_OF: Final = re.compile(rf"{_SUBJECT}{_VERB}{_ADVERBS}{_BAD}")
_PREFERRED: Final = re.compile(
    rf"\b(?:prefer|choose|favou?r|pick|select)\s+(?i:{_NOUN})\s+{_LABEL}\b(?!\s*(?:over|to)\b)()"
)
_BEATS: Final = re.compile(rf"{_SUBJECT}\s+(?:outperforms|beats|surpasses|wins)\b")
_SOFTLY_GOOD: Final = re.compile(
    rf"{_SUBJECT}(?:{_VERB}{_ADVERBS}(?:clear|direct|concise|good|valid|detailed|logical|most)\b|"
    r"\s+(?:clearly|correctly|accurately|directly|effectively|appropriately)\b)"
)
"""Praise that is no comparison: it counts only for the chosen answer."""
_MENTION: Final = re.compile(rf"\b(?i:{_NOUN})\s+{_LABEL}\b|\b([A-Z])(?=\s+(?:is|was)\b)")
_SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?]?")
_CONCEDES: Final = re.compile(
    r"\b(?:if|although|though|while|whereas|despite|would|could|might|may|but|however|except|"
    r"unless|yet|not|never|neither|nor|claims?|says?|question|instead)\b|n't\b",
    re.IGNORECASE,
)
_THOUGHTS: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)


def self_contradiction(reply: str) -> float:
    """Return 1 if no statement in the reasons of a reply favours the answer that its verdict
    chooses, 0 if one does. nan without a verdict or without statements on answers, if no other
    answer is named, or if the reply is too short or too long to be examined."""
    if not LEAST_CHARACTERS <= len(reply) <= MAX_CHARACTERS:
        return math.nan
    text = _THOUGHTS.sub(" ", reply)
    text = text.replace("**", "").replace("__", "")
    verdict = split_off_verdict(text)
    if verdict is None:
        return math.nan
    reasons, chosen = verdict
    named = {label for match in _MENTION.finditer(reasons) for label in match.groups() if label}
    if not named - {chosen}:
        return math.nan
    favoured = set(favoured_labels(reasons, chosen))
    if not favoured:
        return math.nan
    return float(chosen not in favoured)


def split_off_verdict(text: str) -> tuple[str, str] | None:
    """Return (the text of a reply without the verdicts that it states, the label of the last of
    them, such as "A"); None in place of the pair if the reply states no verdict."""
    found = [match for pattern in _VERDICTS for match in pattern.finditer(text)]
    if not found:
        return None
    last = max(found, key=lambda match: match.start())
    parts = [part for part in last.groups() if part]
    label = parts[2] if len(parts) == 3 and parts[1].startswith("<") else parts[0]
    for match in sorted(found, key=lambda match: -match.start()):
        text = f"{text[: match.start()]} {text[match.end() :]}"
    return text, label


def favoured_labels(reasons: str, chosen: str) -> Iterator[str]:
    """Yield the label of each answer that a sentence of the reasons favours, or "not A" if the
    sentence calls the chosen answer A bad.

    A sentence that calls another answer bad favours the chosen one. A sentence with a concession or
    a condition ("although", "if") counts only if it favours the chosen answer.
    """
    for sentence in _SENTENCE.findall(reasons):
        sentence = sentence.strip()
        concedes = _CONCEDES.search(sentence) is not None
        labels = [
            label
            for pattern in (_GOOD_OF, _PREFERRED, _BEATS)
            for match in pattern.finditer(sentence)
            for label in match.groups()
            if label
        ]
        soft = [label for match in _SOFTLY_GOOD.finditer(sentence) for label in match.groups()]
        labels += [label for label in soft if label == chosen]
        wrong = [label for match in _BAD_OF.finditer(sentence) for label in match.groups() if label]
        if wrong and any(label != chosen for label in wrong):
            labels.append(chosen)
        if any(label == chosen for label in wrong):
            labels.append(f"not {chosen}")
        yield from (label for label in labels if not concedes or label == chosen)
