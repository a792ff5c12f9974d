"""The plan strip is true: counts are exact, prices come from the file that Run reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.study import plan as study_plan
from components.study.bench import bench, loaded, planned
from components.study.plan import counted, left_of, no_plan, plan_strip, run_words, told, tryout
from components.study.sheet import START
from components.study.words import lead, question
from judges.plan import asks_of, forecast, save_plan
from studies.errors import EvenhandError
from studies.study import DataSpec

HERE = Path()
SIMULATED = START.replace("model: embedded", "model: simulated")
ENDPOINT = """
name: priced
data: {source: probe, count: 4, seed: 1}
contestants: [precise, flawed]
judges:
- {name: gpt, model: m, base_url: 'http://127.0.0.1:9/v1', price: {input: 1000, output: 0}}
- {name: fair, model: simulated, accuracy: 1}
prompts: [brief-letters]
"""
MANY = """
name: many
data: {source: probe, seed: 3}
judges:
- {name: a, model: simulated, first_bias: 0.3}
- {name: b, model: simulated, accuracy: 0.8}
prompts: [brief-letters, brief-options, mt-bench-single]
noise_floor: 0.25
repeats: 2
unrelated: add
"""


@pytest.mark.parametrize("text", [SIMULATED, ENDPOINT, MANY])
def test_the_count_is_the_number_of_asks_that_are_made(text):
    plan = planned(text, HERE)
    asks = [one.ask for one in asks_of(plan)]
    assert counted(plan) == (len(asks), sum(ask.noise for ask in asks))


def test_strip_and_button_name_the_same_number():
    # 12 items x 1 pair x 2 orders = 24, and the noise floor repeats some of them
    plan = planned(SIMULATED, HERE)
    numbers = told(plan)
    assert numbers.asks - numbers.noise == 24
    assert run_words(numbers) == f"Run {numbers.asks} asks, free"
    assert f">{numbers.asks}</dd>" in plan_strip(plan, numbers)
    assert f"24 + {numbers.noise} for the noise floor" in plan_strip(plan, numbers)


def test_a_large_plan_is_worked_out_from_items_spread_over_the_slice(monkeypatch):
    plan = planned(MANY, HERE)
    whole = told(plan)
    monkeypatch.setattr(study_plan, "MOST_EXACT", 100)
    monkeypatch.setattr(study_plan, "SAMPLE", 500)
    part = told(plan)
    assert part.asks == whole.asks and part.noise == whole.noise  # counted, not guessed
    assert 0 < part.sampled < whole.asks
    assert part.prompt_tokens == pytest.approx(whole.prompt_tokens, rel=0.1)
    assert "asks</dd>" in plan_strip(plan, part)


def test_dollars_are_told_by_judge_and_against_the_budget():
    plan = planned(ENDPOINT + "budget_usd: 2\n", HERE)
    numbers = told(plan)
    assert numbers.dollars == pytest.approx(forecast(plan).dollars)
    html = plan_strip(plan, numbers)
    assert "gpt all of it; fair free" in html
    assert "of $2.00" in html and "eh-meter" in html


def test_a_budget_that_is_too_small_is_said_before_the_run():
    plan = planned(ENDPOINT + "budget_usd: 0.01\n", HERE)
    assert "more than the budget: it stops before $0.01" in plan_strip(plan, told(plan))


def test_a_price_nobody_told_is_unknown_not_free():
    plan = planned(ENDPOINT.replace(", price: {input: 1000, output: 0}", ""), HERE)
    assert run_words(told(plan)).endswith("price unknown")
    assert "no price is known for gpt" in plan_strip(plan, told(plan))


def test_a_study_that_was_begun_names_what_is_left(store):
    plan = planned(SIMULATED, HERE)
    assert left_of(plan, store) is None
    save_plan(plan, store)
    numbers = told(plan)
    assert left_of(plan, store) == numbers.asks
    assert run_words(numbers, 7) == "Run the 7 asks left, free"
    assert run_words(numbers, 0) == "Run again: nothing is left to ask"


def test_without_a_plan_there_are_dashes_not_the_last_plan():
    assert no_plan().count(">–</dd>") == 4


def test_a_tryout_asks_one_comparison_of_each_judge_and_prompt():
    # 2 judges x 2 prompts x 1 pair x 2 orders
    text = ENDPOINT.replace("[precise, flawed]", "[]").replace(
        "[brief-letters]", "[brief-letters, brief-numbers]"
    )
    once = tryout(planned(text, HERE))
    assert counted(once) == (8, 0)
    assert once.study.name == "priced, one item"
    assert len(once.study.contestants) == 2
    assert len({one.ask.key for one in asks_of(once)}) == 8


def test_a_tryout_of_options_shows_them_all():
    text = START.replace("brief-letters", "brief-options").replace(
        "model: embedded", "model: simulated"
    )
    text = text.replace("contestants: [flawed, precise]\n", "unrelated: add\n")
    assert counted(tryout(planned(text, HERE))) == (4, 0)  # four options, rotated; no unrelated one


def test_what_is_wrong_is_said_and_what_is_right_is_shown():
    look = bench(START.replace("brief-letters", "brief-leters"), HERE)
    assert look.plan is None and "brief-leters" in look.fault
    assert len(look.items) == 12  # the records are fine
    look = bench(START.replace("probe", "nowhere.csv"), HERE)
    assert "nowhere.csv" in look.data_fault and look.items == ()
    assert (
        "names no judge"
        in bench(START.replace("- {name: embedded, model: embedded}\n", ""), HERE).fault
    )


def test_records_are_read_again_when_their_file_changes(tmp_path):
    file = tmp_path / "items.jsonl"
    line = '{"id": "q%d", "instruction": "i", "responses": {"a": "1", "b": "2"}}\n'
    file.write_text(line % 1, encoding="utf-8")
    spec = DataSpec("items.jsonl")
    first = loaded(spec, tmp_path)
    assert loaded(spec, tmp_path) is first
    file.write_text(line % 1 + line % 2, encoding="utf-8")
    assert len(loaded(spec, tmp_path).items) == 2
    file.write_text("{oops\n", encoding="utf-8")
    for _ in range(2):  # also the second time
        with pytest.raises(EvenhandError, match=r"items\.jsonl.* 1"):
            loaded(spec, tmp_path)


def test_the_head_asks_the_question_of_the_study():
    look = bench(START, HERE)
    assert question(look.sheet) == "Is embedded even-handed on the probe set?"
    assert lead(look).startswith("12 items, one pairing of two models, both orders, one judge")
    two = bench(ENDPOINT, HERE)
    assert question(two.sheet) == "Which judge is even-handed on the probe set?"
