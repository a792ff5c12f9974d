"""Opening verb and object of instructions, found by rules without a model.

An instruction is a command ("Write a short poem about …": write, poem), a question, or other.
Polite openings ("Could you please …") are skipped; an introductory sentence ("You are a …", "Given
the text below, …") counts as other. English only: instructions in other languages are counted as
other unless they are recognised as questions.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


VERBS: Final = _word_set(
    """
    add adapt advise analyse analyze answer argue arrange ask assess assign assume brainstorm break
    build calculate call caption categorise categorize change check choose cite clarify classify
    combine come comment compare complete compose compute condense construct continue convert
    correct count create criticise criticize critique debug decode decide deduce define deliver
    demonstrate derive describe design detect determine develop devise differentiate discuss
    distinguish divide draft draw edit elaborate estimate evaluate examine expand explain explore
    express extract figure fill find finish fix follow form format formulate gather generate give
    grade group guess help highlight identify illustrate imagine imitate implement improve include
    infer interpret introduce invent justify label list locate look make map mark match mention
    modify name narrate note offer optimise optimize order organise organize outline paraphrase
    perform persuade pick plan point predict prepare present produce proofread propose prove provide
    pull put quote rank rate read recommend reconstruct record reduce refactor reflect remove render
    reorder rephrase replace report represent respond restate retell review revise rewrite role-play
    roleplay rank score select separate show simplify simulate sketch solve sort specify spell split
    start state suggest sum summarise summarize support swap take talk teach tell test think
    transcribe transform translate turn update use verify visualise visualize weigh write
    """
)
"""Verbs that can open a command, in the base form."""

QUESTION_WORDS: Final = _word_set(
    """
    what what's whats how how's why why's who who's whom whose where where's when when's which is
    are am was were do does did can could would will should shall may might must has have had isn't
    aren't don't doesn't didn't can't won't wouldn't couldn't shouldn't
    """
)
_POLITE_OPENING: Final = re.compile(
    r"(?:(?:hi|hello|hey|please|kindly|now|ok|okay|then|first|next)\b[\s,!.:;-]*"
    r"|(?:can|could|would|will) you (?:please |kindly |maybe |just )*"
    r"|(?:i|we)(?:'d| would) like you to |(?:i|we) (?:want|need|ask) you to "
    r"|(?:your task is|you are asked|you need|try|help me|i need help) to |let's )\s*",
    re.IGNORECASE,
)
_READ: Final = 400
"""Maximum number of characters examined after a polite opening."""
_WORD: Final = re.compile(r"[^\W\d_][\w'’-]*|\d[\d.,]*|[.,;:!?()\[\]\"“”\n]")
_PHRASE_ENDS: Final = _word_set(
    """
    . , ; : ! ? ( ) [ ] " “ ” about above across after against along among and around as at because
    based before below between but by can containing could described despite do does due during each
    entitled explaining featuring focusing for from given how if in including inside into is are
    like look made me my near of off on onto or over per regarding shown so such suitable than that
    then there through to toward towards under until upon used using was were what when where
    whether which while who whose why will with within without would you
    """
)
"""Words and signs that end a noun phrase."""
_WORDS_BEFORE_NOUN: Final = _word_set(
    """
    a an the this that these those some any all both each every another its his her their our your
    my one two three four five six seven eight nine ten dozen several few many more most other out
    down up following given provided new me us him them it yourself for to is are of
    """
)
"""Words before the object noun, also "me" in "tell me a joke" and "out" in "write out"."""
_NON_OBJECTS: Final = _word_set("it them this that me us him her following given provided")


@dataclass(frozen=True, slots=True)
class OpeningVerb:
    """A verb, the number of instructions that begin with it, and its most frequent objects."""

    verb: str
    count: int
    objects: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class InstructionOpenings:
    verbs: tuple[OpeningVerb, ...]
    questions: int
    other: int


def count_opening_verbs(instructions: Iterable[str], max_objects: int = 4) -> InstructionOpenings:
    """Count how instructions begin: by verb, the most frequent first, each with its most frequent
    objects (at most `max_objects`); and the numbers of questions and of other texts."""
    verbs: Counter[str] = Counter()
    objects: dict[str, Counter[str]] = {}
    kinds: Counter[str] = Counter()
    for instruction in instructions:
        verb, noun = parse_verb_and_object(instruction)
        if verb in ("question", ""):
            kinds[verb] += 1
            continue
        verbs[verb] += 1
        if noun:
            objects.setdefault(verb, Counter())[noun] += 1
    found = [
        OpeningVerb(verb, n, tuple(sort_by_frequency(objects.get(verb, Counter()))[:max_objects]))
        for verb, n in sort_by_frequency(verbs)
    ]
    return InstructionOpenings(tuple(found), kinds["question"], kinds[""])


def sort_by_frequency(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def parse_verb_and_object(instruction: str) -> tuple[str, str]:
    """Return (verb, object) of the command with which an instruction begins, such as ("write",
    "poem"); the object is "" if none is found.

    For a question the result is ("question", ""), for any other text ("", "")."""
    text = instruction.strip().lstrip("#*-•>\"'“ \t\n")
    start = 0
    while match := _POLITE_OPENING.match(text, start):  # without copying the text
        start = match.end()
    text = text[start : start + _READ]
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    if not words:
        return "", ""
    if words[0] in VERBS:
        return words[0], _object_noun(words[1:])
    sentence = text.partition("\n")[0]
    return ("question" if words[0] in QUESTION_WORDS or _is_question(sentence) else ""), ""


def _is_question(sentence: str) -> bool:
    """Whether the first end mark (. ! ?) of a text is a question mark."""
    end = re.search(r"[.!?]", sentence)
    return end is not None and end[0] == "?"


def _object_noun(words: Sequence[str]) -> str:
    """Return the noun at the end of the phrase after a verb: "poem" for "a short poem about"."""
    start = 0
    while start < len(words) and (words[start] in _WORDS_BEFORE_NOUN or words[start][0].isdigit()):
        start += 1
    head = ""
    for word, after in zip(words[start:], [*words[start + 1 :], ""], strict=True):
        is_code = "_" in word or after == "("
        if word in _PHRASE_ENDS or word[0].isdigit() or is_code:
            break
        head = word
    return "" if head in _NON_OBJECTS else head.removesuffix("'s")
