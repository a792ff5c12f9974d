"""Deterministic token counts, and a prefix cache like the providers' own: whole blocks, first come
first cached."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from hashlib import blake2b

from .asked import Asked

CHARS_PER_TOKEN = 4
PER_MESSAGE = 4
PER_IMAGE = 85
PRIMED = 3  # the tokens that open the assistant's turn


def text_tokens(text: str) -> int:
    """A quarter of the UTF-8 bytes, rounded up: wrong for any real tokenizer, the same every
    time."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // CHARS_PER_TOKEN)


def prompt_tokens(asked: Asked) -> int:
    texts = sum(text_tokens(text) + PER_MESSAGE for _, text in asked.turns)
    return texts + PER_IMAGE * asked.images + PRIMED


@dataclass(frozen=True)
class Usage:
    """`prompt` includes `cached` and `cache_write`, as in the OpenAI protocol."""

    prompt: int
    completion: int
    cached: int = 0
    cache_write: int = 0
    reasoning: int = 0

    def as_json(self) -> dict[str, object]:
        details = {"cached_tokens": self.cached, "audio_tokens": 0}
        if self.cache_write:
            details["cache_write_tokens"] = self.cache_write
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
            "prompt_tokens_details": details,
            "completion_tokens_details": {"reasoning_tokens": self.reasoning, "audio_tokens": 0},
        }


@dataclass
class PrefixCache:
    """Blocks of text seen before, each known by the hash of everything up to its end.

    `minimum` tokens must match before anything counts as cached. `writes` makes the newly stored
    blocks
    a price of their own (`cache_write_tokens`). Past `capacity` blocks nothing new is stored.
    `lag`: seconds after which a new block can be used, as long as the first call for it takes.
    """

    block: int = 64
    minimum: int = 128
    writes: bool = False
    capacity: int = 200_000
    lag: float = 0.0
    seen: dict[bytes, float] = field(default_factory=dict)

    def take(self, asked: Asked) -> tuple[int, int]:
        """(cached, cache_write) tokens of this prompt; its blocks are cached from now on."""
        marks = self._marks("\x00".join(f"{role}\x01{text}" for role, text in asked.turns))
        now, known = time.monotonic(), 0
        while known < len(marks) and self.seen.get(marks[known], math.inf) <= now:
            known += 1
        if len(self.seen) + len(marks) - known <= self.capacity:
            for mark in marks[known:]:
                self.seen.setdefault(mark, now + self.lag)
        cached = known * self.block if known * self.block >= self.minimum else 0
        written = len(marks) * self.block - cached if self.writes else 0
        return cached, written

    def _marks(self, prompt: str) -> list[bytes]:
        data = prompt.encode()
        size = self.block * CHARS_PER_TOKEN
        running = blake2b(digest_size=8)
        marks = []
        for start in range(0, len(data) - size + 1, size):
            running.update(data[start : start + size])
            marks.append(running.copy().digest())
        return marks


@dataclass
class NoCache:
    """Nothing is ever cached."""

    def take(self, asked: Asked) -> tuple[int, int]:
        return 0, 0


Cache = PrefixCache | NoCache
