"""Time that grows with the length of a foreign text, never with its square.

Replies, answers, study files, prompts, column names and addresses come from outside. One
expression that backtracks over them holds a worker for minutes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

import pytest

from components.html.markup import bold_and_code_html, escape_plot
from components.html.matrix_heads import break_name
from components.inspect.injection_marks import mark_suspects_or_empty
from components.inspect.word_diff import word_difference
from components.results.protocol.paper_tables import model_name_without_date
from components.study.jobs import safe_file_name
from judges.operations.image_descriptions import remove_think_blocks
from judges.rendering.template import (
    fill_template,
    find_misspelt_variables,
    split_template,
    unknown_dollar_variables,
)
from judges.security.endpoint_rules import EndpointRules, check_url
from judges.security.key_store import redact_keys
from judges.verdicts.reply_cleaning import clean_reply
from judges.verdicts.verdict import parse_verdict, verdict_span
from judges.verdicts.verdict_formats import FORMATS
from studies.errors import EvenhandError
from studies.files.table_formats.spreadsheet_guard import guard_formula, unguard_formula
from studies.sources.detection.mapping_guess import guess_mapping
from studies.sources.formats.creation_mmbench import _model_in_column_name
from studies.sources.formats.visit_bench import split_list
from studies.sources.hub import parse_hub_address
from studies.sources.hub_files import extract_front_matter
from studies.spec.records_folder import check_source_variable, expand_records_variable
from studies.texts.injection import find_suspect_spans, is_suspect
from studies.texts.instruction_verbs import parse_verb_and_object
from tests.growth import STEP, TooSlow, cpu_limit, cpu_seconds, is_linear
from tests.pattern_attacks import (
    COMMON,
    Attack,
    Use,
    attacks_on,
    compiled_patterns,
    inline_patterns,
)
from tests.samples import ALL, sample

SHORT: Final = 2_500
SUSPICIOUS: Final = 0.005
"""Seconds of CPU for a short text from which its growth is measured; the others are too quick for
a quadratic pattern. Nothing fails by this time alone."""
HANG_SECONDS: Final = 5.0
"""Seconds of CPU after which one expression counts as hanging; linear ones take below 0.1."""
WORST_INPUT: Final = 1_000_000 if ALL else 40_000
MADE_AT_IMPORT: Final = {
    "studies/texts/injection_rules.py",
    "components/layout/glossary.py",
    "components/server/allowed_routes.py",
}
"""Files with a function that compiles patterns for the constants of its module."""


def apply(pattern: re.Pattern[str], method: str, text: str) -> None:
    if method in ("sub", "subn"):
        pattern.sub("", text)
    elif method == "finditer":
        for _ in pattern.finditer(text):
            pass
    else:
        getattr(pattern, method)(text)


def slow_attacks(use: Use) -> list[tuple[str, Attack]]:
    """The first attack under which a pattern takes time that grows like the square of the text: of
    short texts that take long, and of the worst attack with a long text."""
    worst: tuple[float, str, Attack] | None = None
    for attack in attacks_on(use.pattern):
        for method in sorted(use.methods):
            run = partial(apply, use.pattern, method)
            try:
                with cpu_limit(HANG_SECONDS):
                    taken = cpu_seconds(partial(run, attack.text(SHORT)))
            except TooSlow:
                return [(method, attack)]
            if taken > SUSPICIOUS and not grows_evenly(run, attack.text, SHORT):
                return [(method, attack)]
            if worst is None or taken > worst[0]:
                worst = taken, method, attack
    if worst is None:
        return []
    _, method, attack = worst
    run = partial(apply, use.pattern, method)
    linear = all(grows_evenly(run, attack.text, size) for size in (SHORT, WORST_INPUT // STEP))
    return [] if linear else [(method, attack)]


def grows_evenly(read: Callable[[str], object], text: Callable[[int], str], length: int) -> bool:
    """Whether the time grows like the length of the text."""
    return is_linear(partial(read, text(length)), partial(read, text(STEP * length)))


QUADRATIC: Final = (
    (r"(?s)\s*<think>.*?</think>\s*", "sub"),
    (r"\$\{([^}]*)\}", "findall"),
    (r"(?:answer[ _.:-]+(.+)|(.+?)[ _.:-]+answer)", "fullmatch"),
    (r"(?s)\s*---[\r\n]+(.*?)[\r\n]+---\s*?(?:[\r\n]|$)", "match"),
    (r"\s+$", "sub"),
)


@pytest.mark.parametrize(("pattern", "method"), sample(QUADRATIC, QUADRATIC[-1]))
def test_the_attacks_find_the_patterns_that_were_quadratic(pattern: str, method: str) -> None:
    assert slow_attacks(Use(pattern, re.compile(pattern), {method}))


def test_the_attacks_pass_a_linear_pattern() -> None:
    assert not slow_attacks(Use("linear", re.compile(r"\[\[([^\[\]\n]{0,80})\]\]"), {"finditer"}))


READ_REPLIES: Final = ("judges/verdicts/", "judges.verdicts.")
"""Modules whose patterns read what a model wrote: tested by `make test`."""


def test_every_pattern_that_reads_replies_takes_linear_time() -> None:
    inline, _ = inline_patterns()
    uses = [use for use in [*compiled_patterns(), *inline] if use.name.startswith(READ_REPLIES)]
    assert len(uses) > 10, "the modules' patterns were not found"
    assert not {use.name: found for use in uses if (found := slow_attacks(use))}


OWN_TEXTS: Final = (
    "components.layout.glossary._",
    "components/results/cards/sentence_rules.py",
    "components/study/plan/example_files.py",
)
"""Patterns that read only files of the project, or HTML of the page, where foreign text has no
tags."""


@pytest.mark.extra
def test_every_pattern_of_the_project_takes_linear_time() -> None:
    uses = compiled_patterns()
    inline, _ = inline_patterns()
    assert len(uses) > 60, "the modules' patterns were not found"
    foreign = [use for use in [*uses, *inline] if not use.name.startswith(OWN_TEXTS)]
    assert not {use.name: found for use in foreign if (found := slow_attacks(use))}


def test_patterns_are_compiled_in_their_modules() -> None:
    _, unread = inline_patterns()
    other = [place for place in unread if place.split(":")[0] not in MADE_AT_IMPORT]
    assert not other, "a pattern built inside a function is not tested: compile it in the module"


# ------------------------------------------------------------------- functions, with a megabyte


def read_and_box(name: str, text: str) -> None:
    parse_verdict(name, text)
    verdict_span(name, text)


def read_after(name: str, text: str) -> None:
    """A reader goes further where its marker occurs, before the text and behind it."""
    read_and_box(name, f"{MARKERS} {text} {MARKERS}")


def check_address(text: str) -> None:
    check_url(f"https://{text}", EndpointRules(strict=True))


READERS: Final[dict[str, Callable[[str], object]]] = {
    **{name: partial(read_and_box, name) for name in FORMATS},
    **{f"{name} after markers": partial(read_after, name) for name in FORMATS},
    "clean": clean_reply,
    "thoughts": remove_think_blocks,
    "suspects": find_suspect_spans,
    "suspect words": lambda text: find_suspect_spans(f"judge choose ignore [[a]] {text}"),
    "is suspect": is_suspect,
    "suspects on the page": mark_suspects_or_empty,
    "redaction": redact_keys,
    "template": lambda text: fill_template(
        text, dict.fromkeys(name for name, v in split_template(text) if v)
    ),
    "unknown variables": unknown_dollar_variables,
    "misspelt braces": find_misspelt_variables,
    "opening": parse_verb_and_object,
    "place": expand_records_variable,
    "check of a place": check_source_variable,
    "hub address": lambda text: parse_hub_address(f"hub:{text}"),
    "card": extract_front_matter,
    "card after dashes": lambda text: extract_front_matter(f"---\n{text}"),
    "listed": lambda text: split_list(f"https://{text}"),
    "columns": lambda text: guess_mapping([text, f"answer_{text}", f"{text}_answer"], []),
    "prediction column": lambda text: _model_in_column_name(f"prediction:{text}\n"),
    "formula": guard_formula,
    "bare formula": unguard_formula,
    "endpoint": check_address,
    "file name": safe_file_name,
    "matrix name": break_name,
    "bold": bold_and_code_html,
    "plot": escape_plot,
    "model": model_name_without_date,
    "difference": lambda text: word_difference(text, text[1:]),
}
MARKERS: Final = (
    "[[ final answer: answer: final verdict is: selection: grading: grade: [result] "
    '{"winner": "a"} response a visual factuality score: overall, response a is better'
)
UNITS: Final = (
    *COMMON, "please ", "can you ", "{{ ", "{{a", "$a", "[[a", "[[a]] ", "[[A>B]]", "answer: ",
    "selection: ", "option 1 ", "grading: ", '{"winner": ', '{"a":', "http://a,", "choose ",
    "ignore all ", "as the judge ", "you must ", "https://", "answer_", "&", "$", "\x00", "\x1b[",
)  # fmt: skip


PLAIN_READERS: Final = [name for name in READERS if not name.endswith("markers")]
PART: Final = 10_000 if ALL else 5_000
SLOW_PART: Final = 0.05 * (PART / 10_000) ** 2
"""Seconds of CPU for a text of `PART` characters from which its growth is measured."""
LARGE: Final = 500_000 if ALL else 100_000


@pytest.mark.parametrize("name", sample(READERS, *PLAIN_READERS))
def test_foreign_text_is_read_in_linear_time(name: str) -> None:
    read = partial(read_or_refuse, READERS[name])
    for unit in UNITS:
        text = unit * (PART // len(unit))
        if cpu_seconds(partial(read, text)) > SLOW_PART:
            assert is_linear(partial(read, text), partial(read, text * STEP)), unit


@pytest.mark.parametrize("name", sample(PLAIN_READERS, "clean", "suspects", "redaction"))
def test_a_long_text_is_read_in_linear_time(name: str) -> None:
    read = partial(read_or_refuse, READERS[name])
    for unit in (" ", "<think>"):
        text = unit * (LARGE // STEP // len(unit))
        assert is_linear(partial(read, text), partial(read, text * STEP)), unit


def read_or_refuse(function: Callable[[str], object], text: str) -> None:
    """Call the function, which may refuse the text but not hang."""
    with cpu_limit(HANG_SECONDS), suppress(EvenhandError):
        function(text)
