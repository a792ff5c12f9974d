"""Lists of models: of an endpoint with its key, and of the servers on this machine."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest

from judges.__main__ import main
from judges.judge_errors import PlanError
from judges.models.weights import parse_hub_weights
from judges.operations import list_models as list_models_module
from judges.operations.list_models import (
    MAX_MODELS,
    LocalServer,
    _build_judge_for_endpoint,
    find_local_servers,
    list_models,
    parse_model_list,
)
from studies.spec.provider_presets import provider_presets
from tests.judge_server import JudgeServer
from tests.page_words import says

KEY = "sk-test-0123456789abcdef"


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_an_endpoint_lists_its_models() -> None:
    with JudgeServer(models=("judge-b", "judge-A")) as server:
        assert list_models(server.base_url).models == ("judge-A", "judge-b")


def test_a_wrong_key_is_said_and_not_repeated() -> None:
    with JudgeServer(api_keys={KEY}, echo_key=True) as server:
        assert list_models(server.base_url, KEY).models == ("judge",)
        found = list_models(server.base_url, "sk-wrong-0123456789abcdef")
    assert found.models == ()
    assert "401" in found.error
    assert "sk-wrong" not in found.error


def test_a_port_without_a_server_gives_an_error() -> None:
    found = list_models(f"http://127.0.0.1:{closed_port()}/v1")
    assert found.models == ()
    assert found.error


@pytest.mark.parametrize("content", [b"<html>", b"{}", b"3", b'{"data": 3}'])
def test_a_reply_of_another_kind_is_an_error(content: bytes) -> None:
    with pytest.raises(ValueError, match="check the address"):
        parse_model_list(content)


def test_a_list_without_end_is_cut() -> None:
    entries = ", ".join(f'{{"id": "m{n}"}}' for n in range(MAX_MODELS + 5))
    assert len(parse_model_list(f'{{"data": [{entries}, 3, {{}}]}}'.encode())) == MAX_MODELS


def test_servers_on_this_machine_are_found() -> None:
    ollama, vllm = (provider_presets()[name] for name in ("ollama", "vllm"))
    with JudgeServer(models=("qwen3:4b",)) as server:
        presets = [
            replace(ollama, base_url=server.base_url),
            replace(vllm, base_url=f"http://localhost:{closed_port()}/v1"),
            provider_presets()["openai"],
        ]
        found = find_local_servers(presets)
    assert [(one.preset.name, one.models) for one in found] == [("ollama", ("qwen3:4b",))]


def test_a_public_page_looks_for_no_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    with JudgeServer() as server:
        preset = replace(provider_presets()["ollama"], base_url=server.base_url)
        assert find_local_servers([preset]) == []


def test_the_command_lists_models(capsys: pytest.CaptureFixture[str]) -> None:
    with JudgeServer(models=("judge-b", "judge-a")) as server:
        assert main(["models", server.base_url]) == 0
    assert capsys.readouterr().out.split() == ["judge-a", "judge-b"]
    assert main(["models", "nowhere"]) != 0
    assert "ollama" in capsys.readouterr().err


def test_an_address_that_is_none_is_said() -> None:
    found = list_models("ftp://127.0.0.1/v1")
    assert found.models == () and found.error


def test_the_command_lists_the_servers_of_this_machine_or_names_those_it_knows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    local = [one for one in provider_presets().values() if one.local]
    server = LocalServer(local[0], "http://127.0.0.1:1/v1", ("b", "a"))
    monkeypatch.setattr(list_models_module, "find_local_servers", lambda: [server])
    assert main(["models"]) == 0
    assert capsys.readouterr().out == f"{local[0].title} at http://127.0.0.1:1/v1\n  b\n  a\n"
    monkeypatch.setattr(list_models_module, "find_local_servers", list)
    assert main(["models"]) == 0
    shown = capsys.readouterr().out
    assert says(shown, "No model server") and all(one.title in shown for one in local)


def test_the_command_sends_a_key_and_fails_where_the_endpoint_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with JudgeServer(api_keys={KEY}) as server:
        keyed = ["models", server.base_url, "--key-env", "MY_KEY"]
        assert main([*keyed, "--allow-keys"]) == 0
        assert capsys.readouterr().out == "judge\n"
        assert main(["models", server.base_url, "--key-env", ""]) == 1
        assert says(capsys.readouterr().err, server.base_url, "401")


def test_a_provider_without_an_address_needs_one() -> None:
    presets = provider_presets()
    (bare, *_) = [name for name, one in presets.items() if not one.base_url]
    with pytest.raises(PlanError, match=f"{bare}: has no"):
        _build_judge_for_endpoint(bare, None)
    with pytest.raises(PlanError, match="nobody: no such"):
        _build_judge_for_endpoint("nobody", None)
    name = next(name for name, one in presets.items() if one.base_url and one.api_key_env)
    own = _build_judge_for_endpoint(name, None)
    assert (own.endpoint, own.api_key_env) == (
        presets[name].base_url.rstrip("/"), presets[name].api_key_env,
    )  # fmt: skip
    assert _build_judge_for_endpoint(name, "MINE").api_key_env == "MINE"
    free = _build_judge_for_endpoint("http://h/v1/", None)
    assert (free.endpoint, free.api_key_env) == ("http://h/v1", "")


def test_the_percent_is_printed_once_and_of_the_known_size(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def download(_: object, progress: Callable[[int, int], None]) -> str:
        for received, total in ((0, 0), (1, 0), (50, 200), (51, 200), (200, 200)):
            progress(received, total)
        return "there"

    monkeypatch.setattr(list_models_module, "download_weights", download)
    weights = parse_hub_weights("hub:owner/name/file.gguf")
    assert list_models_module._download_and_report(weights, 200) == "Downloaded to there"
    assert capsys.readouterr().err == "\r  0 %\r 25 %\r100 %\n"


@pytest.mark.parametrize(
    ("answer", "yes"), [("y", True), (" YES ", True), ("", False), ("n", False), ("yep", False)]
)
def test_only_yes_downloads(answer: str, yes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("builtins.input", lambda _: answer)
    assert list_models_module._confirm_download() is yes


def test_weights_that_are_here_are_not_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(list_models_module, "cached_hub_weights", lambda _: "/here.gguf")
    options = SimpleNamespace(file="hub:owner/name/file.gguf", yes=False)
    assert list_models_module.download_hub_weights(options) == 0
    assert says(capsys.readouterr().out, "Already", "/here.gguf")
