"""Lists of models: of an endpoint with its key, and of the servers on this machine."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from judges.__main__ import main
from judges.operations.list_models import (
    MAX_MODELS,
    find_local_servers,
    list_models,
    parse_model_list,
)
from studies.spec.provider_presets import provider_presets
from tests.judge_server import JudgeServer

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
