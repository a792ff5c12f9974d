"""Provider discounts for prompts with the same start: the best order of calls, and the expected
number of cached tokens.

A provider caches the start of a prompt only when the first call with it has been processed. The
calls for one item and prompt have the same start (instructions, question, context) and are
consecutive in the plan: sent at the same moment, all of them would cost the full price.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from judges.models.interface import JudgeCall
from judges.money.costs import price_of
from studies.domain import Ask, JudgeSpec
from studies.spec.provider_presets import preset_for_url

DEFAULT_MINIMUM: Final = 1024
"""Number of tokens from which a provider is assumed to cache the start of a prompt, if
provider_presets.yaml states none."""


def cached_from(judge: JudgeSpec) -> int | None:
    """Return the number of tokens from which the repeated start of a prompt costs less; None if it
    never does, by provider_presets.yaml and the price of cached tokens."""
    if judge.kind != "endpoint":
        return None
    preset, price = preset_for_url(judge.endpoint), price_of(judge)
    if preset is not None and preset.prompt_cache is not None:
        return preset.prompt_cache
    if price is None or price.cache_read is None or price.cache_read >= price.input:
        return None
    return DEFAULT_MINIMUM


def order_for_cache(asks: Sequence[Ask]) -> list[Ask]:
    """Order a block of consecutive asks: first one ask of each item and prompt, then a second ask
    of each, and so on.

    The start of a prompt is then in the provider's cache before it is sent again.
    """
    rounds: dict[int, list[Ask]] = {}
    seen: dict[tuple[str, str], int] = {}
    for ask in asks:
        start = (ask.item, ask.prompt)
        seen[start] = seen.get(start, -1) + 1
        rounds.setdefault(seen[start], []).append(ask)
    return [ask for number in sorted(rounds) for ask in rounds[number]]


@dataclass(slots=True)
class CacheForecast:
    """Expected cached tokens of a plan's calls, computed call by call in plan order."""

    characters_per_token: float
    _last_texts: dict[tuple[str, str], str] = field(default_factory=dict)

    def cached_tokens(self, call: JudgeCall, minimum: int | None) -> int:
        """Return how many tokens at the start of a call equal those of the previous call of the
        same judge and prompt; 0 if fewer than `minimum`, or if `minimum` is None (no discount)."""
        if minimum is None:
            return 0
        text = "\x00".join(_texts(call.messages))
        name = (call.judge.name, call.prompt.name)
        shared = common_start(text, self._last_texts.get(name, ""))
        self._last_texts[name] = text
        tokens = int(shared / self.characters_per_token)
        return tokens if tokens >= minimum else 0


def common_start(one: str, other: str) -> int:
    """Return the number of characters that two texts have in common at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _texts(messages: Iterable[dict[str, Any]]) -> Iterable[str]:
    for message in messages:
        content = message["content"]
        parts = [{"text": content}] if isinstance(content, str) else content
        yield from (str(part.get("text", "")) for part in parts)
