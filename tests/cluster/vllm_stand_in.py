"""Ray's vLLM processor without vLLM: the same columns in and out, replies made up on the spot.

As Ray does it: columns of a row are carried along to the postprocess, a row whose inference failed
skips it and keeps all it has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from judges.bulk.ray_vllm import ERROR_COLUMN

Row = dict[str, Any]


def processor(
    path: str, before: Callable[[Row], Row], after: Callable[[Row], Row], workers: int
) -> Callable[[Any], Any]:
    assert path == "/models/x"

    def infer(row: Row) -> Row:
        row = {**row, **before(row)}
        assert row["sampling_params"]["max_tokens"] == 4096
        asked = str(row["messages"][-1]["content"])
        failed = (
            "ValueError: longer than the maximum context length" if "question 13\n" in asked else ""
        )
        made = {
            "generated_text": "" if failed else "Overall, Response B is better.",
            "num_input_tokens": 0 if failed else len(asked) // 4,
            "num_generated_tokens": 0 if failed else 6,
            "logprobs": None,
            "time_taken_llm": -1 if failed else 0.01,
            ERROR_COLUMN: failed,
        }
        whole = {**row, **made}
        if failed:
            whole.pop("sampling_params")
            return {**whole, "messages": str(whole["messages"])}
        return {**after(whole), ERROR_COLUMN: ""}

    return lambda data: data.map(infer, num_cpus=0.5)
