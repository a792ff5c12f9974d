"""Details of one call in Inspect: what was recorded, and what was not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from components.inspect.comparison_html import _call_details, _token_text
from components.inspect.load_comparison import NOT_RECORDED
from studies.domain import Ask, Judgement, Usage, Verdict
from tests.page_words import says, text_of

ASK = Ask("key<1>", "q", "j", "p", ("x", "y"), ("A", "B"))
WHOLE = Judgement(
    ASK, "ok", Verdict(0), "last<line>", finish="stop", usage=Usage(1_200, 30, 1_000), cost=0.25,
    seconds=2.0, model="m<1>", time=86_400.0,
)  # fmt: skip


def told(judgement: Judgement, recorded: bool = False) -> dict[str, str]:
    return {name: text_of(value) for name, value in _call_details(judgement, recorded).items()}


def test_everything_that_was_recorded_is_told_in_its_unit() -> None:
    found = told(WHOLE)
    assert says(found.pop("Tokens"), "1,200 in, 1,000", "cached, 30 out")
    assert found.pop("Status").endswith("ok") and found == {
        "Rule": "last<line>", "Labels": "A, B", "Cost": "$0.25", "Time": "2.0 s",
        "Model": "m<1>", "Finish": "stop", "Called": "1970-01-02 00:00 UTC",
        "Key": "key<1>",
    }  # fmt: skip
    assert "<1>" not in "".join(_call_details(WHOLE, False).values())
    single = replace(WHOLE, ask=replace(ASK, shown=("x",), labels=("fail", "pass")))
    assert told(single)["Options"] == "fail, pass" and "Labels" not in told(single)


def test_what_was_not_recorded_is_said_and_not_zero() -> None:
    bare = Judgement(replace(ASK, labels=()), "ok")
    found = told(bare)
    unknown = {name for name, text in found.items() if text == NOT_RECORDED}
    assert unknown == {"Rule", "Labels", "Tokens", "Time", "Model", "Finish", "Called"}
    assert found["Cost"] == "price unknown" and told(bare, True)["Cost"] == NOT_RECORDED
    assert told(WHOLE, True)["Cost"] == "$0.25" and told(replace(bare, cost=0.0))["Cost"] == "free"


@pytest.mark.parametrize("time", [0.0, -1.0, 1e11, 1e300])
def test_a_time_that_is_none_or_beyond_all_calendars_is_not_recorded(time: float) -> None:
    assert told(replace(WHOLE, time=time))["Called"] == NOT_RECORDED


def test_tokens_are_told_if_one_of_the_two_numbers_is_known() -> None:
    assert _token_text(Usage(None, None, 5)) == ""
    assert _token_text(Usage(7, 2)) == "7 in, 2 out"
    assert _token_text(Usage(7, None)).startswith("7 in, ")
    assert _token_text(Usage(None, 2)).endswith(" 2 out")
