"""Tests of the Collect forms: choices offered, saved versions, errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from components.study.collect.collect_layout_tab import character_count_html, character_count_script
from components.study.collect.save_collected import (
    WHOLE_ITEM,
    caption_item_choices,
    caption_task_html,
    existing_caption,
    image_choices,
    load_collect_target,
    save_caption,
    save_item,
    set_data_version,
    version_choices,
)
from components.study.collect_tab import (
    choice_updates,
    read_answers,
    read_item_and_new_file_choice,
    show_selected_item,
)
from components.study.file.lenient_study import START_YAML
from components.study.file.yaml_edit import get_value, parse_yaml
from components.study.plan.study_preview import build_preview
from studies.domain import Item
from studies.people.new_items import NewItem
from tests.page_words import says

LINES = """\
{"id": "q1", "instruction": "<b>What</b> is it?", "responses": {"m": "a cat", "k": "a dog"}, \
"category": "animals", "images": ["https://example.org/1.png", "https://example.org/2.png"], \
"context": ["A cat.", ""]}
{"id": "q2", "instruction": "And that?", "responses": {"m": "a cup"}, "category": "objects"}
{"id": "q3", "instruction": "Which colour?", "responses": {"m": "red"}, \
"images": ["https://example.org/3.png"]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / "items.jsonl").write_text(LINES, "utf-8")
    return tmp_path


TEXT = """\
name: mine
data:
  source: uploads/items.jsonl
  format: evenhand
  count: 2
contestants: [m, k]
judges:
- {name: embedded, model: embedded}
prompts: [brief-letters]
"""


def source(text: str) -> str:
    return str(get_value(parse_yaml(text), ("data", "source")))


def test_the_forms_offer_what_the_data_knows(folder):
    target = load_collect_target(TEXT, folder)
    assert target.contestants == ["k", "m"] and target.categories == ["animals", "objects"]
    # An image and no caption first, then an image, then the rest.
    assert [id for _, id in caption_item_choices(target)] == ["q3", "q1", "q2"]
    category, answers, item, version = choice_updates(target, folder)
    assert version.visible is False  # one version only
    assert re.findall(r'type="text" value="(.*?)"', answers) == ["k", "m", "", ""]
    kept = choice_updates(target, folder, json.dumps([["m", "<b>so</b>"], ["x", ""]]))[1]
    assert re.findall(r'type="text" value="(.*?)"', kept) == ["m", "x", "k", ""]
    assert re.findall(r"<textarea.*?>(.*?)</textarea>", kept)[0] == "&lt;b&gt;so&lt;/b&gt;"
    assert item.value == "q3" and list(category.choices) == [
        ("animals", "animals"), ("objects", "objects"),
    ]  # fmt: skip


def test_data_that_cannot_be_read_offers_nothing_and_says_why(folder):
    text = TEXT.replace("items.jsonl", "none.jsonl")
    target = load_collect_target(text, folder)
    assert "none.jsonl" in target.load_error and caption_item_choices(target) == []
    went = save_item(text, folder, NewItem("why?"), False)
    assert went.text == text and says(went.notice_html, "start", "new file")
    assert (
        "Nothing was saved"
        in save_caption(text, folder, "q1", "A cat.", WHOLE_ITEM, "").notice_html
    )


def test_the_study_goes_on_with_the_new_version(folder):
    went = save_item(TEXT, folder, NewItem("Who is that?"), False, [("m", "Ann"), ("", "")])
    assert source(went.text) == "uploads/items.v2.jsonl"
    assert (
        "items.v2.jsonl: 4 items" in went.notice_html
        and "items.jsonl is unchanged" in went.notice_html
    )
    # The slice settings are kept; the settings for reading the old file are removed.
    assert get_value(parse_yaml(went.text), ("data", "count")) == 2
    assert get_value(parse_yaml(went.text), ("data", "format")) is None
    look = build_preview(went.text, folder)
    assert len(look.records.items) == 4 and look.plan_error == ""
    again = save_item(went.text, folder, NewItem("And who is this?"), False)
    assert source(again.text) == "uploads/items.v3.jsonl"
    assert (folder / "uploads" / "items.jsonl").read_text("utf-8") == LINES


def test_the_form_offers_every_version_there_is(folder):
    one = save_item(TEXT, folder, NewItem("Who is that?"), False).text
    two = save_caption(one, folder, "q2", "A cup.", WHOLE_ITEM, "").text
    wanted = [("items.jsonl", "uploads/items.jsonl"), ("items.v2.jsonl", "uploads/items.v2.jsonl"),
              ("items.v3.jsonl", "uploads/items.v3.jsonl")]  # fmt: skip
    for text in (TEXT, one, two):
        assert version_choices(load_collect_target(text, folder), folder) == wanted
    *_, version = choice_updates(load_collect_target(two, folder), folder)
    assert (version.visible, version.value) == (True, "uploads/items.v3.jsonl")
    assert (
        source(set_data_version(two, folder, "uploads/items.v2.jsonl")) == "uploads/items.v2.jsonl"
    )
    # A path that is not a version of this data is ignored.
    assert set_data_version(two, folder, "/etc/passwd") == two
    built_in = save_item(START_YAML, folder, NewItem("Who is that?"), False).text
    assert [
        name for name, _ in version_choices(load_collect_target(START_YAML, folder), folder)
    ] == ["probe", "probe.v2.jsonl"]
    assert source(built_in) == "uploads/probe.v2.jsonl"


def test_a_new_file_starts_without_the_old_filters(folder):
    went = save_item(TEXT, folder, NewItem("Who is that?"), True, [("x", "Ann"), ("y", "Bob")])
    assert re.fullmatch(r"uploads/\w{8}-collected.v1.jsonl", source(went.text))
    assert (
        "new file" in went.notice_html
        and get_value(parse_yaml(went.text), ("contestants",)) is None
    )
    assert [item.responses for item in build_preview(went.text, folder).records.items] == [
        {"x": "Ann", "y": "Bob"}
    ]


@pytest.mark.parametrize(
    ("answers", "told"),
    [([("", "Ann")], "has no model name"), ([("m", "Ann"), (" m ", "Bob")], "named twice")],
)
def test_what_is_wrong_is_said_and_the_study_stays(folder, answers, told):
    went = save_item(TEXT, folder, NewItem("Who is that?"), False, answers)
    assert went.text == TEXT and told in went.notice_html
    assert [path.name for path in (folder / "uploads").iterdir()] == ["items.jsonl"]


def test_the_built_in_data_can_be_added_to(tmp_path):
    went = save_item(START_YAML, tmp_path, NewItem("Who is that?"), False)
    assert source(went.text) == "uploads/probe.v2.jsonl"
    items = build_preview(went.text, tmp_path).records.items
    assert items[-1].instruction == "Who is that?"
    # Images of the built-in items came along.
    beside = tmp_path / "uploads"
    kept = [image for item in items for image in item.images if not image.startswith("https")]
    assert kept and all((beside / image).is_file() for image in kept)


def test_a_caption_of_one_of_several_images(folder):
    target = load_collect_target(TEXT, folder)
    item = target.item("q1")
    assert image_choices(item) == [WHOLE_ITEM, "image 1", "image 2"]
    assert existing_caption(item, "image 1") == "A cat." and existing_caption(item, "image 2") == ""
    assert existing_caption(item, WHOLE_ITEM) == "Image 1: A cat."
    went = save_caption(TEXT, folder, "q1", "A dog.", "image 2", "ann")
    changed = load_collect_target(went.text, folder).item("q1")
    assert changed.context == ("A cat.", "A dog.") and changed.meta == {"caption_by": "ann"}
    preview, image, caption = show_selected_item(target, "q1")
    assert "&lt;b&gt;What" in preview and "<b>What" not in preview
    assert preview.count("Open the image") == 2  # addresses are links, never fetched here
    assert (image.visible, image.value, caption) == (True, "image 1", "A cat.")


def test_nothing_chosen_is_said(folder):
    assert says(
        save_caption(TEXT, folder, None, "A cat.", WHOLE_ITEM, "").notice_html, "No item", "chosen"
    )
    assert caption_task_html(load_collect_target(TEXT, folder), None) == ""
    assert "no image" in caption_task_html(
        load_collect_target(TEXT, folder), Item("q", "why?", {"m": ""})
    )
    assert existing_caption(None, WHOLE_ITEM) == "" and image_choices(None) == []


def test_the_form_as_the_page_sends_it():
    form = [
        "Why?",
        ["/tmp/a.png"],
        " https://e.org/a.png \n\n",
        None,
        "c",
        None,
        "cap",
        "ann",
        True,
    ]
    made, fresh = read_item_and_new_file_choice(form)
    assert made == NewItem(
        "Why?", [Path("/tmp/a.png")], ["https://e.org/a.png"], "", "c", "", "cap", by="ann"
    )
    assert fresh


@pytest.mark.parametrize("typed", ["", "{", "5", "null", '[["m"]]', '["mn", 5]', '{"m": "so"}'])
def test_answers_that_no_browser_of_ours_sends_are_none(typed: str) -> None:
    assert read_answers(typed) == []


def test_typed_answers_are_read_with_their_models() -> None:
    assert read_answers('[["m", "so"], ["", ""]]') == [("m", "so"), ("", "")]
    assert len(read_answers(json.dumps([["m", "so"]] * 9))) == 4


def test_the_length_is_shown_from_the_start():
    assert "0 of 2,000 characters" in character_count_html(2000)
    assert "evenhand.length(text, 200)" in character_count_script(200)


def test_a_visit_bench_study_offers_the_70_skills_after_its_own_categories(folder: Path) -> None:
    plain = load_collect_target(TEXT, folder)
    assert plain.categories == ["animals", "objects"]
    skills = load_collect_target(f"preset: visit-bench\n{TEXT}", folder).categories
    # 70 of the paper, of which the data has animals already, and its own objects.
    assert skills[:2] == ["animals", "objects"] and len(skills) == len(set(skills)) == 71
    assert "recognition" in skills
    # A category that the data has under another spelling is not offered twice.
    lines = LINES.replace('"animals"', '"ocr_math"')
    (folder / "uploads" / "items.jsonl").write_text(lines, "utf-8")
    again = load_collect_target(f"preset: visit-bench\n{TEXT}", folder).categories
    assert (
        "ocr_math" in again and "ocr math" not in again and len(again) == 71
    )  # animals is the paper's again
