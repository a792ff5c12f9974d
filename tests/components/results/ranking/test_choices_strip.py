"""The strip of places under other choices: a dot where a place stays, a number where it moves."""

from __future__ import annotations

import json
import re
from html import unescape
from types import SimpleNamespace

import pandas as pd

from components.filtering.filters import COUNTING_RULES, Filter
from components.results.ranking import tab as ranking_tab
from components.results.ranking.analysis_places import (
    ORDERS_FOLD,
    analyses_with_one_change,
    places_by_analysis,
)
from components.results.view.result_view import PanelGroup
from metrics.win_rates.first_place import rank_multiverse
from tests.metrics.frames import build
from tests.page_words import says


def two_prompts() -> pd.DataFrame:
    """Prompt p prefers a six times, prompt q prefers b three times; c always loses."""
    rows = []
    for prompt, winner, times in (("p", "a", 6), ("q", "b", 3)):
        for k in range(times):
            for pair in (("a", "b"), ("a", "c"), ("b", "c")):
                pick = pair.index(winner) if winner in pair else 0
                rows.append(
                    {"item": f"{k}", "shown": pair, "pick": pick, "prompt": prompt, "orders": 1}
                )
    return build(rows)


def test_a_moved_place_is_a_number_and_the_range_covers_it() -> None:
    frame = two_prompts()
    html = str(places_by_analysis(SimpleNamespace(measured_judge_rows=frame, filter=Filter())))  # type: ignore[arg-type]
    # prompts p and q, three opponents, flips as ties, and the one order that was asked
    assert says(html, "against c") and html.count("</button></th>") == 7
    rows = html.split("<tr")[2:]
    assert [row.count("eh-moved") > 0 for row in rows[:2]] == [True, True]
    assert "1–2" in rows[0]
    assert says(html, "a</b>", "of 50 random halves", "2 changed verdicts of 27", "b")


def test_columns_of_the_strip_change_one_choice_each() -> None:
    analyses = rank_multiverse(two_prompts())
    default = analyses[0]
    shown = analyses_with_one_change(analyses)
    assert {one.prompt for one in shown} == {"all", "p", "q"}
    for one in shown:
        changed = [
            getattr(one, name) != getattr(default, name)
            for name in ("ties", "order", "prompt", "baseline")
        ]
        assert sum(changed) == 1


def test_two_models_have_no_strip() -> None:
    frame = build([{"item": f"{k}", "shown": ("a", "b"), "pick": 0} for k in range(6)])
    assert "<table" not in str(
        places_by_analysis(SimpleNamespace(measured_judge_rows=frame, filter=Filter()))
    )  # type: ignore[arg-type]


def test_a_choice_that_is_a_filter_sets_it_and_keeps_the_others() -> None:
    filtered = SimpleNamespace(
        measured_judge_rows=two_prompts(), filter=Filter(judge="j", contestants=("a",))
    )
    html = unescape(str(places_by_analysis(filtered)))  # type: ignore[arg-type]
    found = [json.loads(text) for text in re.findall(r'data-go="(\{.*?\})"', html)]
    kept = {"view": "Ranking", "judge": "j", "contestants": "a"}
    assert [one for one in found if "prompt" in one] == [{**kept, "prompt": k} for k in "pq"]
    (strict,) = [one for one in found if "rule" in one]
    assert COUNTING_RULES[strict.pop("rule")] == ("strict", "exclude") and strict == kept
    opponents = [one for one in found if "prompt" not in one and one is not strict]
    assert opponents == [{**kept, "contestants": k} for k in "abc"]


def test_the_filter_of_an_opponent_gives_the_places_of_its_column() -> None:
    """The strip says that against c alone these are the places; so must the filtered ranking."""
    frame = two_prompts()
    columns = {one.baseline: one for one in analyses_with_one_change(rank_multiverse(frame))}
    for name in "abc":
        filtered = Filter(contestants=(name,)).apply(frame)
        assert rank_multiverse(filtered)[0].places == columns[name].places


def test_one_order_opens_the_ratings_by_order_and_ties_left_out_is_plain_text() -> None:
    rows = [
        {"item": f"{k}", "shown": shown, "pick": pick}
        for k in range(4)
        for pair in (("a", "b"), ("a", "c"), ("b", "c"))
        for shown, pick in ((pair, 0), (pair[::-1], "tie" if k else 1))
    ]
    html = unescape(
        str(places_by_analysis(SimpleNamespace(measured_judge_rows=build(rows), filter=Filter())))
    )  # type: ignore[arg-type]
    heads = re.findall(r"<th[^>]*>(.*?)</th>", html.partition("</thead>")[0])
    order = next(one for one in heads if one.endswith(">one order</button>"))
    assert f'data-unfold="{ORDERS_FOLD}"' in order
    assert "ties left out" in heads
    names = {group.name for group in ranking_tab.PAIRS.panels if isinstance(group, PanelGroup)}
    assert ORDERS_FOLD == "[data-keep=fold_orders]" and "fold_orders" in names
