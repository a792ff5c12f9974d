"""Judges whose weights the workers run themselves: Ray Data's vLLM processor, and our reading.

Built against Ray's documented columns and tested with a stand-in that keeps to them; not yet run on
a GPU. The study names such a judge like any other, with the address at which `vllm serve` would
offer it: keys are the same whether it is asked over HTTP, by batch file or here, and no path to
weights is in any row.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import httpx2
import pyarrow as pa

from judges.bulk.ray_asks import AskRow, RayJob, build_call, parse_ask_row
from judges.bulk.ray_worker import ShardWriter, find_answered_keys
from judges.engine.outcome import read_outcome
from judges.judge_errors import PlanError
from judges.models.chat_completion import build_status_error
from judges.models.failures import classify_error, replace_surrogates
from judges.models.interface import JudgeCall, JudgeReply
from judges.money.costs import CAP_PARAMETERS, cost_of, price_of, reply_token_cap
from judges.planning.plan import Plan
from studies.domain import Judgement, Usage
from studies.files.shards import AskOutcome, CallAttempt

Row = dict[str, Any]
ProcessorFactory = Callable[
    [str, Callable[[Row], Row], Callable[[Row], Row], int], Callable[[Any], Any]
]
"""(weights, before, after, workers) -> what turns a dataset of asks into one of replies."""

ERROR_COLUMN: Final = "__inference_error__"
_SAMPLING_NAMES: Final = ("temperature", "top_p", "seed")


def check_weights(plan: Plan, name: str, path: str) -> None:
    """Refused before a GPU is taken."""
    judge = next((j for j in plan.study.judges if j.name == name), None)
    if judge is None or judge.kind != "endpoint":
        known = ", ".join(j.name for j in plan.study.judges if j.kind == "endpoint")
        raise PlanError(f"--weights {name}=…: no endpoint judge of that name; known: {known}")
    if not path:
        raise PlanError(f"--weights {name}=: name a folder or a Hub id")
    if judge.reasoning_effort is not None:
        raise PlanError(
            f"judge {name!r}: reasoning_effort means nothing to vLLM's offline engine; put what "
            "its chat template takes into extra_body, or ask the judge over HTTP"
        )


def build_vllm_stage(
    processor: ProcessorFactory | None, path: str, data: Any, job: RayJob, workers: int
) -> Any:
    """A dataset of asks as one of reports, by way of the weights."""
    made = (processor or vllm_processor)(path, make_preprocess(job), postprocess_row, workers)
    return made(data).map_batches(
        VllmReplyReader,
        fn_constructor_args=[job],
        batch_format="pyarrow",
        batch_size=512,
        concurrency=1,
        num_cpus=0.5,
    )


def vllm_processor(
    path: str, before: Callable[[Row], Row], after: Callable[[Row], Row], workers: int
) -> Callable[[Any], Any]:
    """Ray's own. One failed row must not end the run: it is kept with its error."""
    try:
        from ray.data.llm import build_processor, vLLMEngineProcessorConfig
    except ImportError as error:
        raise PlanError(
            f"--weights needs vLLM on the workers and here: pip install 'ray[llm]' ({error})"
        ) from None
    config = vLLMEngineProcessorConfig(
        model_source=path,
        engine_kwargs={"enable_prefix_caching": True, "max_logprobs": 20},
        concurrency=workers,
        batch_size=256,
        should_continue_on_error=True,
    )
    made: Callable[[Any], Any] = build_processor(config, preprocess=before, postprocess=after)
    return made


def make_preprocess(job: RayJob) -> Callable[[Row], Row]:
    """From a row of asks to what the processor takes."""

    def before(row: Row) -> Row:
        asked = parse_ask_row(row)
        call = build_call(job, asked)
        return {"messages": asked.messages, "sampling_params": sampling_parameters(call)}

    return before


def sampling_parameters(call: JudgeCall) -> Row:
    """The parameters of the request by vLLM's names."""
    values = dict(call.parameters)
    found: Row = {"max_tokens": reply_token_cap(call)}
    found |= {name: values[name] for name in _SAMPLING_NAMES if name in values}
    if values.get("logprobs"):
        found["logprobs"] = values.get("top_logprobs", 20)
    taken = {*CAP_PARAMETERS, *_SAMPLING_NAMES, "logprobs", "top_logprobs"}
    return found | {name: value for name, value in values.items() if name not in taken}


def postprocess_row(row: Mapping[str, Any]) -> Row:
    """From what the processor gives to a row that is the same for every reply.

    A row that failed comes back as it is, so only what both have is relied upon.
    """
    return {
        **{name: row[name] for name in ("key", "batch", "position", "ask")},
        "generated_text": row.get("generated_text") or "",
        "num_input_tokens": int(row.get("num_input_tokens") or 0),
        "num_generated_tokens": int(row.get("num_generated_tokens") or 0),
        "logprobs": json.dumps(_last_token_logprobs(row.get("logprobs"))),
        "seconds": float(row.get("time_taken_llm") or 0.0),
        ERROR_COLUMN: str(row.get(ERROR_COLUMN) or ""),
    }


def _last_token_logprobs(logprobs: Any) -> list[tuple[str, float]]:
    """The last token's alternatives: {token id: {decoded_token, logprob, rank}}."""
    if logprobs is None or len(logprobs) == 0 or not logprobs[-1]:
        return []
    last = logprobs[-1]
    entries = last.values() if isinstance(last, Mapping) else [value for _, value in last]
    known = [entry for entry in entries if entry]
    known.sort(key=lambda entry: -entry["logprob"])
    return [
        (replace_surrogates(str(entry["decoded_token"])), float(entry["logprob"]))
        for entry in known
    ]


class VllmReplyReader:
    """A Ray worker that reads verdicts: the live engine's reading, no second parser."""

    def __init__(self, job: RayJob) -> None:
        self.job = job

    def __call__(self, table: pa.Table) -> pa.Table:
        rows = [(row, parse_ask_row({**row, "messages": "[]"})) for row in table.to_pylist()]
        folder = Path(self.job.shards)
        before = find_answered_keys(folder, [asked for _, asked in rows])
        shards = ShardWriter(folder, rows[0][1].batch if rows else "none")
        for row, asked in rows:
            if asked.ask.key not in before:
                shards.put(self._outcome(row, asked))
        shards.flush()
        return shards.report({})

    def _outcome(self, row: Row, asked: AskRow) -> AskOutcome:
        call, now, seconds = (
            build_call(self.job, asked),
            time.time(),
            float(row.get("seconds") or 0),
        )
        if failed := row.get(ERROR_COLUMN):
            judgement, usage = _failed_judgement(call, asked, str(failed)), Usage()
        else:
            answer = build_reply(row, call)
            judgement = read_outcome(call, answer, self.job.reading).judgement(asked.ask, answer)
            usage = answer.usage
        cost = cost_of(usage, price_of(call.judge))
        judgement = replace(judgement, time=now, seconds=seconds, cost=cost)
        attempt = CallAttempt(self.job.owner, now - seconds, now, judgement.status, usage, cost)
        return AskOutcome(judgement, (attempt,), position=asked.position)


def build_reply(row: Mapping[str, Any], call: JudgeCall) -> JudgeReply:
    """As an endpoint would have told it. The processor names no finish reason: a reply as long as
    its cap ran into it."""
    written = int(row["num_generated_tokens"])
    return JudgeReply(
        text=replace_surrogates(row["generated_text"]),
        finish="length" if written >= reply_token_cap(call) else "stop",
        usage=Usage(int(row["num_input_tokens"]), written),
        model=call.judge.model,
        top_logprobs=tuple((token, value) for token, value in json.loads(row["logprobs"])),
    )


def _failed_judgement(call: JudgeCall, asked: AskRow, message: str) -> Judgement:
    """What the engine refuses is sorted as an endpoint's 400 would be: too long, unsupported, …"""
    content = json.dumps({"error": {"message": message}}).encode()
    sent = httpx2.Request("POST", call.judge.endpoint or "http://vllm")
    fault = classify_error(
        build_status_error(httpx2.Response(400, content=content, request=sent)), "vLLM"
    )
    return Judgement(asked.ask, fault.status, rule=fault.reason, detail=fault.detail)
