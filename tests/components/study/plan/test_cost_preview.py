"""The plan strip is true: counts are exact, prices come from the file that Run reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from components.study.file.lenient_study import START_YAML
from components.study.form.more_settings import study_question
from components.study.plan import cost_preview as study_plan
from components.study.plan.cost_preview import (
    count_asks_and_noise_repeats,
    forecast_by_judge,
    one_item_plan,
    plan_kpis,
    run_button_text,
)
from components.study.plan.study_preview import build_preview, load_records, plan_from_text
from judges.planning.forecast import Forecast, forecast_plan
from judges.planning.plan import asks_of, save_plan
from studies.domain import Judgement, Verdict
from studies.errors import EvenhandError
from studies.spec.study import DataSpec, dump_study, parse_study
from studies.store.rows import put_judgement
from tests.page_words import says

HERE = Path()
SIMULATED = START_YAML.replace("model: embedded", "model: simulated")
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
    plan = plan_from_text(text, HERE)
    asks = [one.ask for one in asks_of(plan)]
    assert count_asks_and_noise_repeats(plan) == (len(asks), sum(ask.noise for ask in asks))


def test_strip_and_button_name_the_same_number():
    # 12 items x 1 pair x 2 orders = 24, and the noise floor repeats some of them
    plan = plan_from_text(SIMULATED, HERE)
    numbers = forecast_by_judge(plan)
    assert numbers.asks - numbers.noise == 24
    assert run_button_text(numbers) == f"Run {numbers.asks} calls, free"
    assert f">{numbers.asks}</dd>" in plan_kpis(plan, numbers)
    assert f"24 + {numbers.noise} repeat" in plan_kpis(plan, numbers)


def test_a_large_plan_is_worked_out_from_items_spread_over_the_slice(monkeypatch):
    plan = plan_from_text(MANY, HERE)
    whole = forecast_by_judge(plan)
    monkeypatch.setattr(study_plan, "MAX_EXACT_ASKS", 100)
    monkeypatch.setattr(study_plan, "SAMPLE_ASKS", 500)
    part = forecast_by_judge(plan)
    assert part.asks == whole.asks and part.noise == whole.noise  # counted, not guessed
    assert 0 < part.sampled_asks < whole.asks
    assert part.prompt_tokens == pytest.approx(whole.prompt_tokens, rel=0.1)
    assert "calls</dd>" in plan_kpis(plan, part)


def test_dollars_are_told_by_judge_and_against_the_budget():
    plan = plan_from_text(ENDPOINT + "budget_usd: 2\n", HERE)
    numbers = forecast_by_judge(plan)
    assert numbers.dollars == pytest.approx(forecast_plan(plan).dollars)
    assert numbers.seconds == pytest.approx(forecast_plan(plan).seconds)
    html = plan_kpis(plan, numbers)
    assert says(html, "gpt; fair free")
    assert "of $2.00" in html and "eh-meter" in html


def test_a_budget_that_is_too_small_is_said_before_the_run():
    plan = plan_from_text(ENDPOINT + "budget_usd: 0.01\n", HERE)
    assert says(plan_kpis(plan, forecast_by_judge(plan)), "budget", "stops before", "$0.01")


def test_a_price_nobody_told_is_unknown_not_free():
    plan = plan_from_text(ENDPOINT.replace(", price: {input: 1000, output: 0}", ""), HERE)
    assert run_button_text(forecast_by_judge(plan)).endswith("price unknown")
    assert says(plan_kpis(plan, forecast_by_judge(plan)), "no price", "known", "gpt")


def answer_some(plan, store, wanted: int) -> None:
    """Store a usable reply to the first calls of the plan."""
    asks = [one.ask for one in asks_of(plan)][:wanted]
    for ask in asks:
        made = Judgement(ask, "ok", Verdict(0))
        store.writer.run(lambda connection, made=made: put_judgement(connection, made))


def test_calls_that_are_stored_are_neither_counted_nor_priced_again(store):
    plan = plan_from_text(ENDPOINT, HERE)
    before = forecast_by_judge(plan, store)
    assert (before.stored, before.new_asks) == (0, before.asks)
    save_plan(plan, store)
    answer_some(plan, store, 9)
    numbers = forecast_by_judge(plan, store)
    assert (numbers.stored, numbers.new_asks, numbers.asks) == (9, before.asks - 9, before.asks)
    assert 0 < numbers.dollars < before.dollars
    assert run_button_text(numbers).startswith(f"Run {numbers.new_asks} new calls (9 stored), $")
    other = plan_from_text(ENDPOINT.replace("name:", "name: another", 1), HERE)
    assert forecast_by_judge(other, store).stored == 9  # replies are shared between studies
    answer_some(plan, store, before.asks)
    assert forecast_by_judge(plan, store).new_asks == 0


def test_a_tryout_asks_one_comparison_of_each_judge_and_prompt():
    # 2 judges x 2 prompts x 1 pair x 2 orders
    text = ENDPOINT.replace("[precise, flawed]", "[]").replace(
        "[brief-letters]", "[brief-letters, brief-numbers]"
    )
    once = one_item_plan(plan_from_text(text, HERE))
    assert count_asks_and_noise_repeats(once) == (8, 0)
    assert once.study.name == "priced, one item"
    assert len(once.study.contestants) == 2
    assert len({one.ask.key for one in asks_of(once)}) == 8


def test_a_tryout_of_options_shows_them_all():
    text = START_YAML.replace("brief-letters", "brief-options").replace(
        "model: embedded", "model: simulated"
    )
    text = text.replace("contestants: [flawed, precise]\n", "unrelated: add\n")
    assert count_asks_and_noise_repeats(one_item_plan(plan_from_text(text, HERE))) == (
        4,
        0,
    )  # four options, rotated; no unrelated one


AGAINST_BASE = "pairing: baseline\nbaseline: base"
NEW = "pairing: new\nbaseline: base\nnew: new\nreference_games: 2"


@pytest.mark.parametrize(
    ("answers", "settings"),
    [
        (["a", "a b"], ""),
        (["a b", "a b base"], AGAINST_BASE),
        (["a base", "a new", "a base new"], NEW),
        (["base new a", "base new a"], f"{NEW}\ncontestants: [base, new, a]"),
        (["base new", "base new"], NEW),
        (["a b c", "a b c"], "twins: {answers: [c], families: [longer-1]}"),
    ],
)
def test_a_tryout_makes_calls_of_the_study_where_models_lack_answers(tmp_path, answers, settings):
    lines = [
        {
            "id": f"q{k}",
            "instruction": "why?",
            "responses": {n: f"{n} says so." for n in names.split()},
        }
        for k, names in enumerate(answers)
    ]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    text = SIMULATED.partition("data:")[0] + "data: {source: items.jsonl}\n"
    text += "judges: [{name: s, model: simulated}]\nprompts: [brief-letters]\n" + settings
    plan = plan_from_text(text, tmp_path)
    once = one_item_plan(plan)
    made = {one.ask.key for one in asks_of(once)}
    assert len(made) == 2 and made <= {one.ask.key for one in asks_of(plan)}
    again = parse_study(dump_study(once.study))  # as it is stored
    assert (again.contestants, again.twins) == (once.study.contestants, None)
    assert again.baseline == ("base" if settings == AGAINST_BASE else "")


def test_what_is_wrong_is_said_and_what_is_right_is_shown():
    look = build_preview(START_YAML.replace("brief-letters", "brief-leters"), HERE)
    assert look.plan is None and "brief-leters" in look.plan_error
    assert len(look.items) == 12  # the records are fine
    look = build_preview(START_YAML.replace("probe", "nowhere.csv"), HERE)
    assert "nowhere.csv" in look.data_error and look.items == ()
    assert (
        "names no judge"
        in build_preview(
            START_YAML.replace("- {name: embedded, model: embedded}\n", ""), HERE
        ).plan_error
    )


def test_records_are_read_again_when_their_file_changes(tmp_path):
    file = tmp_path / "items.jsonl"
    line = '{"id": "q%d", "instruction": "i", "responses": {"a": "1", "b": "2"}}\n'
    file.write_text(line % 1, encoding="utf-8")
    spec = DataSpec("items.jsonl")
    first = load_records(spec, tmp_path)
    assert load_records(spec, tmp_path) is first
    file.write_text(line % 1 + line % 2, encoding="utf-8")
    assert len(load_records(spec, tmp_path).items) == 2
    file.write_text("{oops\n", encoding="utf-8")
    for _ in range(2):  # also the second time
        with pytest.raises(EvenhandError, match=r"items\.jsonl.* 1"):
            load_records(spec, tmp_path)


def test_the_head_asks_the_question_of_the_study():
    look = build_preview(START_YAML, HERE)
    assert study_question(look.lenient_study) == "Is embedded even-handed on the probe set?"
    two = build_preview(ENDPOINT, HERE)
    assert says(study_question(two.lenient_study), "even-handed", "probe set")
    single = study_question(look.lenient_study, single_answers=True)
    assert says(single, "embedded right") and "even-handed" not in single


def test_stored_replies_of_a_large_plan_are_counted_if_it_is_saved_and_else_estimated(
    store, monkeypatch
):
    """16 calls, of which the 8 calls of two items are forecast: each stands for two."""
    plan = plan_from_text(ENDPOINT + "noise_floor: 0\n", HERE)
    whole = forecast_by_judge(plan, store)
    assert (whole.asks, whole.noise, whole.sampled_asks) == (16, 0, 0)
    monkeypatch.setattr(study_plan, "MAX_EXACT_ASKS", 16)
    assert forecast_by_judge(plan).sampled_asks == 0
    monkeypatch.setattr(study_plan, "MAX_EXACT_ASKS", 15)
    monkeypatch.setattr(study_plan, "SAMPLE_ASKS", 8)
    save_plan(plan, store)
    answer_some(plan, store, 5)
    failed = Judgement([one.ask for one in asks_of(plan)][5], "error", None)
    store.writer.run(lambda connection: put_judgement(connection, failed))
    sampled = study_plan.sample_evenly(plan.items, 2)
    assert sampled == (plan.items[0], plan.items[2])
    answered = {one.ask.key for one in list(asks_of(plan))[:5]}
    among = [one.ask.key for one in asks_of(plan) if one.ask.item in {i.id for i in sampled}]
    estimated = 2 * len(answered & set(among))
    assert len(among) == 8 and estimated != 5
    other = plan_from_text(ENDPOINT.replace("priced", "other") + "noise_floor: 0\n", HERE)
    for one, stored in ((plan, 5), (other, estimated)):
        numbers = forecast_by_judge(one, store)
        assert (numbers.asks, numbers.sampled_asks, numbers.stored) == (16, 8, stored)
    assert forecast_by_judge(plan).stored == 0, "without a store"
    answer_some(plan, store, 16)
    assert forecast_by_judge(plan, store).new_asks == 0


def test_a_sample_is_spread_over_the_list_and_never_longer_than_it():
    spread = study_plan.sample_evenly
    assert spread("abcdefghij", 4) == ("a", "c", "f", "h")  # places 0, 2.5, 5, 7.5
    assert spread("abc", 3) == spread("abc", 5) == ("a", "b", "c")


def test_the_forecast_of_a_sample_is_scaled_in_every_part():
    made = Forecast(10, 3, 1_000, 200, 1.5, 8.0, 40)
    assert study_plan._scale_forecast(made, 2.5) == Forecast(25, 3, 2_500, 500, 3.75, 20.0, 100)
    unknown = study_plan._scale_forecast(Forecast(10, 3, 1_000, 200, None, None), 2.5)
    assert (unknown.dollars, unknown.seconds, unknown.cached_tokens) == (None, None, 0)
