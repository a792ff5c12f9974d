"""Functions that make the text of a twin (a copy of an answer with one change), without a model.

A family is one kind of change. Each maker takes a `TwinSource` and returns the twin's text, or
raises `TwinSkipped` with the reason why the change does not apply to this answer. All draws are
seeded, so that a study gives the same twins every time."""

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

from judges.twins import twin_texts
from studies.domain import Item
from studies.lazy_values import cached_property


class TwinSkipped(Exception):
    """Raised if a kind of change does not apply to an answer, or gives a twin that breaks a rule;
    the text is the reason."""


@dataclass(frozen=True)
class TwinSource:
    """An answer, and the other texts from which its twins may be made."""

    item: Item
    text: str
    seed: str
    """Seed of the draws for this twin: a text made of the study's seed, item, answer and family."""
    maker: str = ""
    """Maker of the study's judges; empty if unknown or if they have several."""
    other: str = ""
    """An answer to another item."""

    @cached_property
    def rng(self) -> random.Random:
        """Random generator for this twin; made on first use, since most families draw nothing."""
        return random.Random(self.seed)


Maker = Callable[[TwinSource], str]

_FENCE: Final = re.compile(r"(^```.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)
_CODE_LINE: Final = re.compile(
    r"^\s*(?:(?:def|class|import|from|return|if|for|while|else|elif|try|except|const|let|var|"
    r"function|public|private|static|void|int|#include)\b.*[:;({,)]?"
    r"|.*[;{}]|\s{4,}\S.*|[\w.\[\]]+ ?[-+*/]?= ?\S.*)$"
)
_SENTENCE_END: Final = re.compile(
    r"(?<=[.!?])[ \t]+(?=[A-Z0-9“\"'(À-ÞА-Я])|(?<=[。！？؟])\s*(?=\S)"
)
_NUMBER: Final = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?!\w)")
_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_MARKDOWN: Final = (
    (re.compile(r"^#{1,6}[ \t]+", re.MULTILINE), ""),
    (re.compile(r"^([ \t]*)(?:[-*+]|\d{1,3}[.)])[ \t]+", re.MULTILINE), r"\1"),
    (re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$\n?", re.MULTILINE), ""),
    (re.compile(r"(\*\*|__)(?=\S)([^\n]*?\S)\1"), r"\2"),
    (re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]*[^\s*])\*(?![\w*])"), r"\1"),
    (re.compile(r"(?<!`)`([^`\n]+)`(?!`)"), r"\1"),
    (re.compile(r"\[([^\[\]\n]+)\]\((?:[^()\n]+)\)"), r"\1"),
)
"""(pattern, replacement) for each kind of Markdown outside code."""

FULL_STOPS: Final = ".。।"
LATIN_SHARE: Final = 0.5
"""Minimum share of Latin letters in an answer to which English sentences are added."""
_CLAUSE: Final = re.compile(r"[^,;:.!?。，；：！？،؛]+")
_LARGEST_ROUND: Final = 4


@lru_cache(maxsize=64)  # asked for several families of an answer
def split_code(text: str) -> tuple[tuple[str, bool], ...]:
    """Split a text into (part, whether it is code or blank): fenced blocks are code, and so is a
    part between them of which most lines look like code."""
    return tuple(
        (part, bool(k % 2) or not part.strip() or _looks_like_code(part))
        for k, part in enumerate(_FENCE.split(text))
    )


def _looks_like_code(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    like = sum(_CODE_LINE.match(line[:200]) is not None for line in lines)
    return len(lines) > 1 and like / len(lines) > 0.5


@lru_cache(maxsize=64)  # asked for every family of an answer
def is_latin(text: str) -> bool:
    """Whether at least half of the letters of a text are Latin; a text without letters counts as
    Latin."""
    letters = [character for character in text if character.isalpha()]
    latin = sum(character < "\u0250" for character in letters)
    return latin >= LATIN_SHARE * len(letters)


def _require_latin_script(source: TwinSource) -> str:
    """Return the answer; raise TwinSkipped if it is not in Latin script, because the sentences to
    be added are English."""
    if not is_latin(source.text):
        raise TwinSkipped("not in Latin script")
    return source.text


def _require_prose(source: TwinSource) -> str:
    """Return the answer; raise TwinSkipped if all of it is code."""
    if all(code for _, code in split_code(source.text)):
        raise TwinSkipped("code")
    return source.text


def _change_prose(text: str, change: Callable[[str], str]) -> str:
    """Return a text with `change` applied to each part that is no code."""
    return "".join(part if code else change(part) for part, code in split_code(text))


def _add_opening(family: str, source: TwinSource) -> str:
    text = _require_latin_script(source)
    gap = "\n\n" if "\n" in text else " "
    return f"{twin_texts.OPENINGS[family]}{gap}{text}"


def _append_paragraph(text: str, sentence: str) -> str:
    """Add a sentence in its own paragraph, so that it changes no list or code block."""
    return f"{text.rstrip()}\n\n{sentence}"


def _change_spaces_only(source: TwinSource) -> str:
    """Double the spaces after full stops and add a line break: changes without meaning."""
    wider = _change_prose(source.text, lambda part: re.sub(r"(?<=\w[.]) (?=\S)", "  ", part))
    return wider + "\n"


def _remove_markdown(source: TwinSource) -> str:
    def remove_markdown_from_part(part: str) -> str:
        for pattern, rest in _MARKDOWN:
            part = pattern.sub(rest, part)
        return part

    made = _change_prose(_require_prose(source), remove_markdown_from_part)
    if made == source.text:
        raise TwinSkipped("no Markdown")
    return made


def _add_markdown(source: TwinSource) -> str:
    text = _require_prose(source)
    if re.search(r"^#{1,6} |^[ \t]*[-*+] |\*\*", text, re.MULTILINE):
        raise TwinSkipped("has Markdown already")

    def add_bullets(part: str) -> str:
        lines = [one.strip() for line in part.splitlines() for one in _SENTENCE_END.split(line)]
        return "\n".join(f"- {_bold_first_clause(line)}" for line in lines if line)

    head = "## Answer" if is_latin(text) else "##"
    pieces = (
        part.strip("\n") if code else add_bullets(part)
        for part, code in split_code(text)
        if part.strip()
    )
    return "\n\n".join([head, *pieces])


def _bold_first_clause(sentence: str) -> str:
    """Set the first clause of a sentence in bold, without breaking its words."""
    found = _CLAUSE.match(sentence)
    if found is None or not found[0].strip():
        return sentence
    clause = found[0].rstrip()
    return f"**{clause}**{sentence[len(clause) :]}"


def _add_filler(times: int, source: TwinSource) -> str:
    """Append sentences without content that are together at least `times` times as long as the
    answer."""
    text = _require_latin_script(source)
    wanted, added = times * len(text), ""
    sentences: list[str] = []
    while len(added) < wanted or len(sentences) < times:
        if not len(sentences) % len(twin_texts.FILLERS):
            order = source.rng.sample(twin_texts.FILLERS, len(twin_texts.FILLERS))
        sentences.append(order[len(sentences) % len(order)])
        added = " ".join(sentences)
    paragraphs = [
        " ".join(sentences[k : k + _LARGEST_ROUND])
        for k in range(0, len(sentences), _LARGEST_ROUND)
    ]
    gap = " " if "\n" not in text else "\n\n"
    return text.rstrip() + gap + "\n\n".join(paragraphs)


def _add_opening_and_closing(source: TwinSource) -> str:
    text = _require_latin_script(source)
    question = " ".join(source.item.instruction.split())[:200]
    if not question or not is_latin(question):
        raise TwinSkipped("no question in Latin script")
    before, after = (part.format(question=question) for part in twin_texts.FRAME)
    return _append_paragraph(f"{before}\n\n{text}", after)


def _add_signature(kind: str, source: TwinSource) -> str:
    """Append a sentence that names the author of the answer: if `kind` is "own", the company that
    made the study's judges; if "other", another company; if "neutral", an invented assistant."""
    text = _require_latin_script(source)
    if kind == "neutral":
        name = twin_texts.NEUTRAL_NAME
    elif not source.maker:
        raise TwinSkipped("the judges' family is not set, or they have several")
    elif kind == "own":
        name = source.maker[:1].upper() + source.maker[1:]
    else:
        own = source.maker.casefold()
        name = next(one for one in twin_texts.OTHER_NAMES if one.casefold() != own)
    return _append_paragraph(text, twin_texts.SIGNATURE.format(name=name))


def _return_question_as_answer(source: TwinSource) -> str:
    if not source.item.instruction.strip():
        raise TwinSkipped("no question")
    return source.item.instruction


def _add_typos(share: float, source: TwinSource) -> str:
    """Swap two neighbouring letters inside some words of the answer: a share of `share` of all its
    words, at least one word."""
    _require_prose(source)
    text = _require_latin_script(source)
    places = _find_misspellable_words(text)
    if not places:
        raise TwinSkipped("no word to misspell")
    count = max(1, round(share * len(text.split())))
    letters = list(text)
    for start, end in source.rng.sample(places, min(count, len(places))):
        inner = [k for k in range(start + 1, end - 2) if letters[k] != letters[k + 1]]
        k = source.rng.choice(inner)
        letters[k], letters[k + 1] = letters[k + 1], letters[k]
    return "".join(letters)


@lru_cache(maxsize=4)  # asked for both shares of an answer
def _find_misspellable_words(text: str) -> list[tuple[int, int]]:
    """Return start and end of each word outside code blocks that has at least four letters and
    whose inner letters are not all the same, so that two of them can be swapped."""
    places = [
        (match.start(), match.end())
        for match in _WORD.finditer(text)
        if len(set(match[0][1:-1])) > 1
    ]
    for fence in _FENCE.finditer(text):
        places = [one for one in places if not fence.start() <= one[0] < fence.end()]
    return places


def _cut_last_third(source: TwinSource) -> str:
    """Remove the last third of the words (of the characters, if there are fewer than three words);
    a full stop at the end is kept."""
    text = source.text.rstrip()
    words = list(re.finditer(r"\S+", text))
    if len(words) >= 3:
        end = words[max(1, round(len(words) * 2 / 3)) - 1].end()
    elif len(text) >= 6:
        end = round(len(text) * 2 / 3)
    else:
        raise TwinSkipped("too short to cut")
    short = text[:end].rstrip(" ,;:，；：،؛")
    stop = text[-1] if text[-1] in FULL_STOPS else ""
    return short if not stop or short.endswith(stop) else short + stop


def _change_number(source: TwinSource) -> str:
    """Replace the first digit of one number in the answer, drawn at random."""
    found = list(_NUMBER.finditer(source.text))
    if not found:
        raise TwinSkipped("no number")
    match = source.rng.choice(found)
    place, old = match.start(), match[0][0]
    new = source.rng.choice([digit for digit in "123456789" if digit != old])
    return source.text[:place] + new + source.text[place + 1 :]


def _return_unrelated_answer(source: TwinSource) -> str:
    if not source.other.strip() or source.other == source.text:
        raise TwinSkipped("no other item with another answer")
    return source.other


MAKERS: Final[Mapping[str, Maker]] = {
    "repeat": lambda source: source.text,
    "sham": _change_spaces_only,
    **{family: partial(_add_opening, family) for family in twin_texts.OPENINGS},
    "plain": _remove_markdown,
    "markdown": _add_markdown,
    "longer-1": partial(_add_filler, 1),
    "longer-3": partial(_add_filler, 3),
    "twice": lambda source: f"{source.text.rstrip()}\n\n{source.text}",
    "frame": _add_opening_and_closing,
    "citation": lambda source: _append_paragraph(
        _require_latin_script(source), twin_texts.CITATION
    ),
    **{f"name-{kind}": partial(_add_signature, kind) for kind in ("own", "other", "neutral")},
    **{
        family: partial(
            lambda text, source: _append_paragraph(_require_latin_script(source), text), attack
        )
        for family, attack in twin_texts.ATTACKS.items()
    },
    "marker": lambda source: twin_texts.MARKER,
    "echo": _return_question_as_answer,
    "empty": lambda source: "",
    "typos-1": partial(_add_typos, 0.01),
    "typos-5": partial(_add_typos, 0.05),
    "cut": _cut_last_third,
    "number": _change_number,
    "other": _return_unrelated_answer,
}
