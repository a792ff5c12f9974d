"""Guesses from column names and texts."""

from __future__ import annotations

import pytest

from studies.sources.detection.mapping_guess import (
    _contestant_in_name,
    _has_long_texts,
    _has_sentences,
    _is_nested,
    _mean_length,
    first_rows_under_mapping,
    guess_mapping,
)


@pytest.mark.parametrize(
    ("column", "name"),
    [("gpt4_response", "gpt4"), ("response_gpt4", "gpt4"), (" gpt-4 answer ", "gpt-4"),
     ("answer: llama", "llama"), ("claude.output", "claude"), ("response", ""), ("question", ""),
     ("two\nlines_response", ""), ("", ""), ("- response", "-")],
)  # fmt: skip
def test_a_column_of_answers_may_name_its_model(column, name):
    assert _contestant_in_name(column) == name


def test_a_guess_is_shown_for_the_first_three_rows():
    rows = [{"a": "x" * 40, "b": n} for n in range(5)]
    said = first_rows_under_mapping({"a": "question", "b": "winner"}, rows)
    assert said.count("row ") == 3 and said.count(" | ") == 2
    assert f"question: '{'x' * 29}…'; winner: '0'" in said
    short = first_rows_under_mapping({"a": "q"}, [{"a": "y" * 30}])
    assert "…" not in short and "y" * 30 in short


def test_texts_are_long_by_letters_and_sentences_by_words():
    assert _mean_length([]) == 0 == _mean_length(["", ""])
    assert _mean_length(["ab", "", "abcd"]) == 3
    for text, sentences, long in (
        ("one two three", False, False), ("one two three four", True, False),
        ("x" * 40, False, False), ("x" * 41, False, True),
    ):  # fmt: skip
        rows = [{"c": text}, {"c": ""}, {}]
        assert (_has_sentences("c", rows), _has_long_texts("c", rows)) == (sentences, long)


def test_objects_in_cells_are_nested_and_lists_of_texts_are_not():
    assert _is_nested("c", [{"c": "x"}, {"c": {"a": 1}}])
    assert _is_nested("c", [{"c": [{"a": 1}]}]) and _is_nested("c", [{"c": [["a"]]}])
    assert not _is_nested("c", [{"c": ["a.png", "b.png"]}, {}])
    assert not _is_nested("c", [{"c": "x"}] * 50 + [{"c": {}}])


def test_short_texts_of_two_sides_are_answers_unless_something_says_what_they_are():
    rows = [{"question": "Capital of France?", "a": "Paris", "b": "Lyon", "winner": "a"}]
    answers = {"question": "instruction", "a": "responses.a", "b": "responses.b"}
    assert guess_mapping(["question", "a", "b"], rows) == answers
    with_verdicts = guess_mapping(["question", "a", "b", "winner"], rows)
    assert (with_verdicts["a"], with_verdicts["b"]) == ("a", "b")


def test_labels_are_of_the_only_answer_in_a_row():
    cells = {"question": "Why is it so?", "model": "m1", "score": "4", "label": "pass",
             "answer": "It is so because of many things."}  # fmt: skip

    def labels_in(*columns: str) -> bool:
        rows = [{column: cells[column] for column in columns}] * 3
        return "label" in guess_mapping(columns, rows).values()

    assert labels_in("question", "model", "label", "answer")
    assert labels_in("question", "model", "score", "label", "answer")
    assert not labels_in("question", "model", "score", "label"), "no answer"
    cells["label"] = "cats"
    assert not labels_in("question", "model", "label", "answer"), "no label"
