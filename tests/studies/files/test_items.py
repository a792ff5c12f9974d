"""Evenhand's item files: all fields, all errors, and a lossless way into the store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.domain import AnswerCheck, AnswerLabel, Item, Preference
from studies.errors import SourceError
from studies.files.answer_labels import parse_label
from studies.files.items import (
    dump_item,
    normalise_parquet_value,
    parse_item,
    parse_stored_item,
    read_items,
)
from tests.page_words import pattern, says
from tests.studies.small_items import line, write_lines

# docs/formats.md
WHOLE: dict[str, Any] = {
    "id": "q1", "instruction": "…", "responses": {"model-x": "…", "model-y": "…"},
    "category": "writing", "context": "", "images": [], "reference": "", "ground_truth": "",
    "criteria": {"subjective": "…", "factuality": "…"}, "meta": {},
    "human": [{"judge": "ann", "shown": ["model-x", "model-y"], "picked": "model-x", "margin": 1}],
    "checks": [{"judge": "ann", "contestant": "@reference", "follows": True, "fault": None,
                "harmful": False}],
}  # fmt: skip


def refused(*lines: Any, folder: Path) -> str:
    path = write_lines(folder / "items.jsonl", lines)
    with pytest.raises(SourceError) as error:
        read_items(path)
    return str(error.value)


def test_the_example_of_the_design_is_read_field_by_field() -> None:
    assert parse_item(WHOLE, "here") == Item(
        id="q1", instruction="…", responses={"model-x": "…", "model-y": "…"}, category="writing",
        criteria={"subjective": "…", "factuality": "…"},
        human=(Preference("ann", ("model-x", "model-y"), "model-x", 1),),
        checks=(AnswerCheck("ann", "@reference", True, None, False),),
    )  # fmt: skip


def test_only_id_instruction_and_responses_are_required() -> None:
    made = parse_item({"id": "a", "instruction": "b", "responses": {"x": ""}}, "here")
    assert made == Item("a", "b", {"x": ""})


def test_null_is_the_same_as_absent() -> None:
    assert parse_item(
        line(category=None, images=None, meta=None, human=None), "here"
    ) == parse_item(line(), "here")


def test_null_is_absent_in_maps_of_a_parquet_file_too() -> None:
    pairs = [("x", "an answer"), ("y", None), ("z", [("deep", None), ("kept", 1)])]
    assert normalise_parquet_value({"map": pairs, "none": None}) == {
        "map": {"x": "an answer", "z": {"kept": 1}}
    }


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"id": "q", "instruction": "i"}, "field 'responses' is missing"),
        ({"id": "q", "responses": {"x": "a"}}, "field 'instruction' is missing"),
        ({"instruction": "i", "responses": {"x": "a"}}, "field 'id' is missing"),
        (line(id=""), "field 'id': expected a non-empty text, found ''"),
        (line(id=5), "field 'id'"),
        (line(responses={}), "field 'responses'"),
        (line(responses=["a", "b"]), "field 'responses'"),
        (line(responses={"x": None}), "field 'responses.x': expected text, found None"),
        (line(responses={"@reference": "a"}), "begin with '@'"),
        (line(responses={"tie": "a"}), "be 'tie'"),
        (line(responses={"a\x1fb": "a"}), "control characters"),
        (line(responses={"a\nb": "a"}), "control characters"),
        (line(respones={}), "unknown field 'respones'"),
        (line(category=0), "field 'category': expected text, found 0"),
        (line(meta={"turn": 1}), "field 'meta': expected an object whose values are texts"),
        (line(meta=[]), "field 'meta'"),
        (line(images="a.png"), "field 'images': expected a list"),
        (line(context=["a", 1]), "field 'context': expected a list of texts"),
        (line(human={}), "field 'human': expected a list"),
        (line(human=["ann"]), "human: expected a list of objects"),
        (line(human=[{"judge": "ann", "shown": None, "picked": "z"}]), "field 'picked'"),
        (line(human=[{"judge": "ann", "shown": "xy", "picked": "x"}]), "field 'shown'"),
        (line(human=[{"judge": "ann", "shown": 5, "picked": "x"}]), "field 'shown'"),
        (line(human=[{"judge": "ann", "shown": ["x", "z"], "picked": "x"}]), "field 'shown'"),
        (line(human=[{"judge": "ann", "shown": ["x", "x"], "picked": "x"}]), "field 'shown'"),
        (line(human=[{"judge": "", "shown": None, "picked": "x"}]), "field 'judge'"),
        (line(human=[{"shown": None, "picked": "x"}]), "field 'judge'"),
        (line(human=[{"judge": "ann", "shown": None}]), "field 'picked'"),
        (line(human=[{"judge": "ann", "ranks": [1, 2]}]), "field 'ranks'"),
        (line(human=[{"judge": "ann", "ranks": {"x": 1.5}}]), "field 'ranks'"),
        (line(human=[{"judge": "ann", "ranks": {"z": 1}}]), "field 'ranks'"),
        (line(human=[{"judge": "ann", "ranks": {"x": 1}, "picked": "x"}]), "either 'picked' or"),
        (line(human=[{"judge": "ann", "picked": "x", "margin": "big"}]), "field 'margin'"),
        (line(human=[{"judge": "ann", "picked": "x", "margin": 3}]), "field 'margin'"),
        (line(human=[{"judge": "ann", "pick": "x"}]), "human: unknown field 'pick'"),
        (line(checks=[{"judge": "a", "contestant": "x", "follows": "yes"}]), "field 'follows'"),
        (line(checks=[{"judge": "a", "contestant": "z", "follows": True}]), "field 'contestant'"),
        (
            line(checks=[{"judge": "a", "contestant": "x", "follows": True, "harmful": "false"}]),
            "field 'harmful': expected true or false",
        ),
        ("[1, 2]", "expected a JSON object, found list"),
        ("{'id': 'q1'}", "not valid JSON"),
        ('{"id": ' + "9" * 5000 + "}", "not valid JSON"),
        ("[" * 100_000, "nested more than"),
    ],
)
def test_a_wrong_line_names_file_line_and_field(bad: Any, told: str, tmp_path: Path) -> None:
    message = refused(line("q0"), bad, folder=tmp_path)
    assert message.startswith("items.jsonl, line 2: ") and told in message
    assert len(message) < 600


def test_an_answer_written_twice_is_not_silently_one(tmp_path: Path) -> None:
    twice = '{"id": "q", "instruction": "i", "responses": {"x": "first", "x": "second"}}'
    assert says(refused(twice, folder=tmp_path), "1: not valid", "written")


def test_an_id_that_comes_again_names_both_lines(tmp_path: Path) -> None:
    message = refused(line("a"), line("b"), line("a"), folder=tmp_path)
    assert says(message, "items.jsonl", "3", "1; ids", "differ")


def test_a_text_that_is_not_utf_8_is_found_by_its_line_however_long_the_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "items.jsonl"
    good = "".join(json.dumps(line(f"q{n}")) + "\n" for n in range(500))
    path.write_bytes(good.encode() + '{"id": "Größe"}\n'.encode("latin-1"))
    with pytest.raises(SourceError, match=pattern("items.jsonl, line 501: not UTF-8", "byte 10")):
        read_items(path)


def test_half_a_character_is_refused_where_it_stands_and_a_whole_one_is_read(
    tmp_path: Path,
) -> None:
    cut = '{"id": "q", "instruction": "i", "responses": {"x": "cut \\ud83d", "y": "b"}}'
    message = refused(cut, folder=tmp_path)
    assert says(message, "1", "'responses': \\ud83d", "character")
    whole = cut.replace("\\ud83d", "\\ud83d\\ude00")
    made = read_items(write_lines(tmp_path / "ok.jsonl", [whole]))
    assert made[0].responses["x"] == "cut 😀"


@pytest.mark.parametrize(
    "image",
    ["/etc/hostname", "../secret.png", "a/../../b.png", "C:\\x.png", "\\\\host\\x.png",
     "http://host/x.png", "file:///etc/hostname", " "],
)  # fmt: skip
def test_an_image_from_outside_the_folder_of_the_file_is_refused(image: str) -> None:
    with pytest.raises(SourceError, match=pattern("'images': expected", "inside")):
        parse_item(line(images=[image]), "here")


def test_images_beside_the_file_on_the_web_and_written_out_are_taken_as_they_are() -> None:
    images = ["images/a.png", "https://host/a.png", "data:image/png;base64,AAAA"]
    assert parse_item(line(images=images), "here").images == tuple(images)


def test_empty_lines_a_byte_order_mark_and_windows_line_ends_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    text = "\n\r\n".join(json.dumps(line(f"q{n}")) for n in range(3))
    path.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n\n")
    assert [made.id for made in read_items(path)] == ["q0", "q1", "q2"]


def test_an_empty_file_and_a_missing_one_say_so(tmp_path: Path) -> None:
    assert says(refused("", folder=tmp_path), "no items")
    with pytest.raises(SourceError, match=r"cannot read .*gone\.jsonl: No such file"):
        read_items(tmp_path / "gone.jsonl")


texts = st.text(st.characters(blacklist_categories=("Cs",)), max_size=8)
full = texts.map(lambda text: text + ".")
names = st.sampled_from(["x", "model-y", "Zoë 7B", "a.b/c"])
items = st.builds(
    Item,
    id=full,
    instruction=full,
    responses=st.dictionaries(names, texts, min_size=2),
    category=texts,
    context=texts | st.lists(texts, min_size=1, max_size=3).map(tuple),
    reference=texts,
    criteria=st.dictionaries(texts, texts, max_size=2),
    meta=st.dictionaries(texts, texts, max_size=2),
).flatmap(
    lambda made: st.builds(
        lambda human, checks: Item(
            made.id,
            made.instruction,
            made.responses,
            made.category,
            made.context,
            (),
            made.reference,
            "",
            made.criteria,
            made.meta,
            tuple(human),
            tuple(checks),
        ),
        st.lists(_preferences(tuple(made.responses)), max_size=3),
        st.lists(
            st.builds(
                AnswerCheck,
                full,
                st.sampled_from([*made.responses, "@reference"]),
                st.booleans(),
                st.none() | texts,
                st.booleans(),
            ),
            max_size=2,
        ),
    )
)


def _preferences(names: tuple[str, ...]) -> st.SearchStrategy[Preference]:
    picked = st.builds(
        Preference, full, st.none() | st.permutations(names).map(tuple),
        st.sampled_from([*names, "tie"]), st.integers(0, 2),
    )  # fmt: skip
    ranks = st.dictionaries(st.sampled_from(names), st.integers(1, 9), min_size=1)
    return picked | st.builds(
        lambda judge, ranks: Preference(judge, None, None, 1, ranks), full, ranks
    )


@given(items)
def test_an_item_written_and_read_again_is_the_same_item(made: Item) -> None:
    text = json.dumps(dump_item(made), ensure_ascii=False)
    assert parse_item(json.loads(text), "store") == made


def test_a_stored_item_may_lack_its_question_or_its_answers():
    whole = {"id": "q", "instruction": "hello", "responses": {"x": "one", "y": "two"}}
    assert parse_stored_item(whole) == parse_item(whole, "store")
    vote = {"judge": "human:a", "shown": ["x", "y"], "picked": "x"}
    tie = {"judge": "human:b", "picked": "tie"}
    check = {"judge": "human:c", "contestant": "@reference", "follows": True}
    unchecked = {"id": "q", "instruction": "hello", "responses": {}, "checks": [check]}
    assert parse_stored_item(unchecked).checks == (AnswerCheck("human:c", "@reference", True),)
    with pytest.raises(SourceError, match="contestant"):
        parse_stored_item({**unchecked, "checks": [{**check, "contestant": 3}]})
    for values in (
        {"id": "q", "instruction": "", "responses": {"x": "one"}, "human": [vote, tie]},
        {"id": "q", "instruction": "hello", "responses": {}, "human": [vote, tie]},
        {"id": "q", "human": [vote, tie], "labels": [{"contestant": "x", "value": "pass"}]},
    ):
        item = parse_stored_item(values)
        assert item.instruction == values.get("instruction", "")
        assert item.responses == values.get("responses", {})
        assert item.human == (
            Preference("human:a", ("x", "y"), "x", 1),
            Preference("human:b", None, "tie", 0),
        )
        assert [label.value for label in item.labels] == ["pass"] * ("labels" in values)


@pytest.mark.parametrize(
    ("label", "pieces"),
    [
        ("x", ("expected a list", "found 'x'")),
        ({"contestant": "x", "vlaue": 1}, ("unknown field 'vlaue'", "value")),
        ({"contestant": "z", "value": 1}, ("contestant", "found 'z'")),
        ({"contestant": "x", "value": 1, "source": " "}, ("source", "labeller")),
        ({"contestant": "x", "value": 1, "policy": 3}, ("policy", "found 3")),
        ({"contestant": "x", "value": True}, ("value", "found True")),
        ({"contestant": "x", "value": 1, "time": "now"}, ("time", "since 1970")),
        ({"contestant": "x", "value": {}}, ("value", "each criterion")),
        ({"contestant": "x", "value": {"a": 1, "b": "two"}}, ("value", "each criterion")),
    ],
)
def test_a_wrong_field_of_a_label_is_named(label: Any, pieces: tuple[str, ...]) -> None:
    with pytest.raises(SourceError) as error:
        parse_label(label, "f:1", {"x", "y"})
    assert says(str(error.value), "f:1", *pieces)


def test_a_label_is_read_with_its_defaults_and_a_rubric_as_its_mean() -> None:
    assert parse_label({"contestant": "x", "value": "pass"}, "") == AnswerLabel("x", "pass", "gold")
    rubric = parse_label(
        {"contestant": "z", "value": {"a": 1, "b": 4}, "source": "ann", "time": 7, "policy": "p"},
        "",
    )
    assert rubric == AnswerLabel("z", 2.5, "ann", 7.0, "p", (("a", 1.0), ("b", 4.0)))


def test_the_fault_of_a_check_is_text(tmp_path: Path) -> None:
    check = {"judge": "ann", "contestant": "x", "follows": True, "fault": 3}
    assert says(refused(line("q1", checks=[check]), folder=tmp_path), "fault", "found 3")
