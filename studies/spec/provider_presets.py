"""Presets of model providers: address, key variable, unsupported parameters, rate-limit headers."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

PRESETS_FILE: Final = Path(__file__).with_name("provider_presets.yaml")
DEFAULT_TIMEOUT_SECONDS: Final = 180.0

RateHeaders = Literal["requests", "plain", "none"]
"""Headers that state the remaining requests: `x-ratelimit-*-requests` ("requests"), `x-ratelimit-*`
("plain"), or none."""


@dataclass(frozen=True, slots=True)
class ModelRule:
    """Rule for those models of a provider whose names fit one of the patterns `match`: the
    parameters they refuse, and whether they return log-probabilities."""

    match: tuple[str, ...]
    without: tuple[str, ...] = ()
    """Names of the parameters that these models refuse and that are therefore not sent."""
    logprobs: bool = True


@dataclass(frozen=True, slots=True)
class ProviderPreset:
    """A provider of OpenAI-compatible chat completions."""

    name: str
    title: str
    base_url: str
    api_key_env: str = ""
    host: str = ""
    """Pattern of the provider's other hosts, besides that of `base_url`; `*.example.com` matches
    all its subdomains."""
    token_limit: str = "max_tokens"
    rate_headers: RateHeaders = "requests"
    logprobs: bool = True
    prefill: bool = True
    prompt_cache: int | None = None
    """Minimum tokens of a repeated prompt prefix that is billed at a discount; None if unknown."""
    local: bool = False
    models: tuple[ModelRule, ...] = ()

    def serves(self, url: str) -> bool:
        """Whether an address belongs to this provider. Always False for a preset of servers on the
        user's machine, because a study selects such a preset by name."""
        host = (urlsplit(url).hostname or "").lower()
        if self.local or not host:
            return False
        own = (urlsplit(self.base_url).hostname or "", self.host)
        return any(pattern and fnmatchcase(host, pattern) for pattern in own)

    def rule_for(self, model: str) -> ModelRule:
        """Return the first rule that matches a model; an empty rule if no rule matches."""
        found = (
            rule
            for rule in self.models
            if any(fnmatchcase(model.lower(), pattern) for pattern in rule.match)
        )
        return next(found, ModelRule(()))

    def returns_logprobs(self, model: str) -> bool:
        return self.logprobs and self.rule_for(model).logprobs

    def refused_parameters(self, model: str) -> frozenset[str]:
        """Return the parameters that must not be sent to a model.

        They include `max_tokens` if the provider has another name for this parameter.
        """
        renamed = () if self.token_limit == "max_tokens" else ("max_tokens",)
        return frozenset((*self.rule_for(model).without, *renamed))


@lru_cache(maxsize=2)
def provider_presets(path: Path = PRESETS_FILE) -> Mapping[str, ProviderPreset]:
    """Return preset name -> preset, for all providers."""
    values = _read_presets_file(path)["providers"]
    return {name: _parse_preset(name, entry) for name, entry in values.items()}


@lru_cache(maxsize=1024)
def preset_for_url(url: str) -> ProviderPreset | None:
    """Return the preset of the provider at an address; None if no provider has this host."""
    return next((p for p in provider_presets().values() if p.serves(url)), None)


def is_reasoning_model(model: str) -> bool:
    """Whether the name of a model is that of a reasoning model."""
    name = model.lower().rpartition("/")[2]
    patterns = _read_presets_file(PRESETS_FILE)["reasoning"]["match"]
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def default_timeout(model: str) -> float:
    """Return the default time limit of a call in seconds, which is longer for reasoning models."""
    if is_reasoning_model(model):
        return float(_read_presets_file(PRESETS_FILE)["reasoning"]["timeout_s"])
    return DEFAULT_TIMEOUT_SECONDS


@lru_cache(maxsize=2)
def _read_presets_file(path: Path) -> dict[str, Any]:
    import yaml  # not needed to measure a table

    values: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return values


def _parse_preset(name: str, entry: Mapping[str, Any]) -> ProviderPreset:
    rules = tuple(
        ModelRule(
            tuple(rule["match"]), tuple(rule.get("without", ())), bool(rule.get("logprobs", True))
        )
        for rule in entry.get("models", ())
    )
    plain = {key: value for key, value in entry.items() if key != "models"}
    return ProviderPreset(name, **plain, models=rules)
