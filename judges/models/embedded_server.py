"""The embedded judge's child process: serves one model, one request at a time, on a loopback port.

    python -m judges.models.embedded_server --weights PATH [--threads N] [--context N]

When ready it prints one JSON line, `{"address": "http://127.0.0.1:…", "model": "…"}`. The process
ends when its standard input closes, which the operating system does when the parent process ends.
Native code runs in this process instead of the page's, so that a crash ends only this judge.
"""

import argparse
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import xllamacpp

from judges.models.weights import model_name

CONTEXT_TOKENS = 4096
UNREADABLE_WEIGHTS_EXIT = 3  # exit code: the library could not load the file

# Long enough for kernels that process many tokens at once (some start at 32), with two endings
# short enough for kernels that process few.
_PROBE_PREFIX = (
    "The kettle sings, the window is open, and a cat sleeps on the warm stones of the old garden "
    "wall, while far below the boats come home with"
)
_PROBE_PROMPTS = (f"{_PROBE_PREFIX} nets full of silver", f"{_PROBE_PREFIX} the tide, slowly")


def main() -> int:
    """Serve until standard input closes; return UNREADABLE_WEIGHTS_EXIT if the weights cannot be
    loaded."""
    parser = argparse.ArgumentParser(description="Serve a GGUF model on a loopback port.")
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--context", type=int, default=CONTEXT_TOKENS)
    options = parser.parse_args()
    # Ctrl-C reaches the whole process group, but the parent still needs the answers in flight.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The real standard output, for the line that reports the address; redirect the output of native
    # code to standard error.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        server = start_server(options.weights, options.threads, options.context)
    except RuntimeError as error:  # raised by the library for a file it cannot load
        print(error, file=sys.stderr)
        return UNREADABLE_WEIGHTS_EXIT
    ready = {"address": server.listening_address, "model": model_name(options.weights)}
    print(json.dumps(ready), file=output, flush=True)
    while sys.stdin.buffer.read(4096):
        pass
    # Exit at once: the library would first finish a reply that has no reader any more.
    os._exit(0)


def start_server(weights: Path, threads: int, context: int) -> Any:
    """Start a server whose replies do not depend on earlier calls. `context` is the maximum number
    of tokens of a prompt with its reply.

    If a prompt starts like the previous one (such as the same pair in the other order), the
    server can process the common start only once. This is turned off if it would change the
    probabilities, which depends on the processor of this machine."""
    server = xllamacpp.Server(_server_parameters(weights, threads, context, keep_prefix=True))
    if not _is_prefix_reuse_exact(server):
        del server  # ends it
        server = xllamacpp.Server(_server_parameters(weights, threads, context, keep_prefix=False))
    return server


def _server_parameters(weights: Path, threads: int, context: int, *, keep_prefix: bool) -> Any:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.model_alias = {model_name(weights)}  # by default replies contain the path
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = context
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.n_gpu_layers = 0  # same digits with and without a graphics card
    parameters.no_op_offload = True
    parameters.cache_prompt = keep_prefix
    parameters.cache_ram_mib = 0  # the default caches up to 8 GB of old prompts
    # Flash attention and 16-bit caches round differently with and without a kept prefix.
    parameters.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    parameters.cache_type_k = parameters.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.cors_origins = ""  # no web page may call this server
    parameters.warmup = False  # _is_prefix_reuse_exact warms it up
    parameters.verbosity = 0
    return parameters


def _is_prefix_reuse_exact(server: Any) -> bool:
    """Whether the server gives exactly the same probabilities for a prompt when it does not process
    again the start that the prompt shares with the previous one. This is tested with two
    prompts.

    An exact repeat of a prompt is not tested, because the caller turns the reuse off for a
    repeat (`cache_prompt: false`)."""
    whole = _next_token_logprobs(server, _PROBE_PROMPTS[0], keep_prefix=False)
    _next_token_logprobs(server, _PROBE_PROMPTS[1], keep_prefix=True)
    continued = _next_token_logprobs(server, _PROBE_PROMPTS[0], keep_prefix=True)
    return bool(whole == continued)


def _next_token_logprobs(server: Any, prompt: str, *, keep_prefix: bool) -> Any:
    request = {"prompt": prompt, "max_tokens": 1, "logprobs": 5, "temperature": 0}
    reply = server.handle_completions({**request, "cache_prompt": keep_prefix})
    return reply["choices"][0]["logprobs"]


if __name__ == "__main__":
    sys.exit(main())
