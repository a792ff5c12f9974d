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
    places_by_analysis_html,
)
from components.results.view.result_view import PanelGroup
from metrics.win_rates.first_place import ranks_under_all_analyses
from tests.metrics.frames import build
from tests.metrics.frames import pair as both_orders
from tests.page_words import says


def shown(
    frame: pd.DataFrame, chosen: Filter | None = None, rule: tuple[str, str] = ("pooled", "exclude")
) -> SimpleNamespace:
    """The parts of a filtered study that the strip reads."""
    return SimpleNamespace(measured_judge_rows=frame, filter=chosen or Filter(), rule=rule)


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
    html = str(places_by_analysis_html(shown(frame)))  # type: ignore[arg-type]
    # prompts p and q, three opponents, flips as ties, and the one order that was asked
    assert says(html, "against c") and html.count("</button></th>") == 7
    rows = html.split("<tr")[2:]
    assert [row.count("eh-moved") > 0 for row in rows[:2]] == [True, True]
    assert "1–2" in rows[0]
    assert says(html, "a</b>", "of 50 random halves", "2 changed verdicts of 27", "b")


def test_columns_of_the_strip_change_one_choice_each() -> None:
    analyses = ranks_under_all_analyses(two_prompts())
    default = analyses[0]
    columns = analyses_with_one_change(analyses)
    assert {one.prompt for one in columns} == {"all", "p", "q"}
    for one in columns:
        changed = [
            getattr(one, name) != getattr(default, name)
            for name in ("ties", "order", "prompt", "baseline")
        ]
        assert sum(changed) == 1


def test_two_models_have_no_strip() -> None:
    frame = build([{"item": f"{k}", "shown": ("a", "b"), "pick": 0} for k in range(6)])
    assert "<table" not in str(places_by_analysis_html(shown(frame)))  # type: ignore[arg-type]


def test_a_choice_that_is_a_filter_sets_it_and_keeps_the_others() -> None:
    filtered = shown(two_prompts(), Filter(judge="j", contestants=("a",)))
    html = unescape(str(places_by_analysis_html(filtered)))  # type: ignore[arg-type]
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
    columns = {
        one.baseline: one for one in analyses_with_one_change(ranks_under_all_analyses(frame))
    }
    for name in "abc":
        filtered = Filter(contestants=(name,)).apply(frame)
        assert ranks_under_all_analyses(filtered)[0].places == columns[name].places


def test_one_order_opens_the_ratings_by_order_and_ties_left_out_is_plain_text() -> None:
    rows = [
        {"item": f"{k}", "shown": shown, "pick": pick}
        for k in range(4)
        for pair in (("a", "b"), ("a", "c"), ("b", "c"))
        for shown, pick in ((pair, 0), (pair[::-1], "tie" if k else 1))
    ]
    html = unescape(str(places_by_analysis_html(shown(build(rows)))))  # type: ignore[arg-type]
    heads = re.findall(r"<th[^>]*>(.*?)</th>", html.partition("</thead>")[0])
    order = next(one for one in heads if one.endswith(">one order</button>"))
    assert f'data-unfold="{ORDERS_FOLD}"' in order
    assert "ties left out" in heads
    names = {group.name for group in ranking_tab.PAIRS.panels if isinstance(group, PanelGroup)}
    assert ORDERS_FOLD == "[data-keep=fold_orders]" and "fold_orders" in names


def test_the_strip_ranks_by_the_rule_of_the_study() -> None:
    """Of 6 pairs each, a wins and ties against c, b wins 4 and loses 2 against c, and a ties with
    b. Single verdicts: a 15 of 24, b 14 of 24. Both orders must agree: a 6 of 12, b 7 of 12; b is
    passed by two changes, as one pair moves the two rates together by 1/12 at most."""
    rows = [
        row
        for k in range(6)
        for x, y, first, second in (
            ("a", "c", 0, "tie"), ("b", "c", int(k > 3), int(k < 4)), ("a", "b", "tie", "tie")
        )
        for row in both_orders(f"q{k}", first, second, x=x, y=y)
    ]  # fmt: skip
    html = places_by_analysis_html(shown(build(rows)))  # type: ignore[arg-type]
    assert says(html, "flips as ties") and says(html, "<b>a</b> is first")
    html = places_by_analysis_html(shown(build(rows), rule=("strict", "exclude")))  # type: ignore[arg-type]
    assert says(html, "<b>b</b> is first", "2 changed combined verdicts", "of 18 would")
    assert not says(html, "flips as")
