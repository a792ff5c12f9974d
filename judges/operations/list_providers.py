"""The command that lists the known providers (studies/spec/provider_presets.yaml)."""

from __future__ import annotations

import argparse
from typing import Any

from studies.spec.provider_presets import ProviderPreset, provider_presets


def add_providers_command(commands: Any) -> None:
    summary = "list the providers that a judge can name: address, key variable, differences"
    sub = commands.add_parser("providers", help=summary, description=summary)
    sub.set_defaults(command=print_providers)


def print_providers(options: argparse.Namespace) -> int:
    for preset in provider_presets().values():
        print(f"{preset.name:12} {preset.base_url or 'set base_url to your own address'}")
        print(f"{'':12} key: {preset.api_key_env or 'none'}; {describe_differences(preset)}")
    return 0


def describe_differences(preset: ProviderPreset) -> str:
    """Describe in one line how a provider's API differs from OpenAI's."""
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
        facts.append("no listed price")
    for rule in preset.models:
        if rule.without:
            facts.append(f"{', '.join(rule.match)} without {', '.join(rule.without)}")
    return "; ".join(facts)
