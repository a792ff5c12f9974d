"""The scorer `evenhand/both_orders` in Inspect itself (`make test-inspect`), from the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "inspect_ai", reason="NO INSPECT HERE: install requirements/inspect.txt, or `make test-inspect`"
)

from inspect_ai import Task, eval, score
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import GenerateConfig, ModelAPI, ModelOutput, get_model, modelapi
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import TaskState, generate

from evenhand.inspect_scorers import both_orders


@modelapi(name="scripted")
class ScriptedModel(ModelAPI):
    """A model that gives its replies in turn, without network (mockllm counts tokens online)."""

    def __init__(self, model_name: str, replies: list[str], **more: Any) -> None:
        super().__init__(model_name)
        self.replies = iter(replies)

    async def generate(
        self, input: Any, tools: Any, tool_choice: Any, config: GenerateConfig
    ) -> ModelOutput:
        return ModelOutput.from_content("scripted", next(self.replies))

    async def count_text_tokens(self, text: str) -> int:
        return len(text) // 4


def grader(*replies: str) -> Any:
    return get_model("scripted/model", replies=list(replies), memoize=False)


def evaluated(samples: list[Sample], scorers: list[Scorer] | None, folder: Path) -> EvalLog:
    model = grader(*("mine" for _ in samples))
    task = Task(dataset=samples, solver=generate(), scorer=scorers)
    return eval(task, model=model, log_dir=str(folder), display="none", max_samples=1)[0]


def sample(n: int) -> Sample:
    return Sample(id=n, input=f"question {n}", target="t", metadata={"baseline": "theirs"})


@scorer(metrics=[mean()])
def pairwise(verdict: str = "A") -> Scorer:
    """A comparison that was asked in one order only."""

    async def compare(state: TaskState, target: Target) -> Score:
        return Score(value=1 if verdict == "A" else 0, answer=verdict)

    return compare


def metrics_of(log: EvalLog) -> dict[str, float]:
    assert log.results is not None
    return {name: one.value for name, one in log.results.scores[-1].metrics.items()}


def test_both_orders_are_asked_and_averaged(tmp_path: Path) -> None:
    # Shown first it wins, shown second (as B) too; then it wins only where it is shown first.
    judge = grader("so [[A]]", "so [[B]]", "so [[A]]", "so [[A]]")
    log = evaluated([sample(1), sample(2)], [both_orders(model=judge)], tmp_path)
    assert log.status == "success", log.error
    found = {one.id: one.scores["both_orders"] for one in log.samples or [] if one.scores}
    assert (found[1].value, found[1].answer) == (1.0, "win")
    assert (found[2].value, found[2].answer) == (0.5, "flipped")
    assert found[2].metadata["asked"] == ["first", "second"]
    assert metrics_of(log)["mean"] == 0.75 and metrics_of(log)["consistency"] == 0.5


def test_only_the_missing_order_is_asked(tmp_path: Path) -> None:
    log = evaluated([sample(1)], [pairwise()], tmp_path)
    judge = grader("because [[B]]")
    again = score(
        log, both_orders(recorded="pairwise", model=judge), action="append", display="none"
    )
    assert again.samples and again.samples[0].scores
    got = again.samples[0].scores["both_orders"]
    assert got.value == 1.0 and got.metadata is not None
    assert got.metadata["asked"] == ["second"], "the first order is in the log"
    assert "pairwise" in again.samples[0].scores


def test_a_reply_without_a_verdict_is_no_score(tmp_path: Path) -> None:
    log = evaluated([sample(1)], [both_orders(model=grader("hm", "so [[B]]"))], tmp_path)
    assert log.samples and log.samples[0].scores
    got = log.samples[0].scores["both_orders"]
    assert got.value != got.value, "unscored, not a loss"
    assert got.metadata and got.metadata["flipped"] is False
    missing = Sample(id=3, input="q", target="t")
    log = evaluated([missing], [both_orders(model=grader("so [[A]]"))], tmp_path)
    assert log.samples and log.samples[0].scores
    assert "baseline" in (log.samples[0].scores["both_orders"].explanation or "")


def test_braces_in_answers_are_not_filled_in() -> None:
    from evenhand.inspect_scorers import TEMPLATE, _fill_prompt

    state = TaskState(
        model="m", sample_id=1, epoch=1, input="{answer_b}", messages=[],
        output=ModelOutput.from_content("m", "{question}"),
    )  # fmt: skip
    text = _fill_prompt(TEMPLATE, state, "other {answer_a}", "second")
    assert text.count("other {answer_a}") == 1 and "[Question]\n{answer_b}" in text
    assert text.index("other {answer_a}") < text.index("{question}")


def test_the_installed_wheel_registers_the_scorer() -> None:
    """`--scorer evenhand/both_orders` finds it by its entry point."""
    names = [one.value for one in entry_points(group="inspect_ai") if one.name == "evenhand"]
    if not names:
        pytest.skip("NO WHEEL INSTALLED: `make test-inspect` installs it")
    from inspect_ai._util.registry import registry_lookup
    from inspect_ai.scorer._scorer import scorer_create

    assert scorer_create("evenhand/both_orders", opponent="target") is not None
    assert registry_lookup("scorer", "evenhand/both_orders") is not None


GRADER = """
from inspect_ai.model import ModelAPI, ModelOutput, modelapi


@modelapi(name="scripted")
class ScriptedGrader(ModelAPI):
    def __init__(self, model_name, **more):
        super().__init__(model_name)

    async def count_text_tokens(self, text):
        return len(text) // 4

    async def generate(self, input, tools, tool_choice, config):
        return ModelOutput.from_content("scripted", f"so [[{self.model_name.upper()}]]")
"""


def install_grader(folder: Path) -> None:
    """A package with a model `scripted/a` that always answers [[A]], found by its entry point."""
    (folder / "scripted_grader.py").write_text(GRADER)
    facts = folder / "scripted_grader-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: scripted-grader\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[inspect_ai]\nscripted = scripted_grader\n")


def test_inspect_score_on_the_command_line(tmp_path: Path) -> None:
    if not [one for one in entry_points(group="inspect_ai") if one.name == "evenhand"]:
        pytest.skip("NO WHEEL INSTALLED: `make test-inspect` installs it")
    log = evaluated([sample(1), sample(2)], [pairwise()], tmp_path / "logs")
    plugins, out = tmp_path / "plugins", tmp_path / "scored.eval"
    plugins.mkdir()
    install_grader(plugins)
    done = subprocess.run(
        [Path(sys.executable).with_name("inspect"), "score", log.location,
         "--scorer", "evenhand/both_orders", "-S", "opponent=baseline", "-S", "recorded=pairwise",
         "--model-role", "grader=scripted/a", "--action", "append", "--output-file", str(out)],
        env={**os.environ, "PYTHONPATH": str(plugins)}, capture_output=True, text=True,
        cwd=tmp_path, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    scored = read_eval_log(str(out))
    assert scored.samples and len(scored.samples) == 2
    for one in scored.samples:
        assert one.scores and one.scores.keys() == {"pairwise", "both_orders"}
        got = one.scores["both_orders"]
        # Shown first it won in the log; shown second the grader names A, the other answer.
        assert (got.value, got.answer) == (0.5, "flipped")
        assert got.metadata and got.metadata["asked"] == ["second"]
    assert metrics_of(scored)["mean"] == 0.5 and metrics_of(scored)["consistency"] == 0.0
