"""Build the model client for a judge specification, and find its API key."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from judges.judge_errors import PlanError
from judges.models.embedded import EmbeddedServer, shared_server
from judges.models.endpoint import EndpointModel
from judges.models.interface import JudgeCall, JudgeModel, JudgeReply
from judges.models.simulation.simulated import SimulatedModel
from judges.security.endpoint_rules import LOCAL_RULES, EndpointRules
from judges.security.key_consents import Consents
from judges.security.key_store import SecretKey, make_typed_key
from studies import settings
from studies.domain import JudgeSpec


class EmbeddedModel:
    """Client of the embedded judge, whose child process is started on the first call."""

    ceiling = 1  # one slot: a second call in flight would wait and be measured as slow

    def __init__(self, weights: str = "") -> None:
        """`weights` is the GGUF file that the study file names for the judge; if empty, the weights
        that find_weights returns are used."""
        self._weights = weights
        self._server: EmbeddedServer | None = None
        self._endpoint: EndpointModel | None = None
        self._start_lock = asyncio.Lock()
        self._last_messages: list[dict[str, Any]] = []

    async def complete(self, call: JudgeCall) -> JudgeReply:
        """Call the model. For a prompt equal to that of the previous call, the server's prompt
        cache is turned off.

        With the cache, a repeated prompt would get slightly other probabilities, which would count
        as changes on a repeat.
        """
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
        """Return the client of the running child process; a dead process is started again."""
        async with self._start_lock:
            if self._endpoint is None or self._server is None or not self._server.alive():
                await self.close()
                self._server = await asyncio.to_thread(shared_server, self._weights)
                self._endpoint = EndpointModel(
                    self._server.base_url, "none", ceiling=1, rules=LOCAL_RULES
                )
            return self._endpoint


MAX_KEY_LENGTH: Final = 8192
"""Maximum characters of an API key from a variable; tokens of some clouds have a few thousand."""


def find_api_key(
    judge: JudgeSpec, typed: Mapping[str, str | SecretKey], consents: Consents
) -> SecretKey:
    """Return the API key of a judge: the key typed on the page, which expires, else the value of
    the environment variable that `api_key_env` names; empty if the judge names no variable.

    Raises an error if the named variable is not set, or if the user has not allowed it for the
    judge's endpoint.
    """
    if judge.name in typed:
        value = typed[judge.name]
        return make_typed_key(value.use() if isinstance(value, SecretKey) else value)
    if not judge.api_key_env:
        return SecretKey("")
    key = settings.secret_value(judge.api_key_env)
    if not key:
        raise PlanError(
            f"judge {judge.name!r}: the environment variable {judge.api_key_env} is not set; "
            f"run: export {judge.api_key_env}=…"
        )
    if len(key) > MAX_KEY_LENGTH:
        raise PlanError(
            f"judge {judge.name!r}: the environment variable {judge.api_key_env} has "
            f"{len(key):,} characters; a key has at most {MAX_KEY_LENGTH:,}"
        )
    consents.check(judge)
    return SecretKey(key)


def build_model(
    judge: JudgeSpec,
    key: SecretKey | str,
    families: Mapping[str, str],
    rules: EndpointRules | None = None,
) -> JudgeModel:
    """Build a judge's client. `families` is model -> model family, for simulated judges. `rules`
    state which endpoints may be called; None for the rules of this process."""
    if judge.kind == "embedded":
        return EmbeddedModel(judge.weights)
    if judge.kind == "simulated":
        return SimulatedModel(families)
    return EndpointModel(judge.endpoint, key, rules=rules)
