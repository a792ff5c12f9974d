"""Formats of test sets of pairs with a label, and judges' results on them: PandaLM, Auto-J, LLMBar
and JudgeBench."""

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from studies import domain, errors
from studies.files.tables import SourceTable, read_table, text_of
from studies.files.upload_names import UPLOADS_FOLDER, name_without_ending
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.recorded_verdict import Pick, failure_status
from studies.sources.cells import RowCells, cells_of, id_from_text
from studies.sources.source_format import OpenedSource, make_column_matcher, reads, table_files_in

# ---- PandaLM ---------------------------------------------------------------------------------

_PANDA_WORDS: Final[dict[str, Pick]] = {"1": 0, "2": 1, "0": "tie", "tie": "tie", "garbage": None}


def _people_and_judge_columns(table: SourceTable) -> tuple[list[str], list[str]]:
    """Return two lists of columns: those with annotations by people, and those with results of
    judges."""
    people = [name for name in table.columns if name.startswith("annotator")]
    return people, [name for name in table.columns if name.casefold().endswith("_result")]


def _why_matches_pandalm(table: SourceTable) -> str:
    people, judges = _people_and_judge_columns(table)
    if not table.has_columns("instruction", "response1", "response2") or not people + judges:
        return ""
    return f"response1, response2 and {', '.join(people + judges)} are PandaLM's"


@reads("pandalm", "PandaLM's test set and results", "votes; pairs", _why_matches_pandalm)
def read_pandalm(source: OpenedSource) -> SourceBuilder:
    """Read PandaLM's `response1`, `response2`, `annotator1..3`, and judges' `…_result`.

    Rows with the same instruction and input are comparisons of one question. Annotations are 0
    (tie), 1 or 2; results are `1`, `2`, `Tie`, or `garbage` for a failure.
    """
    builder, (people, judges) = SourceBuilder(), _people_and_judge_columns(source.rows)
    # One item has all pairs of models compared on a question. A pair that the item has already
    # goes to a further item: in the same item it would count as a repeated, ignored vote.
    compared: dict[str, dict[str, set[frozenset[str]]]] = defaultdict(dict)
    for line in source.cells():
        filled = [text for name in ("instruction", "input") if (text := line.text(name)).strip()]
        if not filled:
            raise line.error(
                "columns 'instruction' and 'input' are both empty; "
                "fill one of them or remove the row"
            )
        question, texts = "\n\n".join(filled), [line.text("response1"), line.text("response2")]
        parts = line.text("cmp_key").split("_")
        named = len(parts) == 2 and all(parts) and parts[0] != parts[1]
        names = tuple(parts) if named else ("response1", "response2")
        items, pair = compared[question], frozenset(names)
        own = line.text("idx", "id") or id_from_text("panda", question, *texts)
        id = next((id for id, pairs in items.items() if pair not in pairs), own)
        items.setdefault(id, set()).add(pair)
        item = builder.add_item(
            id,
            question,
            dict(zip(names, texts, strict=True)),
            where=line.where,
            category=line.text("motivation_app", "category"),
            meta={domain.QUESTION_META: next(iter(items))},
        )
        for name in sorted(people):
            pick = line.pick(name, _PANDA_WORDS)
            builder.add_person_verdict(item, name, names, pick, known=False)
        for name in judges:
            judge, pick = name[: -len("_result")], line.pick(name, _PANDA_WORDS)
            builder.add_verdict(item, judge, "pandalm", names, pick, reply=line.text(name))
    rows = len(source.rows.rows)
    if len(compared) < rows:
        builder.notes.append(
            f"{rows:,} rows are comparisons of {len(compared):,} questions: rows with "
            "the same instruction and input are one question"
        )
    if people:
        builder.notes.append("the order in which annotators saw the responses is not recorded")
    return builder


# ---- Auto-J ----------------------------------------------------------------------------------

_AUTO_J: Final = ("response 1", "response 2")
_AUTO_J_LABELS: Final[dict[str, Pick]] = {"0": 0, "1": 1, "2": "tie"}
_AUTO_J_SIGNS: Final = {
    "prompt, response 1, response 2, label": "prompt, response 1, response 2 and label are "
    "Auto-J's test set"
}
_SWAPPED: Final = re.compile(r"exchanged?|swap(ped)?", re.IGNORECASE)
_FILLER: Final = re.compile(r"(pairwise|outputs?|example|pred(iction)?s?|\W|_)+", re.IGNORECASE)


def _auto_j_files(folder: Path) -> tuple[Path | None, list[Path]]:
    """Return the file of pairs in a folder (None if there is none), and the files of judges'
    outputs."""
    paths, matches = table_files_in(folder), make_column_matcher(_AUTO_J_SIGNS)
    pairs = (path for path in paths if "pairwise" in path.name.casefold())
    base = next((path for path in pairs if matches(read_table(path))), None)
    outputs = [path for path in paths if path != base and re.search("output|pred", path.name, re.I)]
    return base, outputs


def _why_matches_auto_j_folder(folder: Path) -> str:
    base, outputs = _auto_j_files(folder)
    if base is None or not outputs:
        return ""
    return f"{base.name} has Auto-J's columns, and the folder has {len(outputs)} files of outputs"


@reads(
    "auto-j", "Auto-J's test set and judges' outputs", "votes; pairs in both orders", _AUTO_J_SIGNS,
    _why_matches_auto_j_folder,
)  # fmt: skip
def read_auto_j(source: OpenedSource) -> SourceBuilder:
    """Read Auto-J's pairs with the vote of one person (`label`), and files of judges' outputs.

    The source is the file of pairs, or a folder with it and the outputs. Line n of an output file
    belongs to pair n; a file with `exchange` or `swap` in its name has the swapped order. Labels
    and outputs are 0 (first), 1 (second) or 2 (tie), an output in the order shown; any other output
    is an unusable reply."""
    builder, outputs = SourceBuilder(), source.read_other_files()
    table = source.table
    if table is None:
        path, others = _auto_j_files(source.path)
        if path is None:
            raise errors.SourceError(
                f"{source.path.name}: no table with Auto-J's columns in this folder; name a file"
            )
        table = read_table(path)
        outputs |= {name_without_ending(one): read_table(one) for one in others}
    for name, output in outputs.items():
        if len(output.rows) != len(table.rows):
            raise errors.SourceError(
                f"{output.name}: {len(output.rows):,} outputs of {name} for {len(table.rows):,} "
                "pairs; the files are joined line by line, so give one output for each pair"
            )
    for line in cells_of(table):
        question, answers = line.require_text("prompt"), {name: line.text(name) for name in _AUTO_J}
        id, category = id_from_text("autoj", question), line.text("scenario")
        item = builder.add_item(id, question, answers, where=line.where, category=category)
        label = line.pick("label", _AUTO_J_LABELS)
        builder.add_person_verdict(item, "annotator", _AUTO_J, label, known=False)
        for name, output in outputs.items():
            judge = _FILLER.sub(" ", _SWAPPED.sub("", name)).strip().replace(" ", "-") or "judge"
            said = RowCells(output.rows[line.index]).text("output", "pred_label", "label").strip()
            shown = _AUTO_J[::-1] if _SWAPPED.search(name) else _AUTO_J
            pick, reply = _AUTO_J_LABELS.get(said), "" if said in _AUTO_J_LABELS else said
            builder.add_verdict(item, judge, "auto-j", shown, pick, reply=reply)
    builder.notes.append(
        "the label is one person's vote; the order in which people saw the responses is not "
        "recorded"
    )
    return builder


# ---- LLMBar ----------------------------------------------------------------------------------

_OUTPUTS: Final = ("output_1", "output_2")
_ORDER_BY_SWAP: Final = {"swap = False": _OUTPUTS, "swap = True": _OUTPUTS[::-1]}
_RESULT_FILE: Final = "result.json"
UNNAMED_JUDGE: Final = "judge"
"""Judge name for a file of results if neither its name nor its folders name a judge."""
_EVALUATORS: Final = "evaluators"
_SET_FOLDERS: Final = ("", "*/", "*/*/")
"""Patterns of the folders that can contain a subset of LLMBar, relative to the folder read."""
_LLMBAR: Final = "input, output_1, output_2 and label are LLMBar's"
_LLMBAR_SIGNS: Final = {
    "input, output_1, output_2, label, results": f"{_LLMBAR}; results contains the verdicts",
    "input, output_1, output_2, label": _LLMBAR,
}


def _why_matches_llmbar_folder(folder: Path) -> str:
    results, matches = _find_llmbar_result_files(folder), make_column_matcher(_LLMBAR_SIGNS)
    data = [path for path in _find_llmbar_dataset_files(folder) if matches(read_table(path))]
    if not results and not data:
        return ""
    return f"dataset.json ({len(data)} of them) and result.json ({len(results)}) are LLMBar's"


def _find_llmbar_dataset_files(folder: Path) -> list[Path]:
    """Find LLMBar's files dataset.json in a folder and its subfolders, two levels deep."""
    return sorted(path for above in _SET_FOLDERS for path in folder.glob(f"{above}dataset.json"))


def _find_llmbar_result_files(folder: Path) -> list[Path]:
    """Find the files result.json: in the folder itself, in <judge>/<prompt>/, in
    <subset>/<judge>/<prompt>/, and in …/evaluators/<judge>/<prompt>/ (the authors' layout)."""
    patterns = ["", "*/*/", "*/*/*/", *(f"{above}{_EVALUATORS}/*/*/" for above in _SET_FOLDERS)]
    return sorted({path for above in patterns for path in folder.glob(above + _RESULT_FILE)})


@reads(
    "llmbar", "LLMBar items and results", "pairs in both orders with gold labels", _LLMBAR_SIGNS,
    _why_matches_llmbar_folder,
)  # fmt: skip
def read_llmbar(source: OpenedSource) -> SourceBuilder:
    """Read LLMBar's `dataset.json` and `result.json`; also a folder, such as
    `<set>/evaluators/<judge>/<prompt>/result.json`.

    The last entry of `results` is the verdict; its `winner` refers to output_1 and output_2,
    whichever was shown first, and can be null.
    """
    builder = SourceBuilder()
    if source.table is not None:
        _add_llmbar_rows(builder, source.table, *_judge_prompt_subset_from_path(source.path))
        return builder
    for path in _find_llmbar_dataset_files(source.path):
        # the name of a subset is that of its folder; uploaded files have none
        subset = "" if path.parents[1].name == UPLOADS_FOLDER else path.parent.name
        _add_llmbar_rows(builder, read_table(path), "", "", subset)
    for path in _find_llmbar_result_files(source.path):
        beside = path.parent == source.path  # no folder names its judge
        names = (UNNAMED_JUDGE, "llmbar", "") if beside else _judge_prompt_subset_from_path(path)
        _add_llmbar_rows(builder, read_table(path), *names)
    return builder


def _judge_prompt_subset_from_path(path: Path) -> tuple[str, str, str]:
    """Return (judge, prompt, subset) as named by the folders of a path such as
    <subset>/[evaluators/]<judge>/<prompt>/result.json. For an uploaded file and any other path,
    the judge is the file's name without its ending (UNNAMED_JUDGE for "result"), the prompt is
    "llmbar" and the subset ""."""
    prompt, judge, above = path.parent, path.parent.parent, path.parent.parent.parent
    if path.name == _RESULT_FILE and prompt.name and judge.name and prompt.name != UPLOADS_FOLDER:
        subset = above.parent if above.name == _EVALUATORS else above
        return judge.name, prompt.name, subset.name
    name = name_without_ending(path)
    return UNNAMED_JUDGE if name == "result" else name, "llmbar", ""


def _add_llmbar_rows(
    builder: SourceBuilder, table: SourceTable, judge: str, prompt: str, subset: str
) -> None:
    """Add the items of one of LLMBar's files, with the category `subset`; the label states the
    better answer. An item's last result is added as the verdicts (one for each order) of the
    judge `judge` with the prompt `prompt`."""
    for line in cells_of(table):
        answers, question = {name: line.text(name) for name in _OUTPUTS}, line.require_text("input")
        id = id_from_text("llmbar", question, *answers.values())
        item = builder.add_item(id, question, answers, where=line.where, category=subset)
        builder.add_better_answer(item, _OUTPUTS, {"1": 0, "2": 1}.get(line.text("label")))
        last = line.row["results"][-1] if line.row.get("results") else {}
        for order, shown in _ORDER_BY_SWAP.items():
            if order in last:
                _add_llmbar_result(builder, RowCells(last[order]), (item, judge, prompt), shown)


def _add_llmbar_result(
    builder: SourceBuilder, result: RowCells, at: tuple[str, str, str], shown: tuple[str, ...]
) -> None:
    """Add a verdict; `at` is (item, judge, prompt), `shown` the outputs in the order shown. The
    `completion` in the file is the reply, or a list of reply and finish reason."""
    value, winner = result.row.get("completion"), result.text("winner")
    parts = value if isinstance(value, list) and value else [value]
    reply, finish = text_of(parts[0]), text_of(parts[1]) if len(parts) > 1 else ""
    pick: Pick = "tie" if winner.casefold() in ("tie", "equal") else None
    if winner in ("1", "2"):
        pick = shown.index(f"output_{winner}")
    cut_off = result.row.get("winner") is None and finish == "length"
    builder.add_verdict(*at, shown, pick, reply=reply, status="truncated" if cut_off else None)


# ---- JudgeBench ------------------------------------------------------------------------------

_RESPONSES: Final = ("response_A", "response_B")
_DECISIONS: Final[dict[str, Pick]] = {"A>B": 0, "B>A": 1, "A=B": "tie", "B=A": "tie"}
_JUDGEBENCH: Final = "pair_id, response_A, response_B and label are JudgeBench's"
_PAIRS: Final = "pair_id, question, response_A, response_B, label"
matches_judgebench: Final = make_column_matcher(
    {f"{_PAIRS}, judgments": f"{_JUDGEBENCH}; judgments contains the verdicts", _PAIRS: _JUDGEBENCH}
)


@reads(
    "judgebench", "JudgeBench pairs and judgments", "pairs in both orders with gold labels",
    matches_judgebench,
)  # fmt: skip
def read_judgebench(source: OpenedSource) -> SourceBuilder:
    """Read JudgeBench's pairs with a label and judgments; also a folder.

    The judge is `judge_model` of the judgment or row; `judge_name` is its prompt. The second of two
    judgments was made with the responses swapped, and its decision uses the labels as shown; null
    is a failure.
    """
    builder = SourceBuilder()
    for line in source.cells():
        id, question = line.require_two_texts("pair_id", "question")
        item = builder.add_item(
            id,
            question,
            {name: line.text(name) for name in _RESPONSES},
            where=line.where,
            category=line.text("source"),
            meta={"response_model": line.text("response_model")},
        )
        builder.add_better_answer(item, _RESPONSES, line.pick("label", _DECISIONS))
        games = line.row.get("judgments") or []
        for game, shown in zip(games, (_RESPONSES, _RESPONSES[::-1]), strict=False):
            held = RowCells(game if isinstance(game, dict) else {}, line.where)
            _add_judgebench_decision(builder, line, held, item, shown)
    return builder


def _add_judgebench_decision(
    builder: SourceBuilder, line: RowCells, game: RowCells, item: str, shown: tuple[str, ...]
) -> None:
    """Add a judge's decision on the answers `shown`; `game` has the cells of the decision, `line`
    those of its row. If the file names no model, `judge_name` is the judge."""
    judgment, value = game.cells_of_object("judgment"), game.row.get("judgment")
    inner = judgment.text("response", "judgment")
    reply = inner if isinstance(value, Mapping) else value
    name = line.text("judge_name")
    model = judgment.text("judge_model") or line.text("judge_model", "judge")
    by = (model, name or "judgebench") if model else (name or "recorded", "judgebench")
    pick = game.pick("decision", _DECISIONS)
    status = failure_status(pick is not None, reply)
    builder.add_verdict(item, *by, shown, pick, reply=text_of(reply), status=status)
