"""Endpoint rules of a public page: hostile URLs and non-public addresses are refused."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import re
import socket
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from judges.judge_errors import EndpointRefused
from judges.models.clients import MAX_REPLY_BYTES, EndpointModel, tls_context
from judges.models.failures import BadReply, classify_error
from judges.models.interface import JudgeCall
from judges.operations.check_judge import check_judge
from judges.rendering.messages import PromptInputs
from judges.rendering.prompt import load_prompt
from judges.security.endpoint_rules import (
    LOCAL_RULES,
    PIN_SECONDS,
    EndpointRules,
    PinnedResolver,
    check_url,
    current_endpoint_rules,
    is_private_url,
    provider_hosts,
    why_address_not_public,
)
from studies.domain import Item, JudgeSpec
from tests.attacks.attack_list import OWN, PUBLIC
from tests.attacks.attack_log import attempt
from tests.judge_server import Fault, JudgeServer, always
from tests.judges.security.tls_judge import NAME, TlsJudge, make_certificate, tls_judge
from tests.judges.small_studies import endpoint, engine, study_plan
from tests.page_words import pattern
from tests.samples import each

SSRF = "SSRF through a base URL"
ANYWHERE = EndpointRules(strict=True)
LISTED = EndpointRules(strict=True, hosts=provider_hosts(), ports=(443,))
SCENE = PromptInputs(Item("q", "hello", {}), (), (), ())

HOSTILE = [
    "http://api.openai.com/v1",  # not https
    "https://127.0.0.1/v1",
    "https://127.1/v1",
    "https://2130706433/v1",  # 127.0.0.1 as one number
    "https://017700000001/v1",  # in octal
    "https://0x7f000001/v1",  # in hex
    "https://0x7f.0.0.1/v1",
    "https://0177.0.0.1/v1",
    "https://127.0.0.1./v1",
    "https://0/v1",
    "https://0.0.0.0/v1",
    "https://[::1]/v1",
    "https://[::]/v1",
    "https://[::ffff:127.0.0.1]/v1",
    "https://[::ffff:7f00:1]/v1",
    "https://[0:0:0:0:0:ffff:127.0.0.1]/v1",
    "https://[64:ff9b::7f00:1]/v1",
    "https://[2002:7f00:1::]/v1",
    "https://[fe80::1%25eth0]/v1",
    "https://[fd00:ec2::254]/latest/meta-data",
    "https://169.254.169.254/latest/meta-data",
    "https://2852039166/latest/meta-data",  # 169.254.169.254 as one number
    "https://100.64.0.1/v1",
    "https://10.0.0.7/v1",
    "https://192.168.1.1/v1",
    "https://224.0.0.1/v1",
    "https://168.63.129.16/machine",
    "https://93.184.216.34/v1",  # public, but a number: no certificate says whose it is
    "https://localhost/v1",
    "https://localhost./v1",
    "https://LOCALHOST/v1",
    "https://judge.localhost/v1",
    "https://metadata.google.internal/computeMetadata/v1",
    "https://printer.local/v1",
    "https://router.lan/v1",
    "https://intranet/v1",
    "https://api.openai.com./v1",
    "https://api..openai.com/v1",
    "https://-api.openai.com/v1",
    "https://①②⑦.⓪.⓪.①/v1",  # digits of another alphabet
    "https://１２７.０.０.１/v1",
    "https://127。0。0。1/v1",  # full stops of another alphabet
    "https://аpi.openai.com/v1",  # a Cyrillic а
    "https://ex%61mple.com/v1",
    "https://user@api.openai.com/v1",
    "https://user:pass@api.openai.com/v1",
    "https://api.openai.com@127.0.0.1/v1",
    "https://api.openai.com\\@127.0.0.1/v1",
    "https://api.openai.com#@127.0.0.1/v1",
    "https://api.openai.com?x=@127.0.0.1",
    "https://api.openai.com:22/v1",
    "https://api.openai.com:6379/v1",
    "https://api.openai.com:99999/v1",
    "https://api.openai.com:/v1",
    "https://api.openai.com/v1\r\nHost: 127.0.0.1",
    "https://api.openai.com/v1\n",
    " https://api.openai.com/v1",
    "https:///api.openai.com/v1",
    "https:api.openai.com/v1",
    "//api.openai.com/v1",
    "file:///etc/passwd",
    "gopher://api.openai.com/v1",
    "unix:/run/docker.sock",
    "",
]


@each("url", HOSTILE)
def test_a_hostile_url_is_refused_before_anything_is_looked_up(url):
    for rules in (ANYWHERE, LISTED):
        with attempt(SSRF, PUBLIC, url):
            with pytest.raises(EndpointRefused) as refused:
                check_url(url, rules)
            assert "\n" not in str(refused.value) and "is refused" in str(refused.value)


def is_accepted(url: str, rules: EndpointRules) -> bool:
    with contextlib.suppress(EndpointRefused):
        check_url(url, rules)
        return True
    return False


@pytest.mark.parametrize(
    "url",
    ["https://api.openai.com/v1", "https://API.OpenAI.com/v1", "https://openrouter.ai/api/v1",
     "https://mine.openai.azure.com/openai/v1", "https://api.openai.com:443/v1"],
)  # fmt: skip
def test_the_listed_providers_may_be_asked(url):
    assert is_accepted(url, LISTED) and is_accepted(url, ANYWHERE)


@pytest.mark.parametrize(
    "host", ["example.com", "api.openai.com.example.com", "xapi.openai.com", "openai.azure.com",
             "evilopenai.azure.com", "mine.openai.azure.com.example.org"],
)  # fmt: skip
def test_a_host_that_only_looks_like_a_listed_one_is_refused(host):
    refusal = pytest.raises(EndpointRefused, match=pattern("not among", "providers"))
    with attempt(SSRF, PUBLIC, host), refusal:
        check_url(f"https://{host}/v1", LISTED)


@pytest.mark.parametrize(("hosts", "told"), [(6, []), (7, [1]), (9, [3])])
def test_a_refusal_names_six_providers_and_counts_the_others(hosts: int, told: list[int]) -> None:
    rules = EndpointRules(strict=True, hosts=tuple(f"host{k}.org" for k in range(hosts)))
    with pytest.raises(EndpointRefused) as refused:
        check_url("https://other.com/v1", rules)
    said = str(refused.value)
    assert [k for k in range(hosts) if f"host{k}.org" in said] == list(range(6))
    assert [int(number) for number in re.findall(r" (\d+) more", said)] == told


@pytest.mark.parametrize("length", [119, 120, 121, 500])
def test_a_refusal_shows_at_most_120_characters_of_a_url(length: int) -> None:
    url = "http://" + "a" * (length - 7)
    with pytest.raises(EndpointRefused) as refused:
        check_url(url, ANYWHERE)
    shown = max(re.findall("a+", str(refused.value)), key=len)
    assert len(shown) == (length if length <= 120 else 119) - 7, "one is the quotation mark"


def test_a_refusal_shows_no_character_that_turns_the_line() -> None:
    with pytest.raises(EndpointRefused) as refused:
        check_url("https://x\u202ey.org", ANYWHERE)
    assert str(refused.value).isprintable() and "u202e" in str(refused.value)


@pytest.mark.parametrize(
    ("url", "private"),
    [
        ("http://localhost:8000/v1", True), ("http://gpu/v1", True), ("https://gpu./v1", True),
        ("http://judge.internal/v1", True), ("http://a.judge.local.:80/v1", True),
        ("http://local.judge.org/v1", False), ("https://api.openai.com/v1", False),
        ("http://127.0.0.1:1/v1", True), ("http://10.1.2.3", True), ("http://8.8.8.8/v1", False),
        ("http://[::1]:8/v1", True), ("http://[2606:4700:4700::1111]/v1", False),
        ("http://[bad/v1", False), ("", False), ("file:///etc", False), ("https://./v1", False),
    ],
)  # fmt: skip
def test_a_private_address_is_one_without_a_public_name_or_number(url: str, private: bool) -> None:
    assert is_private_url(url) is private


def test_what_holds_is_read_from_the_environment(monkeypatch):
    assert current_endpoint_rules() is LOCAL_RULES
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    assert current_endpoint_rules().strict and current_endpoint_rules().hosts == provider_hosts()
    monkeypatch.setenv("EVENHAND_ENDPOINTS", "llm.example.org, *.models.example.org")
    check_url("https://llm.example.org/v1")
    check_url("https://a.models.example.org/v1")
    with pytest.raises(EndpointRefused):
        check_url("https://other.example.org/v1")
    monkeypatch.setenv("EVENHAND_ENDPOINTS", "any")
    check_url("https://other.example.org:8443/v1")
    with pytest.raises(EndpointRefused):
        check_url("http://other.example.org/v1")
    monkeypatch.delenv("EVENHAND_PUBLIC")
    monkeypatch.setenv("SPACE_ID", "someone/space")
    assert current_endpoint_rules().strict
    monkeypatch.setenv("EVENHAND_PUBLIC", "0")
    assert current_endpoint_rules() is LOCAL_RULES


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000/v1", "http://localhost:11434/v1", "http://[::1]:8000/v1",
            "http://10.0.0.7/v1", "https://api.openai.com/v1"],
)  # fmt: skip
def test_on_one_s_own_machine_loopback_and_private_addresses_are_fine(url):
    assert is_accepted(url, LOCAL_RULES)


@pytest.mark.parametrize(
    "url",
    ["http://sk-canary@127.0.0.1:9/v1", "https://user:sk-canary@api.openai.com/v1",
     "http://sk-canary@[::1]:9/v1", "https://sk-canary%40host@127.0.0.1/v1"],
)  # fmt: skip
def test_a_user_in_a_url_is_refused_everywhere_and_not_repeated(url, each_mode):
    with attempt(SSRF, each_mode, url):
        with pytest.raises(EndpointRefused) as refused:
            check_url(url)
        assert "canary" not in str(refused.value)


@each(
    "address",
    ["127.0.0.1", "127.8.9.1", "0.0.0.0", "0.1.2.3", "10.1.2.3", "172.16.0.1", "192.168.0.1",
     "100.64.0.1", "100.100.100.200", "100.127.255.255", "169.254.169.254", "168.63.129.16",
     "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
     "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
     "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
     "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1",
     "2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:c0a8:101::1",
     "2001:0:7f00:1::", "2001:0:5db8:d822:0:0:80ff:fffe",
     "2001:db8::1", "3fff::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0",
     "2606:4700::1111%lo", "fec0::1", "ff02::1", "100::1", "5f00::1",
     "", "localhost", "127.1", "0x7f000001", "2130706433", "１２７.0.0.1"],
)  # fmt: skip
def test_an_address_that_is_not_public_is_named_for_what_it_is(address):
    with attempt(SSRF, PUBLIC, address):
        assert why_address_not_public(address)


@pytest.mark.parametrize(
    "address",
    ["93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101",
     "2002:101:101::1"],
)  # fmt: skip
def test_a_public_address_is_public_however_it_is_wrapped(address):
    assert why_address_not_public(address) == ""


# ---- names that change their meaning -------------------------------------------------------


class Turning:
    """A name service whose answers come from a list, one after the other."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers, self.asked = list(answers), 0

    async def __call__(self, host: str, port: int, family: socket.AddressFamily) -> list[Any]:
        addresses = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        return [
            {"hostname": host, "host": address, "port": port, "proto": 0, "flags": 0,
             "family": socket.AF_INET6 if ":" in address else socket.AF_INET}
            for address in addresses
        ]  # fmt: skip


async def resolved(names: Turning, times: int, clock: Any = lambda: 0.0) -> list[list[str]]:
    pinned = PinnedResolver(why_address_not_public, names, clock)
    found = [await pinned.resolve("judge.example.com", 443) for _ in range(times)]
    return [[str(one["host"]) for one in answer] for answer in found]


def test_a_name_is_looked_up_once_so_that_its_second_meaning_is_never_seen():
    names = Turning(["93.184.216.34"], ["127.0.0.1"])
    with attempt(SSRF, PUBLIC, "a name that is rebound"):
        assert asyncio.run(resolved(names, 3)) == [["93.184.216.34"]] * 3
        assert names.asked == 1


def test_after_a_while_it_is_looked_up_again_and_checked_again():
    times = iter([0.0, 0.0, PIN_SECONDS + 1])
    names = Turning(["93.184.216.34"], ["127.0.0.1"])
    refusal = pytest.raises(EndpointRefused, match="this machine")
    with attempt(SSRF, PUBLIC, "a name that is rebound later"), refusal:
        asyncio.run(resolved(names, 2, lambda: next(times)))
    assert names.asked == 2


@pytest.mark.parametrize("answer", [["127.0.0.1"], ["93.184.216.34", "10.0.0.1"], ["::1"], []])
def test_one_address_that_is_not_public_refuses_the_name(answer):
    with attempt(SSRF, PUBLIC, f"a name that means {answer}"), pytest.raises(EndpointRefused):
        asyncio.run(resolved(Turning(answer), 1))


def test_two_workers_at_once_get_one_answer():
    names = Turning(["93.184.216.34"], ["127.0.0.1"])

    async def both() -> list[Any]:
        pinned = PinnedResolver(why_address_not_public, names)
        return await asyncio.gather(*(pinned.resolve("a.example.com", 443) for _ in range(5)))

    assert {one["host"] for answer in asyncio.run(both()) for one in answer} == {"93.184.216.34"}


# ---- connections ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def judge(certificate, monkeypatch) -> Iterator[TlsJudge]:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with tls_judge(*certificate) as server:
        yield server


def test_certificates_are_read_once_for_each_place_that_the_environment_names(
    certificate, monkeypatch
):
    machine = tls_context()
    assert tls_context() is machine
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    assert len(tls_context().get_ca_certs()) == 1
    monkeypatch.undo()
    assert tls_context() is machine


def ask(url: str, rules: EndpointRules, times: int = 1, key: str = "a-key-of-nobody") -> list[str]:
    spec = JudgeSpec("judge", "m", endpoint=url)
    messages = [{"role": "user", "content": "hello"}]
    call = JudgeCall("key", spec, load_prompt("brief-letters"), SCENE, messages, {})

    async def asked() -> list[str]:
        model = EndpointModel(url, key, rules=rules)
        try:
            return [(await model.complete(call)).text for _ in range(times)]
        finally:
            await model.close()

    return asyncio.run(asked())


def at(judge: TlsJudge, *answers: list[str]) -> EndpointRules:
    """Strict in everything but this: the port of the test's judge, on loopback, is allowed."""
    names = Turning(*answers or (["127.0.0.1"],))
    return EndpointRules(
        strict=True, ports=(judge.port,), refusal_reason=lambda address: "", lookup=names
    )


def test_the_connection_goes_to_the_address_that_was_checked_under_the_name_that_was_asked(judge):
    rules = at(judge, ["127.0.0.1"], ["127.0.0.9"])
    assert ask(f"https://{NAME}:{judge.port}/v1", rules, times=3) == ["fine"] * 3
    assert isinstance(rules.lookup, Turning) and rules.lookup.asked == 1
    assert set(judge.names) == {NAME} and set(judge.hosts) == {f"{NAME}:{judge.port}"}


def test_a_certificate_of_another_name_is_refused(judge):
    with pytest.raises(Exception) as refused:
        ask(f"https://other.example.com:{judge.port}/v1", at(judge))
    assert "certificate" in str(refused.value).lower() and judge.hosts == []


def test_a_name_that_means_this_machine_is_not_connected_to(judge):
    rules = EndpointRules(strict=True, ports=(judge.port,), lookup=Turning(["127.0.0.1"]))
    with attempt(SSRF, PUBLIC, "a name that means this machine"):
        with pytest.raises(EndpointRefused, match=pattern("address", "machine")) as refused:
            ask(f"https://{NAME}:{judge.port}/v1", rules)
        assert judge.names == [] and judge.hosts == []
    fault = classify_error(refused.value, "x")
    assert (fault.action, fault.reason) == ("stop", "endpoint refused")


def test_a_proxy_of_the_environment_does_not_look_names_up_for_a_stranger(judge, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    url = f"https://{NAME}:{judge.port}/v1"
    assert ask(url, at(judge)) == ["fine"]


@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_is_not_followed_in_either_mode(status, judge):
    with JudgeServer() as inner:
        judge.status, judge.headers = status, {"Location": f"{inner.base_url}/chat/completions"}
        with attempt(SSRF, PUBLIC, f"a redirect, {status}"):
            with pytest.raises(Exception) as told:
                ask(f"https://{NAME}:{judge.port}/v1", at(judge))
            assert classify_error(told.value, "x").reason == "redirect"
            assert inner.books(with_calls=True)["calls"] == []
        redirects = always(Fault("redirect", location=inner.base_url))
        with JudgeServer(rules=[redirects]) as outer, attempt(SSRF, OWN, f"a redirect, {status}"):
            with pytest.raises(Exception) as told:
                ask(outer.base_url, LOCAL_RULES)
            assert classify_error(told.value, "x").reason == "redirect"
            assert inner.books(with_calls=True)["calls"] == []


def test_what_stands_at_an_address_is_not_read_out_through_our_messages(judge):
    url, rules = f"https://{NAME}:{judge.port}/v1", at(judge)
    inner = b'{"AccessKeyId": "inner-canary"}'
    for judge.status, judge.body in ((200, inner), (500, inner), (403, b"<p>inner-canary</p>")):
        with attempt(SSRF, PUBLIC, f"a body at status {judge.status}"):
            with pytest.raises(Exception) as told:
                ask(url, rules)
            assert "inner-canary" not in classify_error(told.value, "x").detail
    judge.status, judge.body = 403, b'{"error": {"message": "no such plan"}}'
    with pytest.raises(Exception) as told:
        ask(url, rules)
    assert "no such plan" in classify_error(told.value, "x").detail


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("gzip", lambda: gzip.compress(bytes(4 * MAX_REPLY_BYTES))),
     ("deflate", lambda: zlib.compress(bytes(4 * MAX_REPLY_BYTES))),
     ("br", lambda: b"\0" * 100), ("zstd", lambda: b"\0" * 100),
     ("identity", lambda: bytes(MAX_REPLY_BYTES + 1))],
    ids=["gzip", "deflate", "br", "zstd", "identity"],
)  # fmt: skip
def test_a_reply_that_unpacks_to_more_than_any_verdict_is_not_read_to_its_end(
    encoding, body, judge
):
    judge.body, judge.headers = body(), {"Content-Encoding": encoding}
    for mode, host, rules in ((PUBLIC, NAME, at(judge)), (OWN, "127.0.0.1", LOCAL_RULES)):
        with attempt(SSRF, mode, f"a reply above 8 MB, {encoding}"):
            with pytest.raises(Exception) as told:
                ask(f"https://{host}:{judge.port}/v1", rules)
            assert isinstance(told.value, BadReply)
            why = "compressed as" if encoding in ("br", "zstd") else "exceeds 8 MB"
            assert why in str(told.value)


@pytest.mark.parametrize("encoding", ["br", "zstd"])
def test_a_stream_in_a_compression_not_requested_is_not_read(encoding, judge):
    judge.body = b'data: {"choices": [{"delta": {"content": "A"}, "finish_reason": "stop"}]}\n\n'
    judge.headers = {"Content-Encoding": encoding, "Content-Type": "text/event-stream"}
    for mode, host, rules in ((PUBLIC, NAME, at(judge)), (OWN, "127.0.0.1", LOCAL_RULES)):
        refused = pytest.raises(BadReply, match="compressed as")
        with attempt(SSRF, mode, f"a stream compressed as {encoding}"), refused:
            ask(f"https://{host}:{judge.port}/v1", rules)


# ---- one mechanism for all who ask ---------------------------------------------------------


def test_for_a_stranger_no_run_no_test_and_no_description_reaches_this_machine(
    tmp_path, store, monkeypatch
):
    with JudgeServer() as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url, vision=True)])
        monkeypatch.setenv("EVENHAND_PUBLIC", "1")
        with attempt(SSRF, PUBLIC, "a run at loopback", "a test at loopback"):
            with engine() as asking, pytest.raises(EndpointRefused, match=pattern("be https")):
                asking.start(plan, store)
            checked = check_judge(plan, plan.study.judges[0])
            assert (checked.read.status, checked.read.rule) == ("error", "endpoint refused")
            assert server.books(with_calls=True)["calls"] == []


def test_the_embedded_judge_is_ours_and_answers_in_public_too(monkeypatch):
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    with JudgeServer() as server:
        assert ask(server.base_url, LOCAL_RULES)
        with pytest.raises(EndpointRefused):
            ask(server.base_url, current_endpoint_rules())


@pytest.mark.parametrize("text", ["hosts: api.example.org", "hosts: [3]", "hosts: ['']", "- hosts"])
def test_a_list_of_providers_holds_names_of_hosts(text: str, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(EndpointRefused, match=r"^own\.yaml: expected"):
        provider_hosts(tmp_path / "own.yaml")
    (tmp_path / "good.yaml").write_text("hosts: [API.example.org, b]")
    assert provider_hosts(tmp_path / "good.yaml") == ("api.example.org", "b")
