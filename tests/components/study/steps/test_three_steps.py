"""The three steps of the form: what is missing, what is compared, what a run costs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from components.home.uploaded_data import store_and_read_uploads
from components.inspect.explanation import known_answer_or_votes_text
from components.results.bias.computed import bias_from_frame
from components.study.file.judge_entries import judge_test_key
from components.study.file.lenient_study import START_YAML, FormState, read_lenient_study
from components.study.file.yaml_edit import parse_yaml, put_value
from components.study.form import form_rows
from components.study.form.data_step.data_source import source_card
from components.study.form.data_step.records_report import comparisons_html, count_planned_orders
from components.study.form.data_step.slice_form import filter_text, sample_switch, slice_form
from components.study.form.data_step.table_columns import column_roles_html, missing_column_roles
from components.study.form.form_rows import judge_form
from components.study.form.judges import judge_cards
from components.study.form.more_settings import settings_text
from components.study.form_changes import apply_changes
from components.study.form_updates_tab import form_and_plan_updates
from components.study.jobs import save_uploads_as_data
from components.study.plan.cost_preview import forecast_by_judge
from components.study.plan.study_preview import build_preview
from components.study.steps.blockers import (
    find_blockers_besides_keys,
    fulfilled_requirements,
    key_blockers,
)
from components.study.steps.power_panel import precision_text, share_half_width
from components.study.steps.run_strip import blocked_strip, cost_strip, steps_html, study_steps
from judges.engine.outcome import ReplyOutcome
from judges.operations.check_judge import JudgeCheck
from studies.domain import BY_DESIGN
from studies.store.store import Store
from tests.judges.small_studies import run_text
from tests.page_words import says

HERE = Path()
TICKETS = (
    "ticket_text,v1_answer,v2_answer\n"
    "How do I change the card on file?,Open Billing.,Go to Settings.\n"
    "Is there a limit for my exports?,Yes: 10k rows.,It depends on the plan.\n"
)


def test_a_study_that_can_be_run_has_no_blocker_and_three_steps():
    look = build_preview(START_YAML, HERE)
    numbers = forecast_by_judge(look.plan)
    assert find_blockers_besides_keys(look) == []
    steps = study_steps(look, numbers, [], {})
    assert [step.mark for step in steps] == ["done", "done", "todo"]
    assert [step.text for step in steps] == [
        "12 questions, flawed against precise", "embedded, brief-letters", "30 calls, free",
    ]  # fmt: skip


def test_a_failed_test_of_a_judge_is_a_warning_until_the_judge_is_changed_or_succeeds():
    look = build_preview(START_YAML, HERE)
    (judge,) = look.lenient_study.judges
    for status, mark in (("error", "wrn"), ("ok", "done")):
        check = JudgeCheck("embedded", "", ReplyOutcome(status, None, "", "dead"), 0.0, "")
        tested = {judge_test_key(judge): check}
        step = study_steps(look, forecast_by_judge(look.plan), [], tested)[1]
        assert step.mark == mark and ("failed" in step.text) is (mark == "wrn")
    failed = replace(check, read=replace(check.read, status="error"))
    numbers = forecast_by_judge(look.plan)
    none_left = {name: replace(one, asks=0) for name, one in numbers.by_judge.items()}
    for known, mark in ((numbers, "wrn"), (replace(numbers, by_judge=none_left), "done")):
        step = study_steps(look, known, [], {judge_test_key(judge): failed})[1]
        assert step.mark == mark, "all replies stored: the test no longer matters"
    other = build_preview(put_value(START_YAML, ("judges",), [{**judge, "seed": 5}]), HERE)
    assert study_steps(other, None, [], {judge_test_key(judge): check})[1].mark == "done"
    assert "dead" in judge_cards(look.lenient_study, tested)
    told = judge_cards(look.lenient_study, tested)
    assert re.search(r"ok 0\.0 s", re.sub("<[^>]*>", "", told))
    assert "dead" not in judge_cards(other.lenient_study, tested)


@pytest.mark.parametrize(
    ("change", "step", "sentence", "button"),
    [
        (("data", "where", {"checks.follows": [True]}), 1, "none of 64 questions passes the filter",
         "Clear the filter"),
        (("data", "categories", ["none such"]), 1, "none of 64 questions is in", "All categories"),
        (("data", "options", 7), 1, "none of 64 questions has the", "Any number of answers"),
        (("data", "source", "nowhere.csv"), 1, "nowhere.csv", "Choose another file"),
        (("judges", None), 2, "choose a judge", "Choose a judge"),
        (("prompts", None), 2, "choose a prompt", "Choose a prompt"),
        (("contestants", ["flawed", "nobody"]), 3, "no model named", "More settings"),
    ],
)  # fmt: skip
def test_a_study_that_cannot_be_run_says_why_and_offers_the_way_out(change, step, sentence, button):
    *path, value = change
    look = build_preview(put_value(START_YAML, tuple(path), value), HERE)
    first = find_blockers_besides_keys(look)[0]
    assert (first.step, first.button) == (step, button) and sentence in first.sentence
    html = blocked_strip([first], [])
    assert says(html, "Nothing", "run yet") and f">{button}</button>" in html
    assert study_steps(look, None, [first], {})[2].text == "not possible yet"


def test_a_filter_that_is_no_mapping_is_an_error_beside_a_form_that_is_still_drawn():
    look = build_preview(put_value(START_YAML, ("data", "where"), "coding"), HERE)
    assert filter_text(look.lenient_study) == ""
    assert "where" in find_blockers_besides_keys(look)[0].sentence
    assert "coding" not in slice_form(look, FormState())


def test_a_mapping_that_cannot_be_read_says_why(tmp_path):
    (tmp_path / "t.csv").write_text("q,one,won\nwhy?,so,a\n", encoding="utf-8")
    mapping = {"q": "instruction", "one": "responses.one", "won": "winner"}
    text = put_value(START_YAML, ("data",), {"source": "t.csv", "mapping": mapping})
    (first,) = find_blockers_besides_keys(build_preview(text, tmp_path))
    assert "'one'" in first.sentence and "responses.one" in first.sentence


def test_a_table_without_rows_is_not_asked_about_its_columns(tmp_path):
    (tmp_path / "empty.csv").write_text("question,a,b\n", encoding="utf-8")
    look = build_preview(put_value(START_YAML, ("data", "source"), "empty.csv"), tmp_path)
    (first,) = find_blockers_besides_keys(look)
    assert "empty.csv" in first.sentence and first.press == "#eh-upload"


@pytest.mark.parametrize(
    ("field", "value"),
    [("where", {"checks.follows": [True]}), ("categories", ["none such"]), ("options", 7)],
)
def test_the_button_of_an_empty_slice_clears_its_filter(field, value):
    text = put_value(START_YAML, ("data", field), value)
    action = find_blockers_besides_keys(build_preview(text, HERE))[0].action
    made, _ = apply_changes(text, FormState(), [{"n": 1, **action}], HERE)
    assert find_blockers_besides_keys(build_preview(made, HERE)) == []


def test_a_table_of_answers_is_used_at_once_and_one_of_verdicts_waits(tmp_path):
    table = tmp_path / "tickets.csv"
    table.write_text(TICKETS, encoding="utf-8")
    made = save_uploads_as_data(START_YAML, [table], tmp_path)
    assert parse_yaml(made)["data"]["mapping"] == {
        "ticket_text": "instruction", "v1_answer": "responses.v1", "v2_answer": "responses.v2",
    }  # fmt: skip
    look = build_preview(made, tmp_path)
    assert look.contestants == ["v1", "v2"] and find_blockers_besides_keys(look) == []
    table.write_text("model_a,model_b,winner,question\nx,y,model_a,Why is it so?\n", "utf-8")
    assert "mapping" not in parse_yaml(save_uploads_as_data(START_YAML, [table], tmp_path))["data"]


def test_a_column_is_chosen_by_its_role(tmp_path):
    table = tmp_path / "mine.csv"
    table.write_text("nr,one,two,three\n1,a b c d e,f,g\n", encoding="utf-8")
    text = save_uploads_as_data(START_YAML, [table], tmp_path)
    first = find_blockers_besides_keys(build_preview(text, tmp_path))[0]
    assert says(first.sentence, "choose", "column", "question") and first.goto
    made, _ = apply_changes(text, FormState(), [
        {"n": 1, "set": "role.instruction", "to": "one"},
        {"n": 2, "set": "role.answer.1", "to": "two"},
        {"n": 3, "set": "role.answer.2", "to": "three"},
    ], tmp_path)  # fmt: skip
    look = build_preview(made, tmp_path)
    assert find_blockers_besides_keys(look) == [] and look.contestants == ["three", "two"]
    other, _ = apply_changes(made, FormState(), [
        {"n": 1, "set": "role.responses.two", "to": "nr"}], tmp_path)  # fmt: skip
    assert parse_yaml(other)["data"]["mapping"]["nr"] == "responses.two"


def test_a_label_by_people_is_a_vote_and_a_known_answer_is_none(tmp_path):
    table = tmp_path / "mine.csv"
    head, *rows = TICKETS.splitlines()
    table.write_text("\n".join([f"{head},label", *(f"{row},A" for row in rows)]), "utf-8")
    text = save_uploads_as_data(START_YAML, [table], tmp_path)
    for role, judge in (("human", "label"), ("gold", BY_DESIGN)):
        made, _ = apply_changes(
            text, FormState(), [{"n": 1, "set": f"role.{role}", "to": "label"}], tmp_path
        )
        look = build_preview(made, tmp_path)
        assert look.records is not None, look.data_error
        assert {vote.judge for item in look.records.items for vote in item.human} == {judge}
        assert f'id="f-role-{role}"' in column_roles_html(look)


@pytest.mark.parametrize("name", ["winner", "preferred", "Human_Winner", "notes"])
def test_a_column_of_winners_that_is_not_used_is_named(name, tmp_path):
    """A guess never uses a verdict unasked; the reader must learn that the column can be used."""
    table = tmp_path / "mine.csv"
    rows = [f"Question {k}?,one text {k},other text {k},{'ab'[k % 2]}" for k in range(6)]
    table.write_text("\n".join([f"question,answer_a,answer_b,{name}", *rows]), "utf-8")
    text = save_uploads_as_data(START_YAML, [table], tmp_path)
    unused = f"“{name}” is not used"
    mapped = "human" if name == "Human_Winner" else ""
    assert (unused in column_roles_html(build_preview(text, tmp_path))) == (
        name != "notes" and not mapped
    )
    chosen, _ = apply_changes(
        text, FormState(), [{"n": 1, "set": "role.gold", "to": name}], tmp_path
    )
    look = build_preview(chosen, tmp_path)
    assert unused not in column_roles_html(look)
    assert look.records is not None
    assert [vote.picked for item in look.records.items for vote in item.human] == [
        f"answer_{side}" for side in "ababab"
    ]


def test_comparisons_are_shown_three_at_a_time_in_the_order_of_the_first_call():
    look = build_preview(START_YAML, HERE)
    html = comparisons_html(look, FormState())
    assert "1 to 3 of 12" in html and html.count('class="eh-pv"') == 3
    first = next(call for call in look.plan.items)
    assert first.instruction[:20] in html
    assert html.index("flawed") < html.index("precise")  # as the first call shows them
    last = comparisons_html(look, FormState(item=11))
    assert "10 to 12 of 12" in last and 'aria-label="next comparisons" disabled' in last


def test_rotations_of_four_options_are_four_orders():
    text = Path("assets/studies/grade-score-probe.yaml").read_text("utf-8")
    look = build_preview(text, Path("assets/studies"))
    assert count_planned_orders(look.plan) == 4 and says(
        comparisons_html(look, FormState()), "4 orders"
    )
    numbers = forecast_by_judge(look.plan)
    strip = cost_strip(look, look.plan, numbers, "")
    assert says(strip, f"{numbers.asks // 4:,}", "4 orders")


def test_an_answer_to_another_question_is_shown_in_place_of_the_worst():
    folder = Path("assets/studies")
    text = (folder / "grade-score-probe-unrelated.yaml").read_text("utf-8")
    html = comparisons_html(build_preview(text, folder), FormState())
    assert html.count("an answer to another question") == 3 and html.count('class="w"') == 3 * 4


RUBRIC = "name: r\ndata: {source: probe, count: 2}\nprompts: [rubric]\ncriteria: be nice\n"
UNRANKED = "name: u\ndata: {source: items.jsonl}\nprompts: [grade-simple]\nunrelated: replace\n"


@pytest.mark.parametrize(
    "text, why", [(RUBRIC, "&#39;be nice&#39; has no name"), (UNRANKED, "without a ranking")]
)
def test_settings_that_an_item_does_not_fit_are_a_reason_and_not_a_crash(tmp_path, text, why):
    votes = [{"judge": "p", "shown": [x, y], "picked": x} for x, y in ("ab", "ac", "bc")]
    answers = dict(zip("abc", "xyz", strict=True))
    items = [
        {"id": name, "instruction": "?", "responses": answers, "human": human}
        for name, human in (("ranked", votes), ("unranked", []))
    ]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")
    store = Store(tmp_path / "s.db")
    judges = "judges:\n- {name: keen, model: simulated}\n"
    drawn = form_and_plan_updates(text + judges, FormState(), {}, "", store)
    store.close()
    assert any(isinstance(one, str) and why in one for one in drawn)


def test_the_strip_counts_calls_and_says_how_precise_the_study_is():
    look = build_preview(START_YAML, HERE)
    numbers = forecast_by_judge(look.plan)
    html = cost_strip(look, look.plan, numbers, "")
    assert says(html, "12 comparisons × 2", "+ 6 repeats")
    assert says(precision_text(look.plan, numbers), "share of flips", "± 28 points")
    assert share_half_width(48, 1) == pytest.approx(share_half_width(12, 1) / 2)
    assert share_half_width(0, 1) == 1
    assert "“Mine, again”" in cost_strip(look, look.plan, numbers, "Mine, again")


def test_a_judge_of_a_provider_without_a_key_is_named_until_the_key_is_there(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    text, _ = apply_changes(START_YAML, FormState(), [
        {"n": 1, "do": "use judge", "judge": 0, "template": "openai"}], HERE)  # fmt: skip
    study = read_lenient_study(text, HERE)
    assert [one.key_of for one in key_blockers(study)] == ["gpt-4o-mini"]
    look = build_preview(text, HERE)
    numbers = forecast_by_judge(look.plan)
    html = cost_strip(look, look.plan, numbers, "")
    assert 'data-needs-key="gpt-4o-mini"' in html and 'data-key-draft="gpt-4o-mini"' in html
    assert "https://api.openai.com only" in html  # where the key goes stands beside its field
    assert says(steps_html(look, numbers, [], {}), "gpt-4o-mini", "no key")
    assert "No key typed" in judge_cards(study, {})
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    assert key_blockers(study) == [] and "data-reasons" not in cost_strip(
        look, look.plan, numbers, ""
    )
    assert "No key typed" not in judge_cards(study, {})
    local = put_value(text, ("judges",), [{"name": "x", "model": "m", "base_url": "http://h/v1"}])
    assert key_blockers(read_lenient_study(local, HERE)) == []  # it may need none


def test_every_reason_is_listed_and_only_the_first_has_its_button_in_sight(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    text, _ = apply_changes(put_value(START_YAML, ("prompts",), None), FormState(), [
        {"n": 1, "do": "use judge", "judge": 0, "template": "openai"}], HERE)  # fmt: skip
    look = build_preview(text, HERE)
    reasons = [*find_blockers_besides_keys(look), *key_blockers(look.lenient_study)]
    html = blocked_strip(reasons, fulfilled_requirements(look))
    assert [one.key_of for one in reasons] == ["", "gpt-4o-mini"]
    heads = re.findall(r'<div class="head"[^>]*>', html)
    assert ["hidden" in head for head in heads] == [False, True]
    assert html.count('class="no"') == 2 and 'data-key-missing="gpt-4o-mini"' in html
    # The browser has the typed key: it shows this condition instead of the reason.
    assert '<span data-key-typed="gpt-4o-mini" hidden="">' in html


def test_conditions_that_are_met_follow_the_reasons_with_a_tick():
    def met(*change):
        *path, value = change
        look = build_preview(put_value(START_YAML, tuple(path), value), HERE)
        return [one.text for one in fulfilled_requirements(look)], blocked_strip(
            find_blockers_besides_keys(look), fulfilled_requirements(look)
        )

    texts, html = met("prompts", None)
    assert says(texts[0], "12 questions") and says(texts[1], "embedded") and len(texts) == 2
    assert html.count("<i>✓</i>") == 2
    assert '<span class="no" hidden="">' in html  # its sentence above gives the only reason
    texts, _ = met("data", "source", "nowhere.csv")
    assert len(texts) == 2 and says(texts[1], "brief-letters", "chosen")
    texts, _ = met("judges", [{"name": "x", "model": "", "base_url": "http://h/v1"}])
    assert len(texts) == 2 and not any(says(text, "judge") for text in texts)
    assert fulfilled_requirements(build_preview("judges: [", HERE)) == []


def test_an_unknown_price_is_never_free_and_can_be_set_from_the_strip():
    judges = [{"name": "mine", "model": "unlisted-model", "base_url": "http://127.0.0.1:1/v1"}]
    look = build_preview(put_value(START_YAML, ("judges",), judges), HERE)
    numbers = forecast_by_judge(look.plan)
    html = cost_strip(look, look.plan, numbers, "")
    assert "price unknown" in html and "free" not in html
    assert says(html, "open judge", "set the price", "mine")
    assert "price unknown" in study_steps(look, numbers, [], {})[2].text
    known = build_preview(START_YAML, HERE)
    free = cost_strip(known, known.plan, forecast_by_judge(known.plan), "")
    assert "free" in free and "set the price" not in free


def test_all_items_are_the_first_choice_and_a_sample_the_cheap_one():
    whole = put_value(START_YAML, ("data", "count"), None)
    html = sample_switch(build_preview(whole, HERE))
    assert "All 64" in html and "First 50" in html and "Random 50" in html
    assert "Random 12" not in html and "First 12" not in html
    assert "Random 12" in sample_switch(build_preview(START_YAML, HERE))


@pytest.mark.parametrize(
    ("labels", "prompt", "kind"),
    [(("5", "1", ""), "score-scale", float), (("pass", "fail", ""), "pass-fail", str)],
)
def test_one_answer_with_labels_is_judged_alone(tmp_path, labels, prompt, kind):
    """A table of questions, answers and people's scores: mapped, with a prompt for one answer."""
    table = tmp_path / "mine.csv"
    rows = "".join(f"What is {n} and {n}?,It is {2 * n}.,{one}\n" for n, one in enumerate(labels))
    table.write_text(f"question,answer,human_score\n{rows}", "utf-8")
    made = build_preview(save_uploads_as_data(START_YAML, [table], tmp_path), tmp_path)
    assert made.plan is not None and missing_column_roles(made) == []
    assert [one.name for one in made.plan.prompts] == [prompt]
    given = [label for item in made.items for label in item.labels]
    assert len(given) == 2 and all(isinstance(one.value, kind) for one in given)
    assert {one.contestant for one in given} == {"answer"}
    assert says(column_roles_html(made), "Label", "answer")
    assert store_and_read_uploads([table], tmp_path).facts == {
        "Answers": "3 questions, 1 model, 2 labels"
    }


def test_a_prompt_fits_the_labels_and_an_own_one_is_kept(tmp_path):
    table = tmp_path / "mine.csv"
    table.write_text("question,answer,human_score\nWhy is it?,So it is.,9\nHow?,Well.,2\n", "utf-8")
    start = save_uploads_as_data(START_YAML, [table], tmp_path)
    assert parse_yaml(start)["prompts"] == ["mt-bench-single"]  # 1 to 10
    own = save_uploads_as_data(put_value(START_YAML, ("prompts",), ["rubric"]), [table], tmp_path)
    assert parse_yaml(own)["prompts"] == ["rubric"]


@pytest.mark.parametrize("labels", [(4, 100), (0.1, 0.5), (-2, 2), (0, 5), (1, 10.5)])
def test_labels_on_a_scale_of_no_prompt_choose_none(tmp_path, labels):
    """The scales of the prompts are 1 to 5 and 1 to 10."""
    table = tmp_path / "mine.csv"
    rows = "".join(f"Why {one}?,So {one}.,{one}\n" for one in labels)
    table.write_text(f"question,answer,human_score\n{rows}", "utf-8")
    made = parse_yaml(save_uploads_as_data(START_YAML, [table], tmp_path))
    assert made["prompts"] == parse_yaml(START_YAML)["prompts"] and "mapping" not in made["data"]


def test_a_prompt_for_one_answer_needs_no_second_column(tmp_path):
    table = tmp_path / "mine.csv"
    table.write_text(
        "question,answer\nWhy is it so?,Because it is.\nHow is it?,It is well.\n", "utf-8"
    )
    text = save_uploads_as_data(START_YAML, [table], tmp_path)
    assert missing_column_roles(build_preview(text, tmp_path)) == ["the answer of model 2"]
    alone = put_value(text, ("prompts",), ["pass-fail"])
    assert missing_column_roles(build_preview(alone, tmp_path)) == []


def test_few_questions_or_none_are_not_sampled(tmp_path):
    table = tmp_path / "few.csv"
    table.write_text("question,v1_answer,v2_answer\nWhy?,So.,Not so.\nHow?,Well.,Ill.\n", "utf-8")
    few = save_uploads_as_data(START_YAML, [table], tmp_path)
    for text in (few, put_value(few, ("data", "source"), "missing.jsonl")):
        assert sample_switch(build_preview(text, tmp_path)) == ""


def test_the_first_rows_of_a_file_are_one_choice(tmp_path):
    table = tmp_path / "many.csv"
    rows = "".join(f"Why is {n} so?,Because of {n}.,It is not {n}.\n" for n in range(80, 0, -1))
    table.write_text(f"question,v1_answer,v2_answer\n{rows}", encoding="utf-8")
    text = save_uploads_as_data(START_YAML, [table], tmp_path)
    made, _ = apply_changes(
        text, FormState(), [{"n": 1, "set": "sample", "to": "first 50"}], tmp_path
    )
    data = parse_yaml(made)["data"]
    assert (data["count"], data["take"]) == (50, "first")
    look = build_preview(made, tmp_path)
    assert {item.instruction for item in look.items} == {
        f"Why is {n} so?" for n in range(80, 30, -1)
    }
    assert 'value="first 50" data-field="sample" checked' in sample_switch(look)
    assert says(settings_text(look.lenient_study), "first 50")
    single = build_preview(put_value(made, ("data", "count"), 1), tmp_path)
    assert says(settings_text(single.lenient_study), "first question")
    back, _ = apply_changes(made, FormState(), [{"n": 1, "set": "sample", "to": "all"}], tmp_path)
    assert "take" not in parse_yaml(back)["data"] and len(build_preview(back, tmp_path).items) == 80


def test_the_card_of_a_file_has_its_rows_columns_and_size(tmp_path):
    table = tmp_path / "tickets.csv"
    table.write_text(TICKETS, encoding="utf-8")
    look = build_preview(save_uploads_as_data(START_YAML, [table], tmp_path), tmp_path)
    card = source_card(look, FormState())
    assert says(card, "2 rows, 3 columns", "1 kB", "2 questions", "2 models")


def test_a_simulated_judge_is_right_on_the_four_options_of_the_probe_set(store):
    text = put_value(put_value(START_YAML, ("contestants",), None), ("prompts",), ["brief-options"])
    judge = {"name": "s", "model": "simulated", "accuracy": 0.8, "seed": 1}
    plan = run_text(store, put_value(text, ("judges",), [judge]))
    bias = bias_from_frame(store.frame("My study"))
    assert bias.accuracy_by_chance == 0.5  # precise and padded are right, flawed and offtopic wrong
    assert 0.7 < bias.overall("accuracy").value < 0.95
    item = plan.items[0]
    said = known_answer_or_votes_text(item, ["flawed", "precise", "padded", "offtopic"])
    assert says(said, "By design", "precise and padded", "equally good", "is right")
    store.close()


def test_each_column_to_choose_is_a_reason_of_its_own(tmp_path):
    (tmp_path / "t.csv").write_text("ticket_text,v1_answer\nWhy?,So.\n", encoding="utf-8")
    look = build_preview(put_value(START_YAML, ("data", "source"), "t.csv"), tmp_path)
    reasons = find_blockers_besides_keys(look)
    assert len(reasons) == len(missing_column_roles(look)) == 2
    assert all(one.step == 1 and one.goto for one in reasons)


def test_a_study_file_with_words_for_numbers_still_opens():
    """Each is an error of the plan; the form shows the file as it is."""
    for entry in (
        {"name": "x", "model": "m", "base_url": "http://h/v1", "price": {"input": "cheap"}},
        {"name": "x", "model": "m", "base_url": "http://h/v1", "price": {"input": [1]}},
        {"name": "x", "model": "simulated", "accuracy": "high"},
        {"name": "x", "model": "simulated", "slot_weights": "abc"},
        {"name": "x", "model": "simulated", "slot_weights": [1, "b"]},
    ):
        text = put_value(START_YAML, ("judges",), [entry])
        assert "x" in judge_cards(read_lenient_study(text, HERE), {})
        form = str(judge_form(entry, "judge.0", "x"))
        assert "abc" in form or entry.get("slot_weights") != "abc"
    assert form_rows._list_text([1, 0.5, "b"]) == "1, 0.5, b" and form_rows._list_text(None) == ""
