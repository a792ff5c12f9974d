"""List the models that an endpoint offers, and find the model servers that run on this machine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from judges.models.endpoint import EndpointModel
from judges.models.failures import classify_error
from judges.security.endpoint_rules import EndpointRules
from judges.security.key_store import SecretKey
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
    """Request the list of an endpoint's models, which also checks the address and the key."""
    return asyncio.run(_list_models(address, key, rules))


async def _list_models(
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
        return ModelList(address, error=classify_error(error, address).detail)
    finally:
        if model is not None:
            await model.close()


def parse_model_list(content: bytes) -> tuple[str, ...]:
    """Return the sorted model names in the response to `GET /models`."""
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
    """Return the model servers on this machine, found by trying their usual ports; none on a public
    page.

    Only loopback addresses are called, without a proxy and without a key. A server counts only if
    it returns a list of models.
    """
    if is_public():
        return []
    chosen = presets if presets is not None else tuple(provider_presets().values())
    return asyncio.run(_find_local_servers([preset for preset in chosen if preset.local]))


async def _find_local_servers(presets: Sequence[ProviderPreset]) -> list[LocalServer]:
    timeout = aiohttp.ClientTimeout(total=LOCAL_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as session:
        found = await asyncio.gather(*(_ask_local_server(session, one) for one in presets))
    return [server for server in found if server is not None]


async def _ask_local_server(
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
