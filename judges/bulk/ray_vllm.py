"""Judges whose weights run on the Ray workers, with Ray Data's vLLM processor.

The code follows the column names in Ray's documentation. It is tested with a replacement of the
processor that has these columns, and has not yet run on a GPU. In the study file, such
a judge has the address at which `vllm serve` would offer its model. Its calls therefore have the
same keys as calls over HTTP or in batch files, and no path of weights is stored.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import httpx2
import pyarrow as pa

from judges.bulk import ray_worker
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
"""Function that takes (weights, preprocess, postprocess, workers) and returns a function from a
dataset of asks to a dataset of replies."""

ERROR_COLUMN: Final = "__inference_error__"
_SAMPLING_NAMES: Final = ("temperature", "top_p", "seed")


def check_weights_option(plan: Plan, name: str, path: str) -> None:
    """Raise PlanError if the option `--weights name=path` cannot work: no endpoint judge has this
    name, the path is empty, or the judge sets `reasoning_effort`. Called at the start of a run,
    before a GPU is reserved."""
    judge = next((j for j in plan.study.judges if j.name == name), None)
    if judge is None or judge.kind != "endpoint":
        known = ", ".join(j.name for j in plan.study.judges if j.kind == "endpoint")
        raise PlanError(f"--weights {name}=…: no endpoint judge of that name; known: {known}")
    if not path:
        raise PlanError(f"--weights {name}=: give a folder or a Hub id after '='")
    if judge.reasoning_effort is not None:
        raise PlanError(
            f"judge {name!r}: vLLM's offline engine has no reasoning_effort. Put the option of the "
            "model's chat template into extra_body, or call the judge over HTTP"
        )


def add_vllm_steps_to_dataset(
    processor: ProcessorFactory | None, path: str, data: Any, job: ray_worker.RayJob, workers: int
) -> Any:
    """Add to the Ray dataset `data` (one row per call) the steps in which vLLM answers with the
    weights `path` and the verdicts are written to result files (shards). The returned dataset
    has one row per result file and judge (see `ShardWriter.table_of_written_shards`). `workers`
    is the number of vLLM workers; `processor` replaces Ray's vLLM processor in tests."""
    made = (processor or build_vllm_processor)(path, make_preprocess(job), postprocess_row, workers)
    return made(data).map_batches(
        VllmReplyReader,
        fn_constructor_args=[job],
        batch_format="pyarrow",
        batch_size=512,
        concurrency=1,
        num_cpus=0.5,
    )


def build_vllm_processor(
    path: str, before: Callable[[Row], Row], after: Callable[[Row], Row], workers: int
) -> Callable[[Any], Any]:
    """Build Ray's vLLM processor: a function from a dataset of requests to a dataset of replies.
    `path` is the folder or Hub id of the weights. `before` converts a row of requests to vLLM's
    input, `after` converts vLLM's output to a row of replies. If a row fails, the processor
    returns the row with the error instead of raising it. PlanError if vLLM is not installed."""
    try:
        from ray.data.llm import build_processor, vLLMEngineProcessorConfig
    except ImportError as error:
        raise PlanError(
            f"--weights needs vLLM here and on the workers: pip install 'ray[llm]' ({error})"
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


def make_preprocess(job: ray_worker.RayJob) -> Callable[[Row], Row]:
    """Make the function by which Ray's processor converts a row of the requests file to its
    input."""

    def request_row_to_input(row: Row) -> Row:
        parsed = ray_worker.parse_ask_row(row)
        call = ray_worker.build_call(job, parsed)
        return {"messages": parsed.messages, "sampling_params": sampling_parameters(call)}

    return request_row_to_input


def sampling_parameters(call: JudgeCall) -> Row:
    """Return the request's parameters under the names that vLLM uses."""
    values = dict(call.parameters)
    found: Row = {"max_tokens": reply_token_cap(call)}
    found |= {name: values[name] for name in _SAMPLING_NAMES if name in values}
    if values.get("logprobs"):
        found["logprobs"] = values.get("top_logprobs", 20)
    taken = {*CAP_PARAMETERS, *_SAMPLING_NAMES, "logprobs", "top_logprobs"}
    return found | {name: value for name, value in values.items() if name not in taken}


def postprocess_row(row: Mapping[str, Any]) -> Row:
    """Convert an output row of the processor to a row with all columns that VllmReplyReader reads;
    a failed row, which has only input columns, gets empty texts and zeros."""
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
    """Return the candidates for the reply's last token with their log-probabilities, most probable
    first; empty if there are none. Ray gives them as {token id: {decoded_token, logprob, rank}}."""
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
    """A Ray worker that reads verdicts from vLLM's replies with the parser of judges/engine and
    writes shards."""

    def __init__(self, job: ray_worker.RayJob) -> None:
        self.job = job

    def __call__(self, table: pa.Table) -> pa.Table:
        rows = [
            (row, ray_worker.parse_ask_row({**row, "messages": "[]"})) for row in table.to_pylist()
        ]
        folder = Path(self.job.shards)
        answered = ray_worker.recover_answered_keys(folder, [parsed for _, parsed in rows])
        shards = ray_worker.ShardWriter(folder, rows[0][1].batch if rows else "none")
        for row, parsed in rows:
            if parsed.ask.key not in answered:
                shards.put(self._build_outcome(row, parsed))
        shards.flush()
        return shards.table_of_written_shards({})

    def _build_outcome(self, row: Row, parsed: ray_worker.AskRow) -> AskOutcome:
        call, now = ray_worker.build_call(self.job, parsed), time.time()
        seconds = float(row.get("seconds") or 0)
        if failed := row.get(ERROR_COLUMN):
            judgement, usage = _failed_judgement(call, parsed, str(failed)), Usage()
        else:
            answer = build_reply(row, call)
            read = read_outcome(call, answer, self.job.reading)
            judgement = read.build_judgement(parsed.ask, answer)
            usage = answer.usage
        cost = cost_of(usage, price_of(call.judge))
        judgement = replace(judgement, time=now, seconds=seconds, cost=cost)
        attempt = CallAttempt(self.job.owner, now - seconds, now, judgement.status, usage, cost)
        return AskOutcome(judgement, (attempt,), position=parsed.position)


def build_reply(row: Mapping[str, Any], call: JudgeCall) -> JudgeReply:
    """Build the JudgeReply that an endpoint would have returned for this row. The processor reports
    no finish reason, so a reply that uses its whole token limit counts as cut off."""
    generated = int(row["num_generated_tokens"])
    return JudgeReply(
        text=replace_surrogates(row["generated_text"]),
        finish="length" if generated >= reply_token_cap(call) else "stop",
        usage=Usage(int(row["num_input_tokens"]), generated),
        model=call.judge.model,
        top_logprobs=tuple((token, value) for token, value in json.loads(row["logprobs"])),
    )


def _failed_judgement(call: JudgeCall, parsed: ray_worker.AskRow, message: str) -> Judgement:
    """Build the judgement of a row that failed in vLLM. Its error message is classified as if it
    came with HTTP status 400 (prompt too long, unsupported parameter, …)."""
    content = json.dumps({"error": {"message": message}}).encode()
    sent = httpx2.Request("POST", call.judge.endpoint or "http://vllm")
    fault = classify_error(
        build_status_error(httpx2.Response(400, content=content, request=sent)), "vLLM"
    )
    return Judgement(parsed.ask, fault.status, rule=fault.reason, detail=fault.detail)
