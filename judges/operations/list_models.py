"""Commands about models: list the models that an endpoint or a server on this machine offers, list
the providers, and download weights for the embedded judge."""

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from judges.judge_errors import PlanError
from judges.models import clients, failures
from judges.models.clients import EndpointModel
from judges.models.weights import (
    HubWeights,
    cached_hub_weights,
    download_weights,
    parse_hub_weights,
    size_on_hub,
)
from judges.security import key_consents
from judges.security.endpoint_rules import EndpointRules
from judges.security.key_store import SecretKey
from studies.domain import JudgeSpec
from studies.settings import is_public
from studies.spec.provider_presets import ProviderPreset, provider_presets

LIST_SECONDS: Final = 15.0
LOCAL_SECONDS: Final = 1.0
"""Seconds to wait for a server on this machine. A short time is enough: a server answers at once,
and a port without a server refuses at once."""
MAX_LIST_BYTES: Final = 4 * 1024 * 1024
MAX_MODELS: Final = 2000


@dataclass(frozen=True, slots=True)
class ModelList:
    """Models that an endpoint offers, or the reason why it gave no list."""

    address: str
    models: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A model server running on this machine, with the models it offers."""

    preset: ProviderPreset
    address: str
    models: tuple[str, ...]


def list_models(
    address: str, key: SecretKey | str = "", rules: EndpointRules | None = None
) -> ModelList:
    """Request the list of an endpoint's models. A failure, such as a wrong address or key, is not
    raised: it is the `error` of the result."""
    return asyncio.run(_request_models(address, key, rules))


async def _request_models(
    address: str, key: SecretKey | str, rules: EndpointRules | None
) -> ModelList:
    model: EndpointModel | None = None
    try:
        model = EndpointModel(address, key, rules=rules)
        async with asyncio.timeout(LIST_SECONDS):
            content = await model.get("models")
        return ModelList(address, parse_model_list(content))
    except ValueError as error:
        return ModelList(address, error=str(error))
    except Exception as error:
        return ModelList(address, error=failures.classify_error(error, address).detail)
    finally:
        if model is not None:
            await model.close()


def parse_model_list(content: bytes) -> tuple[str, ...]:
    """Return the sorted model names in the response to `GET /models`, at most MAX_MODELS; raise
    ValueError if it contains no list."""
    try:
        values: Any = json.loads(content)
    except ValueError:
        raise ValueError("the reply to /models is not JSON; check the address") from None
    entries = values.get("data") if isinstance(values, Mapping) else values
    if not isinstance(entries, list):
        raise ValueError("the reply to /models has no list `data`; check the address")
    names = {
        str(entry["id"])[:200]
        for entry in entries
        if isinstance(entry, Mapping) and isinstance(entry.get("id"), str) and entry["id"]
    }
    return tuple(sorted(names, key=str.casefold)[:MAX_MODELS])


def find_local_servers(presets: Sequence[ProviderPreset] | None = None) -> list[LocalServer]:
    """Return the model servers on this machine, found by trying the usual ports of `presets` (None:
    all known servers); none on a public page.

    Only loopback addresses are called, without a proxy and without a key. A server counts only if
    it returns a list with at least one model.
    """
    if is_public():
        return []
    chosen = presets if presets is not None else tuple(provider_presets().values())
    return asyncio.run(_find_local_servers([preset for preset in chosen if preset.local]))


async def _find_local_servers(presets: Sequence[ProviderPreset]) -> list[LocalServer]:
    timeout = aiohttp.ClientTimeout(total=LOCAL_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as session:
        found = await asyncio.gather(*(_query_local_server(session, one) for one in presets))
    return [server for server in found if server is not None]


async def _query_local_server(
    session: aiohttp.ClientSession, preset: ProviderPreset
) -> LocalServer | None:
    port = urlsplit(preset.base_url).port
    address = f"http://127.0.0.1:{port}{urlsplit(preset.base_url).path}"
    try:
        async with session.get(f"{address}/models", allow_redirects=False) as response:
            if response.status != 200:
                return None
            content = await response.content.read(MAX_LIST_BYTES)
        models = parse_model_list(content)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        return None
    return LocalServer(preset, address, models) if models else None


def add_providers_command(commands: Any) -> None:
    summary = "list the providers that a judge can name: address, key variable, differences"
    sub = commands.add_parser("providers", help=summary, description=summary)
    sub.set_defaults(command=print_providers)


def print_providers(options: argparse.Namespace) -> int:
    for preset in provider_presets().values():
        print(f"{preset.name:12} {preset.base_url or 'set base_url to your own address'}")
        print(f"{'':12} key: {preset.api_key_env or 'none'}; {describe_provider_api(preset)}")
    return 0


def describe_provider_api(preset: ProviderPreset) -> str:
    """Describe a provider's API in one line: parameter that limits the reply, log-probabilities,
    prefilled answers, rate-limit headers, prompt cache, parameters that models refuse."""
    facts = [f"{preset.token_limit} limits the reply"]
    if not preset.logprobs:
        facts.append("no log-probabilities")
    if not preset.prefill:
        facts.append("no prefilled answers")
    if preset.rate_headers != "none":
        facts.append("reports the requests left")
    if preset.prompt_cache:
        facts.append(f"repeated starts of prompts cost less from {preset.prompt_cache:,} tokens on")
    if preset.local:
        facts.append("a call costs no dollars")
    for rule in preset.models:
        without = [*rule.without, *["log-probabilities"] * (not rule.logprobs)]
        facts.append(f"{', '.join(rule.match)} without {', '.join(without)}")
    return "; ".join(facts)


MEGABYTE: Final = 1 << 20


def add_model_commands(commands: Any) -> None:
    summary = "list the models of a provider or address, which checks the key; without one, the "
    summary += "model servers on this machine"
    sub = commands.add_parser("models", help=summary, description=summary)
    sub.add_argument("endpoint", nargs="?", help="a provider's name, or http://… or https://…")
    sub.add_argument("--key-env", default=None, help="the variable with the key")
    key_consents.add_allow_keys_option(sub)
    sub.set_defaults(command=print_models)
    summary = "download GGUF weights of the Hub for an embedded judge"
    sub = commands.add_parser("download", help=summary, description=summary)
    sub.add_argument("file", help="hub:owner/repo/file.gguf, optionally with @revision")
    sub.add_argument("--yes", action="store_true", help="do not ask before the download")
    sub.set_defaults(command=download_hub_weights)


def print_models(options: argparse.Namespace) -> int:
    if options.endpoint is None:
        servers = find_local_servers()
        for server in servers:
            print(f"{server.preset.title} at {server.address}")
            print("\n".join(f"  {name}" for name in server.models))
        if not servers:
            names = ", ".join(p.title for p in provider_presets().values() if p.local)
            print(f"No model server answers at its usual port of this machine ({names}).")
        return 0
    judge = _build_judge_for_endpoint(options.endpoint, options.key_env)
    key = SecretKey("")
    if judge.api_key_env:
        consents = key_consents.user_consents()
        key_consents.obtain_judge_key_consents([judge], consents, allowed=options.allow_keys)
        key = clients.find_api_key(judge, {}, consents)
    found = list_models(judge.endpoint, key)
    if found.error:
        print(f"{judge.endpoint}: {found.error}", file=sys.stderr)
        return 1
    print("\n".join(found.models))
    return 0


def _build_judge_for_endpoint(provider: str, key_env: str | None) -> JudgeSpec:
    """Build a judge for a provider's name or a URL, because the rules for API keys and consent
    apply to judges. `key_env` names the variable with the key; None: the provider's own."""
    preset = provider_presets().get(provider)
    if preset is None and not provider.startswith(("http://", "https://")):
        known = ", ".join(provider_presets())
        raise PlanError(f"{provider}: no such provider; use one of {known}, or an address")
    address = preset.base_url if preset else provider
    if not address:
        raise PlanError(f"{provider}: has no fixed address; give yours, https://…/openai/v1")
    variable = key_env if key_env is not None else (preset.api_key_env if preset else "")
    return JudgeSpec(name=provider, model="-", endpoint=address.rstrip("/"), api_key_env=variable)


def download_hub_weights(options: argparse.Namespace) -> int:
    weights = parse_hub_weights(options.file)
    if found := cached_hub_weights(weights):
        print(f"Already on this machine: {found}")
        return 0
    size = size_on_hub(weights)
    print(f"{weights}: {size / MEGABYTE:,.0f} MB", flush=True)
    if not options.yes and not _confirm_download():
        return 1
    print(_download_and_report(weights, size))
    return 0


def _confirm_download() -> bool:
    if not sys.stdin.isatty():
        print("Nothing was downloaded. Add --yes to download without a question.", file=sys.stderr)
        return False
    return input("Download it? [y/N] ").strip().lower() in ("y", "yes")


def _download_and_report(weights: HubWeights, size: int) -> str:
    shown = -1

    def print_percent_received(received: int, total: int) -> None:
        nonlocal shown
        percent = 100 * received // max(total or size, 1)
        if percent != shown:
            shown = percent
            print(f"\r{percent:3d} %", end="", file=sys.stderr, flush=True)

    path = download_weights(weights, print_percent_received)
    print("", file=sys.stderr)
    return f"Downloaded to {path}"
