"""Data sources of the three protocols, from small files written for these tests."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from judges.rendering.messages import context_text
from studies.domain import AnswerCheck
from studies.errors import SourceError
from studies.sources.formats import creation_mmbench
from studies.sources.formats.creation_mmbench import (
    CATEGORY_BY_TASK,
    TASKS_BY_CATEGORY,
    fill_query_template,
    parse_criteria,
)
from studies.sources.formats.visit_bench import split_list
from studies.sources.load import load_source
from studies.sources.slice_selection import select_slice
from studies.spec.study import DataSpec
from tests.page_words import pattern, says
from tests.studies.sources.source_files import jsonl, loaded, table

SITE = "https://pictures.example/"


def question(image: str, text: str, correct: str = "True", **more: str) -> dict[str, str]:
    return {
        "instruction_category": "Recipes", "image": image, "instruction": text,
        "gpt4_prediction": f"right: {text}", "image_dense_captions": f"about {text}",
        "reference_output": "something else", "human_ratings_gpt4_correct": correct,
        "human_ratings_problem_in_caption": "False", "human_ratings_problem_in_gpt4": "False",
        **more,
    }  # fmt: skip


def answers(path: Path, column: str, *rows: tuple[str, str, str]) -> Path:
    names = ("image", "instruction", column)
    return table(path, [dict(zip(names, row, strict=True)) for row in rows])


@pytest.fixture
def visit(tmp_path: Path) -> Path:
    """Four questions, the last two with the same key; model-b lacks answers in all ways."""
    table(
        tmp_path / "single_image.csv",
        [
            question(SITE + "a.png", "one"),
            question(SITE + "b.png", "two", "False", human_ratings_problem_in_caption="True"),
            question(SITE + "c.png", "three"),
            question(SITE + "c.png", "three"),
        ],
    )
    answers(
        tmp_path / "answers_model-a.csv",
        "a_prediction",
        (SITE + "a.png", "one", "A1"),
        (SITE + "b.png", "two", "A2"),
        (SITE + "c.png", "three", "A3, first"),
        (SITE + "c.png", "three", "A3, second"),
    )
    answers(
        tmp_path / "answers_model-b.csv",
        "Model B output",
        (SITE + "a.png", "one", " "),
        (SITE + "c.png", "three", "B3"),
        (SITE + "z.png", "none asked", "B9"),
        (SITE + "z.png", "none asked", "B9"),
    )
    return tmp_path


def test_a_folder_joins_its_answer_files_and_says_how(visit: Path) -> None:
    found = load_source(DataSpec("."), visit)
    assert [dict(item.responses) for item in found.items] == [
        {"model-a": "A1"},
        {"model-a": "A2"},
        {"model-a": "A3, first", "model-b": "B3"},
        {"model-a": "A3, second", "model-b": "B3"},  # one row answers both questions of its key
    ]
    assert found.format == "visit-bench" and found.join is not None
    a, b = found.join.files
    assert (a.contestant, a.column) == ("model-a", "a_prediction")
    assert (a.matched, a.missing, a.empty, a.duplicate, a.conflicting) == (4, 0, 0, 1, 1)
    assert (b.matched, b.missing, b.empty, b.duplicate, b.unknown) == (2, 1, 1, 0, 2)
    assert found.join.duplicate_questions == 1
    assert b.examples is not None and b.examples["missing"] == (f"{SITE}b.png · two",)
    assert says(found.join.lines()[2], "model-b: 2 matched, 1", "1", "2")


def test_the_reference_is_what_people_verified(visit: Path) -> None:
    items = load_source(DataSpec("single_image.csv"), visit).items
    assert [item.reference for item in items[:2]] == ["right: one", ""]
    assert items[0].checks == (AnswerCheck("visit-bench", "@reference", True, None),)
    assert items[1].checks == (AnswerCheck("visit-bench", "@reference", False, "caption"),)
    kept = select_slice(items, DataSpec(where={"checks.follows": ("true",)}))
    assert [item.id for item in kept] == ["visit-0001", "visit-0003", "visit-0004"]
    assert items[0].meta == {"images": "single", "skill": "Recipes"}


def test_an_empty_list_of_captions_is_no_caption(tmp_path: Path) -> None:
    row = question(SITE + "a.png", "one") | {"instruction_conditioned_caption": "a pie"}
    jsonl(tmp_path / "set.jsonl", [{**row, "image_dense_captions": []}])
    (item,) = load_source(DataSpec("set.jsonl"), tmp_path).items
    assert item.context == "a pie"


@pytest.mark.parametrize(
    ("image", "refused"),
    [
        ("../a.png", True),
        ("b/../../a.png", True),
        ("/etc/passwd", True),
        ("b/a.png", False),
        ("https://pictures.example/b/../a.png", False),
    ],
)
def test_a_picture_lies_inside_the_folder_of_the_file_or_has_an_address(
    tmp_path: Path, image: str, refused: bool
) -> None:
    jsonl(tmp_path / "set.jsonl", [question(image, "one")])
    if refused:
        with pytest.raises(SourceError, match=pattern("column 'image'", f"found '{image}'")):
            load_source(DataSpec("set.jsonl"), tmp_path)
    else:
        (item,) = load_source(DataSpec("set.jsonl"), tmp_path).items
        assert item.images == (image,)


@pytest.mark.parametrize(
    ("cell", "parts"),
    [
        ("", []),
        ("a, b|c", ["a, b|c"]),
        ("['a', ' ', \"b\"]", ["a", "b"]),
        ("[1, 2]", ["[1, 2]"]),
        ("[oops", ["[oops"]),
        ("[oops]", ["[oops]"]),
        ("https://a/1, 2.png", ["https://a/1, 2.png"]),
        ("https://a, http://b", ["https://a", "http://b"]),
        ("http://a|https://b\nc.png|", ["http://a", "https://b", "c.png"]),
        ("[" + " " * 999_997 + "]", []),
        ("[" + " " * 999_998 + "]", ["[" + " " * 999_998 + "]"]),
    ],
    ids=lambda value: str(value)[:20].strip(),
)
def test_a_cell_with_a_list_is_split_and_any_other_text_is_one(cell: str, parts: list[str]) -> None:
    assert split_list(cell) == parts


def test_files_of_the_study_are_joined_on_its_columns(visit: Path) -> None:
    spec = DataSpec("single_image.csv", files={"mine": "answers_model-b.csv"})
    found = load_source(spec, visit)
    assert found.join is not None and found.join.files[0].contestant == "mine"
    wrong = DataSpec("single_image.csv", files={"mine": "answers_model-b.csv"}, join=("colour",))
    with pytest.raises(SourceError, match=pattern("answers_model-b.csv: no column 'colour'")):
        load_source(wrong, visit)


def test_an_answer_file_with_two_columns_that_could_be_it_is_not_guessed(visit: Path) -> None:
    rows = [{"image": "i", "instruction": "one", "first_output": "x", "second_output": "y"}]
    table(visit / "two.csv", rows)
    spec = DataSpec("single_image.csv", files={"mine": "two.csv"})
    with pytest.raises(SourceError, match=r"candidates: 'first_output', 'second_output'"):
        load_source(spec, visit)


def test_several_images_have_a_caption_each(tmp_path: Path) -> None:
    row = question(
        f"['{SITE}a.png', '{SITE}b.png']", "compare", image_dense_captions="['a cat', 'a dog']"
    )
    item = loaded(table(tmp_path / "multi.csv", [row])).items[0]
    assert item.images == (SITE + "a.png", SITE + "b.png") and item.meta["images"] == "multi"
    assert context_text(item) == "Image 1: a cat\nImage 2: a dog"


def test_a_mark_that_is_neither_true_nor_false_is_named(tmp_path: Path) -> None:
    path = table(tmp_path / "q.csv", [question("i.png", "one", "maybe")])
    with pytest.raises(SourceError, match=r"q.csv, line 2: column 'human_ratings_gpt4_correct'"):
        loaded(path)


# ---- OpenAssistant ---------------------------------------------------------------------------


def ranked(id: str, *ranks: int, talk: int = 1) -> dict[str, Any]:
    turns = [{"role": ("prompter", "assistant")[k % 2], "text": f"turn {k}"} for k in range(talk)]
    options = [{"id": str(r), "text": f"reply of rank {r}", "human_rank": r} for r in ranks]
    return {"prompt_id": id, "conversation": turns, "prompt": turns[-1]["text"], "options": options}


def test_replies_are_named_by_their_rank_and_stay_in_file_order(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "r.jsonl", [ranked("p1", 2, 0, 1), ranked("p2", 0, 1, talk=3)])
    found = loaded(path)
    first, second = found.items
    assert list(first.responses) == ["rank-3", "rank-1", "rank-2"]
    assert first.responses["rank-1"] == "reply of rank 0"
    assert first.human[0].ranks == {"rank-1": 1, "rank-2": 2, "rank-3": 3}
    assert first.human[0].shown is None and first.instruction == "turn 0"
    assert second.instruction == "User: turn 0\n\nAssistant: turn 1\n\nUser: turn 2"
    assert [i.id for i in select_slice(found.items, DataSpec(options=3))] == ["p1"]
    assert [i.id for i in select_slice(found.items, DataSpec(where={"meta.turns": ("1",)}))] == [
        "p1"
    ]


def test_messages_in_a_csv_have_ranks_and_marks_as_texts(tmp_path: Path) -> None:
    asked = {"message_id": "1", "parent_id": "", "role": "prompter", "text": "why?", "rank": "",
             "deleted": "False"}  # fmt: skip
    replies = [
        {**asked, "message_id": id, "parent_id": "1", "role": "assistant", "text": id, "rank": rank,
         "deleted": deleted}
        for id, rank, deleted in (
            ("2", "1.0", "False"), ("3", "0.0", "False"), ("4", "2.0", "True"), ("5", "", "False"),
        )
    ]  # fmt: skip
    (item,) = loaded(table(tmp_path / "m.csv", [asked, *replies])).items
    assert dict(item.responses) == {"rank-2": "2", "rank-1": "3"}
    options = [{"text": "x", "rank": 1.5}, {"text": "y", "rank": 1.0}]  # a mean rank is no tie
    row = {"prompt": "why?", "prompt_id": "z", "options": options}
    (item,) = loaded(jsonl(tmp_path / "o.jsonl", [row])).items
    assert item.human[0].ranks == {"rank-1": 1, "rank-2": 2} and item.responses["rank-1"] == "y"


def test_trees_and_flat_messages_give_the_same_items(tmp_path: Path) -> None:
    def reply(id: str, rank: int | None, **more: Any) -> dict[str, Any]:
        return {"message_id": id, "role": "assistant", "text": f"says {id}", "rank": rank, **more}

    follow_up = {"message_id": "m5", "role": "prompter", "text": "and then?",
                 "replies": [reply("m6", 1), reply("m7", 0)]}  # fmt: skip
    replies = [reply("m2", 1), reply("m3", 0, replies=[follow_up]), reply("m4", None)]
    tree = {"message_tree_id": "m1", "prompt": {"message_id": "m1", "role": "prompter",
            "text": "why?", "replies": replies}}  # fmt: skip
    flat = [
        {"message_id": "m1", "parent_id": None, "role": "prompter", "text": "why?", "rank": None},
        *({**r, "parent_id": "m1", "replies": None} for r in replies),
        {"message_id": "m5", "parent_id": "m3", "role": "prompter", "text": "and then?",
         "rank": None},
        *({**r, "parent_id": "m5"} for r in follow_up["replies"]),  # type: ignore[union-attr]
    ]  # fmt: skip
    trees = loaded(jsonl(tmp_path / "trees.jsonl", [tree])).items
    messages = loaded(jsonl(tmp_path / "messages.jsonl", flat)).items
    assert trees == messages
    assert [item.id for item in trees] == ["m1", "m5"]
    assert trees[0].responses == {"rank-1": "says m3", "rank-2": "says m2"}  # m4 has no rank
    assert trees[1].instruction == "User: why?\n\nAssistant: says m3\n\nUser: and then?"


# ---- Creation-MMBench ------------------------------------------------------------------------

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 90).decode()
CRITERIA = "{'subjective requirement': '1. Voice', 'groundtruth alignment': '1. The red hat'}"


def creation(**more: str) -> dict[str, str]:
    return {
        "index": "7", "question": "Tell the story on.", "criteria": CRITERIA, "ground_truth": "",
        "reference_answer_by_gpt4o": "Once …", "task_name": "story_continue", "image": PIXEL,
        **more,
    }  # fmt: skip


def test_a_question_brings_criteria_baseline_category_and_image(tmp_path: Path) -> None:
    path = table(tmp_path / "creation.tsv", [creation()])
    predictions = [{"index": "7", "question": "Tell the story on.", "prediction": "And then …"}]
    table(tmp_path / "llava.tsv", predictions)
    found = loaded(path, files={"llava": "llava.tsv"})
    (item,) = found.items
    assert item.id == "creation-0007" and item.category == "Literary Writing"
    assert item.criteria == {"subjective": "1. Voice", "factuality": "1. The red hat"}
    assert item.reference == "Once …" and item.responses == {"llava": "And then …"}
    assert item.images == (f"data:image/png;base64,{PIXEL}",) and item.meta == {
        "task": "story_continue"
    }
    assert found.join is not None and found.join.files[0].column == "prediction"


def test_an_image_may_be_that_of_another_row_or_a_path(tmp_path: Path) -> None:
    rows = [creation(index="1"), creation(index="2", image="1"), creation(index="3", image="p.png")]
    items = loaded(table(tmp_path / "c.tsv", rows)).items
    assert items[0].images == items[1].images and items[2].images == ("p.png",)
    outside = table(tmp_path / "o.tsv", [creation(image="../secret.png")])
    with pytest.raises(SourceError, match=pattern("o.tsv", "2", "'image': expected base64")):
        loaded(outside)


def test_the_query_template_is_built_from_its_parts(tmp_path: Path) -> None:
    row = creation(question="", role="a chef.", background="It is Sunday.",
                   instruction="Write a menu.", requirements="1. Three courses.",
                   description="A kitchen.")  # fmt: skip
    path = table(tmp_path / "c.tsv", [row])
    asked = (
        "Assume you are a chef.\nIt is Sunday.\n"
        "Please follow the requirements below to write a menu.\n1. Three courses."
    )
    (item,) = loaded(path).items
    assert item.instruction == asked and item.context == "A kitchen."
    (blind,) = loaded(path, split="text-only").items
    assert blind.instruction.startswith(asked) and blind.instruction.endswith("A kitchen.")
    assert blind.images == () and blind.context == ""
    assert fill_query_template("", "", "Say it.", "") == "Say it."


def test_the_text_only_variant_needs_a_description(tmp_path: Path) -> None:
    path = table(tmp_path / "c.tsv", [creation()])
    with pytest.raises(SourceError, match=pattern("c.tsv", "2", "text-only", "description")):
        loaded(path, split="text-only")


def test_the_51_tasks_are_in_four_categories() -> None:
    # The paper: 8, 18, 19 and 6 tasks.
    assert {name: len(tasks) for name, tasks in TASKS_BY_CATEGORY.items()} == {
        "Literary Writing": 8,
        "Common Functional Writing": 18,
        "Professional Functional Writing": 19,
        "Creative Multimodal Understanding": 6,
    }
    assert len(CATEGORY_BY_TASK) == 51


@pytest.mark.parametrize(
    "cell",
    [
        "{'a': __import__('os').system('true')}",
        "{'a': [" + "[" * 100 + "]" * 100 + "]}",
        "{'a': 1" + "0" * 300_000 + "}",
        "{'subjective': ",
    ],
)
def test_criteria_that_are_no_plain_dict_are_refused_and_never_run(cell: str) -> None:
    with pytest.raises(SourceError, match=r"row 1: column 'criteria'"):
        parse_criteria(cell, "row 1")


def test_criteria_without_words_are_none_and_plain_text_is_subjective() -> None:
    assert parse_criteria("{'subjective': 'x', 'visual': '\\\\'}", "") == {"subjective": "x"}
    assert parse_criteria("be kind", "") == {"subjective": "be kind"}
    assert parse_criteria(None, "") == {}
    assert creation_mmbench.MAX_LITERAL_CHARS == 200_000
