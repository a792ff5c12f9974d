"""The chat completions protocol over loopback: decides, answers, keeps the books. One event loop,
no locks."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from aiohttp import web

from .asked import Asked, complaint
from .behaviour import Reply, draw
from .bill import Bill, Call
from .errors import Refusal, invalid_request, named_wait, rate_limit, refuse, unauthorized
from .faults import Fault, Schedule
from .limiter import Cooldowns
from .replies import WRONG_SHAPES, capped, completion, spoken
from .settings import Settings
from .tokens import Usage, prompt_tokens
from .wire import DELIVERS, STREAMED, TRAVELS, send, send_refusal, send_stream

LARGEST_REQUEST = 64 * 2**20  # images travel as data URLs


class JudgeApp:
    """State of one server: settings, books, cool-downs, and the number of requests in its hands."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.schedule = Schedule(settings.rules, settings.seed)
        self.bill = Bill(settings.prices, settings.keep_calls)
        self.cooldowns = Cooldowns()
        self.in_flight = 0
        self.peak_in_flight = 0
        self.started = time.monotonic()

    def now(self) -> float:
        return time.monotonic() - self.started

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if path == "/v1/chat/completions" and request.method == "POST":
            return await self.chat(request)
        if path == "/v1/models":
            if refusal := self.refuse_key(bearer_of(request)):
                return await send_refusal(request, refusal)
            return await send(request, self.models())
        if path == "/bill":
            return await send(request, json.dumps(self.books("calls" in request.query)).encode())
        message = f"Unknown request URL: {request.method} {path}."
        return await send_refusal(request, replace(invalid_request(message), status=404))

    async def chat(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = await request.read()
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        try:
            return await self.answer(request, raw)
        except ConnectionResetError:  # the client left while we were writing; the books know
            return web.Response()
        finally:
            self.in_flight -= 1

    async def answer(self, request: web.BaseRequest, raw: bytes) -> web.StreamResponse:
        call = self.bill.open(self.key(request, raw), self.now())
        self.cooldowns.arrive(call.arrived)
        asked = understood(request, raw, call)
        if isinstance(asked, Refusal):
            return await self.turn_away(request, call, asked, "invalid_request")
        if answer := self.at_the_door(asked):
            name = {401: "unauthorized", 404: "model_not_found"}.get(answer.status, "limiter")
            return await self.turn_away(request, call, answer, name)
        fault = self.schedule.pick(asked) or self.standing_fault(asked)
        if fault and fault.rules.stage == "refuse":
            return await self.refuse(request, call, asked, fault)
        return await self.work(request, call, asked, fault)

    def key(self, request: web.BaseRequest, raw: bytes) -> str:
        named = self.settings.key_header and request.headers.get(self.settings.key_header)
        return named or blake2b(raw, digest_size=16).hexdigest()

    def at_the_door(self, asked: Asked) -> Refusal | None:
        """Key, rate and model are checked before anything else, as providers do."""
        settings = self.settings
        if refusal := self.refuse_key(asked.api_key):
            return refusal
        wait = settings.limiter.admit(self.now()) if settings.limiter else None
        if settings.limiter and wait is not None:
            self.cooldowns.open(self.now(), wait)
            return rate_limit(settings.limiter.style, wait, time.time())
        if settings.strict_models and asked.model not in settings.models:
            return refuse(Fault("model_not_found"), asked, time.time())
        return None

    def refuse_key(self, key: str) -> Refusal | None:
        """The 401 for a key that the settings do not list."""
        if self.settings.api_keys is None or key in self.settings.api_keys:
            return None
        return unauthorized(key if self.settings.echo_key else "sk-***")

    def standing_fault(self, asked: Asked) -> Fault | None:
        """What this endpoint never takes, whatever the schedule says."""
        limit = self.settings.context_limit
        if limit is not None and prompt_tokens(asked) > limit:
            return Fault("context_overflow", limit=limit)
        faults = map(self.settings.standing_fault, self.settings.refuses)
        return next((fault for fault in faults if fault.applies(asked)), None)

    async def turn_away(
        self, request: web.BaseRequest, call: Call, answer: Refusal, fault: str
    ) -> web.StreamResponse:
        self.note(call, fault, answer.status, failed=True)
        response = await send_refusal(request, answer)
        self.bill.delivered(call)
        return response

    async def refuse(
        self, request: web.BaseRequest, call: Call, asked: Asked, fault: Fault
    ) -> web.StreamResponse:
        fault = replace(fault, echo_key=fault.echo_key or self.settings.echo_key)
        answer = refuse(fault, asked, time.time())
        if fault.is_billed:
            self.charge(call, asked, self.says(asked, None), told=False)
        if wait := named_wait(fault):
            self.cooldowns.open(self.now(), wait)
        await asyncio.sleep(fault.delay)
        return await self.turn_away(request, call, answer, fault.kind)

    async def work(
        self, request: web.BaseRequest, call: Call, asked: Asked, fault: Fault | None
    ) -> web.StreamResponse:
        kind = fault.kind if fault else ""
        told = fault is None or fault.rules.told
        self.note(call, kind, 200, failed=fault is not None and fault.rules.failed)
        reply = self.says(asked, fault)
        billed = fault is None or fault.is_billed
        usage = self.charge(call, asked, reply, told=told) if billed else Usage(0, 0)
        limiter = self.settings.limiter
        headers = limiter.headers(self.now()) if limiter else {}
        await asyncio.sleep(self.latency(call.index))
        body = self.body(asked, reply, usage, fault)
        if asked.streams and (kind not in TRAVELS or kind in STREAMED):
            response = await send_stream(
                request, body, fault, headers, with_usage=asked.wants_usage
            )
        elif fault is None or kind not in TRAVELS:
            response = await send(request, body, headers=headers)
        else:
            response = await TRAVELS[kind](request, body, fault)
        if kind not in TRAVELS or kind in DELIVERS:
            self.bill.delivered(call)
        return response

    def says(self, asked: Asked, fault: Fault | None) -> Reply:
        said = self.settings.behaviour(asked)
        return spoken(said if isinstance(said, Reply) else Reply(said), fault)

    def charge(self, call: Call, asked: Asked, reply: Reply, *, told: bool) -> Usage:
        _, completed, thought = capped(reply, asked.cap)
        cached, written = self.settings.cache.take(asked)
        usage = Usage(prompt_tokens(asked), completed, cached, written, thought)
        self.bill.charge(call, usage, told=told)
        return usage

    def body(self, asked: Asked, reply: Reply, usage: Usage, fault: Fault | None) -> bytes:
        if fault and fault.kind == "wrong_json":
            return json.dumps(WRONG_SHAPES[fault.shape]).encode()
        model = self.settings.reported_model or asked.model
        return completion(asked, capped(reply, asked.cap)[0], usage, model, fault)

    def note(self, call: Call, fault: str, status: int, *, failed: bool) -> None:
        call.fault, call.status, call.failed = fault, status, failed
        self.bill.by_status[status] += 1
        if fault:
            self.bill.by_fault[fault] += 1

    def latency(self, index: int) -> float:
        wanted = self.settings.latency
        if callable(wanted):
            return wanted(index)
        if not isinstance(wanted, tuple):
            return wanted
        low, high = wanted
        return low + (high - low) * draw("latency", self.settings.seed, index)

    def models(self) -> bytes:
        listed = [
            {"id": name, "object": "model", "created": 0, "owned_by": "evenhand-tests"}
            for name in self.settings.models
        ]
        return json.dumps({"object": "list", "data": listed}).encode()

    def books(self, with_calls: bool = False) -> dict[str, Any]:
        """The bill, with what the limiter and the cool-downs saw."""
        limiter = self.settings.limiter
        return self.bill.as_json(with_calls=with_calls) | {
            "in_flight": self.in_flight,
            "peak_in_flight": self.peak_in_flight,
            "seconds": self.now(),
            "limiter": limiter and {"rate": limiter.rate, "refused": limiter.refused},
            "cooldowns": self.cooldowns.as_json(self.settings.grace),
        }


def understood(request: web.BaseRequest, raw: bytes, call: Call) -> Asked | Refusal:
    """The request read, or the 400 that says why it could not be."""
    try:
        body = json.loads(raw)
    except ValueError:
        return invalid_request("We could not parse the JSON body of your request.")
    if problem := complaint(body):
        return invalid_request(problem)
    return Asked(call.index, call.key, call.attempt, body, bearer_of(request))


def bearer_of(request: web.BaseRequest) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
