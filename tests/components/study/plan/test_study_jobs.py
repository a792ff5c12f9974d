"""Jobs of the form: tests of judges, uploads, recorded verdicts, descriptions, runs."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from types import SimpleNamespace

import pytest

from components.share.paper_text import source_name
from components.study.file.judge_entries import judge_test_key
from components.study.file.lenient_study import START_YAML, FormState
from components.study.file.yaml_edit import parse_yaml, put_value
from components.study.form.data_step.data_source import HUB_URL
from components.study.form.judges import model_list_key, open_judge_drawer
from components.study.form.more_settings import more_settings, store_key_consent
from components.study.form_html import render_judges_and_prompts, render_notices, render_records
from components.study.jobs import (
    describe_images,
    fetch_private_dataset,
    import_recorded_verdicts,
    request_judge_models,
    save_plan_for_run,
    save_uploads_as_data,
    store_upload,
    stored_study_yaml,
    test_judge,
)
from components.study.plan import demo_studies
from components.study.plan.study_preview import build_preview
from judges.engine.engine import Engine
from judges.judge_errors import PlanError
from judges.security.key_consents import (
    NO_CONSENTS,
    KeyDestination,
    TypedKey,
    origin_of,
    parse_typed_keys,
    user_consents,
)
from studies.errors import EvenhandError
from studies.files.upload_names import hide_hashes, original_name
from studies.spec.study import parse_study
from studies.store.store import Store
from tests.canary_forms import CANARY
from tests.judge_server import JudgeServer, say
from tests.judges.operations.test_image_descriptions import write_pictures
from tests.judges.small_studies import write_items
from tests.page_words import says

test_judge.__test__ = False  # type: ignore[attr-defined]
TOKEN = {"@hub": TypedKey("t", HUB_URL)}


def endpoint_study(url: str, **judge: object) -> str:
    made = {"name": "gpt", "model": "judge", "base_url": url, **judge}
    return put_value(START_YAML, ("judges",), [made])


def test_a_test_shows_the_raw_reply_how_it_was_read_and_how_long_it_took():
    with JudgeServer(behaviour=say("Both are fine. Overall, Response B is better.")) as server:
        text = endpoint_study(server.base_url)
        typed = {"gpt": TypedKey("canary-key", origin_of(server.base_url))}
        told = test_judge(text, Path(), "gpt", typed, NO_CONSENTS)
    assert told.read.status == "ok" and told.read.verdict is not None
    look = build_preview(text, Path())
    (judge,) = look.lenient_study.judges
    html = render_judges_and_prompts(look, FormState(), {judge_test_key(judge): told})
    assert says(html, "Overall, Response", "better") and "Test again" in html
    assert "canary-key" not in html


def test_a_judge_that_cannot_be_reached_says_so_in_its_place():
    text = endpoint_study("http://127.0.0.1:9/v1")
    told = test_judge(text, Path(), "gpt", {}, NO_CONSENTS)
    assert told.read.status == "error"
    look = build_preview(text, Path())
    (judge,) = look.lenient_study.judges
    html = render_judges_and_prompts(look, FormState(), {judge_test_key(judge): told})
    assert "cannot reach http://127.0.0.1:9/v1" in html


def test_a_test_of_a_study_that_cannot_be_run_says_why():
    told = test_judge(
        START_YAML.replace("brief-letters", "gone"), Path(), "embedded", {}, NO_CONSENTS
    )
    assert says(told.read.detail, "No", "prompt named 'gone'")
    assert says(
        test_judge(START_YAML, Path(), "x", {}, NO_CONSENTS).read.detail, "no judge named", "'x'"
    )


def test_a_key_typed_for_another_host_is_not_sent_and_the_page_says_why():
    with JudgeServer() as server:
        typed = {"gpt": TypedKey(CANARY, "https://api.openai.com")}
        told = test_judge(endpoint_study(server.base_url), Path(), "gpt", typed, NO_CONSENTS)
        assert server.bill.totals.calls == 0
    assert says(told.read.detail, "typed", "https://api.openai.com, not", "http://127.0.0.1")
    assert CANARY not in told.read.detail


def test_a_judge_cannot_take_the_token_that_was_typed_for_the_hub():
    with JudgeServer() as server:
        typed = parse_typed_keys(json.dumps({"@hub": {"key": CANARY, "url": HUB_URL}}))
        text = endpoint_study(server.base_url, name="@hub")
        told = test_judge(text, Path(), "@hub", typed, NO_CONSENTS)
        assert server.bill.totals.calls == 0
    assert "typed for https://huggingface.co" in told.read.detail


def test_a_study_that_sends_a_variable_to_a_new_host_asks_with_a_button(tmp_path):
    text = endpoint_study("http://127.0.0.1:9/v1", api_key_env="OPENAI_API_KEY")
    asked = render_notices(build_preview(text, tmp_path), FormState())
    assert says(asked, "wants", "send $OPENAI_API_KEY", "http://127.0.0.1:9")
    assert "allow key" in asked
    pair = KeyDestination("OPENAI_API_KEY", "http://127.0.0.1:9")
    assert store_key_consent(user_consents(), pair) == ""
    assert "wants to send" not in render_notices(build_preview(text, tmp_path), FormState())


@pytest.mark.parametrize("error", [OSError("disk <full>"), PlanError("no <variable>")])
def test_a_consent_that_cannot_be_stored_says_so(error):
    def refuse(pair):
        raise error

    told = store_key_consent(SimpleNamespace(store_consent=refuse), KeyDestination("K", "http://h"))
    assert says(told, "not be stored") and escape(str(error)) in told


def test_describing_images_sends_no_variable_to_a_host_that_was_not_allowed(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    write_pictures(tmp_path)
    store, engine = Store(tmp_path / "evenhand.db"), Engine()
    with JudgeServer() as server:
        text = put_value(
            put_value(START_YAML, ("data", "source"), "items.jsonl"), ("contestants",), None
        )
        eye = {"name": "eye", "model": "judge", "base_url": server.base_url, "vision": True,
               "price": {"input": 2.0, "output": 8.0}, "api_key_env": "OPENAI_API_KEY"}  # fmt: skip
        text = put_value(text, ("judges",), [eye])
        errand = {"judge": "eye", "prompt": "creation-describe"}
        went = describe_images(text, store, engine, errand, {})
        assert server.bill.totals.calls == 0
    engine.close()
    store.close()
    assert says(went.notice_html, "wants", "send $OPENAI_API_KEY", "http://127.0.0.1")


# ----------------------------------------------------------------------------- files


def test_an_upload_is_kept_by_its_content_under_its_own_name(tmp_path):
    file = write_items(tmp_path / "mine.jsonl", 3)
    kept = store_upload(file, tmp_path)
    assert kept.startswith("uploads/") and kept.endswith("-mine.jsonl")
    file.write_text("changed", encoding="utf-8")
    assert (tmp_path / kept).read_text() != "changed"
    assert store_upload(file, tmp_path) != kept


def test_one_uploaded_file_becomes_the_data_of_the_study(tmp_path):
    text = save_uploads_as_data(START_YAML, [write_items(tmp_path / "mine.jsonl", 3)], tmp_path)
    look = build_preview(text, tmp_path)
    assert look.plan is not None and look.contestants == ["x", "y"]
    assert "contestants" not in parse_yaml(text) and "count" not in parse_yaml(text)["data"]


def test_of_several_files_one_holds_the_questions_and_the_others_answers(tmp_path):
    questions = tmp_path / "q.csv"
    questions.write_text("id,instruction,topic\n1,Say one.,n\n2,Say two.,n\n", encoding="utf-8")
    for name in ("m", "n"):
        (tmp_path / f"answers_{name}.csv").write_text("id,response\n1,a\n2,b\n", encoding="utf-8")
    files = [tmp_path / "answers_m.csv", questions, tmp_path / "answers_n.csv"]
    data = parse_yaml(save_uploads_as_data(START_YAML, files, tmp_path))["data"]
    assert data["source"].endswith("-q.csv")
    assert sorted(data["files"]) == ["m", "n"]


@pytest.mark.records
def test_a_set_of_files_that_belongs_together_is_kept_together(records, tmp_path):
    files = sorted((records / "visit").glob("*.csv"))
    look = build_preview(save_uploads_as_data(START_YAML, files, tmp_path), tmp_path)
    assert look.records is not None and look.records.format == "visit-bench"
    assert len(look.records.items) == 578


def test_recorded_verdicts_open_as_a_study_without_a_key_or_a_call(tmp_path):
    rows = ["model_a,model_b,winner,judge", "x,y,model_a,j", "y,x,tie,j", "x,z,model_b,j"]
    (tmp_path / "battles.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    store = Store(tmp_path / "evenhand.db")
    text = put_value(
        put_value(START_YAML, ("data", "source"), "battles.csv"), ("contestants",), None
    )
    name = import_recorded_verdicts(text, store)
    assert name == "battles"
    assert store.status_counts(name, recorded=True)["planned"] == 3
    html = render_records(build_preview(text, tmp_path), FormState())
    assert says(html, "Open these verdicts") and "3 recorded verdicts" in html
    again = stored_study_yaml(store, name)
    assert (
        parse_study(again).name == "battles, again"
        and parse_study(again).data.source == "battles.csv"
    )
    store.close()


@pytest.mark.extra
@pytest.mark.records
def test_prd_opens_from_three_uploaded_files(records, tmp_path, store):
    files = sorted((records / "prd").iterdir())
    name = import_recorded_verdicts(save_uploads_as_data(START_YAML, files, tmp_path), store)
    judged = [j for j in store.judgements(name) if not j.ask.judge.startswith("human:")]
    assert len(judged) == 8000


def test_a_file_without_verdicts_says_what_to_do_with_it(tmp_path):
    write_items(tmp_path / "items.jsonl", 2)
    store = Store(tmp_path / "evenhand.db")
    text = put_value(
        put_value(START_YAML, ("data", "source"), "items.jsonl"), ("contestants",), None
    )
    with pytest.raises(EvenhandError, match="without verdicts"):
        import_recorded_verdicts(text, store)
    assert store.studies() == []
    store.close()


# ------------------------------------------------------------------- studies that are there


def test_a_stored_study_is_edited_as_the_file_it_was(store):
    text = START_YAML.replace("model: embedded", "model: simulated, accuracy: 0.8, seed: 7")
    plan = save_plan_for_run(text, store)
    assert parse_study(stored_study_yaml(store, plan.study.name)) == parse_study(text)


def test_the_recorded_demo_cannot_be_overwritten(store):
    with pytest.raises(EvenhandError, match="recorded demo"):
        save_plan_for_run(START_YAML.replace("My study", demo_studies.PAIRS_STUDY), store)


def test_a_tryout_is_a_study_of_its_own(store):
    text = START_YAML.replace("model: embedded", "model: simulated")
    plan = save_plan_for_run(text, store, one_item=True)
    assert [line.name for line in store.studies()] == ["My study, one item"]
    assert store.status_counts(plan.study.name)["planned"] == 2


# ---------------------------------------------------------------------------- descriptions


def test_images_are_described_and_the_study_goes_on_with_the_new_file(tmp_path):
    write_pictures(tmp_path)
    store, engine = Store(tmp_path / "evenhand.db"), Engine()
    with JudgeServer(behaviour=say("A grey dot on white.")) as server:
        text = put_value(
            put_value(START_YAML, ("data", "source"), "items.jsonl"), ("contestants",), None
        )
        eye = {"name": "eye", "model": "judge", "base_url": server.base_url, "vision": True,
               "price": {"input": 2.0, "output": 8.0}}  # fmt: skip
        text = put_value(text, ("judges",), [eye])
        assert "Describe 2 items, $" in more_settings(build_preview(text, tmp_path), FormState())
        errand = {"judge": "eye", "prompt": "creation-describe"}
        went = describe_images(text, store, engine, errand, {})
    engine.close()
    store.close()
    assert "Described." in went.notice_html
    items = {item.id: item for item in build_preview(went.text, tmp_path).items}
    assert items["q2"].context == "A grey dot on white." and items["q0"].context == "old 0"
    old = [json.loads(line)["context"] for line in (tmp_path / "items.jsonl").open()]
    assert old == ["old 0", "old 1", "old 2"]


def test_without_a_judge_that_sees_the_page_says_what_is_missing():
    text = START_YAML.replace("  count: 12\n", "  categories: [visual]\n")
    assert says(
        more_settings(build_preview(text, Path()), FormState()), "add", "endpoint", "Vision"
    )
    assert "Image descriptions" not in more_settings(build_preview(START_YAML, Path()), FormState())


def test_a_private_dataset_needs_a_token_of_ones_own(store):
    text = put_value(START_YAML, ("data", "source"), "hub:me/mine")
    assert "Hugging Face token" in fetch_private_dataset(text, store, {}).notice_html
    assert says(fetch_private_dataset(START_YAML, store, TOKEN).notice_html, "not", "Hub dataset")


RESULT = {
    "input": "Name a prime.", "output_1": "23", "output_2": "21", "label": 1,
    "results": [{"swap = False": {"winner": "1", "completion": "a"},
                 "swap = True": {"winner": "2", "completion": "b"}}],
}  # fmt: skip


def test_the_two_files_of_llmbar_open_together_and_no_hash_is_shown(tmp_path):
    data = tmp_path / "dataset.json"
    result = tmp_path / "result.json"
    data.write_text(json.dumps([{k: v for k, v in RESULT.items() if k != "results"}]), "utf-8")
    result.write_text(json.dumps([RESULT]), "utf-8")
    store = Store(tmp_path / "evenhand.db")
    text = save_uploads_as_data(START_YAML, [data, result], tmp_path)
    name = import_recorded_verdicts(text, store, "gpt-4")
    assert name == "llmbar" and set(store.frame(name)["judge"]) == {"gpt-4"}
    alone = save_uploads_as_data(START_YAML, [result], tmp_path)
    assert import_recorded_verdicts(alone, store) == "result"
    assert set(store.frame("result")["judge"]) == {"judge"}
    # another file of that name is another study
    result.write_text(json.dumps([{**RESULT, "input": "Name another."}]), "utf-8")
    other = save_uploads_as_data(START_YAML, [result], tmp_path)
    assert import_recorded_verdicts(other, store, "claude") == "result 2"
    assert import_recorded_verdicts(other, store, "claude") == "result 2"  # the same file again
    store.close()


def test_an_upload_is_named_without_its_hash_everywhere():
    assert original_name("uploads/49785f15-result.json") == "result.json"
    assert original_name("/data/uploads/49785f15-2-files/result.json") == "result.json"
    assert original_name("data/49785f15-result.json") == "49785f15-result.json"
    assert source_name("uploads/a8b38480-answers.csv") == "answers.csv"
    assert hide_hashes("a8b38480-answers.csv: no format") == "answers.csv: no format"
    assert hide_hashes("sha 49785f15-") == "sha 49785f15-"


def test_the_models_of_an_endpoint_are_listed_in_the_drawer_and_a_bad_key_is_reported():
    keys = {"sk-wrong-0123456789abcdef": "No list of models.", CANARY: "2 models from the provider"}
    with JudgeServer(models=("judge-a", "judge-b"), api_keys={CANARY}) as server:
        text = endpoint_study(server.base_url)
        study, view = build_preview(text, Path()).lenient_study, FormState(panel="judge", judge="0")
        for key, said in keys.items():
            typed = {"gpt": TypedKey(key, origin_of(server.base_url))}
            found = request_judge_models(text, Path(), 0, typed, NO_CONSENTS)
            html = open_judge_drawer(study, view, {model_list_key(found.address): found})
            assert said in html and key not in html
        assert "<b>judge-b</b>" in html
    assert request_judge_models(text, Path(), 7, {}, NO_CONSENTS).error


def test_the_key_of_a_judge_without_a_model_is_checked_at_its_address():
    with JudgeServer(models=("judge-a",), api_keys={CANARY}) as server:
        entry = {"model": "", "base_url": server.base_url}
        text = put_value(START_YAML, ("judges",), [entry])
        typed = {"judge": TypedKey(CANARY, origin_of(server.base_url))}
        assert request_judge_models(text, Path(), 0, typed, NO_CONSENTS).models == ("judge-a",)
        nowhere = put_value(text, ("judges",), [{"model": ""}])
        assert request_judge_models(nowhere, Path(), 0, typed, NO_CONSENTS).error


def test_models_whose_names_contain_dots_stay_apart(tmp_path):
    (tmp_path / "q.csv").write_text("id,instruction,topic\n1,Say one.,n\n", encoding="utf-8")
    names = ["gpt-4.1", "gpt-4.5"]
    for name in names:
        (tmp_path / f"{name}.csv").write_text(f"id,response\n1,{name}\n", encoding="utf-8")
    files = [tmp_path / "q.csv", *(tmp_path / f"{name}.csv" for name in names)]
    data = parse_yaml(save_uploads_as_data(START_YAML, files, tmp_path))["data"]
    assert sorted(data["files"]) == names
    assert all(data["files"][name].endswith(f"-{name}.csv") for name in names)
