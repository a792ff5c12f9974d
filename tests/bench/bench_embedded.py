"""The embedded judge: prompt tokens a second of the prepared weights beside those as shipped.

Both servers run side by side and are asked in turn, each prompt for the first time, so that no
kept prefix helps; the best of a few rounds counts, since others may use the machine.
"""

from __future__ import annotations

import asyncio
import time

from openai import AsyncOpenAI

from judges.models.embedded import EmbeddedServer
from judges.models.weights import prepared, shipped

ROUNDS = 5
WORDS = 150
BAR = 1.6


async def tokens_per_second(client: AsyncOpenAI, round_: int) -> float:
    text = f"Round {round_}. " + " ".join(f"word{n}" for n in range(WORDS))
    began = time.monotonic()
    reply = await client.chat.completions.create(
        model="judge",
        messages=[{"role": "user", "content": text}],
        max_tokens=1,
        temperature=0,
        extra_body={"cache_prompt": False},
    )
    assert reply.usage is not None
    return reply.usage.prompt_tokens / (time.monotonic() - began)


async def compare(old: EmbeddedServer, new: EmbeddedServer) -> tuple[float, float]:
    clients = [AsyncOpenAI(base_url=s.base_url, api_key="none", max_retries=0) for s in (old, new)]
    best = [0.0, 0.0]
    for round_ in range(ROUNDS):
        for k, client in enumerate(clients):
            best[k] = max(best[k], await tokens_per_second(client, round_))
    for client in clients:
        await client.close()
    return best[0], best[1]


def main() -> None:
    as_shipped, ours = shipped(), prepared()
    if as_shipped is None or ours is None:
        print("the weights are not here: run make weights")
        return
    with EmbeddedServer.start(as_shipped) as old, EmbeddedServer.start(ours) as new:
        before, after = asyncio.run(compare(old, new))
    verdict = "ok  " if after / before >= BAR else "MISS"
    print(f"{verdict} prompt tokens/s, prepared / as shipped  {after / before:.2f}   bar >= {BAR}"
          f"   {after:.0f} / {before:.0f} a second")  # fmt: skip


if __name__ == "__main__":
    main()
