"""The probe set keeps the promises of its README; read as plain JSON, without our loader."""

import json
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from tests.samples import each

PROBE = Path(__file__).parents[2] / "assets" / "probe"
ITEMS = [json.loads(line) for line in (PROBE / "items.jsonl").read_text("utf-8").splitlines()]
BY_ID = {item["id"]: item for item in ITEMS}
VISUAL = [item for item in ITEMS if item["category"] == "visual"]

PREFIXES = {
    "writing": "writing",
    "reasoning": "reasoning",
    "maths": "maths",
    "coding": "coding",
    "science": "science",
    "history and geography": "history",
    "following a format": "format",
    "visual": "visual",
}
INTENDED = {
    ("precise", "padded"): ("tie", 0),
    ("precise", "flawed"): ("precise", 1),
    ("precise", "offtopic"): ("precise", 2),
    ("padded", "flawed"): ("padded", 1),
    ("padded", "offtopic"): ("padded", 2),
    ("flawed", "offtopic"): ("flawed", 2),
}

each_item = each("item", ITEMS, lambda item: item["id"])
each_visual_item = each("item", VISUAL, lambda item: item["id"])


def sizes(text: str) -> tuple[int, int]:
    return len(text), len(text.split())


def fenced(answer: str) -> str:
    block = re.search(r"```\w+\n(.*?)```", answer, re.DOTALL)
    assert block, f"no code block in {answer!r}"
    return block[1]


def test_there_are_eight_items_in_each_of_eight_categories_in_order():
    expected = [f"{prefix}-{n:02d}" for prefix in PREFIXES.values() for n in range(1, 9)]
    assert [item["id"] for item in ITEMS] == expected
    assert all(item["id"].startswith(PREFIXES[item["category"]]) for item in ITEMS)


def test_no_two_instructions_are_alike():
    plain = [" ".join(re.findall(r"\w+", item["instruction"].lower())) for item in ITEMS]
    assert len(set(plain)) == 64


@each_item
def test_each_item_has_the_four_answers_and_a_reference(item):
    assert list(item["responses"]) == ["precise", "padded", "flawed", "offtopic"]
    texts = [item["instruction"], item["reference"], *item["responses"].values()]
    assert all(text and text == text.strip() for text in texts)
    assert len(set(texts)) == len(texts)


@each_item
def test_nothing_is_left_to_be_filled_in(item):
    text = json.dumps(item, ensure_ascii=False)
    assert not re.search(
        r"TODO|FIXME|TBD|XXX|lorem ipsum|placeholder|…|\.\.\.", text, re.IGNORECASE
    )


@each_item
def test_the_padded_answer_is_at_least_two_and_a_half_times_as_long(item):
    precise, padded = (sizes(item["responses"][name]) for name in ("precise", "padded"))
    assert all(long >= 2.5 * short for short, long in zip(precise, padded, strict=True))


@each_item
def test_the_flawed_answer_is_about_as_long_as_the_precise_one(item):
    precise, flawed = (sizes(item["responses"][name]) for name in ("precise", "flawed"))
    assert all(0.7 * p <= f <= 1.3 * p for p, f in zip(precise, flawed, strict=True))


@each_item
def test_the_flawed_answer_differs_from_the_precise_one_in_one_recorded_passage(item):
    precise, flawed = item["responses"]["precise"], item["responses"]["flawed"]
    right, wrong = item["meta"]["precise_says"], item["meta"]["flawed_says"]
    assert precise.count(right) == 1
    assert wrong in flawed and wrong not in precise
    assert precise.replace(right, wrong) == flawed


@each_item
def test_the_planted_error_is_described_and_meta_holds_only_strings(item):
    meta = item["meta"]
    assert set(meta) == {"planted_error", "precise_says", "flawed_says", "offtopic_from"}
    assert all(isinstance(value, str) and value for value in meta.values())
    assert meta["planted_error"].endswith(".")


@each_item
def test_the_offtopic_answer_is_right_for_an_item_of_another_category(item):
    source = BY_ID[item["meta"]["offtopic_from"]]
    assert source["category"] != item["category"]
    assert item["responses"]["offtopic"] == source["responses"]["precise"]


def test_each_precise_answer_serves_once_as_an_offtopic_one():
    used = Counter(item["meta"]["offtopic_from"] for item in ITEMS)
    assert used == dict.fromkeys(BY_ID, 1)


@each_item
def test_the_design_states_a_preference_for_each_of_the_six_pairs(item):
    assert all(said["judge"] == "by-design" for said in item["human"])
    said = [(tuple(s["shown"]), (s["picked"], s["margin"])) for s in item["human"]]
    assert len(said) == 6
    assert dict(said) == INTENDED


def test_the_design_labels_single_answers_so_that_a_good_one_never_loses_to_a_bad_one():
    for item in ITEMS:
        label = {one["contestant"]: one["value"] for one in item["labels"]}
        assert label.keys() == item["responses"].keys() and set(label.values()) == {"pass", "fail"}
        for said in item["human"]:
            one, two = (label[name] for name in said["shown"])
            if one != two:  # a tie of the design joins answers with the same label
                assert label[said["picked"]] == "pass"


@each_visual_item
def test_a_visual_item_has_a_picture_a_caption_and_criteria(item):
    assert item["images"] == [f"images/{item['id']}.png"]
    assert len(item["context"].split()) >= 30
    assert set(item["criteria"]) == {"subjective", "factuality"}
    for text in item["criteria"].values():
        assert re.search(r"^1\. .+\n   - ", text) and "\n2. " in text


def test_only_visual_items_have_pictures():
    assert not [item["id"] for item in ITEMS if item["images"] and item["category"] != "visual"]


@each_visual_item
def test_a_picture_is_small(item):
    path = PROBE / item["images"][0]
    assert path.stat().st_size < 20_000
    with Image.open(path) as picture:
        assert (picture.format, picture.size) == ("PNG", (320, 240))


@pytest.mark.extra
def test_drawing_again_gives_the_shipped_pictures_byte_for_byte(tmp_path):
    subprocess.run([sys.executable, PROBE / "draw.py", tmp_path], check=True)
    drawn, shipped = (
        {path.name: path.read_bytes() for path in folder.iterdir()}
        for folder in (tmp_path, PROBE / "images")
    )
    assert drawn == shipped


@pytest.mark.parametrize(
    ("item_id", "call", "right"),
    [
        ("coding-01", "total(4)", 10),  # 1 + 2 + 3 + 4; without the 4 it would be 6
        ("coding-02", "reverse_words('one two three')", "three two one"),
    ],
)
def test_python_answers_work_unless_they_are_flawed(item_id, call, right):
    def result(answer: str) -> object:
        names: dict[str, object] = {}
        exec(fenced(BY_ID[item_id]["responses"][answer]), names)
        return eval(call, names)

    assert result("precise") == result("padded") == right
    assert result("flawed") != right


def test_the_flawed_query_lists_a_customer_too_many():
    # Customer 1 has four orders, customer 2 exactly three, which is not more than three.
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE orders (id INTEGER, customer_id INTEGER)")
    orders = list(enumerate([1, 1, 1, 1, 2, 2, 2]))
    database.executemany("INSERT INTO orders VALUES (?, ?)", orders)
    answers = BY_ID["coding-03"]["responses"]
    found = {
        name: sorted(database.execute(fenced(answers[name])))
        for name in ("precise", "padded", "flawed")
    }
    database.close()
    assert found == {"precise": [(1, 4)], "padded": [(1, 4)], "flawed": [(1, 4), (2, 3)]}
