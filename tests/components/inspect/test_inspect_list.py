"""HTML of Inspect from a real store: escaping, word differences, boxed verdicts, notices."""

from __future__ import annotations

import asyncio
import html
import json
import random
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from components.inspect import load_comparison
from components.inspect.comparison_html import _shared_words_note
from components.inspect.filter_bar import filter_bar
from components.inspect.html_parts import MAX_TEXT
from components.inspect.list_html import detail_panel, list_html
from components.inspect.load_comparison import NOT_RECORDED, load_image, load_inspect_page
from components.inspect.url_selection import Selection
from components.inspect.word_diff import MAX_WORDS, common_word_flags, word_difference
from judges.engine.outcome import read_outcome
from judges.models.simulation.simulated import SimulatedModel
from judges.planning.plan import Plan, asks_of, make_plan, save_plan
from metrics.position.position_measures import CONFLICT
from studies.domain import Ask, Item, Judgement, Preference, Verdict
from studies.spec.study import parse_study
from studies.store.rows import put_judgement
from studies.store.store import Store
from tests.page_words import says, text_of

EVIL = """<img src=x onerror="alert(1)"><script>alert(2)</script>${alert(3)} {{value}} ' " </div>"""
PIXEL = bytes.fromhex("89504e470d0a1a0a")


class Tags(HTMLParser):
    """Collects tags and attributes, and checks that every tag is closed in order."""

    void = frozenset({"br", "img", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def tags_of(made: str) -> Tags:
    tags = Tags()
    tags.feed(made)
    assert not tags.open
    return tags


def ask_all(store: Store, yaml: str, folder=None) -> str:
    """Plans a study and lets its simulated judges answer, without the engine."""
    plan = make_plan(parse_study(yaml, folder=folder))
    save_plan(plan, store)
    write(store, asyncio.run(_answered(plan)))
    return plan.study.name


async def _answered(plan: Plan) -> list[Judgement]:
    model, made = SimulatedModel(), []
    for planned in asks_of(plan):
        answer = await model.complete(planned.call)
        made.append(read_outcome(planned.call, answer).build_judgement(planned.ask, answer))
    return made


def write(store: Store, judgements: list[Judgement]) -> None:
    store.writer.run(lambda connection: [put_judgement(connection, one) for one in judgements])


def record(store: Store, item: Item, judgements: list[Judgement], name: str = "recorded") -> str:
    study = parse_study(f"name: {json.dumps(name)}")
    store.save_study(study, [item], [], recorded=judgements, only_recorded=True)
    return name


def told(item: Item, shown, pick, *, judge="j", reply="because", status="ok", **more) -> Judgement:
    ask = Ask(
        f"{judge}/{item.id}/{'-'.join(shown)}", item.id, judge, "p", tuple(shown), ("A", "B"),
        orders=2,
    )  # fmt: skip
    verdict = Verdict(pick, **more) if status == "ok" else None
    return Judgement(ask, status, verdict, "rule", reply)


FIRSTISH = """
name: firstish
data: {source: probe, count: 30}
judges: [{name: firstish, model: simulated, first_bias: 0.7, unreadable_rate: 0.05, seed: 3}]
prompts: [mt-bench-pair]
contestants: [precise, padded, flawed]
"""


# ------------------------------------------------------------------ differences


def test_words_that_only_one_answer_has_are_marked_in_runs():
    # Shared: "the", "sky", "is"; so 2 * 3 of 9 words.
    found = word_difference("the sky is blue", "the sky is not very blue-ish")
    assert found.first == "the sky is <mark>blue</mark>"
    assert found.second == "the sky is <mark>not very blue-ish</mark>"
    assert found.shared == pytest.approx(6 / 10)


def test_a_mark_never_spans_a_line_break_and_text_stays_as_it_was():
    found = word_difference("a b\nc  d e f", "a x\ny  z e f")
    assert found.first == "a <mark>b</mark>\n<mark>c  d</mark> e f"
    assert re.sub("</?mark>", "", found.second) == "a x\ny  z e f"


def test_below_a_quarter_of_shared_words_nothing_is_marked():
    # 1 shared word of 4 and 5: 2/9 is less than 1/4. One of 4 and 4 is exactly 1/4.
    assert not word_difference("a b c d", "a v w x y").marked
    assert word_difference("a b c d", "a x y z").marked
    # 62 of 250 words: 24.8 %, which is not shown as the limit.
    same = " ".join(f"w{k}" for k in range(62))
    texts = [f"{same} {' '.join(f'{which}{k}' for k in range(188))}" for which in "xy"]
    note = text_of(_shared_words_note(word_difference(*texts)))
    assert says(note, "24", "only from 25") and not says(note, "25", "both")


def test_empty_and_very_long_answers_are_not_compared():
    assert word_difference("", "a").shared == 0
    assert word_difference("a " * (MAX_WORDS + 1), "a").shared is None


def test_marked_text_is_escaped():
    found = word_difference(f"{EVIL} <b> same", f"{EVIL} <i> same")
    assert set(tags_of(found.first + found.second).names) == {"mark"}


def longest(a, b) -> int:
    """The textbook table, to check the bit-parallel one."""
    row = [0] * (len(b) + 1)
    for word in a:
        row, before = [0], row
        for j, other in enumerate(b):
            row.append(before[j] + 1 if word == other else max(before[j + 1], row[j]))
    return row[-1]


def test_common_words_are_a_longest_common_subsequence():
    rng = random.Random(7)
    for _ in range(60):
        a = rng.choices("abcd", k=rng.randint(0, 12))
        b = rng.choices("abcd", k=rng.randint(0, 12))
        kept_a, kept_b = common_word_flags(a, b)
        mine = [word for word, kept in zip(a, kept_a, strict=True) if kept]
        assert mine == [word for word, kept in zip(b, kept_b, strict=True) if kept]
        assert len(mine) == longest(a, b)


# ------------------------------------------------------------- list and filters


def test_the_list_pages_on_the_server_and_next_leads_over_the_edge(store):
    # 30 items x 3 pairs = 90 comparisons: 50 on the first page, 40 on the second.
    name = ask_all(store, FIRSTISH)
    first = load_inspect_page(store, Selection(study=name))
    assert (first.total, len(first.lines)) == (90, 50)
    assert "1–50 of 90" in text_of(list_html(first))
    second = load_inspect_page(store, Selection(study=name, page=1))
    assert (len(second.lines), second.place) == (40, 50)
    assert "51–90 of 90" in text_of(list_html(second))
    turns = re.findall(r'aria-label="(\w+) page" data-select="([^"]+)"( disabled)?',
                       list_html(second))  # fmt: skip
    pages = [
        (name, json.loads(html.unescape(sent))["page"], bool(off)) for name, sent, off in turns
    ]
    assert pages == [("Previous", 0, False), ("Next", 2, True)]
    back = load_inspect_page(store, Selection(study=name, key=second.previous))
    assert (back.selection.page, back.place) == (0, 49)
    assert back.next == second.selection.key


def test_a_key_that_is_not_in_view_gives_way_to_the_first_of_the_page(store):
    name = ask_all(store, FIRSTISH)
    inspected = load_inspect_page(store, Selection(study=name, key="no such key"))
    assert (inspected.place, inspected.opened is not None) == (0, True)


def test_flips_in_view_are_the_flips_that_metrics_count(store):
    name = ask_all(store, FIRSTISH)
    inspected = load_inspect_page(store, Selection(study=name, flipped=True))
    estimate = CONFLICT.estimate(store.frame(name))
    assert inspected.total == round(estimate.value * estimate.n) > 0
    assert all(opened_kind(store, name, line.seqs[0]) == "Flipped." for line in inspected.lines[:5])


def opened_kind(store: Store, name: str, seq: int) -> str:
    key = store.keys_by_seq([seq])[seq]
    opened = detail_panel(load_inspect_page(store, Selection(study=name, key=key)))
    return re.search(r'role="status"><b>(.*?)</b>', opened).group(1)


def test_search_looks_into_questions_and_replies(store):
    one = Item("q1", "What is 100% of A_B?", {"x": "1", "y": "2"})
    name = record(store, one, [told(one, "xy", 0, reply="Plainly X."), told(one, "yx", 1)])
    for text, n in (("100% of a_b", 1), ("plainly", 1), ("100x of", 0), ("aXb", 0), ("  ", 1)):
        assert load_inspect_page(store, Selection(study=name, text=text)).total == n, text


def test_chips_tell_a_flip_and_the_opened_line_is_current(store):
    one = Item("q1", "Why?", {"x": "1", "y": "2"})
    name = record(store, one, [told(one, "xy", 0), told(one, "yx", 0)])
    made = list_html(load_inspect_page(store, Selection(study=name)))
    assert text_of(made).endswith(" 1 comparison Why? 1st 1st x · y 1 of 1")
    assert made.count('aria-current="true"') == 1


def test_what_is_filtered_is_said_in_pills_and_menus(store):
    name = ask_all(store, FIRSTISH)
    made = filter_bar(
        load_inspect_page(store, Selection(study=name, flipped=True, judge="gone", text="<a"))
    )
    assert '<button type="button" class="eh-fpill on" aria-pressed="true"' in made
    assert '<option value="gone" selected="selected">gone</option>' in made
    assert 'value="&lt;a"' in made
    assert "Toward first" in made


# ----------------------------------------------------------------------- opened


def test_a_flip_says_where_it_leans_and_what_the_people_said(store):
    one = Item(
        "q1", "Why?", {"x": "so it is", "y": "so is it"},
        human=(Preference("ann", ("x", "y"), "tie"),),
    )  # fmt: skip
    name = record(store, one, [told(one, "xy", 1), told(one, "yx", 1)])
    said = text_of(detail_panel(load_inspect_page(store, Selection(study=name))))
    assert says(said, "Flipped", "chose", "orders")
    assert says(said, "person", "voted chose")
    assert says(said, "1", "y 2nd picked")
    assert says(said, "2 y", "2nd picked")


@pytest.mark.parametrize(
    ("picks", "words"),
    [
        ((0, 1), "Consistent. The judge chose x in both orders."),
        (("tie", "tie"), "Consistent. The judge called the comparison a tie in both orders."),
        (
            (0, "tie"),
            "Flipped. The judge chose x when shown first, and gave a tie when "
            "the answers were swapped.",
        ),
        (
            ("tie", 1),
            "Flipped. The judge chose x when shown second, and gave a tie when "
            "the answers were swapped.",
        ),
    ],
)
def test_why_it_is_here(store, picks, words):
    one = Item("q1", "Why?", {"x": "a", "y": "b"})
    name = record(store, one, [told(one, "xy", picks[0]), told(one, "yx", picks[1])])
    assert words in text_of(detail_panel(load_inspect_page(store, Selection(study=name))))


@pytest.mark.parametrize(
    ("orders", "words"),
    [
        (2, "Flipped. The judge reached 2 different outcomes in 2 orders."),
        (3, "Not all orders. The judge reached 2 different outcomes in 2 orders. Some"),
    ],
)
def test_other_outcomes_of_three_answers_are_neither_a_tie_nor_consistent(store, orders, words):
    one = Item("q1", "Why?", {"x": "a", "y": "b", "z": "c"})
    made = [told(one, "xyz", 0), told(one, "zyx", 1)]
    made = [
        replace(each, ask=replace(each.ask, labels=("A", "B", "C"), orders=orders)) for each in made
    ]
    name = record(store, one, made)
    assert words in text_of(detail_panel(load_inspect_page(store, Selection(study=name))))


def test_a_time_that_is_no_date_is_not_recorded(store):
    one = Item("q1", "Why?", {"x": "a", "y": "b"})
    late = replace(told(one, "xy", 0), time=1.7e12)  # milliseconds
    name = record(store, one, [late, replace(told(one, "yx", 1), time=1.7e9)])
    said = text_of(detail_panel(load_inspect_page(store, Selection(study=name))))
    assert f"Called {NOT_RECORDED} 2023-11-14 22:13 UTC" in said


def test_all_words_of_a_cut_answer_are_counted(store):
    one = Item("q1", "Why?", {"x": "word " * 12_000, "y": "word"})
    name = record(store, one, [told(one, "xy", 0), told(one, "yx", 1)])
    said = text_of(detail_panel(load_inspect_page(store, Selection(study=name))))
    assert "x 12,000 words" in said


def test_an_unread_reply_is_no_tie_and_its_reason_is_shown(store):
    one = Item("q1", "Why?", {"x": "a", "y": "b"})
    lost = told(one, "yx", None, status="refusal", reply="I would rather not.")
    name = record(store, one, [told(one, "xy", 0), lost])
    said = text_of(detail_panel(load_inspect_page(store, Selection(study=name))))
    assert says(said, "1", "2", "gave no", "(1 refusal)")
    assert says(said, "no measure", "name them", "unless", "ties")
    assert says(said, "I", "rather not")


def test_what_was_not_recorded_is_written_out(store):
    one = Item("q1", "Why?", {"x": "a"})
    name = record(store, one, [told(one, "xy", 0, reply="")])
    said = text_of(detail_panel(load_inspect_page(store, Selection(study=name))))
    assert f"Prompt as sent {NOT_RECORDED}" in said
    assert f"Tokens {NOT_RECORDED} Cost {NOT_RECORDED} Time {NOT_RECORDED}" in said
    assert says(said, "reply", "not recorded, only")
    assert f"y {NOT_RECORDED}" in said


def test_the_verdict_is_boxed_in_the_colour_of_its_slot(store):
    name = ask_all(store, FIRSTISH)
    inspected = load_inspect_page(store, Selection(study=name, status="ok", flipped=True))
    boxed = re.findall(r'<span class="eh-vd (\w+)">(.*?)</span>', detail_panel(inspected))
    picks = [order.reply.judgement.verdict.pick for order in inspected.opened.orders]
    slots = {0: ("first", "[[A]]"), 1: ("second", "[[B]]"), "tie": ("tie", "[[C]]")}
    assert boxed == [slots[pick] for pick in picks]


def test_a_simulated_judge_is_marked_as_one(store):
    assert "simulated judge" in detail_panel(
        load_inspect_page(store, Selection(study=ask_all(store, FIRSTISH)))
    )


def test_the_prompt_is_the_one_that_was_sent(store):
    name = ask_all(store, FIRSTISH)
    inspected = load_inspect_page(store, Selection(study=name))
    for order in inspected.opened.orders:
        assert order.sent.exact
        assert [role for role, _ in order.sent.messages] == ["system", "user"]
        first, second = (inspected.opened.item.responses[who] for who in order.shown)
        sent = order.sent.messages[1][1]
        assert sent.index(first) < sent.rindex(second)
    assert "the same hash" in text_of(detail_panel(inspected))


def test_label_probabilities_are_bars_in_slot_colours_with_the_crossed_labels(store):
    one = Item("q1", "Why?", {"x": "a", "y": "b"})
    ask = Ask("k1", "q1", "j", "p", ("x", "y"), ("B", "A"))
    verdict = Verdict(1, label_probabilities=(0.25, 0.75), label_mass=0.98)
    name = record(store, one, [Judgement(ask, "ok", verdict, "probabilities", "Answer: A")])
    made = detail_panel(load_inspect_page(store, Selection(study=name)))
    assert 'class="first" style="width:25.0%"' in made
    assert 'class="second" style="width:75.0%"' in made
    assert says(text_of(made).replace("\u202f", " "), "x 25.0", "y 75.0")
    assert says(text_of(made), "labelled", "y (labelled")


def test_answers_that_share_little_are_not_marked_and_the_page_says_so(store):
    one = Item("q1", "Why?", {"x": "a b c d", "y": "v w x y z"})
    name = record(store, one, [told(one, "xy", 0), told(one, "yx", 1)])
    made = detail_panel(load_inspect_page(store, Selection(study=name)))
    assert "<mark>" not in made
    assert says(made, "0", "both", "marked", "25")


def test_a_long_text_is_cut_and_says_by_how_much(store):
    one = Item("q1", "Why?", {"x": "a" * (MAX_TEXT + 7), "y": "b"})
    name = record(store, one, [told(one, "xy", 0), told(one, "yx", 1)])
    assert "7 more characters" in text_of(
        detail_panel(load_inspect_page(store, Selection(study=name)))
    )


@pytest.mark.parametrize("place", ["store", "current"])
def test_a_prompt_with_images_is_rebuilt_while_its_data_are_there(
    store, tmp_path, monkeypatch, place
):
    """Data beside the store, wherever the app was started, or in the current folder."""
    folder = tmp_path if place == "store" else tmp_path / place
    (folder / "data").mkdir(parents=True)
    monkeypatch.chdir(folder if place == "current" else "/")
    (folder / "data" / "dot.png").write_bytes(PIXEL)
    item = {"id": "q", "instruction": "?", "images": ["dot.png"], "criteria": {"subjective": "x"},
            "responses": {"x": "a dot", "y": "a line"}}  # fmt: skip
    (folder / "data" / "seen.jsonl").write_text(json.dumps(item), encoding="utf-8")
    name = ask_all(
        store, "name: seen\ndata: {source: data/seen.jsonl}\njudge_sees: images\n"
        "judges: [{name: sim, model: simulated, vision: true}]\nprompts: [creation-subjective]\n",
        folder,
    )  # fmt: skip
    opened = load_inspect_page(store, Selection(study=name)).opened
    assert [image.source for image in opened.images] == ["data:image/png;base64,iVBORw0KGgo="]
    for order in opened.orders:
        assert order.sent.exact and "[image]" in order.sent.messages[-1][1]
    with monkeypatch.context() as patch:  # a visitor's study, whose data are gone
        patch.setattr(store, "folder_of", lambda _: tmp_path / "visitor")
        shown = load_inspect_page(store, Selection(study=name)).opened.images
        assert not shown[0].source.startswith("data:")
    (folder / "data" / "seen.jsonl").unlink()
    for order in load_inspect_page(store, Selection(study=name)).opened.orders:
        assert not order.sent.messages and not order.sent.exact
        assert says(order.sent.note, "rebuilt", "dot.png")


# --------------------------------------------------------------- hostile, empty


def hostile(tmp_path) -> str:
    item = {
        "id": EVIL, "instruction": EVIL, "category": EVIL, "context": EVIL, "reference": EVIL,
        "images": ['https://example.org/x.png"onerror="alert(4)'],
        "responses": {f"a{EVIL}": f"one two {EVIL}", f"b{EVIL}": f"one three {EVIL}"},
    }  # fmt: skip
    (tmp_path / "evil.jsonl").write_text(json.dumps(item), encoding="utf-8")
    judge = json.dumps({"name": EVIL, "model": "simulated"})
    return f"name: {json.dumps(EVIL)}\ndata: {{source: {tmp_path}/evil.jsonl}}\n" + (
        f"judges: [{judge}]\nprompts: [label-probability]"
    )


def test_text_from_data_becomes_neither_tag_nor_attribute(store, tmp_path):
    name = ask_all(store, hostile(tmp_path))
    worse = {"rule": EVIL, "reply": EVIL, "reasoning": EVIL, "finish": EVIL, "model": EVIL}
    write(store, [replace(one, **worse, detail=EVIL) for one in store.judgements(name)])
    inspected = load_inspect_page(
        store, Selection(study=name, contestant=f"a{EVIL}", item=EVIL, text="<img")
    )
    for made in (filter_bar(inspected), list_html(inspected), detail_panel(inspected)):
        tags = tags_of(made)
        assert not {"img", "script"} & set(tags.names)
        assert not [name for name, _ in tags.attributes if name.startswith("on")]
        assert EVIL.split(" {{")[0] in html.unescape(made)


def test_an_address_is_a_link_and_only_images_beside_the_data_are_shown(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(PIXEL)
    (folder / "seen.png").write_bytes(PIXEL)
    (folder / "notes.txt").write_text("secret")
    assert load_image("seen.png", folder).source == "data:image/png;base64,iVBORw0KGgo="
    assert load_image("https://example.org/a.png", folder).link == "https://example.org/a.png"
    hidden = ("../secret.png", "notes.txt", "gone.png", "/etc/passwd", "javascript:alert(1)")
    for path in (*hidden, "data:text/html;base64,xx", "data:image/svg+xml;base64,xx"):
        assert (load_image(path, folder).source, load_image(path, folder).link) == ("", "")
    assert load_image("seen.png", None).source == ""


def test_empty_states_say_what_to_do(store):
    assert says(detail_panel(load_inspect_page(store, Selection())), "Create", "Study tab")
    plan = make_plan(parse_study(FIRSTISH))
    save_plan(plan, store)
    assert says(detail_panel(load_inspect_page(store, Selection())), "Choose", "top", "page")
    gone = load_inspect_page(store, Selection(study=EVIL))
    assert not {"img", "script"} & set(tags_of(detail_panel(gone)).names)
    planned = load_inspect_page(store, Selection(study="firstish"))
    assert says(text_of(detail_panel(planned)), "Planned: 180 calls. Start")
    assert (filter_bar(planned), text_of(list_html(planned))) == ("", "")


def test_filters_that_leave_nothing_offer_a_way_back(store):
    one = Item("q1", "Why?", {"x": "a", "y": "b"})
    name = record(store, one, [told(one, "xy", 0), told(one, "yx", 1)])
    for selection, words in (
        (Selection(study=name, flipped=True), "No comparison has flipped"),
        (Selection(study=name, status="failures"), "No reply is unusable."),
        (Selection(study=name, text="<zzz"), "No question or reply contains “<zzz”."),
    ):
        made = detail_panel(load_inspect_page(store, selection))
        assert words in text_of(made)
        assert "data-select" in made


def test_an_image_is_shown_up_to_the_limit_of_its_size(tmp_path, monkeypatch):
    (tmp_path / "seen.png").write_bytes(PIXEL)
    monkeypatch.setattr(load_comparison, "MAX_IMAGE_BYTES", len(PIXEL))
    assert load_image("seen.png", tmp_path).source
    monkeypatch.setattr(load_comparison, "MAX_IMAGE_BYTES", len(PIXEL) - 1)
    assert load_image("seen.png", tmp_path).source == ""
    monkeypatch.setattr(load_comparison, "MAX_IMAGE_BYTES", 10_000)
    monkeypatch.setattr(load_comparison, "why_image_refused", lambda content, length: "too large")
    assert load_image("seen.png", tmp_path).source == ""
