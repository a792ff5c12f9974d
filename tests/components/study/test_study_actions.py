"""Changes in the form, numbered: none is lost, none is done twice."""

from __future__ import annotations

import html
import json
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from components.study import form_html as study_draw
from components.study.file.lenient_study import START_YAML, FormState
from components.study.file.yaml_edit import get_value, parse_yaml, put_value
from components.study.form.data_step.data_source import BUILTIN
from components.study.form.form_rows import judge_form
from components.study.form.judges import LOCAL_SERVERS, open_judge_drawer
from components.study.form.more_settings import more_settings
from components.study.form_changes import apply_changes
from components.study.form_updates_tab import plan_updates, preview_and_forecast
from components.study.plan.study_preview import build_preview
from components.study.steps.blockers import find_blockers_besides_keys
from judges.money.costs import price_of
from judges.operations.list_models import LocalServer
from studies.spec.provider_presets import provider_presets
from studies.spec.study import DataSpec, Study, parse_study
from tests.page_words import says

HERE = Path()


def done(text: str, *entries: dict) -> tuple[str, FormState]:
    return apply_changes(
        text, FormState(), [{"n": n, **entry} for n, entry in enumerate(entries, 1)], HERE
    )


def test_what_the_page_starts_with_is_a_study_that_can_be_run():
    study = parse_study(START_YAML)
    assert (study.noise_floor, study.data.count, study.data.seed) == (0.2, 12, 7)
    assert build_preview(START_YAML, HERE).plan is not None


def test_a_change_that_was_taken_in_is_not_done_again():
    text, view = done(START_YAML, {"do": "add judge"})
    again, seen = apply_changes(text, view, [{"n": 1, "do": "add judge"}], HERE)
    assert (again, seen.last_change) == (text, 1)
    assert len(parse_yaml(again)["judges"]) == 2


def test_a_burst_of_changes_is_done_whole_and_in_order():
    text, view = done(
        START_YAML, {"set": "data.count", "to": "40"}, {"set": "repeats", "to": "3"},
        {"set": "labels", "to": "crossed"}, {"set": "contestants", "to": ["precise", "padded"]},
        {"set": "data.count", "to": "41"},
    )  # fmt: skip
    values = parse_yaml(text)
    assert (values["data"]["count"], values["repeats"], values["labels"]) == (41, 3, "crossed")
    assert values["contestants"] == ["precise", "padded"]
    assert view.last_change == 5 and not view.notice_html


def test_what_is_as_it_would_be_anyway_is_not_written():
    text, _ = done(START_YAML, {"set": "repeats", "to": "3"}, {"set": "repeats", "to": "1"})
    assert "repeats" not in text


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("repeats", "three", "repeats: expected a whole number 1-100, found &#x27;three&#x27;"),
        ("filter", "category", "expected field=value"),
        ("data.per", "category", "expected field: number"),
        ("files+", "only-a-name", "expected model = file"),
        ("judge.0.extra_body", "[1]", "expected a JSON object"),
        ("judge.0.max_tokens", "many", "max_tokens: expected a whole number"),
    ],
)
def test_a_wrong_value_says_where_and_what_and_changes_nothing(field, value, said):
    text, view = done(START_YAML, {"set": field, "to": value})
    assert text == START_YAML
    assert said in view.notice_html


def test_a_file_that_cannot_be_read_is_not_rewritten():
    broken = "name: [\n"
    text, view = done(broken, {"set": "repeats", "to": "2"})
    assert text == broken
    assert "cannot change" in view.notice_html


def test_a_comment_and_an_unknown_key_survive_every_click():
    text = START_YAML + "# mine\nsponsor: us\n"
    made, _ = done(
        text, {"do": "preset", "preset": "visit-bench"}, {"set": "unreadable", "to": "exclude"},
        {"do": "add judge"}, {"do": "prompt", "prompt": "mt-bench-pair", "on": True},
    )  # fmt: skip
    assert "# mine\nsponsor: us\n" in made


@pytest.mark.parametrize(
    ("text", "entry", "said"),
    [
        (
            "name: q\ndata: probe\n",
            {"set": "data.count", "to": "3"},
            "data: expected “key: value” lines",
        ),
        (
            "name: q\njudges: [gpt]\n",
            {"do": "add judge"},
            "an entry does not consist of “key: value” lines",
        ),
    ],
)
def test_what_the_form_cannot_show_is_not_rewritten(text, entry, said):
    made, view = done(text, entry)
    assert made == text and said in view.notice_html


# --------------------------------------------------------------------------- presets


def test_a_preset_is_one_word_and_what_it_sets_leaves_the_file():
    text, _ = done(
        START_YAML, {"set": "combine", "to": "majority"}, {"do": "preset", "preset": "mt-bench"}
    )
    values = parse_yaml(text)
    assert values["preset"] == "mt-bench"
    assert not {"prompts", "combine", "noise_floor"} & set(values)
    assert parse_study(text).combine == "strict"


def test_a_setting_that_differs_has_a_dot_and_says_what_the_preset_has():
    text, view = done(START_YAML, {"do": "preset", "preset": "visit-bench"})
    assert "as published" in more_settings(build_preview(text, HERE), view)
    text, view = apply_changes(text, view, [{"n": 9, "set": "unreadable", "to": "exclude"}], HERE)
    html = more_settings(build_preview(text, HERE), view)
    assert says(html, "1 change", "preset")
    assert '<span class="l changed" id="f-unreadable-l">Unreadable</span>' in html
    assert "preset: tie" in html
    back, _ = apply_changes(text, view, [{"n": 10, "do": "preset", "preset": "visit-bench"}], HERE)
    assert "unreadable" not in back


def test_without_a_preset_the_prompts_it_brought_stay():
    text, _ = done(
        START_YAML, {"do": "preset", "preset": "mt-bench"}, {"do": "preset", "preset": ""}
    )
    values = parse_yaml(text)
    assert "preset" not in values
    assert values["prompts"] == ["mt-bench-pair", "mt-bench-single"]


def test_a_filter_of_the_preset_can_be_taken_off():
    text, _ = done(
        START_YAML, {"do": "preset", "preset": "visit-bench"}, {"set": "where", "to": ""}
    )
    assert parse_yaml(text)["data"]["where"] == {}
    assert parse_study(text).data.where == {}


# ---------------------------------------------------------------------------- judges


def test_several_judges_of_several_kinds_are_asked_at_once():
    text, view = done(
        START_YAML, {"do": "add judge"}, {"do": "use judge", "judge": 1, "template": "first"},
        {"do": "add judge"},
        {"set": "judge.2.base_url", "to": "http://127.0.0.1:9/v1"},
        {"set": "judge.2.model", "to": "gpt-4o"}, {"set": "judge.2.price.input", "to": "2.5"},
        {"set": "judge.2.price.output", "to": "10"}, {"set": "judge.2.vision", "to": True},
        {"set": "judge.2.temperature", "to": ""}, {"set": "judge.2.top_p", "to": "0.9"},
        {"set": "judge.2.reasoning_effort", "to": "low"},
        {"set": "judge.2.read", "to": "probabilities"},
        {"set": "judge.2.extra_body", "to": '{"top_k": 4}'},
        {"set": "judge.1.tie_rate", "to": "0.1"},
    )  # fmt: skip
    embedded, simulated, endpoint = parse_study(text).judges
    assert (embedded.kind, simulated.kind, endpoint.kind) == ("embedded", "simulated", "endpoint")
    assert simulated.simulation["tie_rate"] == 0.1
    assert (endpoint.name, endpoint.model) == ("gpt-4o", "gpt-4o")  # called after its model
    assert endpoint.price is not None and endpoint.price.output == 10
    assert endpoint.vision and endpoint.temperature is None and endpoint.top_p == 0.9
    assert endpoint.read == "probabilities" and endpoint.extra_body == {"top_k": 4}
    assert not view.notice_html


@pytest.mark.parametrize(
    ("template", "kind", "named"),
    [
        ("openai", "endpoint", "gpt-4o-mini"),
        ("embedded", "embedded", "embedded-2"),
        ("chance", "simulated", "chance"),
    ],
)
def test_a_judge_is_chosen_from_the_tiles_of_the_drawer(template, kind, named):
    text, view = done(
        START_YAML, {"do": "add judge"}, {"do": "use judge", "judge": 1, "template": template}
    )
    assert view.panel == "judge" and view.judge == "1"
    judge = parse_study(text).judges[1]
    assert (judge.kind, judge.name) == (kind, named)
    closed, seen = apply_changes(text, view, [{"n": 9, "do": "close"}], HERE)
    assert closed == text and seen.panel == ""


def test_a_provider_without_a_model_names_the_model_as_what_is_missing():
    text, _ = done(START_YAML, {"do": "use judge", "judge": 0, "template": "anthropic"})
    blockers = find_blockers_besides_keys(build_preview(text, HERE))
    assert [one.text for one in blockers] == ["Anthropic has no model"]
    assert blockers[0].action == {"do": "open judge", "judge": "0"}


OTHER = {"do": "use judge", "judge": 0, "template": "endpoint"}
ADDRESS = {"set": "judge.0.base_url", "to": "http://10.0.0.7:9/v1"}


def drawer_of(text: str) -> str:
    state = FormState(panel="judge", judge="0")
    return open_judge_drawer(build_preview(text, HERE).lenient_study, state, {})


def framed_tile(html: str) -> str:
    (tile,) = re.findall(r'<button[^>]*class="on"[^>]*><b>([^<]*)</b>', html)
    return tile


def test_another_address_starts_without_anything_of_a_provider_and_sends_no_key():
    priced = START_YAML.replace(
        "{name: embedded, model: embedded}",
        "{name: gpt-4o-mini, model: gpt-4o-mini, provider: openai, price: {input: 1, output: 2}}",
    )
    text, _ = done(priced, OTHER)
    assert parse_yaml(text)["judges"] == [{"model": ""}]
    html = drawer_of(text)
    assert framed_tile(html) == "Other address"
    assert "api.openai.com" not in html and "gpt-4o" not in html
    assert "&#34;do&#34;: &#34;models&#34;" not in html  # no button sends a key
    (key,) = re.findall(r"<input[^>]*data-key=[^>]*>", html)
    assert " disabled" in key
    blockers = find_blockers_besides_keys(build_preview(text, HERE))
    assert says(blockers[0].sentence, "address", "judge", "missing")
    assert blockers[0].action == {"do": "open judge", "judge": "0"}
    assert [one.step for one in blockers] == [2, 2]  # the model is missing too


def test_the_box_of_another_address_asks_for_address_model_and_key_in_this_order():
    html = drawer_of(done(START_YAML, OTHER, ADDRESS)[0])
    assert framed_tile(html) == "Other address"
    fields_of_box = ('data-field="judge.0.base_url"', 'data-field="judge.0.model"', "data-key=")
    check = "&#34;do&#34;: &#34;models&#34;"
    marks = ('class="on"', *fields_of_box, check, 'data-field="judge.0.name"')
    places = [html.index(mark) for mark in marks]
    assert places == sorted(places)
    assert all(html.count(mark) == 1 for mark in marks[1:3])  # not again in the settings
    assert says(html, "key is sent to http://10.0.0.7:9 only")


def test_a_second_click_on_another_address_keeps_the_address():
    html = drawer_of(done(START_YAML, OTHER, ADDRESS)[0])
    (tile,) = re.findall(r"<button[^>]*><b>Other address</b>", html)
    assert "open judge" in tile and 'data-focus-field="judge.0.base_url"' in tile


@pytest.mark.parametrize(("typed", "named"), [([], "llama"), (["mine"], "mine")])
def test_a_judge_at_another_address_is_named_after_its_model_unless_named(typed, named):
    names = [{"set": "judge.0.name", "to": name} for name in typed]
    models = [{"set": "judge.0.model", "to": model} for model in ("lla", "llama")]
    text, _ = done(START_YAML, OTHER, ADDRESS, *names, *models)
    (judge,) = parse_study(text).judges
    assert (judge.name, judge.model, judge.price) == (named, "llama", None)
    assert price_of(judge) is None


def test_a_price_stays_at_its_address():
    price = [{"set": f"judge.0.price.{part}", "to": "2"} for part in ("input", "output")]
    model = {"set": "judge.0.model", "to": "llama"}
    text, _ = done(START_YAML, OTHER, model, *price, ADDRESS)
    assert price_of(parse_study(text).judges[0]) is not None  # typed before the address
    text, _ = done(text, {"set": "judge.0.base_url", "to": "http://10.0.0.7:9/v2"})
    assert price_of(parse_study(text).judges[0]) is not None  # the same host
    text, _ = done(text, {"set": "judge.0.base_url", "to": "http://10.0.0.8:9/v1"})
    assert price_of(parse_study(text).judges[0]) is None


def test_what_the_judge_form_does_not_show_stays_in_the_judge():
    text = START_YAML.replace("model: embedded}", "model: embedded, family: smol, seed: 3}")
    made, _ = done(text, {"set": "judge.0.read", "to": "text"})
    assert parse_yaml(made)["judges"] == [
        {"name": "embedded", "model": "embedded", "family": "smol", "seed": 3, "read": "text"}
    ]


def test_another_kind_keeps_the_name():
    text, _ = done(
        START_YAML,
        {"set": "judge.0.name", "to": "mine"},
        {"set": "judge.0.kind", "to": "simulated"},
    )
    (judge,) = parse_study(text).judges
    assert (judge.name, judge.kind) == ("mine", "simulated")


def test_the_extraction_judge_is_one_of_them_or_one_of_its_own():
    text, _ = done(START_YAML, {"set": "extraction.judge", "to": "embedded"})
    assert parse_study(text).extraction == parse_study(text).judges[0]
    text, _ = done(
        text, {"set": "extraction.judge", "to": "@own"}, {"set": "extraction.model", "to": "m"}
    )
    own = parse_study(text).extraction
    assert own is not None and own.model == "m" and own.name == "extractor"
    text, _ = done(text, {"set": "extraction.judge", "to": ""})
    assert "extraction" not in text


# ----------------------------------------------------------------- everything is reachable


def test_every_setting_of_a_study_file_has_a_control():
    text, view = done(
        START_YAML, {"do": "preset", "preset": "visit-bench"}, {"set": "pairing", "to": "new"},
        {"do": "prompt", "prompt": "brief-options", "on": True},
        {"do": "prompt", "prompt": "pass-fail", "on": True}, {"do": "open judge", "judge": "0"},
    )  # fmt: skip
    html = "".join(study_draw.render_form(build_preview(text, HERE), view, {}))
    elsewhere = {"judges": "add judge", "prompts": "prompt", "preset": "preset", "folder": ""}
    for name in (spec.name for spec in fields(Study)):
        if name in ("data", "extraction", "families"):
            assert f'data-field="{name}.' in html, name
        elif name in elsewhere:
            assert not elsewhere[name] or f"&#34;do&#34;: &#34;{elsewhere[name]}" in html, name
        else:
            assert f'data-field="{name}"' in html, name
    # `read` and `parts` belong to an upload, which sets them
    shown_otherwise = {"where": "filter", "files": "files+", "mapping": "data.source",
                       "read": "data.source", "parts": "data.source"}  # fmt: skip
    for name in (spec.name for spec in fields(DataSpec)):
        field = shown_otherwise.get(name, f"data.{name}")
        assert f'data-field="{field}"' in html, name


def test_all_models_of_a_server_on_this_machine_can_be_chosen():
    text, view = done(START_YAML, {"do": "open judge", "judge": "0"})
    preset = next(iter(provider_presets().values()))
    server = LocalServer(preset, "http://127.0.0.1:1", tuple(f"model-{n}" for n in range(30)))
    html = open_judge_drawer(
        build_preview(text, HERE).lenient_study, view, {LOCAL_SERVERS: [server]}
    )
    folded = html[html.index("<details") :]
    assert all(f"<b>model-{n}</b>" in html for n in range(30))
    assert "22 more models" in folded and "<b>model-29</b>" in folded
    assert "<b>model-7</b>" not in folded and "<b>model-8</b>" in folded


def test_every_setting_of_an_endpoint_has_a_control():
    text, view = done(START_YAML, {"do": "add judge"})
    html = open_judge_drawer(build_preview(text, HERE).lenient_study, view, {})
    for key in ("name", "kind", "base_url", "model", "api_key_env", "family", "temperature",
                "top_p", "seed", "max_tokens", "reasoning_effort", "read", "vision", "price.input",
                "price.output", "extra_body"):  # fmt: skip
        assert f'data-field="judge.1.{key}"' in html, key
    assert 'data-key="gpt-4o-mini"' in html  # the key itself is no field: it is never in the file


def test_every_parameter_of_a_simulated_judge_has_a_control():
    text, view = done(
        START_YAML, {"set": "judge.0.kind", "to": "simulated"}, {"do": "open judge", "judge": "0"}
    )
    html = open_judge_drawer(build_preview(text, HERE).lenient_study, view, {})
    for key in ("first_bias", "accuracy", "tie_rate", "length_preference", "self_preference",
                "unreadable_rate", "slot_weights", "seed", "family"):  # fmt: skip
        assert f'data-field="judge.0.{key}"' in html, key


def test_a_judge_is_removed_by_its_button():
    text = put_value(START_YAML, ("judges",), [{"name": n, "model": "simulated"} for n in "abc"])
    for place, left in ((0, "bc"), (1, "ac"), (2, "ab")):
        form = str(judge_form({"name": "x", "model": "simulated"}, f"judge.{place}", "x"))
        button = re.search(r"data-[a-z]+=.([^>]*remove judge[^>]*).>Remove this judge", form)
        assert button is not None
        change = json.loads(html.unescape(button[1]))
        made, state = done(text, {"do": "judge", "judge": "1"}, change)
        assert [judge["name"] for judge in parse_yaml(made)["judges"]] == list(left)
        assert (state.judge, state.panel) == ("", "")


def test_a_change_of_a_judge_that_was_removed_is_reported_and_the_next_one_applies():
    entries = [
        {"n": 1, "do": "remove judge", "judge": 7},
        {"n": 2, "set": "judge.7.model", "to": "gpt-4o"},
    ]
    for entry in entries:
        text, view = apply_changes(START_YAML, FormState(), [entry], HERE)
        assert text == START_YAML and says(view.notice_html, "Not changed", "judge")
    entries.append({"n": 3, "set": "repeats", "to": "2"})
    assert "repeats: 2" in apply_changes(START_YAML, FormState(), entries, HERE)[0]


def test_weights_that_cannot_be_used_are_a_reason_in_the_form_and_no_exception(store):
    text = START_YAML.replace("model: embedded}", "model: embedded, weights: judge.bin}")
    look, numbers = preview_and_forecast(text, store)
    assert look.plan is None and numbers is None and "judge.bin" in look.plan_error
    assert study_draw.render_form(look, FormState(), {}, "", numbers)
    assert "judge.bin" in str(plan_updates(look, FormState(), store, numbers, {}))


# --------------------------------------------------------- each action and what it leaves alone

SHOWN = FormState(panel="judge", judge="0", prompt="p", mode="side", item=2)


@pytest.mark.parametrize(
    ("entry", "changed"),
    [
        ({"do": "open judge", "judge": 1}, {"panel": "judge", "judge": "1"}),
        ({"do": "open judge"}, {"panel": "judge", "judge": ""}),
        ({"do": "close"}, {"panel": "", "judge": ""}),
        ({"do": "show prompt", "prompt": "q", "mode": "compare"},
         {"prompt": "q", "mode": "compare", "panel": "prompts"}),
        ({"do": "new prompt"}, {"prompt": "@new", "mode": "editor", "panel": "prompts"}),
        ({"do": "mode", "mode": "editor"}, {"mode": "editor", "panel": "prompts"}),
        ({"do": "item", "to": "3"}, {"item": 3}),
        ({"do": "item", "to": -1}, {"item": 0}),
        ({"set": "mode", "to": "editor"}, {"mode": "editor"}),
        ({"set": "prompt", "to": "q"}, {"prompt": "q"}),
        ({"set": "other", "to": "q"}, {"other": "q"}),
        ({"set": "describer", "to": "j"}, {"describer": "j"}),
        ({"set": "describing", "to": "q"}, {"describing": "q"}),
        ({"set": "profile", "to": "all"}, {"whole": True}),
        ({"set": "profile", "to": "some"}, {"whole": False}),
        ({"set": "kind", "to": "hub"}, {"kind": "hub"}),
    ],
)  # fmt: skip
def test_a_change_of_the_view_leaves_the_file_and_the_rest_of_the_view(entry, changed):
    text, seen = apply_changes(START_YAML, SHOWN, [{"n": 1, **entry}], HERE)
    assert text == START_YAML
    assert seen == replace(SHOWN, last_change=1, **changed)


def test_an_unknown_action_and_an_unknown_preset_are_reported():
    for entry, said in (
        ({"do": "dance"}, "unknown action"),
        ({"do": "preset", "preset": "mine"}, "no preset named"),
        ({"do": "remove judge", "judge": -1}, "no longer in"),
        ({"do": "remove judge", "judge": 1}, "no longer in"),
        ({"do": "use judge", "judge": 0, "template": "nobody"}, "nobody"),
    ):
        text, view = done(START_YAML, entry)
        assert text == START_YAML and says(view.notice_html, "Not changed", said)


def test_a_preset_with_a_number_of_options_takes_the_models_and_its_prompts_stay_without_it():
    two = put_value(START_YAML, ("contestants",), ["precise", "padded"])
    kept, state = done(two, {"do": "preset", "preset": "mt-bench"})
    assert parse_yaml(kept)["contestants"] == ["precise", "padded"] and state.prompt == ""
    several = put_value(two, ("data", "options"), 4)
    made, _ = done(several, {"do": "preset", "preset": "grade-score"})
    assert "contestants" not in parse_yaml(made) and "options" not in parse_yaml(made)["data"]
    bare = "name: q\ndata: {source: probe}\n"
    assert parse_yaml(done(bare, {"do": "preset", "preset": ""})[0])["prompts"] == ["brief-letters"]


def test_a_judge_is_replaced_by_a_model_of_a_provider_under_a_free_name():
    openai = {"name": "gpt-4o", "model": "gpt-4o", "provider": "openai"}
    text = put_value(START_YAML, ("judges",), [openai, {"name": "b", "model": "m"}])
    entry = {"do": "use judge", "judge": 1, "template": "openai", "model": "gpt-4o"}
    judges = parse_yaml(done(text, entry)[0])["judges"]
    assert judges[0]["name"] == "gpt-4o"
    assert judges[1] == {"name": "gpt-4o-2", "model": "gpt-4o", "provider": "openai"}
    same = {**entry, "judge": 0}  # its own name is free for it
    assert parse_yaml(done(text, same)[0])["judges"][0]["name"] == "gpt-4o"
    assert done(text, {**entry, "judge": 2})[0] == text


def test_the_last_judge_is_removed_with_its_block_and_a_new_one_is_opened():
    text, view = done(START_YAML, {"do": "remove judge", "judge": 0})
    assert "judges" not in parse_yaml(text) and (view.judge, view.panel) == ("", "")
    text, view = done(text, {"do": "add judge"})
    assert (view.judge, view.panel, len(parse_yaml(text)["judges"])) == ("0", "judge", 1)


def test_a_prompt_is_taken_once_and_the_drawer_closes_only_if_asked():
    on = {"do": "prompt", "prompt": "mt-bench-pair", "on": True}
    text, view = done(START_YAML, {"do": "new prompt"}, on, on)
    own = parse_yaml(START_YAML)["prompts"]
    assert parse_yaml(text)["prompts"] == [*own, "mt-bench-pair"]
    assert (view.prompt, view.panel) == ("mt-bench-pair", "prompts")
    text, view = done(text, {"do": "new prompt"}, {**on, "on": False, "close": True})
    assert parse_yaml(text)["prompts"] == own and view.panel == ""


def test_a_mapping_of_columns_and_several_fields_are_set_at_once():
    text, _ = done(START_YAML, {"do": "map", "mapping": {"a": "instruction", "b": "label"}})
    assert parse_yaml(text)["data"]["mapping"] == {"a": "instruction", "b": "label"}
    text, _ = done(
        text, {"set": "role.label", "to": "c"}, {"set": "role.answer.2", "to": "d"},
        {"set": "role.instruction", "to": ""}, {"set": "mapping.e", "to": " category "},
    )  # fmt: skip
    mapped = {"c": "label", "d": "responses.d", "e": "category"}
    assert parse_yaml(text)["data"]["mapping"] == mapped
    text, _ = done(text, {"do": "set", "values": {"repeats": "2", "mapping.e": "", "name": "N"}})
    values = parse_yaml(text)
    assert (values["repeats"], values["name"]) == (2, "N") and "e" not in values["data"]["mapping"]


@pytest.mark.parametrize(
    ("field", "typed", "path", "value"),
    [
        ("where", "a=x, y ; b = z;", ("data", "where"), {"a": ["x", "y"], "b": ["z"]}),
        ("filter", "a=x", ("data", "where"), {"a": ["x"]}),
        (
            "data.per",
            "checks: kind: 2, category:1,",
            ("data", "per"),
            {"checks: kind": 2, "category": 1},
        ),
        ("files+", " m = a/b=c.csv ", ("data", "files"), {"m": "a/b=c.csv"}),
        ("families.m", "f", ("families",), {"m": "f"}),
        ("contestants", "x, ,y", ("contestants",), ["x", "y"]),
        ("data.count", " 7 ", ("data", "count"), 7),
        ("hub", "hub:me/set", ("data", "source"), "hub:me/set"),
        ("hub", "me/set", ("data", "source"), "hub:me/set"),
        ("data.source", "my.csv", ("data", "source"), "my.csv"),
    ],
)
def test_a_typed_value_is_written_in_the_type_of_its_key(field, typed, path, value):
    text, view = done(START_YAML, {"set": field, "to": typed})
    assert get_value(parse_yaml(text), path) == value and not view.notice_html


@pytest.mark.parametrize(
    ("field", "typed"),
    [("where", "a=,"), ("where", "a"), ("data.per", ": 2"), ("data.per", "a: x"),
     ("data.per", "a 2"), ("files+", "= x"), ("files+", "m ="), ("files+", "m")],
)  # fmt: skip
def test_a_half_typed_value_is_refused(field, typed):
    text, view = done(START_YAML, {"set": field, "to": typed})
    assert text == START_YAML and says(view.notice_html, "Not changed", "expected")


def test_another_source_opens_its_first_item_and_the_same_one_keeps_its_settings():
    chosen = put_value(START_YAML, ("data", "count"), 5)
    entries = [{"n": 1, "set": "data.source", "to": "probe"}]
    same, seen = apply_changes(chosen, replace(SHOWN, kind="hub"), entries, HERE)
    assert same == chosen and (seen.kind, seen.item) == ("", 0)
    entries = [{"n": 1, "set": "hub", "to": ""}]
    same, seen = apply_changes(chosen, replace(SHOWN, kind="hub"), entries, HERE)
    assert same == chosen and (seen.kind, seen.item) == ("hub", 2)
    entries = [{"n": 1, "set": "hub", "to": "me/set"}]
    _, seen = apply_changes(chosen, SHOWN, entries, HERE)
    assert (seen.kind, seen.item) == ("hub", 0)
    entries = [{"n": 1, "set": "kind", "to": BUILTIN}]
    text, seen = apply_changes(put_value(chosen, ("data", "source"), "x.csv"), SHOWN, entries, HERE)
    assert parse_yaml(text)["data"]["source"] == "probe" and seen.kind == ""


def test_an_extraction_judge_named_elsewhere_is_not_edited():
    named = put_value(START_YAML, ("extraction",), {"judge": "embedded"})
    text, view = done(named, {"set": "extraction.model", "to": "m"})
    assert text == named and says(view.notice_html, "Not changed", "no longer")
