"""The error bodies of real providers, one per refusal, for a client to tell apart.

Attested in public reports: the overflows (crewAI-examples 121, ogx 4534, fast-agent 621), refused
images (vllm 11629), refused `max_tokens` (forgecode 1081), the filtered prompt (compl-ai 20).
The others follow OpenAI's error form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .asked import Asked
from .faults import Fault
from .limiter import retry_after
from .tokens import prompt_tokens

JSON = "application/json"
HTML = "text/html"
BAD_GATEWAY = (
    b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>nginx</body>\r\n</html>\r\n"
)
STYLES = {"rate_limit_seconds": "seconds", "rate_limit_date": "date", "rate_limit_ms": "ms"}


@dataclass(frozen=True)
class Refusal:
    """An error answer ready to be sent."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = JSON


def error(
    status: int,
    message: str,
    kind: str | None = "invalid_request_error",
    code: str | int | None = None,
    param: str | None = None,
    more: Mapping[str, object] | None = None,
) -> Refusal:
    details = {"message": message, "type": kind, "param": param, "code": code, **(more or {})}
    return Refusal(status, json.dumps({"error": details}).encode())


def rate_limit(style: str, seconds: float, wall: float, note: str = "") -> Refusal:
    message = f"Rate limit reached for requests. Please try again in {seconds:.3f}s.{note}"
    answer = error(429, message, "requests", "rate_limit_exceeded")
    return Refusal(answer.status, answer.body, retry_after(style, seconds, wall))


def unauthorized(key: str) -> Refusal:
    message = f"Incorrect API key provided: {key}. You can find your API key in your account."
    return error(401, message, code="invalid_api_key")


def invalid_request(message: str) -> Refusal:
    return error(400, message)


def _quota(fault: Fault, asked: Asked, note: str) -> Refusal:
    message = "You exceeded your current quota, please check your plan and billing details."
    return error(429, message + note, "insufficient_quota", "insufficient_quota")


def _unauthorized(fault: Fault, asked: Asked, note: str) -> Refusal:
    return unauthorized(asked.api_key if fault.echo_key else "sk-***")


def _forbidden(fault: Fault, asked: Asked, note: str) -> Refusal:
    message = f"Project `proj_test` does not have access to model `{asked.model}`.{note}"
    return error(403, message, code="model_not_found")


def _model_not_found(fault: Fault, asked: Asked, note: str) -> Refusal:
    message = f"The model `{asked.model}` does not exist or you do not have access to it.{note}"
    return error(404, message, code="model_not_found")


def _redirect(fault: Fault, asked: Asked, note: str) -> Refusal:
    return Refusal(307, b"", {"Location": fault.location}, HTML)


def _server_error(fault: Fault, asked: Asked, note: str) -> Refusal:
    message = "The server had an error while processing your request. Sorry about that!"
    return error(500, message + note, "server_error")


def _bad_gateway(fault: Fault, asked: Asked, note: str) -> Refusal:
    return Refusal(502, BAD_GATEWAY + note.encode(), {}, HTML)


def _unavailable(fault: Fault, asked: Asked, note: str) -> Refusal:
    message = "The engine is currently overloaded, please try again later."
    answer = error(503, message + note, "server_error", "service_unavailable")
    wait = {} if fault.retry_after is None else retry_after("seconds", fault.retry_after, 0)
    return Refusal(answer.status, answer.body, wait)


def _context_overflow(fault: Fault, asked: Asked, note: str) -> Refusal:
    used = prompt_tokens(asked)
    if fault.shape in OVERFLOWS:
        return OVERFLOWS[fault.shape](fault.limit, used, asked.cap or 0, note)
    message = (
        f"This model's maximum context length is {fault.limit} tokens. However, your messages "
        f"resulted in {used} tokens. Please reduce the length of the messages.{note}"
    )
    return error(400, message, code="context_length_exceeded", param="messages")


def _requested(limit: int, used: int, cap: int, note: str) -> str:
    """How vLLM and DeepSeek put it: the completion's cap counts too."""
    return (
        f"This model's maximum context length is {limit} tokens. However, you requested "
        f"{used + cap} tokens ({used} in the messages, {cap} in the completion). "
        f"Please reduce the length of the messages or completion.{note}"
    )


def _vllm(limit: int, used: int, cap: int, note: str) -> Refusal:
    return error(400, _requested(limit, used, cap, note), "BadRequestError", 400)


def _vllm_flat(limit: int, used: int, cap: int, note: str) -> Refusal:
    """Older vLLM: no `error` around it."""
    details = {"message": _requested(limit, used, cap, note), "type": "BadRequestError"}
    body = {"object": "error", **details, "param": None, "code": 400}
    return Refusal(400, json.dumps(body).encode())


def _deepseek(limit: int, used: int, cap: int, note: str) -> Refusal:
    return error(400, _requested(limit, used, cap, note), code="invalid_request_error")


def _llama_cpp(limit: int, used: int, cap: int, note: str) -> Refusal:
    sizes = f"request ({used} tokens) exceeds the available context size ({limit} tokens)"
    details = {"code": 400, "message": f"{sizes}, try increasing it{note}"}
    details |= {"type": "exceed_context_size_error", "n_prompt_tokens": used, "n_ctx": limit}
    return Refusal(400, json.dumps({"error": details}).encode())


OVERFLOWS: dict[str, Callable[[int, int, int, str], Refusal]] = {
    "vllm": _vllm,
    "vllm-flat": _vllm_flat,
    "deepseek": _deepseek,
    "llama.cpp": _llama_cpp,
}


def _images_refused(fault: Fault, asked: Asked, note: str) -> Refusal:
    if fault.shape == "vllm":
        return error(400, f"{asked.model} is not a multimodal model{note}", "BadRequestError", 400)
    message = f"Invalid content type. image_url is only supported by certain models.{note}"
    return error(400, message, param="messages.[0].content.[1].type")


def _unsupported_parameter(fault: Fault, asked: Asked, note: str) -> Refusal:
    name = fault.parameter
    if name == "temperature":
        value = asked.body.get(name)
        message = f"Unsupported value: 'temperature' does not support {value} with this model. Only the default (1) value is supported.{note}"  # noqa: E501
        return error(400, message, code="unsupported_value", param=name)
    if name == "logprobs":
        return error(400, f"You are not allowed to request logprobs from this model.{note}")
    hint = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
    message = f"Unsupported parameter: '{name}' is not supported with this model.{hint}{note}"
    return error(400, message, code="unsupported_parameter", param=name)


def _filtered_prompt(fault: Fault, asked: Asked, note: str) -> Refusal:
    message = f"The response was filtered due to the prompt triggering the content management policy.{note}"  # noqa: E501
    more = {"status": 400, "innererror": {"code": "ResponsibleAIPolicyViolation"}}
    return error(400, message, None, "content_filter", "prompt", more)


REFUSALS: dict[str, Callable[[Fault, Asked, str], Refusal]] = {
    "insufficient_quota": _quota,
    "unauthorized": _unauthorized,
    "forbidden": _forbidden,
    "model_not_found": _model_not_found,
    "redirect": _redirect,
    "server_error": _server_error,
    "bad_gateway": _bad_gateway,
    "unavailable": _unavailable,
    "context_overflow": _context_overflow,
    "images_refused": _images_refused,
    "unsupported_parameter": _unsupported_parameter,
    "filtered_prompt": _filtered_prompt,
}


def named_wait(fault: Fault) -> float:
    """The seconds a 429 asks for: what the fault says, else one; none at all if it names no
    time."""
    if fault.kind not in STYLES:
        return 0.0
    return 1.0 if fault.retry_after is None else fault.retry_after


def refuse(fault: Fault, asked: Asked, wall: float) -> Refusal:
    """The error answer of a refusing fault; with `echo_key` the caller's key is in its message."""
    note = f" (key: {asked.api_key})" if fault.echo_key else ""
    if fault.kind.startswith("rate_limit"):
        return rate_limit(STYLES.get(fault.kind, "none"), named_wait(fault), wall, note)
    return REFUSALS[fault.kind](fault, asked, note)
