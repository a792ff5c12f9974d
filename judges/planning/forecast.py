"""Forecast of calls, tokens, dollars and seconds of a plan before any call is made. Providers
charge less for the start of a prompt that they have seen before (cached tokens): the forecast
counts these tokens, and calls are ordered so that there are many."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from judges.models.interface import JudgeCall
from judges.money.costs import cost_of, price_of, reply_token_cap
from judges.planning.plan import Plan, PlannedAsk, asks_of, identity_of
from studies.domain import Ask, JudgeSpec, Usage
from studies.spec.provider_presets import preset_for_url
from studies.spec.study import Study
from studies.store.store import Store

DEFAULT_MINIMUM: Final = 1024
"""Number of tokens from which a provider is assumed to cache the start of a prompt, if
provider_presets.yaml states none."""


def min_cached_tokens(judge: JudgeSpec) -> int | None:
    """Return how many tokens the repeated start of a prompt must have to cost less (the provider's
    cache); None if it never costs less. From provider_presets.yaml, else from the listed prices."""
    if judge.kind != "endpoint":
        return None
    preset, price = preset_for_url(judge.endpoint), price_of(judge)
    if preset is not None and preset.prompt_cache is not None:
        return preset.prompt_cache
    if price is None or price.cache_read is None or price.cache_read >= price.input:
        return None
    return DEFAULT_MINIMUM


def sort_asks_for_cache(asks: Sequence[Ask]) -> list[Ask]:
    """Reorder calls that follow one another in the plan: first one call of each item and prompt,
    then a second one of each, and so on.

    When the start of a prompt is sent again, the provider then has it in its cache."""
    rounds: dict[int, list[Ask]] = {}
    seen: dict[tuple[str, str], int] = {}
    for ask in asks:
        start = (ask.item, ask.prompt)
        seen[start] = seen.get(start, -1) + 1
        rounds.setdefault(seen[start], []).append(ask)
    return [ask for number in sorted(rounds) for ask in rounds[number]]


@dataclass(slots=True)
class CacheForecast:
    """Counts the prompt tokens that a provider is expected to have in its cache (charged at a lower
    price), call by call in the order of the plan."""

    characters_per_token: float
    _last_texts: dict[tuple[str, str], str] = field(default_factory=dict)

    def count_cached_and_remember(self, call: JudgeCall, minimum: int | None) -> int:
        """Return how many tokens at the start of this call are the same as in the previous call of
        the same judge and prompt; 0 if they are fewer than `minimum`. The text of the call is
        kept for the next comparison. `minimum` None means that the judge's provider has no such
        discount: the result is 0."""
        if minimum is None:
            return 0
        text = "\x00".join(str(part.get("text", "")) for part in call.message_parts())
        name = (call.judge.name, call.prompt.name)
        shared = common_prefix_length(text, self._last_texts.get(name, ""))
        self._last_texts[name] = text
        tokens = int(shared / self.characters_per_token)
        return tokens if tokens >= minimum else 0


def common_prefix_length(first: str, second: str) -> int:
    """Return the number of characters that two texts have in common at their start."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


CHARACTERS_PER_TOKEN: Final = 4.2
REPLY_TOKENS: Final = 250
"""Number of tokens of a reply that the forecast assumes."""

IMAGE_TOKENS: Final = 765
"""Prompt tokens assumed for one image (of about a megapixel)."""
SIMULATED_SECONDS: Final = 0.002
"""Seconds in which one call of a simulated judge is computed and stored: 1.7 to 1.9 ms measured in
runs of 200 to 2,000 calls on two shared cores."""


@dataclass(frozen=True, slots=True)
class Forecast:
    asks: int
    noise: int
    """Number of asks, counted in `asks`, that are repeats made only to measure the noise."""
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None
    """Expected cost in dollars; None if the price of a judge is unknown."""
    seconds: float | None
    cached_tokens: int = 0
    """Prompt tokens expected in the provider's cache, which are charged at a lower price."""


def forecast_plan(
    plan: Plan, pending: set[str] | None = None, store: Store | None = None
) -> Forecast:
    """Forecast the calls of a plan (see `forecast_asks`). If `pending` is given, only the calls
    with these keys are counted."""
    asks = (one for one in asks_of(plan) if pending is None or one.ask.key in pending)
    return forecast_asks(plan.study, asks, store)


def forecast_asks(
    study: Study, planned_asks: Iterable[PlannedAsk], store: Store | None = None
) -> Forecast:
    """Forecast calls, tokens, dollars and seconds of asks from their rendered prompts. The seconds
    use the speed at which the same endpoints answered before, if `store` has such judgements."""
    asks = noise = sent = received = cached = 0
    dollars: float | None = 0.0
    seconds = {judge.name: 0.0 for judge in study.judges}
    prices = {judge.name: price_of(judge) for judge in study.judges}
    rates = {
        judge.name: store.endpoint_throughput(identity_of(judge, study.families)) if store else None
        for judge in study.judges
    }
    minimums = {judge.name: min_cached_tokens(judge) for judge in study.judges}
    cache = CacheForecast(CHARACTERS_PER_TOKEN)
    for planned in planned_asks:
        judge = planned.call.judge
        tokens_in, tokens_out = estimate_tokens(planned.call)
        tokens_cached = cache.count_cached_and_remember(planned.call, minimums[judge.name])
        cached += tokens_cached
        asks, noise = asks + 1, noise + planned.ask.noise
        sent, received = sent + tokens_in, received + tokens_out
        cost = cost_of(Usage(tokens_in, tokens_out, tokens_cached), prices[judge.name])
        dollars = None if dollars is None or cost is None else dollars + cost
        seconds[judge.name] += _estimate_seconds(
            judge, tokens_in, study.concurrency, rates[judge.name]
        )
    total = total_run_seconds(seconds, limit_by_judge(study))
    return Forecast(asks, noise, sent, received, dollars, total, cached)


def limit_by_judge(study: Study) -> dict[str, str]:
    """Return judge -> a text that is the same for judges whose calls share a limit on simultaneous
    calls: judges at the same endpoint with the same API key, all simulated judges, and all
    embedded judges (which run on this machine)."""
    return {one.name: f"{one.kind} {one.endpoint} {one.api_key_env}" for one in study.judges}


def total_run_seconds(seconds: Mapping[str, float], limits: Mapping[str, str]) -> float:
    """Return the seconds of a run. `seconds` is judge -> seconds of its calls, `limits` is judge ->
    name of the limit on simultaneous calls that it shares with others, as in `limit_by_judge`.
    Judges are called in parallel, but the seconds of judges that share a limit add up."""
    totals: dict[str, float] = {}
    for name, value in seconds.items():
        limit = limits.get(name, name)
        totals[limit] = totals.get(limit, 0.0) + value
    return max(totals.values(), default=0.0)


def estimate_tokens(call: JudgeCall) -> tuple[int, int]:
    """Estimate prompt and reply tokens without a tokenizer. Prompt: characters / 4.2, plus
    IMAGE_TOKENS for each image. Reply: 250, or the token limit if that is lower."""
    parts = call.message_parts()
    texts = sum(len(part.get("text", "")) for part in parts)
    images = sum("image_url" in part for part in parts)
    out = min(REPLY_TOKENS, reply_token_cap(call))
    return round(texts / CHARACTERS_PER_TOKEN) + IMAGE_TOKENS * images, out


def _estimate_seconds(
    judge: JudgeSpec, tokens: int, concurrency: int, rate: tuple[float, float] | None
) -> float:
    """Return the seconds that one call adds to a run. `rate` is (prompt tokens/s, calls/s) measured
    on one connection; the embedded judge uses the first number, endpoints the second, times
    `concurrency`.

    Without a measurement: 85 prompt tokens/s for the embedded judge, 3 s per call for endpoints. A
    simulated judge has no delay: its calls take the time in which they are computed and stored.
    """
    if judge.kind == "simulated":
        return SIMULATED_SECONDS
    if judge.kind == "embedded":
        return tokens / (rate[0] if rate and rate[0] else 85.0)
    return (1 / rate[1] if rate else 3.0) / concurrency
