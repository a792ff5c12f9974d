"""Format of Inspect's logs: `.eval` archives or JSON files, a single file or a folder of files.

Each sample is a question with the answer of the evaluated model; each scorer is a judge. The judge
of a model-graded scorer is its grader model. Samples are read one at a time, because an archive of
a gigabyte does not fit into memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from studies.errors import SourceError
from studies.files.archives import ZipArchive, open_archive
from studies.files.read_limits import current_limits
from studies.files.table_formats.json_lines import count_values
from studies.files.tables import SourceTable, check_file_size, read_table, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.formats.recorded_scores import ScoreLog

LOG_SUFFIX: Final = ".eval"
_HEADERS: Final = ("header.json", "_journal/start.json")
_GRADERS: Final = ("model_graded_qa", "model_graded_fact")
_NO_GRADE: Final = "Grade not found in model output"
"""Explanation of a score whose reply has no grade; older logs record such a score as incorrect."""
_START: Final = 4096
_TASK: Final = re.compile(rb'"task"\s*:\s*"([^"]*)"')


def matches_table(table: SourceTable) -> str:
    content = table.json_object or {}
    if isinstance(content.get("eval"), dict) and "samples" in content and "status" in content:
        return "eval, status and samples are an Inspect log"
    return ""


def matches_folder(folder: Path) -> str:
    found = list_logs(folder)
    return f"{len(found):,} Inspect logs" if found else ""


def list_logs(folder: Path) -> list[Path]:
    """List the logs of a folder and of the folders directly in it."""
    if not folder.is_dir():
        return [folder] if folder.suffix == LOG_SUFFIX or _is_json_log(folder) else []
    paths = sorted(path for place in ("*", "*/*") for path in folder.glob(place) if path.is_file())
    return [path for path in paths if path.suffix == LOG_SUFFIX or _is_json_log(path)]


def _is_json_log(path: Path) -> bool:
    """Whether a JSON file starts like a log: with version, status and eval."""
    if path.suffix != ".json" or not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(_START)
    return all(key in start for key in (b'"version"', b'"status"', b'"eval"', b'"task"'))


def read(source: OpenSource) -> SourceBuilder:
    log = ScoreLog()
    paths = source.paths or list_logs(source.path)
    tasks = {_task_name(path, source) for path in paths}
    for path in paths:
        for header, samples in _open_log(path, source):
            prefix = f"{text_of(header.get('task'))}: " if len(tasks) > 1 else ""
            for sample in samples:
                _add_sample(log, header, sample, prefix)
    return log.finish()


def _task_name(path: Path, source: OpenSource) -> str:
    if path.suffix != LOG_SUFFIX:  # the task is named at the start of the file
        with path.open("rb") as file:
            found = _TASK.search(file.read(_START))
        return found[1].decode(errors="replace") if found else path.name
    for header, _ in _open_log(path, source):
        return text_of(header.get("task"))
    return ""


def _open_log(
    path: Path, source: OpenSource
) -> Iterator[tuple[Mapping[str, Any], Iterator[Mapping[str, Any]]]]:
    """Yield the description of an evaluation and an iterator over its samples."""
    if path.suffix != LOG_SUFFIX:
        table = source.table if source.table is not None else read_table(path)
        content = table.json_object or {}
        yield content.get("eval") or {}, iter(content.get("samples") or ())
        return
    check_file_size(path)
    with open_archive(path, current_limits()) as archive:
        name = next((name for name in _HEADERS if name in archive.entries), "")
        if not name:
            raise SourceError(
                f"{path.name}: no header, so this is no Inspect log or its run was cut off early; "
                "run the evaluation again, or leave the file out"
            )
        header = _parse(archive.read(name), f"{path.name}, {name}").get("eval") or {}
        yield header, _read_samples(archive, path.name)


def _read_samples(archive: ZipArchive, name: str) -> Iterator[Mapping[str, Any]]:
    for entry in archive.entries:
        if entry.startswith("samples/") and entry.endswith(".json"):
            yield _parse(archive.read(entry), f"{name}, {entry}")


def _parse(content: bytes, where: str) -> Mapping[str, Any]:
    count_values(content, where, current_limits())
    try:
        value = _load_json(content)
    except (ValueError, RecursionError):
        raise SourceError(f"{where}: not valid JSON; copy the log again") from None
    if not isinstance(value, dict):
        raise SourceError(f"{where}: expected a JSON object; copy the log again")
    return value


def _load_json(content: bytes) -> Any:
    """Parse JSON with orjson, three times as fast as json; if orjson refuses the text (logs may
    contain NaN), with json."""
    try:
        import orjson
    except ModuleNotFoundError:  # installed without extras
        return json.loads(content)
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return json.loads(content)


# ---- samples ---------------------------------------------------------------------------------


def _add_sample(
    log: ScoreLog, header: Mapping[str, Any], sample: Mapping[str, Any], prefix: str
) -> None:
    model = text_of(header.get("model")) or "model"
    item = log.add_item(
        f"{prefix}{text_of(sample.get('id'))}",
        _input_text(sample.get("input")),
        {model: _output_text(sample.get("output"))},
        category=text_of(header.get("task")) if prefix else "",
        ground_truth=_join(sample.get("target")),
    )
    scores = sample.get("scores") or {}
    if not scores:
        log.unscored += 1
    for scorer, score in scores.items():
        judge, prompt = _judge_of(header, scorer)
        _add_score(log, item, model, judge, prompt, score)


def _add_score(
    log: ScoreLog, item: str, model: str, judge: str, prompt: str, score: Mapping[str, Any]
) -> None:
    value, reply = score.get("value"), text_of(score.get("explanation"))
    if reply.startswith(_NO_GRADE):
        value = None
    if isinstance(value, dict):
        for name, part in value.items():
            log.add_score(item, model, judge, f"{prompt}/{name}", part, reply=reply)
        return
    log.add_score(item, model, judge, prompt, value, reply=reply)


def _judge_of(header: Mapping[str, Any], scorer: str) -> tuple[str, str]:
    """Return (judge, prompt) of a scorer: (grader model, scorer's name), or (scorer's name,
    "scorer") if the scorer has no grader."""
    for one in header.get("scorers") or ():
        options = one.get("options") or {}
        if one.get("name") == scorer and (model := _model_name(options.get("model"))):
            return model, scorer
    roles = header.get("model_roles") or {}
    if scorer in _GRADERS:
        return _model_name(roles.get("grader")) or text_of(header.get("model")), scorer
    return scorer, "scorer"


def _model_name(value: Any) -> str:
    if isinstance(value, dict):
        return text_of(value.get("model"))
    if isinstance(value, list):
        return ", ".join(_model_name(one) for one in value)
    return text_of(value)


def _input_text(value: Any) -> str:
    """Return the question of a sample: its input text, or its system and user messages joined."""
    if not isinstance(value, list):
        return text_of(value)
    texts = [_content_text(message.get("content")) for message in value if _is_asked(message)]
    return "\n\n".join(text for text in texts if text)


def _is_asked(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") in ("user", "system")


def _output_text(output: Any) -> str:
    if not isinstance(output, dict):
        return ""
    choices = output.get("choices") or ()
    message = choices[0].get("message") if choices and isinstance(choices[0], dict) else None
    text = _content_text(message.get("content")) if isinstance(message, dict) else ""
    return text or text_of(output.get("completion"))


def _content_text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(text_of(part.get("text")) for part in content if isinstance(part, dict))
    return text_of(content)


def _join(value: str | Sequence[str] | None) -> str:
    return "\n".join(map(text_of, value)) if isinstance(value, list) else text_of(value)
