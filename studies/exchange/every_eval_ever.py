"""Export to Every Eval Ever, a database of evaluation results: a zip archive, one JSON per model.

Paths in the archive are as in that database. A result is the win rate (a tie is shared equally) or
the mean score of a model by one judge and prompt; its standard error is clustered by question.
every_eval_schema.json has the fields of the published schema (0.2.1) that the export writes, with
their names and types.
"""

import json
import math
import re
import time
import uuid
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from studies.domain import HUMAN_PREFIX, QUESTION_META, USABLE_STATUSES, Item, Judgement
from studies.errors import StudyError
from studies.sources.hub import HUB_PREFIX
from studies.spec.study import Study

SCHEMA_VERSION: Final = "0.2.1"
UNKNOWN: Final = "unknown"
_UNSAFE: Final = re.compile(r"[^\w.-]+")
Cell = tuple[str, str, str]
"""(judge, prompt, kind of result), where the kind is "win rate" or "score"."""


@dataclass(slots=True)
class _Scores:
    """Results of one model by one judge and prompt; `values[k]` belongs to `questions[k]`."""

    values: list[float] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return math.fsum(self.values) / len(self.values)

    @property
    def standard_error(self) -> float | None:
        """Standard error of the mean with questions as clusters; None for a single question."""
        sums: dict[str, float] = defaultdict(float)
        mean = self.mean
        for value, question in zip(self.values, self.questions, strict=True):
            sums[question] += value - mean
        groups = len(sums)
        if groups < 2:
            return None
        spread = math.fsum(total**2 for total in sums.values())
        return math.sqrt(groups / (groups - 1) * spread) / len(self.values)


def write_record_archive(
    study: Study, items: Mapping[str, Item], judgements: Iterable[Judgement], path: Path
) -> int:
    """Write one record per model to a zip archive at `path`; return the number of records.
    StudyError if there is no usable verdict or score."""
    scores = _collect_scores_by_model(items, judgements)
    if not scores:
        raise StudyError(
            f"{study.name!r} has no usable verdict or score, which Every Eval Ever needs; run or "
            "import verdicts first"
        )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for model, cells in sorted(scores.items()):
            record = _build_model_record(study, model, cells)
            if faults := list(find_schema_faults(record)):
                raise StudyError(
                    f"{model}: the record does not fit the schema of Every Eval Ever: {faults[0]}; "
                    "please report this"
                )
            archive.writestr(_make_archive_path(study, model), json.dumps(record, indent=2))
    return len(scores)


def _collect_scores_by_model(
    items: Mapping[str, Item], judgements: Iterable[Judgement]
) -> dict[str, dict[Cell, _Scores]]:
    """Return model -> (judge, prompt, kind of result) -> values; unusable replies and noise-floor
    repeats are left out."""
    found: dict[str, dict[Cell, _Scores]] = defaultdict(lambda: defaultdict(_Scores))
    for judgement in judgements:
        ask = judgement.ask
        if judgement.status not in USABLE_STATUSES or ask.noise:
            continue
        meta = items[ask.item].meta if ask.item in items else {}
        question = meta.get(QUESTION_META, ask.item)
        for model, kind, value in _list_model_kind_and_value(judgement):
            scores = found[model][ask.judge, ask.prompt, kind]
            scores.values.append(value)
            scores.questions.append(question)
    return found


def _list_model_kind_and_value(judgement: Judgement) -> list[tuple[str, str, float]]:
    """Return (model, kind, value) for each model shown; empty without a verdict. The kind is "win
    rate" with 1 for the winner, 0 for a loser and an equal share for a tie, or "score" for an
    answer judged alone. Answers that are no model's (the reference) are left out."""
    verdict, shown = judgement.verdict, judgement.ask.shown
    if verdict is None:
        return []
    if len(shown) == 1:
        points = [(shown[0], "score", score) for score in verdict.scores[:1]]
    elif verdict.pick is None:
        return []
    else:
        tie = 1 / len(shown)
        points = [
            (name, "win rate", tie if verdict.pick == "tie" else float(verdict.pick == slot))
            for slot, name in enumerate(shown)
        ]
    return [point for point in points if not point[0].startswith("@")]


def _build_model_record(study: Study, model: str, cells: Mapping[Cell, _Scores]) -> dict[str, Any]:
    now, info = str(int(time.time())), _model_info(model)
    source = {"source_name": study.name, "source_type": "evaluation_run"}
    source |= {"source_organization_name": UNKNOWN, "evaluator_relationship": "other"}
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{study.name}/{info['id'].replace('/', '_')}/{now}",
        "retrieved_timestamp": now,
        "source_metadata": source,
        "eval_library": {"name": "evenhand", "version": UNKNOWN},
        "model_info": info,
        "evaluation_results": [
            _build_evaluation_result(study, *one) for one in sorted(cells.items())
        ],
    }


def _build_evaluation_result(study: Study, cell: Cell, scores: _Scores) -> dict[str, Any]:
    judge, prompt, kind = cell
    uncertainty: dict[str, Any] = {"num_samples": len(scores.values)}
    if (error := scores.standard_error) is not None:
        uncertainty["standard_error"] = {"value": error, "method": "analytic, clustered by item"}
    return {
        "evaluation_name": f"{study.name}: {kind} by {judge}",
        "source_data": _build_source_data(study),
        "metric_config": {
            "evaluation_description": _DESCRIPTIONS[kind],
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0 if kind == "win rate" else min(0.0, *scores.values),
            "max_score": 1.0 if kind == "win rate" else max(scores.values),
            **_judge_fields(study, judge, prompt),
        },
        "score_details": {
            "score": scores.mean,
            "details": {"questions": str(len(set(scores.questions)))},
            "uncertainty": uncertainty,
        },
    }


_DESCRIPTIONS: Final = {
    "win rate": "Share of comparisons with other models that the judge gives to this model; a tie "
    "counts as an equal share. Verdicts of all orders shown count.",
    "score": "Mean of the scores that the judge gives to this model's answers.",
}


def _judge_fields(study: Study, judge: str, prompt: str) -> dict[str, Any]:
    """Return the record's fields about the judge, as field -> value: of a model, its name, model id
    and prompt; of a person, only that it is a person."""
    if judge.startswith(HUMAN_PREFIX):
        return {"additional_details": {"judge": "a person"}}
    models = {spec.name: spec.model for spec in study.judges}
    info = {"name": judge, "id": models.get(judge, judge)}
    return {"llm_scoring": {"judges": [{"model_info": info}], "input_prompt": prompt}}


def _build_source_data(study: Study) -> dict[str, Any]:
    source = study.data.source
    if source.startswith(HUB_PREFIX):
        repo = re.split(r"[:@]", source.removeprefix(HUB_PREFIX))[0]
        return {"dataset_name": repo, "source_type": "hf_dataset", "hf_repo": repo}
    return {"dataset_name": Path(source).name, "source_type": "other"}


def _model_info(model: str) -> dict[str, str]:
    developer, found, _ = model.partition("/")
    if not found:
        return {"name": model, "id": f"{UNKNOWN}/{model}"}
    return {"name": model, "id": model, "developer": developer}


def _make_archive_path(study: Study, model: str) -> str:
    """Return the record's path in the archive: data/<benchmark>/<developer>/<model>/<uuid>.json."""
    developer, _, name = _model_info(model)["id"].partition("/")
    parts = (_UNSAFE.sub("_", part).strip(".") or "_" for part in (study.name, developer, name))
    return f"data/{'/'.join(parts)}/{uuid.uuid4()}.json"


# ---- the schema ------------------------------------------------------------------------------

_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str, "number": (int, float), "integer": int, "boolean": bool, "object": dict,
    "array": list,
}  # fmt: skip


@cache
def record_schema() -> Mapping[str, Any]:
    """Return the JSON schema of a record of Every Eval Ever."""
    text = Path(__file__).with_name("every_eval_schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def find_schema_faults(
    value: Any, schema: Mapping[str, Any] | None = None, where: str = "record"
) -> Iterator[str]:
    """Yield a text for each place where `value` differs from `schema` (None: the schema of a whole
    record). A text has the path of the place, which starts with `where`, and the reason."""
    schema = record_schema() if schema is None else schema
    kind = schema["type"]
    # true and false do not count as numbers
    fits = isinstance(value, _TYPES[kind])
    if not fits or (isinstance(value, bool) and kind != "boolean"):
        yield f"{where}: expected {kind}, found {type(value).__name__}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is not one of {', '.join(schema['enum'])}"
    if kind == "array":
        for place, one in enumerate(value):
            yield from find_schema_faults(one, schema["items"], f"{where}[{place}]")
    if kind == "object":
        yield from _find_object_schema_faults(value, schema, where)


def _find_object_schema_faults(
    value: dict[str, Any], schema: Mapping[str, Any], where: str
) -> Iterator[str]:
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{where}.{name}: required"
    known, more = schema.get("properties", {}), schema.get("additionalProperties")
    for name, inner in value.items():
        if name in known:
            yield from find_schema_faults(inner, known[name], f"{where}.{name}")
        elif isinstance(more, Mapping):
            yield from find_schema_faults(inner, more, f"{where}.{name}")
        else:
            yield f"{where}.{name}: unknown field"
