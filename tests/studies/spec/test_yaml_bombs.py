"""YAML alias bombs are refused at once, wherever YAML is read."""

from __future__ import annotations

import resource
import string
import sys

import pytest

from judges.rendering.prompt import parse_prompt
from studies.errors import SourceError
from studies.sources.hub_files import data_paths_in_card
from studies.spec import yaml_text
from studies.spec.field_reader import load_yaml
from studies.spec.study import parse_study
from studies.spec.yaml_text import MAX_PUBLIC_YAML_CHARS, MAX_YAML_CHARS, MAX_YAML_VALUES
from tests.attacks.attack_list import PUBLIC
from tests.attacks.attack_log import attempt
from tests.growth import count_calls
from tests.page_words import pattern

BURSTING = "bombs and huge uploads"


def laughs(levels: int = 9, wide: int = 9, indent: str = "") -> str:
    """Each line is `wide` times the one before: 9 levels of 9 are 387 million values."""
    names = string.ascii_lowercase
    first = f"{indent}a: &a [{', '.join(['lol'] * wide)}]\n"
    return first + "".join(
        f"{indent}{names[k]}: &{names[k]} [{', '.join([f'*{names[k - 1]}'] * wide)}]\n"
        for k in range(1, levels)
    )


BOMBS = {
    "laughs": laughs(),
    "merged": "a: &a {x: &x [1, 2]}\nb: &b {<<: *a, y: [*x, *x]}\nc: &c [*c]\n",
    "itself": "a: &a [*a]\n",
    "itself, merged": "a: &a {<<: *a}\n",
    "deep": "[" * 5_000,
    "deep blocks": "\n".join(" " * k + "a:" for k in range(900)),
    "long": "a: " + "x" * MAX_YAML_CHARS,
}


CALLS_PER_CHARACTER, FIXED_CALLS = 20, 20_000
"""Function calls of the reader: the parser looks at each character, and at no alias twice."""


def refusal_of(text: str) -> str:
    """The words with which a text is refused."""
    with pytest.raises(ValueError) as told:
        load_yaml(text)
    return str(told.value)


@pytest.mark.parametrize("name", BOMBS)
def test_it_is_refused_in_words_after_little_work_and_without_memory(name, each_mode):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with attempt(BURSTING, each_mode, name):
        told: list[str] = []
        calls = count_calls(lambda: told.append(refusal_of(BOMBS[name])))
        assert "not valid YAML" in told[0] and len(told[0]) < 500
        assert calls < CALLS_PER_CHARACTER * len(BOMBS[name]) + FIXED_CALLS
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000, "kilobytes"


def test_the_parser_stops_at_the_first_value_that_is_too_many(monkeypatch):
    """A longer rest of the text costs nothing: it is not read."""
    most = 1_000
    monkeypatch.setattr(yaml_text, "MAX_YAML_VALUES", most)
    first = "a: [" + "1," * (most // 2) + "*b," * (most // 2)
    bombs = [f"b: &b 1\n{first}{'1,' * more}]" for more in (10, 4_000)]
    costs = [count_calls(lambda text=text: refusal_of(text)) for text in bombs]
    assert costs[1] < 1.01 * costs[0], costs


def test_a_public_page_reads_shorter_texts(monkeypatch):
    text = "a: " + "x" * MAX_PUBLIC_YAML_CHARS
    assert len(load_yaml(text)["a"]) == MAX_PUBLIC_YAML_CHARS
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    with attempt(BURSTING, PUBLIC, "100 kB of YAML"):
        assert f"{MAX_PUBLIC_YAML_CHARS:,} characters" in refusal_of(text)
        assert load_yaml(text[:MAX_PUBLIC_YAML_CHARS])


def test_depth_is_limited_whatever_the_recursion_limit_is():
    deepest, before = "[" * 99 + "1" + "]" * 99, sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        assert str(load_yaml(deepest)) == deepest
        with pytest.raises(ValueError, match="100 levels"):
            load_yaml(f"[{deepest}]")
    finally:
        sys.setrecursionlimit(before)


@pytest.mark.parametrize("field", ["contestants", "families", "prompts", "judges", "new", "name"])
def test_no_field_of_a_study_holds_one(field, each_mode):
    rest = "".join(f"{name}: x\n" for name in ("name", "prompts") if name != field)
    refusal = pytest.raises(Exception, match=pattern("values", "aliases expanded"))
    with attempt(BURSTING, each_mode, f"laughs in {field}"), refusal:
        parse_study(f"{rest}{field}:\n{laughs(indent='  ')}")


def test_no_prompt_and_no_card_of_a_dataset_holds_one():
    with pytest.raises(Exception, match="aliases expanded"):
        parse_prompt(f"name: x\nmessages:\n{laughs(indent='  ')}", "x")
    with pytest.raises(SourceError, match=pattern("card", "dataset", "cannot be read")):
        list(data_paths_in_card(f"---\nconfigs:\n- data_files:\n{laughs(indent='    ')}---\n"))


def test_aliases_that_say_a_thing_once_are_read():
    assert load_yaml("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n") == {
        "a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2},
    }  # fmt: skip


@pytest.mark.extra
def test_a_long_list_is_read_up_to_the_last_value_that_is_allowed():
    # The list itself, the mapping and its key are three of them.
    fits = f"a: [{'1,' * (MAX_YAML_VALUES - 3)}]"
    assert len(load_yaml(fits)["a"]) == MAX_YAML_VALUES - 3
    with pytest.raises(ValueError, match="more than"):
        load_yaml(f"a: [{'1,' * (MAX_YAML_VALUES - 2)}]")
