"""Commands that list the models of an endpoint and download the weights of an embedded judge."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

from judges.judge_errors import PlanError
from judges.models.factory import find_api_key
from judges.models.gguf_source import (
    HubWeights,
    cached_hub_weights,
    download_weights,
    parse_hub_weights,
    size_on_hub,
)
from judges.operations.list_models import find_local_servers, list_models
from judges.security.consent_commands import add_allow_option, confirm_judges
from judges.security.key_consents import user_consents
from judges.security.key_store import SecretKey
from studies.domain import JudgeSpec
from studies.spec.provider_presets import provider_presets

MEGABYTE: Final = 1 << 20


def add_model_commands(commands: Any) -> None:
    summary = "list the models of a provider or address, which checks the key; without one, the "
    summary += "model servers on this machine"
    sub = commands.add_parser("models", help=summary, description=summary)
    sub.add_argument("endpoint", nargs="?", help="a provider's name, or http://… or https://…")
    sub.add_argument("--key-env", default=None, help="the variable with the key")
    add_allow_option(sub)
    sub.set_defaults(command=print_models)
    summary = "download GGUF weights of the Hub for an embedded judge"
    sub = commands.add_parser("download", help=summary, description=summary)
    sub.add_argument("file", help="hub:owner/repo/file.gguf, optionally with @revision")
    sub.add_argument("--yes", action="store_true", help="do not ask before the download")
    sub.set_defaults(command=download)


def print_models(options: argparse.Namespace) -> int:
    if options.endpoint is None:
        return _print_local_servers()
    judge = _judge_at(options.endpoint, options.key_env)
    key = SecretKey("")
    if judge.api_key_env:
        consents = user_consents()
        confirm_judges([judge], consents, allowed=options.allow_keys)
        key = find_api_key(judge, {}, consents)
    found = list_models(judge.endpoint, key)
    if found.error:
        print(f"{judge.endpoint}: {found.error}", file=sys.stderr)
        return 1
    print("\n".join(found.models))
    return 0


def _judge_at(provider: str, key_env: str | None) -> JudgeSpec:
    """Build a judge for a provider's name or a URL, because the rules for API keys and consent
    apply to judges."""
    preset = provider_presets().get(provider)
    if preset is None and not provider.startswith(("http://", "https://")):
        known = ", ".join(provider_presets())
        raise PlanError(f"{provider}: no such provider; use one of {known}, or an address")
    address = preset.base_url if preset else provider
    if not address:
        raise PlanError(f"{provider}: has no fixed address; give yours, https://…/openai/v1")
    variable = key_env if key_env is not None else (preset.api_key_env if preset else "")
    return JudgeSpec(name=provider, model="-", endpoint=address.rstrip("/"), api_key_env=variable)


def _print_local_servers() -> int:
    servers = find_local_servers()
    for server in servers:
        print(f"{server.preset.title} at {server.address}")
        print("\n".join(f"  {name}" for name in server.models))
    if not servers:
        names = ", ".join(p.title for p in provider_presets().values() if p.local)
        print(f"No model server answers at its usual port of this machine ({names}).")
    return 0


def download(options: argparse.Namespace) -> int:
    weights = parse_hub_weights(options.file)
    if found := cached_hub_weights(weights):
        print(f"Already on this machine: {found}")
        return 0
    size = size_on_hub(weights)
    print(f"{weights}: {size / MEGABYTE:,.0f} MB", flush=True)
    if not options.yes and not _confirm_download():
        return 1
    print(_download_with_progress(weights, size))
    return 0


def _confirm_download() -> bool:
    if not sys.stdin.isatty():
        print("Nothing was downloaded. Add --yes to download without a question.", file=sys.stderr)
        return False
    return input("Download it? [y/N] ").strip().lower() in ("y", "yes")


def _download_with_progress(weights: HubWeights, size: int) -> str:
    shown = -1

    def report(received: int, total: int) -> None:
        nonlocal shown
        percent = 100 * received // max(total or size, 1)
        if percent != shown:
            shown = percent
            print(f"\r{percent:3d} %", end="", file=sys.stderr, flush=True)

    path = download_weights(weights, report)
    print("", file=sys.stderr)
    return f"Downloaded to {path}"
