"""Comparisons in the list of Inspect: flips, repeats, pages, reasons if it is empty."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.inspect import comparison_index, list_html
from components.inspect.comparison_index import PAGE_SIZE, ComparisonIndex, OrderVerdict
from components.inspect.explanation import Explanation, explain_comparison, label_text
from components.inspect.load_comparison import (
    ComparisonDetail,
    InspectedReply,
    InspectedStudy,
    OrderReplies,
    SentMessages,
)
from components.inspect.url_selection import FAILURES, Selection
from studies.domain import Ask, Item, Judgement, Preference, Verdict
from studies.frames.frame import NO_PICK, TIE
from tests.page_words import says, text_of


def index(flipped: list[bool], lean: list[int]) -> ComparisonIndex:
    n = len(flipped)
    rows = np.arange(n)
    return ComparisonIndex(
        pd.DataFrame({"seq": rows + 10}), rows, rows, np.array(flipped), np.array(lean), rows < 0
    )


def test_flips_are_split_by_the_position_chosen_more_often() -> None:
    """A flip between a pick and a tie leans by one, a conflict by two; lean 0 has no direction."""
    made = index([True, True, True, True, True, False], [2, 1, 0, -1, -2, 2])
    assert comparison_index._flip_mask(made, "").tolist() == [True] * 5 + [False]
    first = comparison_index._flip_mask(made, "first")
    second = comparison_index._flip_mask(made, "second")
    assert first.tolist() == [True, True, False, False, False, False]
    assert second.tolist() == [False, False, False, True, True, False]
    assert not comparison_index._flip_mask(made, "other").any()
    comparison_index._flip_mask(made, "")[:] = False
    assert made.flipped.sum() == 5, "the index itself is not changed"


@pytest.mark.parametrize(
    ("picks", "pick"),
    [
        ([], None),
        ([NO_PICK], None),
        ([0], 0),
        ([1, 1, 0], 1),
        ([0, 1], None),
        ([TIE, TIE, 0], "tie"),
        ([TIE, 0, 0], 0),
        ([NO_PICK, NO_PICK, 1], 1),
        ([2, 2, 1, 1, 0], None),
        ([TIE, 0], None),
    ],
)
def test_repeats_give_the_most_frequent_verdict(picks: list[int], pick: Any) -> None:
    assert comparison_index._modal_pick(picks) == pick


def row(shown: str, pick: int = 0, status: str = "ok", seq: int = 1, **more: Any) -> dict[str, Any]:
    values = {"noise": False, "item": "q", "category": "c", "judge": "j", "prompt": "p", **more}
    return {"shown": shown, "pick": pick, "status": status, "seq": seq, **values}


def test_an_order_takes_its_verdict_from_calls_that_are_no_repeat_for_noise() -> None:
    sep = comparison_index.SEP
    rows = [
        row(f"x{sep}y", NO_PICK, "unreadable", 1),
        row(f"x{sep}y", 1, "ok", 2),
        row(f"y{sep}x", 0, "ok", 3),
        row(f"y{sep}x", 1, "ok", 4, noise=True),
        row(f"y{sep}x", NO_PICK, "refusal", 5, noise=True),
    ]
    found = comparison_index._comparison_row(7, rows)
    assert (found.at, found.seqs, found.model_names) == (7, (1, 2, 3, 4, 5), ("x", "y"))
    assert found.verdicts == (OrderVerdict(("x", "y"), 1, "ok"), OrderVerdict(("y", "x"), 0, "ok"))
    assert found.failed_repeats == ("unreadable", "refusal")
    alone = comparison_index._comparison_row(0, [row("x", NO_PICK, "unreadable")])
    assert alone.verdicts == (OrderVerdict(("x",), None, "unreadable"),)
    assert alone.failed_repeats == ()
    only_noise = comparison_index._comparison_row(0, [row("x", 1, noise=True)])
    assert only_noise.verdicts[0].pick == 1


def test_scores_are_kept_only_if_every_answer_has_one() -> None:
    sep = comparison_index.SEP
    both = row(f"x{sep}y", NO_PICK, score_0=7.0, score_1=3.5)
    assert comparison_index._order_verdict(f"x{sep}y", [both]).scores == (7.0, 3.5)
    half = row(f"x{sep}y", NO_PICK, score_0=7.0, score_1=np.nan)
    assert comparison_index._order_verdict(f"x{sep}y", [half]).scores == ()
    assert comparison_index._order_verdict(f"x{sep}y", [row("", 0)]).scores == ()


@pytest.mark.parametrize(
    ("matches", "page", "opened", "found"),
    [
        (0, 0, None, 0),
        (0, 3, None, 0),
        (PAGE_SIZE, 1, None, 0),
        (PAGE_SIZE + 1, 1, None, 1),
        (PAGE_SIZE + 1, 9, None, 1),
        (PAGE_SIZE + 1, -2, None, 0),
        (PAGE_SIZE + 1, 0, 2 * PAGE_SIZE, 1),
        (PAGE_SIZE + 1, 1, 2 * (PAGE_SIZE - 1), 0),
    ],
)
def test_the_page_is_that_of_the_opened_comparison_or_the_nearest_that_exists(
    matches: int, page: int, opened: int | None, found: int
) -> None:
    """The matching comparisons have even numbers."""
    numbers = 2 * np.arange(matches)
    assert comparison_index.page_number(numbers, Selection(page=page), opened) == found


def test_a_judgement_is_found_by_its_number() -> None:
    made = index([False, False], [0, 0])
    assert comparison_index.find_comparison(made, 11) == 1
    assert comparison_index.find_comparison(made, 10) == 0
    assert comparison_index.find_comparison(made, 12) is None
    assert comparison_index.find_comparison(made, None) is None


# ---- the list ------------------------------------------------------------------------------------


def inspected(total: int = 0, **more: Any) -> InspectedStudy:
    values: dict[str, Any] = {"selection": Selection(study="s"), "choices": {}, **more}
    return InspectedStudy(studies=values.pop("studies", 1), planned=values.pop("planned", 9),
                          total=total, **values)  # fmt: skip


@pytest.mark.parametrize(
    ("total", "page", "shown", "keys", "pages"),
    [
        (1, 0, "1 of 1", False, []),
        (2, 0, "1–2 of 2", True, []),
        (PAGE_SIZE, 0, f"1–{PAGE_SIZE} of {PAGE_SIZE}", True, []),
        (PAGE_SIZE + 1, 0, f"1–{PAGE_SIZE} of {PAGE_SIZE + 1}", True, [(-1, True), (1, False)]),
        (PAGE_SIZE + 1, 1, f"{PAGE_SIZE + 1} of {PAGE_SIZE + 1}", True, [(0, False), (2, True)]),
        (3 * PAGE_SIZE, 1, f"{PAGE_SIZE + 1}–{2 * PAGE_SIZE} of {3 * PAGE_SIZE}", True,
         [(0, False), (2, False)]),
    ],
)  # fmt: skip
def test_a_footer_counts_and_turns_pages_that_exist(
    total: int, page: int, shown: str, keys: bool, pages: list[tuple[int, bool]]
) -> None:
    line = comparison_index.ComparisonRow(
        0, (1,), "q", "", "j", "p", (OrderVerdict(("x", "y"), 0, "ok"),)
    )
    listed = inspected(total, selection=Selection(study="s", page=page), lines=(line,))
    made = list_html.list_html(listed).partition('<div class="f">')[2]
    assert text_of(made).startswith(shown)
    assert ("<kbd>j</kbd>" in made) is keys
    found = re.findall(r"&quot;page&quot;: (-?\d+)|\"page\": (-?\d+)", html.unescape(made))
    numbers = [int(one or two) for one, two in found]
    disabled = ["disabled" in tag for tag in re.findall(r"<button[^>]*>", made)]
    assert list(zip(numbers, disabled, strict=True)) == pages


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        (OrderVerdict(("x", "y"), None, "ok", (7.0, 3.5)), "7 · 3.5"),
        (OrderVerdict(("x",), None, "ok", (10.0,)), "10"),
    ],
)
def test_scores_are_listed_with_a_decimal_only_if_they_have_one(
    mark: OrderVerdict, text: str
) -> None:
    assert text_of(list_html._order_chip(mark)) == text


def test_a_failure_is_a_badge_and_a_pick_with_scores_a_chip() -> None:
    failed = list_html._order_chip(OrderVerdict(("x", "y"), None, "unreadable"))
    assert "unreadable" in text_of(failed).lower()
    picked = list_html._order_chip(OrderVerdict(("x", "y"), 0, "ok", (7.0, 3.0)))
    assert "7" not in text_of(picked) and picked == list_html._order_chip(
        OrderVerdict(("x", "y"), 0, "ok")
    )


def test_judge_and_prompt_are_in_a_row_where_several_are_listed() -> None:
    several = {"judge": ["a", "b"], "prompt": ["p", "q"]}
    assert list_html._varying_fields(inspected(choices=several)) == ("judge", "prompt")
    one = inspected(choices=several, selection=Selection(judge="a"))
    assert list_html._varying_fields(one) == ("prompt",)
    assert list_html._varying_fields(inspected(choices={"judge": ["a"]})) == ()


def reason(**more: Any) -> str:
    selection = Selection(study="s", **more.pop("chosen", {}))
    return text_of(list_html.empty_list_panel(inspected(selection=selection, **more)))


def test_an_empty_list_says_which_filter_leaves_nothing() -> None:
    none, some = {"all": 0, "flipped": 0}, {"all": 5, "flipped": 0}
    assert says(reason(choices=None), "No study", "named s")
    assert "at the top" in reason(choices=None) and "Study tab" in reason(choices=None, studies=0)
    assert "9 calls" in reason(counts=none) and "no calls" in reason(counts=none, planned=0)
    assert "“zebra”" in reason(counts=none, chosen={"text": "zebra"})
    assert "zebra" not in reason(counts=some, chosen={"text": "zebra"})
    assert "flipped" in reason(counts=some, chosen={"flipped": True})
    assert "flipped" not in reason(counts={**some, "flipped": 2}, chosen={"flipped": True})
    assert "unusable." in reason(counts=some, chosen={"status": FAILURES})
    both = {"status": FAILURES, "flipped": True}
    full = reason(counts={**some, "flipped": 2, FAILURES: 3}, chosen=both)
    assert "unusable" not in full and "Remove a filter" in full
    for chosen in ({"text": "zebra"}, {"flipped": True}, {"status": FAILURES}):
        assert "other filters" not in reason(counts=none, chosen=chosen)
        assert "other filters" in reason(counts=none, chosen={**chosen, "item": "q"})
    assert "Vote tab" in reason(counts=some, chosen={"verified": "harmful"})
    known = {list_html.ANY_CHECK: 1}
    assert "Vote" not in reason(counts=some, chosen={"verified": "harmful"}, verified=known)
    assert "Clear the filters" in reason(counts=some, chosen={"judge": "a"})


def test_an_empty_list_only_tells_its_filters_to_the_address() -> None:
    assert list_html.list_html(inspected(0, choices=None)) == ""
    empty = inspected(0, choices={}, selection=Selection(study="s", judge="a"))
    told = list_html.list_html(empty)
    assert text_of(told) == "" and "hidden" in told and "eh-list" not in told
    assert '{"judge": "a"}' in html.unescape(told)


# ---- repeats that disagree -----------------------------------------------------------------------


def told_of(picks_by_order: list[list[int]], flipped: bool = False) -> tuple[Explanation, str]:
    """Explanation and list chips of a comparison, from the picks of the repeats in each order."""
    names = [comparison_index.SEP.join(one) for one in ("abcd", "bcda", "cdab", "dabc")]
    rows = [
        row(shown, pick, seq=10 * place + seq)
        for place, (shown, picks) in enumerate(zip(names, picks_by_order, strict=False))
        for seq, pick in enumerate(picks)
    ]
    line = comparison_index._comparison_row(0, rows)
    detail = ComparisonDetail(line, None, (), (), (), flipped, False, False)
    return explain_comparison(detail), "".join(list_html._order_chip(one) for one in line.verdicts)


def test_repeats_that_disagree_are_no_tie_and_not_consistent() -> None:
    """The picks of a stored comparison of four options: two repeats in each of four orders."""
    found, chips = told_of([[2, 3], [2, 0], [1, 3], [0, 1]])
    assert "tie" not in text_of(chips) and found.title != "Consistent."
    assert says(found.text, "4 of 4", "disagree")
    tied, chips = told_of([[TIE, TIE], [TIE], [TIE], [TIE]])
    assert chips.count(">tie<") == 4 and tied.title == "Consistent."
    # One order is divided: the others agree on c, or flip.
    agreed, _ = told_of([[2, 3], [1, 1], [0], [3]], flipped=True)
    assert agreed.title != "Flipped." and says(agreed.text, "1 of 4", "disagree")
    flipped, _ = told_of([[2, 3], [1], [0], [0]], flipped=True)
    assert flipped.title == "Flipped." == told_of([[0], [3], [0], [1]], True)[0].title
    assert says(flipped.text, "1 of 4", "disagree")


def explained(orders: list[OrderVerdict], *, flipped: bool = False, human: Any = ()) -> Explanation:
    line = comparison_index._comparison_row(0, [row(comparison_index.SEP.join(XY))])
    line = replace(line, verdicts=tuple(orders))
    item = Item("q", "?", {"x": "1", "y": "2"}, human=tuple(human)) if human else None
    return explain_comparison(ComparisonDetail(line, item, (), (), (), flipped, False, False))


def single_answer(scores: Sequence[float], labels: str, gold: float) -> ComparisonDetail:
    """The detail of one answer with a reply for each score; `labels`: "pass fail" or a scale."""
    made = tuple(
        InspectedReply(
            Judgement(
                Ask(str(i), "q", "j", "p", ("x",), tuple(labels.split()), repeat=i),
                status="ok",
                verdict=Verdict(None, scores=(score,)),
            )
        )
        for i, score in enumerate(scores)
    )
    rows = [row("x", NO_PICK, score_0=scores[0], gold=gold)]
    line = comparison_index._comparison_row(0, rows)
    orders = (OrderReplies(("x",), made[0], made[1:], SentMessages()),)
    return ComparisonDetail(line, None, (), (), orders, False, False, False)


@pytest.mark.parametrize(
    ("scores", "labels", "gold", "title", "words"),
    [
        ([1], "pass fail", 0.0, "False pass.", ["passed the answer", "label is fail"]),
        ([0, 0], "fail pass", 1.0, "False fail.", ["failed the answer", "label is pass"]),
        ([1, 1], "pass fail", 1.0, "Passed.", ["label is pass"]),
        ([0], "pass fail", float("nan"), "Failed.", ["failed the answer"]),
        ([1, 0, 1], "pass fail", 0.0, "Replies disagree.", ["2 of 3 replies", "label is fail"]),
        ([3, 4], "1 2 3 4 5", 4.5, "Scored.", ["gave 3 and 4 in 2 replies", "label is 4.5"]),
    ],
)  # fmt: skip
def test_a_verdict_on_a_single_answer_is_named_beside_the_label(
    scores, labels, gold, title, words
) -> None:
    opened = single_answer(scores, labels, gold)
    found = explain_comparison(opened)
    assert found.title == title and says(text_of(found.text), *words)
    assert ("label" in found.text) == (gold == gold) == bool(label_text(opened))


XY, YX = ("x", "y"), ("y", "x")


@pytest.mark.parametrize(
    ("orders", "flipped", "title", "words"),
    [
        ([OrderVerdict(XY, 1, "ok")], False, "One order.", ["chose y, shown second."]),
        ([OrderVerdict(XY, "tie", "ok")], False, "One order.", ["comparison a tie."]),
        ([OrderVerdict(XY, 0, "ok"), OrderVerdict(YX, 1, "ok")], False, "Consistent.",
         ["chose x in both orders."]),
        ([OrderVerdict(XY, "tie", "ok"), OrderVerdict(YX, "tie", "ok")], False, "Consistent.",
         ["a tie in both orders."]),
        ([OrderVerdict(XY, 1, "ok"), OrderVerdict(YX, 1, "ok")], True, "Flipped.",
         ["the answer shown second in both"]),
        ([OrderVerdict(XY, "tie", "ok"), OrderVerdict(YX, 0, "ok")], True, "Flipped.",
         ["chose y when shown first", "gave a tie"]),
        ([OrderVerdict(XY, 0, "ok"), OrderVerdict(YX, "tie", "ok")], True, "Flipped.",
         ["chose x when shown first"]),
        ([OrderVerdict(XY, 0, "ok"), OrderVerdict(YX, 0, "ok")], False, "Not all orders.",
         ["2 different outcomes", "in 2 orders."]),
        ([OrderVerdict(XY, None, "ok", (3.0, 4.0))], False, "Scored.", ["picked no answer."]),
        ([OrderVerdict(XY, None, "empty")], False, "Unusable replies.",
         ["gave no verdict", "(1 empty)"]),
        ([OrderVerdict(XY, None, "too_long"), OrderVerdict(YX, 0, "ok")], False,
         "Unusable replies.", ["1 of the judge's 2 replies", "(1 too long)"]),
        ([OrderVerdict(XY, None, "error"), OrderVerdict(YX, 0, "ok")], False, "Failed calls.",
         ["1 of 2 calls failed"]),
        ([OrderVerdict(XY, None, "error"), OrderVerdict(YX, None, "empty")], False,
         "Unusable replies.", ["(1 error, 1 empty)"]),
    ],
)  # fmt: skip
def test_each_outcome_of_two_answers_has_its_sentence(orders, flipped, title, words) -> None:
    found = explained(orders, flipped=flipped)
    assert found.title == title and says(found.text, *words)


@pytest.mark.parametrize(
    ("votes", "text"),
    [
        (["x"], "The one person who voted chose x."),
        (["tie"], "The one person who voted chose a tie."),
        (["x", "y", "x"], "3 people voted: 2 for x, 1 for y."),
        (["tie", "y", "tie"], "3 people voted: 2 for a tie, 1 for y."),
    ],
)
def test_votes_of_people_are_told_beside_the_finding(votes, text) -> None:
    human = [Preference(f"p{at}", XY, vote) for at, vote in enumerate(votes)]
    assert explained([OrderVerdict(XY, 0, "ok")], human=human).text.endswith(text)
