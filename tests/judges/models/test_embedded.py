"""The embedded judge with the real model: its answers, its shutdown, and its error messages.

Skipped, with a line that says so, only where the wheel or the weights are absent.
"""

from __future__ import annotations

import asyncio
import importlib.util
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from openai import AsyncOpenAI, BadRequestError
from openai.types.chat import ChatCompletion

from judges.models import embedded, weights
from judges.models.embedded import EmbeddedServer, EmbeddedUnavailable, find_or_start_shared_server
from tests.page_words import pattern, says
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[3]
PAIR = """Question: What do bees make?

Response A: Bees make honey from the nectar of flowers.

Response B: Bees make milk and sell it.

End with one sentence: "Overall, Response A is better." or "Overall, Response B is better.\""""
SWAPPED = PAIR.replace("Response A:", "Response X:").replace("Response B:", "Response A:")
SWAPPED = SWAPPED.replace("Response X:", "Response B:")


def _absent() -> str:
    if importlib.util.find_spec("xllamacpp") is None:
        return "EMBEDDED JUDGE NOT TESTED: xllamacpp is not installed; pip install xllamacpp"
    try:
        weights.find_default_weights()
    except weights.WeightsMissing as error:
        return f"EMBEDDED JUDGE NOT TESTED: {error}"
    return ""


pytestmark = [pytest.mark.embedded, pytest.mark.skipif(bool(_absent()), reason=_absent())]


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer.start() as running:
        yield running


def ask(
    server: EmbeddedServer, user: str, prefill: str = "Overall, Response", **more: Any
) -> ChatCompletion:
    """One label ask, as the engine makes it."""

    async def call() -> ChatCompletion:
        async with AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
            settings = {"max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": 20}
            return await client.chat.completions.create(
                model=server.model,
                messages=[
                    {"role": "user", "content": user},
                    {"role": "assistant", "content": prefill},
                ],
                **(settings | more),  # type: ignore[call-overload]
            )

    return asyncio.run(call())


def probabilities(reply: ChatCompletion) -> dict[str, float]:
    logprobs = reply.choices[0].logprobs
    assert logprobs is not None and logprobs.content is not None
    return {top.token: math.exp(top.logprob) for top in logprobs.content[0].top_logprobs}


def answers(base_url: str) -> bool:
    health = "http://" + urlsplit(base_url).netloc + "/health"
    try:
        with urlopen(health, timeout=1):
            return True
    except (URLError, OSError):
        return False


def test_a_prefilled_turn_is_continued_by_a_label(server: EmbeddedServer) -> None:
    reply = ask(server, PAIR)
    labels = probabilities(reply)
    # The prefill is echoed, and the label token carries the space in front of it.
    assert reply.choices[0].message.content in ("Overall, Response A", "Overall, Response B")
    assert reply.choices[0].finish_reason == "length"
    assert labels[" A"] + labels[" B"] > 0.8
    assert reply.usage is not None and reply.usage.completion_tokens == 1


@pytest.mark.extra
def test_a_repeat_gives_the_same_digits_whatever_was_asked_between(server: EmbeddedServer) -> None:
    first = probabilities(ask(server, PAIR))
    assert probabilities(ask(server, PAIR)) == first  # all but one token from the kept prefix
    ask(server, SWAPPED)
    assert probabilities(ask(server, PAIR)) == first  # a part of it from the kept prefix
    whole = ask(server, PAIR, extra_body={"cache_prompt": False})
    assert probabilities(whole) == first


@pytest.mark.extra
def test_a_restart_gives_the_same_digits_and_the_same_identity(server: EmbeddedServer) -> None:
    with EmbeddedServer.start() as again:
        assert again.base_url != server.base_url
        assert again.identity == server.identity
        assert probabilities(ask(again, PAIR)) == probabilities(ask(server, PAIR))


@pytest.mark.extra
def test_eight_bits_say_nearly_what_four_bits_said(server: EmbeddedServer) -> None:
    four_bits = weights.packaged_weights()
    if four_bits is None or weights.find_default_weights() != weights.eight_bit_weights():
        pytest.skip("EMBEDDED JUDGE: needs both copies of the weights; run make weights")
    with EmbeddedServer.start(four_bits) as other:
        assert other.identity != server.identity
        # Over twenty asks the difference was .03 on average and .065 at most.
        eight, four = probabilities(ask(server, PAIR)), probabilities(ask(other, PAIR))
        assert abs(eight[" A"] - four[" A"]) < 0.1
        assert abs(eight[" B"] - four[" B"]) < 0.1


def test_the_identity_is_the_weights_and_no_reply_holds_a_path(server: EmbeddedServer) -> None:
    path = weights.find_default_weights()
    assert server.identity == f"embedded:{weights.sha256_of(path)}"
    assert server.model == weights.model_name(path)
    reply = ask(server, PAIR)
    assert reply.model == server.model
    with urlopen(f"{server.base_url}/models", timeout=5) as response:
        listing = response.read().decode()
    for text in (reply.model_dump_json(), listing, server.identity, server.model):
        assert path.name not in text
        assert str(path.parent) not in text


def test_a_prompt_beyond_the_context_is_a_400_that_says_so(server: EmbeddedServer) -> None:
    with pytest.raises(BadRequestError) as raised:
        ask(server, "word " * 5000)
    assert raised.value.status_code == 400
    assert isinstance(raised.value.body, dict)
    assert raised.value.body["type"] == "exceed_context_size_error"
    assert raised.value.body["n_prompt_tokens"] > raised.value.body["n_ctx"] == 4096


def test_a_grammar_forces_the_answer(server: EmbeddedServer) -> None:
    grammar = 'root ::= "much better" | "worse"'
    reply = ask(server, PAIR, prefill="", max_tokens=8, extra_body={"grammar": grammar})
    assert reply.choices[0].message.content in ("much better", "worse")


@pytest.mark.extra
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL on Windows")
def test_a_killed_parent_takes_the_child_with_it() -> None:
    script = (
        "import time; from judges.models.embedded import find_or_start_shared_server; "
        "print(find_or_start_shared_server().base_url, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=-1) as parent:
        assert parent.stdout is not None
        base_url = parent.stdout.readline().decode().strip()
        assert answers(base_url)
        os.kill(parent.pid, signal.SIGKILL)
    until(lambda: not answers(base_url))  # a dead process may keep its number


@pytest.mark.extra
def test_one_server_is_shared_ends_when_closed_and_is_then_replaced() -> None:
    first = find_or_start_shared_server()
    assert find_or_start_shared_server() is first
    assert first.alive() and answers(first.base_url)
    started = time.monotonic()
    first.close()  # closes its standard input, no more
    assert time.monotonic() - started < embedded.STOP_SECONDS  # so it was not killed
    assert not first.alive() and not answers(first.base_url)
    first.close()  # twice is harmless
    second = find_or_start_shared_server()
    try:
        assert second is not first and second.alive()
        assert second.identity == first.identity
    finally:
        embedded.close_shared_servers()
    assert not second.alive()


def test_a_file_that_is_no_model_is_named_and_the_remedy_given(tmp_path: Path) -> None:
    bad = tmp_path / "broken.gguf"
    bad.write_bytes(b"GGUF but not really")
    with pytest.raises(EmbeddedUnavailable) as raised:
        EmbeddedServer.start(bad)
    assert says(
        str(raised.value),
        "cannot",
        "broken.gguf: not",
        "GGUF",
        "-m judges.models.weights prepare`",
        "EVENHAND_GGUF",
    )


def test_no_weights_is_one_line_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_GGUF", "/nowhere/model.gguf")
    with pytest.raises(EmbeddedUnavailable, match=r"EVENHAND_GGUF names .* `make weights`\.$"):
        EmbeddedServer.start()


def test_no_wheel_is_one_line_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(EmbeddedUnavailable, match=pattern("`pip install xllamacpp`")):
        EmbeddedServer.start()


def put_in_place_of_the_library(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child imports this instead of xllamacpp."""
    (folder / "xllamacpp.py").write_text(code, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(folder))


def test_a_child_that_dies_at_the_start_gives_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_place_of_the_library("raise ImportError('no libgomp')", tmp_path, monkeypatch)
    with pytest.raises(EmbeddedUnavailable, match=r"code 1 .*: ImportError: no libgomp\. Run"):
        EmbeddedServer.start(weights.find_default_weights())


def test_a_start_that_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_place_of_the_library("import time; time.sleep(60)", tmp_path, monkeypatch)
    with pytest.raises(EmbeddedUnavailable, match=pattern("did not", "within 0.2")):
        EmbeddedServer.start(weights.find_default_weights(), timeout=0.2)


@pytest.mark.parametrize(("chosen", "expected"), [("1", 1), ("6", 6)])
def test_the_number_of_threads_can_be_chosen(
    chosen: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_THREADS", chosen)
    assert embedded.thread_count() == expected


@pytest.mark.parametrize("chosen", ["0", "two", "-1"])
def test_a_senseless_number_of_threads_is_refused(
    chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_THREADS", chosen)
    with pytest.raises(EmbeddedUnavailable, match="Set EVENHAND_THREADS=2"):
        embedded.thread_count()
