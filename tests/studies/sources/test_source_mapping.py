"""Tables read by a mapping, the guessed mapping, and format detection with its reasons."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from studies.errors import SourceError, StudyError
from studies.files.tables import read_table
from studies.sources.detection.detect import matching_formats
from studies.sources.detection.mapping_guess import guess_mapping
from studies.sources.load import load_source
from studies.sources.registry import (
    DETECTION_ORDER,
    SOURCE_FORMATS,
    render_table_of_formats,
    write_table_of_formats,
)
from studies.spec.study import DataSpec
from tests.page_words import pattern, says
from tests.studies.sources.source_files import jsonl, loaded, said, table, verdicts

WIDE = [
    {"nr": "1", "frage": "why?", "gpt": "so", "llama": "thus", "thema": "logic"},
    {"nr": "2", "frage": "how?", "gpt": "by hand", "llama": "", "thema": "craft"},
]
WIDE_MAPPING = {
    "nr": "id", "frage": "instruction", "gpt": "responses.gpt", "llama": "responses.llama",
    "thema": "meta.topic",
}  # fmt: skip


def test_answers_in_columns_of_their_own(tmp_path: Path) -> None:
    found = loaded(table(tmp_path / "t.csv", WIDE), mapping=WIDE_MAPPING)
    assert found.format == "table" and "mapping of 5 columns" in found.format_reason
    assert dict(found.items[0].responses) == {"gpt": "so", "llama": "thus"}
    assert dict(found.items[1].responses) == {"gpt": "by hand"}  # an empty answer is none
    assert found.items[0].meta == {"topic": "logic"}


def test_one_answer_a_row_with_ranks(tmp_path: Path) -> None:
    rows = [{"q": "why?", "who": w, "text": f"{w} says", "place": p} for w, p in
            (("x", "2"), ("y", "1"), ("z", "3"))]  # fmt: skip
    mapping = {"q": "instruction", "who": "contestant", "text": "response", "place": "rank"}
    (item,) = loaded(table(tmp_path / "t.csv", rows), mapping=mapping).items
    assert sorted(item.responses) == ["x", "y", "z"]
    assert item.human[0].ranks == {"x": 2, "y": 1, "z": 3}
    again = table(tmp_path / "t.csv", [*rows, {**rows[0], "text": "x says otherwise"}])
    with pytest.raises(SourceError, match=pattern("t.csv, line 5", "second")):
        loaded(again, mapping=mapping)


def test_ranks_of_several_people_and_of_decimals(tmp_path: Path) -> None:
    given = [("ann", "x", 1), ("ann", "y", 2), ("bob", "x", 2), ("bob", "y", 1),
             ("", "x", 1.2), ("", "y", 1.8)]  # fmt: skip
    rows = [{"q": "why?", "who": who, "text": f"{who} says", "by": by, "place": place}
            for by, who, place in given]  # fmt: skip
    mapping = {"q": "instruction", "who": "contestant", "text": "response", "by": "person",
               "place": "rank"}  # fmt: skip
    (item,) = loaded(table(tmp_path / "t.csv", rows), mapping=mapping).items
    assert {vote.judge: vote.ranks for vote in item.human} == {
        "ann": {"x": 1, "y": 2}, "bob": {"x": 2, "y": 1}, "people": {"x": 1, "y": 2},
    }  # fmt: skip


@pytest.mark.parametrize(("sides", "known"), [(("first", "second"), True), (("a", "b"), False)])
def test_comparisons_with_or_without_an_order(
    tmp_path: Path, sides: tuple[str, str], known: bool
) -> None:
    rows = [{"m1": "y", "m2": "x", "who won": w, "by": "gpt"} for w in ("y", "A", "B", "tie", "")]
    mapping = {"m1": sides[0], "m2": sides[1], "who won": "winner", "by": "judge"}
    found = loaded(table(tmp_path / "t.csv", rows), mapping=mapping)
    assert [said(j) for j in found.judgements] == ["y", "y", "x", "tie", "unreadable"]
    assert found.order_known is known
    assert found.judgements[0].ask.shown == (("y", "x") if known else ("x", "y"))


def test_labels_of_answers_are_read_by_row(tmp_path: Path) -> None:
    rows = [
        {"q": "why?", "who": "x", "text": "so", "right": "pass"},
        {"q": "why?", "who": "y", "text": "not so", "right": "no"},
        {"q": "how?", "who": "x", "text": "well", "right": ""},
    ]
    mapping = {"q": "instruction", "who": "contestant", "text": "response", "right": "label"}
    found = loaded(table(tmp_path / "t.csv", rows), mapping=mapping)
    assert [[(one.contestant, one.value) for one in item.labels] for item in found.items] == [
        [("x", "pass"), ("y", "fail")], []
    ]  # fmt: skip
    again = [*rows, {"q": "why?", "who": "x", "text": "so", "right": "fail"}]
    with pytest.raises(SourceError, match=pattern("second", "'x'")):
        loaded(table(tmp_path / "u.csv", again), mapping=mapping)


@pytest.mark.parametrize(
    "mapping",
    [
        {"q": "instruction", "m": "responses.m", "n": "responses.n", "right": "label"},
        {"q": "instruction", "m": "a", "n": "b", "won": "winner", "right": "label"},
    ],
)
def test_a_label_of_one_answer_is_refused_beside_two(
    tmp_path: Path, mapping: dict[str, str]
) -> None:
    rows = [{"q": "why?", "m": "so", "n": "thus", "won": "A", "right": "5"}]
    with pytest.raises(StudyError, match=pattern("'label'", "one answer", "'gold'")):
        loaded(table(tmp_path / "t.csv", rows), mapping=mapping)


def test_a_person_is_a_person(tmp_path: Path) -> None:
    rows = [{"a": "x", "b": "y", "w": "a", "p": "ann", "q": "why?"}]
    mapping = {"a": "first", "b": "second", "w": "winner", "p": "person", "q": "instruction"}
    found = loaded(table(tmp_path / "t.csv", rows), mapping=mapping)
    assert verdicts(found) == [("human:ann", "x > y", "x")]
    assert found.items[0].human[0].judge == "ann"


def test_a_mapping_that_cannot_be_is_refused_with_what_can(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", WIDE)
    for mapping, message in (
        ({"farge": "instruction"}, r"t.csv has no column 'farge'; its columns: nr, frage"),
        ({"frage": "instructon"}, r"no field 'instructon' \(did you mean 'instruction'\?\)"),
        ({"frage": "id", "nr": "id"}, r"both 'frage' and 'nr' are mapped to 'id'"),
        ({"nr": "id"}, r"a table of questions needs a column mapped to 'instruction'"),
        ({"frage": "instruction"}, r"no answers: map columns to 'responses.<model>'"),
    ):
        with pytest.raises(StudyError, match=message):
            loaded(path, mapping=mapping)
    with pytest.raises(StudyError, match=pattern("required", "map", "column")):
        loaded(path, format="table")


def test_the_same_question_twice_asks_for_an_id(tmp_path: Path) -> None:
    rows = [{**WIDE[0], "nr": n} for n in "12"]
    mapping = {k: v for k, v in WIDE_MAPPING.items() if k != "nr"}
    with pytest.raises(SourceError, match=pattern("3", "question", "t.csv", "2; map")):
        loaded(table(tmp_path / "t.csv", rows), mapping=mapping)
    assert len(loaded(tmp_path / "t.csv", mapping=WIDE_MAPPING).items) == 2


def test_answer_files_join_a_mapped_table(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", [{"nr": n, "frage": f"q{n}"} for n in "12"])
    table(tmp_path / "gpt.csv", [{"nr": "1", "answer": "one"}])
    mapping = {"nr": "id", "frage": "instruction"}
    found = loaded(path, mapping=mapping, files={"gpt": "gpt.csv"}, join=("nr",))
    assert [dict(i.responses) for i in found.items] == [{"gpt": "one"}, {}]
    assert found.join is not None and found.join.on == ("nr",)
    assert [file.missing for file in found.join.files] == [1]


def test_a_mapping_renames_columns_for_a_format_that_is_named(tmp_path: Path) -> None:
    rows = [{"A": "x", "B": "y", "won": "model_b"}]
    found = loaded(
        table(tmp_path / "t.csv", rows),
        format="arena",
        mapping={"A": "model_a", "B": "model_b", "won": "winner"},
    )
    assert verdicts(found) == [("all", "x > y", "y")]


# ---- the guess -------------------------------------------------------------------------------


def test_the_guess_of_a_wide_table() -> None:
    columns = ["id", "Question", "gpt4_response", "prediction: llava", "reference", "colour"]
    assert guess_mapping(columns, []) == {
        "id": "id",
        "Question": "instruction",
        "gpt4_response": "responses.gpt4",
        "prediction: llava": "responses.llava",
        "reference": "reference",
    }


def test_the_guess_of_comparisons_and_of_single_answers() -> None:
    pairs = guess_mapping(["prompt", "model_a", "model_b", "response_a", "response_b", "verdict",
                           "annotator"], [])  # fmt: skip
    assert pairs == {"prompt": "instruction", "model_a": "a", "model_b": "b",
                     "response_a": "response_a", "response_b": "response_b", "verdict": "winner",
                     "annotator": "person"}  # fmt: skip
    assert guess_mapping(["query", "model", "output", "rank"], []) == {
        "query": "instruction",
        "model": "contestant",
        "output": "response",
        "rank": "rank",
    }


def test_the_guess_takes_long_texts_for_answers() -> None:
    rows = [{"question": "why?", "claude": "because " * 20, "n": "1"}]
    assert guess_mapping(["question", "claude", "n"], rows) == {
        "question": "instruction",
        "claude": "responses.claude",
    }


def test_the_guess_knows_short_names_and_leaves_objects_alone() -> None:
    rows = [{"q": "why?", "resp_alpha": "so", "resp_beta": "thus", "tag": "x", "score": 3,
             "out": [{"model": "alpha", "text": "so, for a reason that takes a line to tell"}],
             "task": {"q": "why?"}}]  # fmt: skip
    assert guess_mapping(list(rows[0]), rows) == {
        "q": "instruction",
        "resp_alpha": "responses.alpha",
        "resp_beta": "responses.beta",
        "tag": "category",
    }


def test_what_is_guessed_can_be_loaded(tmp_path: Path) -> None:
    rows = [{"question": f"q{k}", "gpt_answer": "so", "llama_answer": "thus"} for k in range(3)]
    path = table(tmp_path / "t.csv", rows)
    with pytest.raises(SourceError, match=r"for instance \{question: instruction, gpt_answer: re"):
        loaded(path)
    found = read_table(path)
    items = loaded(path, mapping=guess_mapping(found.columns, found.rows)).items
    assert len(items) == 3 and set(items[0].responses) == {"gpt", "llama"}


# ---- detection -------------------------------------------------------------------------------


def test_two_formats_that_fit_are_listed_and_not_guessed(tmp_path: Path) -> None:
    rows = [{"model_a": "x", "model_b": "y", "winner": "model_a", "left": "x", "right": "y"}]
    path = table(tmp_path / "t.csv", rows)
    with pytest.raises(
        SourceError, match=r"could be several formats: arena \(.*\); evalica \("
    ) as e:
        loaded(path)
    assert str(e.value).endswith("Set one in data.format")
    assert says(loaded(path, format="arena").format_reason, "t.csv", "sets format: arena")


def test_a_format_nobody_knows_offers_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"'arena-hrad' is not one of auto, .*'arena-hard'\?"):
        loaded(table(tmp_path / "t.csv", WIDE), format="arena-hrad")


def test_a_folder_of_nothing_known_lists_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    with pytest.raises(SourceError, match=pattern("no", "format", "folder", "notes.txt")):
        load_source(DataSpec("."), tmp_path)


def test_every_format_says_why_and_none_claims_an_empty_table(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "t.jsonl", [{"nothing": 1}])
    assert matching_formats(read_table(path), path) == []
    assert len(SOURCE_FORMATS) == 33 and all(form.description for form in SOURCE_FORMATS.values())


def test_a_split_is_for_the_hub(tmp_path: Path) -> None:
    rows = [{"left": "x", "right": "y", "winner": "left"}]
    with pytest.raises(StudyError, match=pattern("data.split", "only", "datasets", "splits")):
        loaded(table(tmp_path / "t.csv", rows), split="test")


def test_the_docs_list_every_format_with_what_it_reads() -> None:
    """The table is made from the registry: a format that is added needs its line in the docs."""
    docs = (Path(__file__).parents[3] / "docs" / "formats.md").read_text("utf-8")
    assert render_table_of_formats() in docs, "run python -m studies.sources.registry"
    assert tuple(SOURCE_FORMATS) == DETECTION_ORDER
    assert all(f"| `{name}` | " in render_table_of_formats() for name in SOURCE_FORMATS)


def test_every_format_has_a_test_that_names_it() -> None:
    """A reader without a test of a file of its shape is found here by its name."""
    here = Path(__file__)
    texts = [path.read_text("utf-8") for path in here.parent.parent.rglob("test_*.py")]
    whole = "\n".join(texts)
    words = set(re.findall(r"[a-z]+(?:-[a-z]+)*", whole))
    assert sorted(set(SOURCE_FORMATS) - words) == []


def test_the_table_in_the_docs_is_replaced_as_a_whole(tmp_path: Path) -> None:
    docs = tmp_path / "formats.md"
    docs.write_text("# Files\n\n| `--format` | old |\n|---|---|\n| `x` | y |\n\nNext.\n")
    write_table_of_formats(docs)
    assert docs.read_text() == f"# Files\n\n{render_table_of_formats()}\nNext.\n"


@pytest.mark.parametrize(
    "fields",
    [
        {"g": "responses.gpt", "l": "responses.llama", "w": "winner"},
        {"m": "first", "n": "second", "w": "winner", "g": "response_a", "l": "response_b"},
        {"m": "first", "n": "second", "s": "score_a", "t": "score_b"},
        {"g": "responses.gpt", "l": "responses.llama", "s": "score"},
    ],
)
def test_a_mapped_answer_or_score_is_never_ignored(fields: dict[str, str], tmp_path: Path) -> None:
    row = {"q": "x?", "g": "aa", "l": "bb", "w": "A", "m": "gpt", "n": "llama", "s": "3", "t": "4"}
    with pytest.raises(StudyError, match=pattern("not read here")):
        loaded(table(tmp_path / "t.csv", [row]), mapping={"q": "instruction", **fields})


def test_answers_without_model_names_in_both_orders_show_the_order_of_each_verdict(tmp_path):
    texts = ("answer A", "Lyon")  # a text that is also the name of an answer
    given = (("a", "answer_a"), ("1", "2"), ("tie", "B"))
    rows = [{"question": f"Capital {n}?", "answer_a": one, "answer_b": two, "winner": winner,
             "judge": "j"} for n, winners in enumerate(given)
            for (one, two), winner in zip((texts, texts[::-1]), winners, strict=True)]  # fmt: skip
    guess = guess_mapping(list(rows[0]), rows)
    assert guess == {
        "question": "instruction", "answer_a": "response_first", "answer_b": "response_second",
        "winner": "winner", "judge": "judge",
    }  # fmt: skip
    found = loaded(table(tmp_path / "t.csv", rows), mapping=guess)
    assert [dict(item.responses) for item in found.items] == [
        {"answer A": "answer A", "answer B": "Lyon"}
    ] * 3
    assert [(one.ask.shown, one.verdict.pick) for one in found.judgements] == [
        (("answer A", "answer B"), 0), (("answer B", "answer A"), 0),
        (("answer A", "answer B"), 0), (("answer B", "answer A"), 1),
        (("answer A", "answer B"), "tie"), (("answer B", "answer A"), 1),
    ]  # fmt: skip
    named = [{**row, "winner": "answer A"} for row in rows]  # the answer that the row shows first
    picks = loaded(table(tmp_path / "n.csv", named), mapping=guess).judgements
    assert {one.verdict.pick for one in picks} == {0}
    of_others = [{**row, "question": f"{n}"} for n, row in enumerate(rows)]
    assert "response_first" not in guess_mapping(list(rows[0]), of_others).values()
