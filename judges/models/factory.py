"""From a judge's description to somebody who answers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from judges.judge_errors import PlanError
from judges.models.embedded import EmbeddedServer, shared_server
from judges.models.endpoint import EndpointModel
from judges.models.interface import JudgeCall, JudgeModel, JudgeReply
from judges.models.simulated import SimulatedModel
from judges.security.endpoint_rules import LOCAL_RULES, EndpointRules
from judges.security.key_consents import Consents
from judges.security.key_store import SecretKey, make_typed_key
from studies.domain import JudgeSpec


class EmbeddedModel:
    """The embedded judge: a child process behind the same client, started when first asked."""

    gate = "embedded"
    ceiling = 1  # one slot: a second call in flight would only wait, and count as slow

    def __init__(self) -> None:
        self._server: EmbeddedServer | None = None
        self._endpoint: EndpointModel | None = None
        self._start_lock = asyncio.Lock()
        self._last_messages: list[dict[str, Any]] = []

    async def complete(self, call: JudgeCall) -> JudgeReply:
        """A repeat is read afresh: continued from its own last token it would round differently,
        and what flips without any swap must be the judge's doing, not the cache's."""
        endpoint = await self._start_endpoint()
        repeat = call.messages == self._last_messages
        self._last_messages = call.messages
        if repeat:
            call = replace(call, parameters={**call.parameters, "cache_prompt": False})
        return await endpoint.complete(call)

    async def close(self) -> None:
        if self._endpoint is not None:
            await self._endpoint.close()
            self._endpoint = None

    async def _start_endpoint(self) -> EndpointModel:
        """The client of a live child; a dead child is started again."""
        async with self._start_lock:
            if self._endpoint is None or self._server is None or not self._server.alive():
                await self.close()
                self._server = await asyncio.to_thread(shared_server)
                self._endpoint = EndpointModel(
                    self._server.base_url, "none", ceiling=1, rules=LOCAL_RULES
                )
            return self._endpoint


LONGEST_VALUE: Final = 8192
"""Characters of a variable that is sent as a key: tokens of some clouds have a few thousand."""


def find_api_key(
    judge: JudgeSpec, typed: Mapping[str, str | SecretKey], consents: Consents
) -> SecretKey:
    """A key typed on the page, for a limited time; else the variable the study names, if the user
    allowed it for the judge's endpoint; empty if the judge names none."""
    if judge.name in typed:
        value = typed[judge.name]
        return make_typed_key(value.use() if isinstance(value, SecretKey) else value)
    if not judge.api_key_env:
        return SecretKey("")
    key = os.environ.get(judge.api_key_env, "")
    if not key:
        raise PlanError(
            f"judge {judge.name!r}: the environment variable {judge.api_key_env} is not set; "
            f"run: export {judge.api_key_env}=…"
        )
    if len(key) > LONGEST_VALUE:
        raise PlanError(
            f"judge {judge.name!r}: the environment variable {judge.api_key_env} has "
            f"{len(key):,} characters; a key has at most {LONGEST_VALUE:,}"
        )
    consents.check(judge)
    return SecretKey(key)


def build_model(
    judge: JudgeSpec,
    key: SecretKey | str,
    families: Mapping[str, str],
    rules: EndpointRules | None = None,
) -> JudgeModel:
    """`rules`: which endpoints may be asked; None: as this process has them."""
    if judge.kind == "embedded":
        return EmbeddedModel()
    if judge.kind == "simulated":
        return SimulatedModel(families)
    return EndpointModel(judge.endpoint, key, rules=rules)
