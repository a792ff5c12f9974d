"""Opening verbs of instructions: found by rules, otherwise counted as questions or other."""

from __future__ import annotations

import csv

import pytest

from studies.texts.instruction_verbs import OpeningVerb, count_opening_verbs, parse_verb_and_object


@pytest.mark.parametrize(
    ("instruction", "read"),
    [
        ("Write a short poem about the sea.", ("write", "poem")),
        ("Tell me a joke!", ("tell", "joke")),
        (
            "Could you please summarise the following article in two lines?",
            ("summarise", "article"),
        ),
        ("I want you to act. ", ("", "")),
        ("I want you to list three reasons why cats purr", ("list", "reasons")),
        ("Explain why the sky is blue", ("explain", "")),
        ("Compare the two paintings", ("compare", "paintings")),
        ("Write a Python function reverse_words(text) that returns …", ("write", "function")),
        ("Write a function isleap(y).", ("write", "function")),
        ("### Describe the image’s mood", ("describe", "mood")),
        ("What is this?", ("question", "")),
        ("Given 3 apples, how many are left?", ("question", "")),
        ("The text below is broken. Mend it.", ("", "")),
        ("Schreibe ein Gedicht", ("", "")),
        ("", ("", "")),
        ("!!!", ("", "")),
    ],
)
def test_an_opening_is_a_verb_with_its_object_or_a_question_or_neither(instruction, read):
    assert parse_verb_and_object(instruction) == read


def test_verbs_are_counted_and_the_rest_is_not_forgotten():
    # write poem, write story, write poem; list names; one question; one that is neither
    found = count_opening_verbs(
        ["Write a poem.", "Write a story.", "Write a poem.", "List names.", "Why?", "Hm."]
    )
    assert found.verbs == (
        OpeningVerb("write", 3, (("poem", 2), ("story", 1))),
        OpeningVerb("list", 1, (("names", 1),)),
    )
    assert (found.questions, found.other) == (1, 1)


@pytest.mark.records
def test_visit_bench_opens_as_its_drawing_says(records):
    with (records / "visit" / "single_image.csv").open(encoding="utf-8") as file:
        found = count_opening_verbs(row["instruction"] for row in csv.DictReader(file))
    verbs = {one.verb: one for one in found.verbs}
    assert {verb: verbs[verb].count for verb in ("write", "describe", "generate", "tell")} == {
        "write": 16, "describe": 11, "generate": 10, "tell": 7,
    }  # fmt: skip
    assert [word for word, _ in verbs["write"].objects[:2]] == ["story", "poem"]
    total = sum(one.count for one in found.verbs) + found.questions + found.other
    assert total == 578
