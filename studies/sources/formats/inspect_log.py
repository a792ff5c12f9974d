"""Format of Inspect's logs: `.eval` archives or JSON files, a single file or a folder of files.

Samples are read one at a time, because an archive of a gigabyte does not fit into memory.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from studies.errors import SourceError
from studies.files.archives import open_archive
from studies.files.read_limits import current_limits
from studies.files.table_formats.json_lines import count_values_within_limits
from studies.files.tables import SourceTable, check_file_size, read_table, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.cells import RowCells, content_text
from studies.sources.formats.recorded_scores import ScoreLog
from studies.sources.source_format import OpenedSource, reads

Samples = Iterator[Mapping[str, Any]]
LOG_SUFFIX: Final = ".eval"
_HEADERS: Final = ("header.json", "_journal/start.json")
_GRADERS: Final = ("model_graded_qa", "model_graded_fact")
_NO_GRADE: Final = "Grade not found in model output"
"""Beginning of the explanation of a score whose reply has no grade; older logs record such a score
as incorrect."""
_START: Final = 4096
_TASK: Final = re.compile(rb'"task"\s*:\s*"([^"]*)"')


def _why_matches_log(table: SourceTable) -> str:
    content = table.json_object or {}
    if isinstance(content.get("eval"), dict) and {"samples", "status"} <= content.keys():
        return "eval, status and samples are an Inspect log"
    return ""


def _why_matches_log_folder(folder: Path) -> str:
    found = list_logs(folder)
    return f"{len(found):,} Inspect logs" if found else ""


def list_logs(folder: Path) -> list[Path]:
    """List the logs of a folder and of the folders directly in it; for a file, the file itself if
    it is a log."""
    patterns = ("*", "*/*") if folder.is_dir() else ()
    paths = sorted(path for place in patterns for path in folder.glob(place) if path.is_file())
    found = paths if folder.is_dir() else [folder]
    return [path for path in found if path.suffix == LOG_SUFFIX or _is_json_log(path)]


def _read_first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_START)


def _is_json_log(path: Path) -> bool:
    """Whether a JSON file starts like a log: with version, status and eval, the latter with
    a task."""
    if path.suffix != ".json" or not path.is_file():
        return False
    start = _read_first_bytes(path)
    return all(key in start for key in (b'"version"', b'"status"', b'"eval"', b'"task"'))


@reads("inspect", "logs of Inspect", "single ratings", _why_matches_log, _why_matches_log_folder)
def read_inspect(source: OpenedSource) -> SourceBuilder:
    """Read Inspect logs: `.eval` (also Zstandard) and `.json`; also a folder.

    Each sample is a question with the answer of the evaluated model; each scorer is a judge; the
    judge of a model-graded scorer is its grader.
    """
    log, paths = ScoreLog(), source.paths or list_logs(source.path)
    tasks = {_task_name(path, source) for path in paths}
    for path in paths:
        for header, samples in _open_log(path, source):
            prefix = f"{header.text('task')}: " if len(tasks) > 1 else ""
            for sample in map(RowCells, samples):
                _add_sample(log, header, sample, prefix)
    return log.finish()


def _task_name(path: Path, source: OpenedSource) -> str:
    if path.suffix != LOG_SUFFIX:  # the task is named at the start of the file
        found = _TASK.search(_read_first_bytes(path))
        return found[1].decode(errors="replace") if found else path.name
    return next((header.text("task") for header, _ in _open_log(path, source)), "")


def _open_log(path: Path, source: OpenedSource) -> Iterator[tuple[RowCells, Samples]]:
    """Yield exactly one pair: the description of the evaluation (its key `eval`), and an iterator
    over its samples. The iterator works only until this generator is resumed, which closes
    the file. Both are empty for a JSON file without `eval` and `samples`. SourceError if an
    `.eval` file has no header."""
    if path.suffix != LOG_SUFFIX:
        table = source.table if source.table is not None else read_table(path)
        content = table.json_object or {}
        yield RowCells(content.get("eval") or {}), iter(content.get("samples") or ())
        return
    check_file_size(path)
    with open_archive(path, current_limits()) as archive:

        def parse_entry(entry: str) -> Mapping[str, Any]:
            return _parse_log_object(archive.read(entry), f"{path.name}, {entry}")

        name = next((name for name in _HEADERS if name in archive.entries), "")
        if not name:
            raise SourceError(
                f"{path.name}: no header, so this is no Inspect log or its run was cut off early; "
                "run the evaluation again, or leave the file out"
            )
        inside = (entry for entry in archive.entries if entry.startswith("samples/"))
        samples = (parse_entry(entry) for entry in inside if entry.endswith(".json"))
        yield RowCells(parse_entry(name).get("eval") or {}), samples


def _parse_log_object(content: bytes, where: str) -> Mapping[str, Any]:
    count_values_within_limits(content, where, current_limits())
    try:
        value = _load_json(content)
    except ValueError:
        raise SourceError(f"{where}: not valid JSON; copy the log again") from None
    if not isinstance(value, dict):
        raise SourceError(f"{where}: expected a JSON object; copy the log again")
    return value


def _load_json(content: bytes) -> Any:
    """Parse JSON with orjson, three times as fast as json; with json if orjson is not installed or
    refuses the text (logs may contain NaN)."""
    try:
        import orjson
    except ModuleNotFoundError:  # installed without extras
        return json.loads(content)
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return json.loads(content)


# ---- samples ---------------------------------------------------------------------------------


def _add_sample(log: ScoreLog, header: RowCells, sample: RowCells, prefix: str) -> None:
    """Add a sample and its scores to `log`; `header` describes the evaluation. `prefix` is put
    before the item's id, to tell tasks apart; it is empty if all logs have the same task."""
    model, scores = header.text("model") or "model", sample.row.get("scores") or {}
    target = sample.row.get("target")
    item = log.add_item(
        f"{prefix}{sample.text('id')}",
        _input_text(sample.row.get("input")),
        {model: _output_text(sample.cells_of_object("output"))},
        category=header.text("task") if prefix else "",
        ground_truth="\n".join(map(text_of, target if isinstance(target, list) else [target])),
    )
    log.unscored += not scores
    for scorer, score in scores.items():
        judge, prompt = _judge_and_prompt_of_scorer(header, scorer)
        value, reply = score.get("value"), text_of(score.get("explanation"))
        if reply.startswith(_NO_GRADE):
            value = None
        parts = value.items() if isinstance(value, dict) else ()
        for name, part in parts:
            log.add_score(item, model, judge, f"{prompt}/{name}", part, reply=reply)
        if not isinstance(value, dict):
            log.add_score(item, model, judge, prompt, value, reply=reply)


def _judge_and_prompt_of_scorer(header: RowCells, scorer: str) -> tuple[str, str]:
    """Return the judge and prompt under which the scores of a scorer are stored: the model that
    grades and the scorer's name or, if no model grades, the scorer's name and "scorer". If the
    log names no grader for `model_graded_qa` or `model_graded_fact`, it is the evaluated model."""
    for one in header.row.get("scorers") or ():
        options = one.get("options") or {}
        if one.get("name") == scorer and (model := _model_name(options.get("model"))):
            return model, scorer
    if scorer in _GRADERS:
        roles = header.row.get("model_roles") or {}
        return _model_name(roles.get("grader")) or header.text("model"), scorer
    return scorer, "scorer"


def _model_name(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_model_name, value))
    return text_of(value.get("model") if isinstance(value, dict) else value)


def _input_text(value: Any) -> str:
    """Return the question of a sample: its input text, or its system and user messages joined."""
    if not isinstance(value, list):
        return text_of(value)
    messages = [RowCells(message) for message in value if isinstance(message, dict)]
    asked = [one for one in messages if one.row.get("role") in ("user", "system")]
    texts = [content_text(message.row) for message in asked]
    return "\n\n".join(text for text in texts if text)


def _output_text(output: RowCells) -> str:
    choices = output.row.get("choices") or ()
    first = RowCells(choices[0] if choices and isinstance(choices[0], dict) else {})
    return content_text(first.cells_of_object("message").row) or output.text("completion")
