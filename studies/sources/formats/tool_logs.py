"""Readers of the files that five evaluation tools write: promptfoo, DeepEval, Langfuse, Phoenix
and LangSmith. In these files a judge has scored or passed one answer at a time; promptfoo's can
also name the best of several answers."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from studies.files.table_formats.json_lines import parse_cell_if_json
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import RowCells, id_from_text
from studies.sources.formats import recorded_scores
from studies.sources.formats.recorded_scores import MODEL, ScoreLog, plain_text, score_or_label
from studies.sources.source_format import OpenedSource, reads

# ---- promptfoo -------------------------------------------------------------------------------

MODEL_GRADED: Final = frozenset(
    {"llm-rubric", "search-rubric", "model-graded-closedqa", "model-graded-factuality",
     "factuality", "g-eval", "answer-relevance", "context-recall", "context-relevance",
     "context-faithfulness", "conversation-relevance", "pi", "agent-rubric", "trajectory-rubric"}
)  # fmt: skip
"""Assertions whose score is given by a model; all other assertions are rules without a judge."""
SELECT_BEST: Final = "select-best"
RED_TEAM: Final = "promptfoo:redteam:"
"""Start of the types of red-team assertions, which a model grades."""


def _why_matches_promptfoo(table: SourceTable) -> str:
    if table.has_columns("gradingResult", "testCase", "provider"):
        return "gradingResult, testCase and provider are promptfoo's results"
    if any("gradingResult" in row for row in _promptfoo_results(table)[:50]):
        return "results with gradingResult are promptfoo's"
    return ""


def _promptfoo_results(table: SourceTable) -> Sequence[Row]:
    """Return the results of a promptfoo file: its rows or, for one JSON object, the list in its key
    `results`; an empty list if the object has no such list."""
    if table.json_object is None:
        return table.rows
    results = table.json_object.get("results")
    inner = results.get("results") if isinstance(results, dict) else results
    return [row for row in inner if isinstance(row, dict)] if isinstance(inner, list) else []


@reads(
    "promptfoo", "results of promptfoo", "single ratings; choices among N", _why_matches_promptfoo
)
def read_promptfoo(source: OpenedSource) -> SourceBuilder:
    """Read results of promptfoo as JSON or JSON lines.

    Model-graded assertions; `select-best` is a choice among all answers of a test, in the order of
    the file, for each criterion.
    """
    log, rules, rows = ScoreLog(), 0, _promptfoo_results(source.rows)
    config = RowCells(source.rows.json_object or {}).cells_of_object("config")
    options = config.cells_of_object("defaultTest").cells_of_object("options")
    judge = _provider_name(options.row.get("provider")) or "default grader"
    contestants = _name_contestants(rows, several_files=bool(source.rows.places))
    compared: dict[tuple[str, str, str], list[tuple[str, RowCells]]] = defaultdict(list)
    for row, name in zip(rows, contestants, strict=True):
        test = row.get("testCase") or {}
        item = log.add_item(
            f"test-{int(row.get('testIdx') or 0):05}",
            _question_from_variables(row.get("vars") or test.get("vars") or {}),
            {name: text_of((row.get("response") or {}).get("output"))},
            category=text_of(test.get("description")),
        )
        parts = (row.get("gradingResult") or {}).get("componentResults") or []
        judged = [part for part in parts if isinstance(part, dict) and part.get("assertion")]
        log.unscored += not judged
        default = _provider_name((test.get("options") or {}).get("provider")) or judge
        for part in judged:
            assertion = RowCells(part["assertion"])
            kind, reply = assertion.text("type").removeprefix("not-"), text_of(part.get("reason"))
            by = _provider_name(assertion.row.get("provider")) or default
            if kind == SELECT_BEST:
                compared[item, by, assertion.text("value")].append((name, RowCells(part)))
            elif kind in MODEL_GRADED or kind.startswith(RED_TEAM):
                asked = assertion.text("metric", "type")
                log.add_score(item, name, by, asked, part.get("score"), reply=reply)
            else:
                rules += 1
    several = len({at[:2] for at in compared}) < len(compared)  # criteria in one test
    for (item, by, _), answers in compared.items():
        assertion = answers[0][1].cells_of_object("assertion")
        criterion = assertion.text("metric", "value")[:60] if several else ""
        _add_select_best_verdict(log.builder, (item, by, criterion or SELECT_BEST), answers)
    return log.finish(rules, "assertions")


def _add_select_best_verdict(
    builder: SourceBuilder, at: tuple[str, str, str], answers: Sequence[tuple[str, RowCells]]
) -> None:
    """Add the verdict of promptfoo's `select-best` on the answers of a test. It is unusable
    unless exactly one answer was chosen; with fewer than two answers nothing is added. `at` is
    (item, judge, prompt), `answers` has (contestant, its result)."""
    if len(answers) < 2:
        return
    best = [slot for slot, (_, part) in enumerate(answers) if part.row.get("pass") is True]
    reply = answers[best[0] if best else 0][1].text("reason")
    names, pick = [name for name, _ in answers], best[0] if len(best) == 1 else None
    builder.add_verdict(*at, names, pick, reply=reply)


def _question_from_variables(variables: Mapping[str, Any]) -> str:
    """Return a test's variables as its question, since each contestant may have its own prompt: the
    value of a single variable, else paragraphs "name: value"."""
    if len(variables) == 1:
        return text_of(next(iter(variables.values())))
    return "\n\n".join(f"{name}: {text_of(value)}" for name, value in variables.items())


def _name_contestants(rows: Sequence[Row], *, several_files: bool) -> list[str]:
    """Return the name of the contestant of each row: its provider and, if the rows have several
    prompts, the start of its prompt. Different contestants that would get the same name are
    numbered. Unless the rows come from several files, two columns (`promptIdx`) with the same
    provider and prompt are different contestants."""
    places = ["" if several_files else text_of(row.get("promptIdx")) for row in rows]
    asked = [*zip(map(_provider_and_prompt, rows), places, strict=True)]
    several = len({prompt for (_, prompt), _ in asked}) > 1
    names = [f"{maker}, {prompt[:60]}" if several else maker for (maker, prompt), _ in asked]
    alike = defaultdict[str, list[Any]](list)
    for name, one in dict.fromkeys(zip(names, asked, strict=True)):
        alike[name].append(one)
    return [
        f"{name} ({alike[name].index(one) + 1})" if len(alike[name]) > 1 else name
        for name, one in zip(names, asked, strict=True)
    ]


def _provider_and_prompt(row: Row) -> tuple[str, str]:
    """Return the provider of an answer (`provider <promptIdx>` if the row names none) and its
    prompt in one line, "" without a prompt."""
    provider, prompt = row.get("provider"), row.get("prompt") or {}
    name = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
    label = prompt.get("label") or prompt.get("raw") if isinstance(prompt, dict) else prompt
    return text_of(name) or f"provider {row.get('promptIdx')}", " ".join(text_of(label).split())


def _provider_name(value: Any) -> str:
    """Return the name of a provider, given as a text or as an object with a label or id; "" if it
    is missing."""
    if isinstance(value, dict):
        return _provider_name(value.get("label") or value.get("id") or value.get("text"))
    return text_of(value)


# ---- DeepEval --------------------------------------------------------------------------------

_RULES: Final = ("exact match", "pattern match", "json correctness", "tool correctness")
"""Metrics that are computed without a judge."""


def _deepeval_run(table: SourceTable) -> tuple[RowCells, list[Mapping[str, Any]]]:
    """Return a test run of DeepEval, and those of its test cases that have metrics; for any other
    file, the list of test cases is empty."""
    content = table.json_object or {}
    run = content.get("testRunData", content)
    cases = run.get("testCases") if isinstance(run, dict) else None
    held = [case for case in cases if "metricsData" in case] if isinstance(cases, list) else []
    return RowCells(run), held


def _why_matches_deepeval(table: SourceTable) -> str:
    found = _deepeval_run(table)[1]
    return "testCases with metricsData are a test run of DeepEval" if found else ""


@reads("deepeval", "test runs of DeepEval", "single ratings", _why_matches_deepeval)
def read_deepeval(source: OpenedSource) -> SourceBuilder:
    """Read a test run of DeepEval (`.latest_test_run.json`).

    A metric is judged by its evaluation model.
    """
    log, rules, (run, cases) = ScoreLog(), 0, _deepeval_run(source.rows)
    model = run.cells_of_object("hyperparameters").text("model", "Model") or MODEL
    for case in map(RowCells, cases):
        question, context = case.text("input"), map(text_of, case.row.get("context") or ())
        item = log.add_item(
            id_from_text("q", question),
            question,
            {model: case.text("actualOutput")},
            ground_truth=case.text("expectedOutput"),
            context="\n\n".join(context),
        )
        metrics = case.row.get("metricsData") or []
        log.unscored += not metrics
        for metric in map(RowCells, metrics):
            name, judge = metric.text("name"), metric.text("evaluationModel")
            if not judge and name.casefold() in _RULES:
                rules += 1
                continue
            score, by = metric.row.get("score"), judge or name
            reply, error = metric.text("reason"), metric.text("error")
            log.add_score(item, model, by, name, score, reply=reply, error=error)
    return log.finish(rules, "metrics")


# ---- Langfuse --------------------------------------------------------------------------------


def _why_matches_langfuse(table: SourceTable) -> str:
    for row in recorded_scores.rows_of_export(table)[:1]:
        if {"name", "value", "source"} <= row.keys():
            if {"traceId", "trace_id"} & row.keys():
                return "traceId, name, value and source are scores of Langfuse"
            if isinstance(row.get("subject"), Mapping):
                return "subject, name, value and source are scores of Langfuse"
    return ""


@reads("langfuse", "scores exported from Langfuse", "single ratings", _why_matches_langfuse)
def read_langfuse(source: OpenedSource) -> SourceBuilder:
    """Read scores of Langfuse's API, version 2 (`traceId`) or 3 (`subject`), with `name`, `value`,
    `source`.

    Source ANNOTATION is a person.
    """
    log = ScoreLog()
    for line in recorded_scores.cells_of_export(source.rows):
        trace, subject = line.cells_of_object("trace"), line.cells_of_object("subject")
        above, inner = subject.text("traceId", "trace_id"), subject.text("id")
        id = f"{above}/{inner}" if above else inner
        if not isinstance(line.row.get("subject"), dict):
            above = line.text("traceId", "trace_id", "sessionId", "datasetRunId")
            inner = line.text("observationId", "observation_id")
            id = f"{above}/{inner}" if inner else above
        model = line.text("model", "traceName") or trace.text("name") or MODEL
        name, person = line.text("name"), line.text("source").upper() == "ANNOTATION"
        judge = (line.text("authorUserId", "author_user_id") or "annotator") if person else name
        kind, value = line.text("dataType", "data_type").upper(), line.row.get("value")
        words = line.text("stringValue", "string_value")
        if kind == "CATEGORICAL" and words:
            value = words
        elif kind == "BOOLEAN" and value in (0, 1):
            value = bool(value)
        question, answer = (plain_text(trace.row.get(key)) for key in ("input", "output"))
        item = log.add_item(id, question, {model: answer})
        log.add_score(item, model, judge, name, value, reply=line.text("comment"), person=person)
    return log.finish()


# ---- Phoenix ---------------------------------------------------------------------------------

_SPAN_COLUMN: Final = re.compile(r"eval\.(.{1,200})\.(score|label)")
_RUN_COLUMN: Final = re.compile(r"annotation_(.{1,200})_annotator_kind")
_PARTS: Final = ("annotator_kind", "label", "score", "explanation", "error")


def _list_evaluation_names(table: SourceTable, pattern: re.Pattern[str]) -> list[str]:
    """Return the names of evaluations that occur in column names, each once. The first group of
    `pattern` matches the name in such a column name."""
    matches = map(pattern.fullmatch, table.columns)
    return list(dict.fromkeys(match[1] for match in matches if match))


def _why_matches_phoenix(table: SourceTable) -> str:
    if table.has_columns("example_id", "annotations", "output"):
        return "example_id, output and annotations are runs of a Phoenix experiment"
    if table.has_columns("example_id", "output") and _list_evaluation_names(table, _RUN_COLUMN):
        return "example_id and annotation_<name>_score are runs of a Phoenix experiment"
    if table.has_columns("context.span_id") and _list_evaluation_names(table, _SPAN_COLUMN):
        return "context.span_id and eval.<name>.score are spans of Phoenix"
    first = recorded_scores.rows_of_export(table)[:1]
    if any({"span_id", "annotator_kind", "result"} <= row.keys() for row in first):
        return "span_id, annotator_kind and result are annotations of Phoenix"
    return ""


@reads("phoenix", "evaluations exported from Phoenix", "single ratings", _why_matches_phoenix)
def read_phoenix(source: OpenedSource) -> SourceBuilder:
    """Read an experiment of Phoenix as JSON or CSV, annotations of spans, or spans with
    `eval.<name>.score`.

    Annotators of kind CODE are left out.
    """
    log, table = ScoreLog(), source.rows
    names, spans = (
        _list_evaluation_names(table, _RUN_COLUMN),
        _list_evaluation_names(table, _SPAN_COLUMN),
    )
    for line in recorded_scores.cells_of_export(table):
        if "annotations" in line.row:
            found = line.row.get("annotations") or ()
            _add_phoenix_run(log, line, [one for one in found if isinstance(one, dict)])
        elif names:
            _add_phoenix_run(
                log, line, [_phoenix_annotation_from_csv(line, name) for name in names]
            )
        elif "result" in line.row:
            _add_phoenix_annotation(log, line)
        else:
            _add_phoenix_span(log, line, spans)
    return log.finish()


def _phoenix_annotation_from_csv(line: RowCells, name: str) -> Mapping[str, Any]:
    """Return an annotation in a CSV row as a mapping, with the keys of the JSON download."""
    parts = {part: line.row.get(f"annotation_{name}_{part}") for part in _PARTS}
    return {"name": name, **parts}


def _add_phoenix_run(
    log: ScoreLog, line: RowCells, annotations: Sequence[Mapping[str, Any]]
) -> None:
    """Add one experiment run of Phoenix: one answer to one example, with its evaluations by models
    and people (not those by code).

    A repetition with the same answer is another verdict on this answer. A repetition with a
    different answer is a separate item with the same question.
    """
    question, answer, reference = (
        plain_text(parse_cell_if_json(line.row.get(name), "{"))
        for name in ("input", "output", "reference_output")
    )
    item = log.add_item(line.text("example_id"), question, {MODEL: answer}, ground_truth=reference)
    kinds = [(one, one.text("annotator_kind").upper()) for one in map(RowCells, annotations)]
    judged = [(one, kind) for one, kind in kinds if kind != "CODE"]
    log.unscored += not judged
    for one, kind in judged:
        name, value, person = one.text("name"), score_or_label(one), kind == "HUMAN"
        reply, error = one.text("explanation"), one.text("error")
        log.add_score(item, MODEL, name, name, value, reply=reply, error=error, person=person)


def _add_phoenix_annotation(log: ScoreLog, line: RowCells) -> None:
    """Add one annotation of a span (a recorded call), unless it was made by code. The file does
    not contain the texts of the span, so its item has none."""
    kind, name = line.text("annotator_kind").upper(), line.text("name")
    result = line.cells_of_object("result")
    if kind == "CODE":
        return
    item, person = log.add_item(line.text("span_id"), "", {}), kind == "HUMAN"
    judge = (line.text("user_id", "identifier") or "annotator") if person else name
    value, reply = score_or_label(result), result.text("explanation")
    log.add_score(item, MODEL, judge, name, value, reply=reply, person=person)


def _add_phoenix_span(log: ScoreLog, line: RowCells, names: Sequence[str]) -> None:
    """Add a span of Phoenix (a recorded call of a model) as an item, with its scores in the
    evaluations `names`."""
    model = line.text("attributes.llm.model_name") or MODEL
    answers = {model: line.text("attributes.output.value")}
    item = log.add_item(line.text("context.span_id"), line.text("attributes.input.value"), answers)
    for name in names:
        value = score_or_label(line, f"eval.{name}.score", f"eval.{name}.label")
        reply = line.text(f"eval.{name}.explanation")
        log.add_score(item, model, name, name, value, reply=reply)


# ---- LangSmith -------------------------------------------------------------------------------

_FEEDBACK: Final = "feedback."


def _why_matches_langsmith(table: SourceTable) -> str:
    if table.has_columns("run_id", "key", "score"):
        return "run_id, key and score are feedback of LangSmith"
    if table.has_columns("example_id") and any(
        name.startswith(_FEEDBACK) for name in table.columns
    ):
        return "example_id and feedback.<key> are results of a LangSmith experiment"
    return ""


@reads(
    "langsmith", "feedback exported from LangSmith", "single ratings; pairs, order unknown",
    _why_matches_langsmith,
)  # fmt: skip
def read_langsmith(source: OpenedSource) -> SourceBuilder:
    """Read LangSmith's feedback (`run_id`, `key`, `score`) or rows with `feedback.<key>`.

    Comparative feedback becomes pairs of unknown order.
    """
    log, groups = ScoreLog(), defaultdict[str, list[RowCells]](list)
    keys = [name for name in source.rows.columns if name.startswith(_FEEDBACK)]
    for line in source.cells():
        if not source.rows.has_columns("run_id", "key"):
            _add_langsmith_experiment_row(log, line, keys)
        elif line.text("comparative_experiment_id"):
            groups[line.text("feedback_group_id", "trace_id")].append(line)
        else:
            held, key = line.row.get("feedback_source") or {}, line.text("key")
            by = RowCells(held if isinstance(held, Mapping) else {"type": held})
            person = by.text("type") == "app"
            judge = (by.text("user_name") or "annotator") if person else key
            value = score_or_label(line, label="value")
            item = log.add_item(line.text("run_id"), "", {})
            log.add_score(item, MODEL, judge, key, value, reply=line.text("comment"), person=person)
    for group, members in groups.items():
        _add_langsmith_comparison(log.builder, group, members)
    return log.finish()


def _add_langsmith_experiment_row(log: ScoreLog, line: RowCells, keys: Sequence[str]) -> None:
    """Add a row of a LangSmith experiment as an item, with the scores in the columns `keys`."""

    def text_of_part(part: str) -> str:
        names = [name for name in line.row if name.startswith(f"{part}.")]
        found = {name.removeprefix(f"{part}."): line.row[name] for name in names}
        return plain_text(found or line.row.get(part))

    model = line.text("model", "experiment", "session_name") or MODEL
    answers, reference = {model: text_of_part("outputs")}, text_of_part("reference")
    item = log.add_item(
        line.text("example_id"), text_of_part("inputs"), answers, ground_truth=reference
    )
    for key in keys:
        name = key.removeprefix(_FEEDBACK)
        log.add_score(item, model, name, name, line.row.get(key))


def _add_langsmith_comparison(
    builder: SourceBuilder, group: str, members: Sequence[RowCells]
) -> None:
    """Add the verdict on the two answers (LangSmith's runs) of a feedback group: the higher score
    wins; without both scores it is unusable. Nothing is added for a group of another size, or if
    one model gave both answers."""
    names = [line.text("session_id", "run_id") for line in members]
    if len(members) != 2 or builder.note_if_self_comparison(names, group):
        return
    first, second = (recorded_scores.parse_score(line.row.get("score")) for line in members)
    pick: Pick = None
    if first is not None and second is not None:
        pick = "tie" if first == second else int(second > first)
    item = builder.add_item(group, "")
    key, reply = members[0].text("key"), members[0].text("comment")
    builder.add_verdict(item, key, key, names, pick, known=False, reply=reply)
