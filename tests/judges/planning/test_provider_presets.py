"""Presets of providers: the judge they make, and the differences that calls respect."""

from urllib.parse import urlsplit

import pytest
import yaml

from judges.__main__ import main
from judges.judge_errors import PlanError
from judges.models.interface import (
    drop_parameter,
    known_refused_parameters,
    parse_request_quota,
    rate_header_kind,
)
from judges.money.costs import price_of
from judges.planning.plan import asks_of
from judges.security.endpoint_rules import PROVIDERS_FILE
from studies.domain import Price
from studies.errors import EvenhandError
from studies.spec.judge_spec import dump_judge, parse_judge
from studies.spec.provider_presets import PRESETS_FILE, preset_for_url, provider_presets
from tests.judges.small_studies import study_plan
from tests.page_words import pattern, says

WANTED = {
    "openai", "azure", "anthropic", "google", "mistral", "groq", "together", "openrouter",
    "deepseek", "huggingface", "ollama", "lmstudio", "llamacpp", "vllm", "sglang",
}  # fmt: skip
REMOTE = sorted(WANTED - {"azure", "ollama", "lmstudio", "llamacpp", "vllm", "sglang"})


def parse(**values):
    return parse_judge({"model": "some-model", **values}, "judges[0]")


def test_every_provider_has_a_preset():
    assert set(provider_presets()) == WANTED


@pytest.mark.parametrize("name", REMOTE)
def test_a_remote_preset_agrees_with_the_hosts_and_variables_that_need_no_consent(name):
    allowed = yaml.safe_load(PROVIDERS_FILE.read_text())
    preset = provider_presets()[name]
    host = urlsplit(preset.base_url).hostname
    assert preset.base_url.startswith("https://")
    assert host in allowed["hosts"]
    assert allowed["variables"][preset.api_key_env] == host
    assert preset_for_url(preset.base_url) is preset


def test_a_provider_fills_in_address_and_key_variable_and_the_study_may_set_its_own():
    judge = parse(provider="groq")
    assert judge.endpoint == "https://api.groq.com/openai/v1"
    assert judge.api_key_env == "GROQ_API_KEY"
    assert parse(provider="groq", api_key_env="MINE").api_key_env == "MINE"
    assert parse(provider="groq", api_key_env="").api_key_env == "", "the key is typed instead"
    assert parse_judge(dump_judge(judge), "judges[0]") == judge


def test_local_providers_need_no_key_and_cost_no_dollars():
    judge = parse(provider="ollama")
    assert (judge.endpoint, judge.api_key_env) == ("http://localhost:11434/v1", "")
    assert price_of(judge) == Price(0.0, 0.0)


def test_azure_needs_the_address_of_its_resource():
    with pytest.raises(EvenhandError, match="base_url"):
        parse(provider="azure")
    judge = parse(provider="azure", base_url="https://me.openai.azure.com/openai/v1", model="o3")
    assert judge.api_key_env == "AZURE_OPENAI_API_KEY"
    assert known_refused_parameters(judge) == {"max_tokens", "temperature", "top_p"}


def test_an_unknown_provider_is_refused_with_the_known_ones():
    with pytest.raises(EvenhandError, match="openrouter"):
        parse(provider="opnerouter")


@pytest.mark.parametrize(
    ("model", "seconds"),
    [("gpt-4o", 180), ("o3-mini", 600), ("openai/o4-mini", 600), ("deepseek-r1-distill", 600),
     ("Qwen/Qwen3-30B-A3B-Thinking-2507", 600), ("demo-o3", 180)],
)  # fmt: skip
def test_models_that_reason_have_more_time_unless_the_study_sets_it(model, seconds):
    assert parse(provider="openrouter", model=model).timeout_s == seconds
    short = parse(provider="openrouter", model=model, timeout_s=20)
    assert short.timeout_s == 20
    usual = parse(provider="openrouter", model=model, timeout_s=180)
    assert parse_judge(dump_judge(usual), "judges[0]").timeout_s == 180


def test_known_refusals_depend_on_provider_and_model():
    def refused(model: str, **values: str) -> set[str]:
        return known_refused_parameters(parse(model=model, **values))

    assert refused("o3", provider="openai") == {"max_tokens", "temperature", "top_p"}
    assert refused("gpt-4o", provider="openai") == {"max_tokens"}
    assert refused("gpt-5-chat-latest", provider="openai") == {"max_tokens"}
    assert refused("o3", base_url="http://localhost:8000/v1") == set()
    assert refused("mistral-large", provider="mistral") == set()


def test_presets_change_no_planned_key(tmp_path):
    """Differences apply when a call is sent, so that older stores keep their keys."""
    judge = {"model": "o3", "base_url": "https://api.openai.com/v1"}
    (ask, *_) = asks_of(study_plan(tmp_path, [judge]))
    assert ask.call.parameters == {"max_tokens": 4096, "temperature": 0.0}
    sent = ask.call
    for parameter in known_refused_parameters(ask.call.judge):
        sent = drop_parameter(sent, parameter) or sent
    assert sent.parameters == {"max_completion_tokens": 4096}


def test_label_probabilities_of_a_provider_without_them_are_refused_before_any_call(tmp_path):
    judge = {"model": "claude", "provider": "anthropic", "read": "probabilities"}
    with pytest.raises(PlanError, match=pattern("Anthropic returns none", "claude")):
        study_plan(tmp_path, [judge])


def test_requests_left_are_read_in_the_form_of_the_provider():
    epoch = {
        "x-ratelimit-limit": "20",
        "x-ratelimit-remaining": "5",
        "x-ratelimit-reset": "1767225630000",
        "date": "Thu, 01 Jan 2026 00:00:00 GMT",
    }
    openrouter = rate_header_kind("https://openrouter.ai/api/v1")
    quota = parse_request_quota(epoch, openrouter)
    assert quota is not None
    assert (quota.limit, quota.remaining, quota.reset) == (20, 5, 30)
    assert parse_request_quota(epoch, rate_header_kind("https://api.mistral.ai/v1")) is None
    dated = {f"x-ratelimit-{name}-requests": epoch[f"x-ratelimit-{name}"]
             for name in ("limit", "remaining")}  # fmt: skip
    dated |= {"x-ratelimit-reset-requests": "2026-01-01T00:00:12Z", "date": epoch["date"]}
    quota = parse_request_quota(dated, rate_header_kind("https://api.anthropic.com/v1"))
    assert quota is not None
    assert quota.reset == 12


def test_the_command_lists_every_provider_with_its_differences(capsys):
    assert main(["providers"]) == 0
    told = capsys.readouterr().out
    assert all(f"{name} " in told for name in WANTED)
    assert says(told, "ANTHROPIC_API_KEY; max_tokens limits", "no log-probabilities")
    assert says(told, "deepseek-reasoner without log-probabilities")
    assert says(told, "no dollars")


def test_the_file_of_presets_has_no_unknown_entry():
    entries = yaml.safe_load(PRESETS_FILE.read_text())["providers"].values()
    for entry in entries:
        assert set(entry) <= {
            "title", "base_url", "api_key_env", "host", "token_limit", "rate_headers", "logprobs",
            "prefill", "prompt_cache", "local", "models",
        }  # fmt: skip
