"""What was found in the records: their format and why, how files joined, one item to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any, Final

from components.drawing.pieces import notice
from components.format import count, rich, safe
from components.inspect.data import picture
from components.inspect.pieces import pictures_html
from components.study.bench import Bench, data_of
from components.study.data import upload_name
from components.study.fields import choose, press, row, steps, sub_head
from components.study.sheet import View
from judges.suits import skipped
from studies.errors import EvenhandError
from studies.profile import Covered, covered
from studies.records import Item
from studies.sources.detect import looks_like
from studies.sources.guess import guess_mapping
from studies.sources.join import FileJoin, JoinReport
from studies.sources.load import image_folder, source_path
from studies.sources.mapped import FIELDS
from studies.sources.tables import Table, is_table, read_table, text_of

_LONG: Final = 420
_SHARDS: Final = (
    "The verdicts stay in their folder until they are opened. A run of this study asks its own "
    "judges about the same items; the folder's verdicts are no part of it."
)
_KINDS: Final = ("missing", "empty", "duplicate", "conflicting", "unknown")


def records_html(bench: Bench, view: View) -> str:
    """Everything below the slice: what was detected, what did not fit, one of the items."""
    parts = [_fault(bench), _detected(bench), mapping_form(bench)]
    if bench.loaded is not None:
        join = bench.loaded.join
        parts.append(_joined(join) if join else _coverage(bench))
        parts.append(_skipped(bench))
        parts.append(item_html(bench, view))
    return "".join(parts)


def _fault(bench: Bench) -> str:
    if not bench.data_fault:
        return ""
    if not bench.sheet.raw("data", "mapping") and unknown_table(bench):
        told = "Say below what its columns are; the guess is ours, and waits for your word."
        why = safe(own_name(bench, bench.data_fault))
        return notice("warn", "No known format.", told) + (
            "<details class='eh-how eh-notes' data-keep='seen'><summary>What was seen</summary>"
            f"<p>{why}</p></details>"
        )
    return notice("bad", "These records cannot be used yet.", own_name(bench, bench.data_fault))


def own_name(bench: Bench, words: str) -> str:
    """An uploaded file under the name that its owner gave it."""
    kept = PurePath(bench.sheet.source).name
    return words.replace(kept, upload_name(bench.sheet.source))


def _detected(bench: Bench) -> str:
    """What the file is, why we think so, and what it cannot give."""
    if bench.loaded is None or bench.sheet.source == "probe":
        return ""
    found = bench.loaded
    verdicts = f" and {count(found.verdicts, 'recorded verdict')}" if found.verdicts else ""
    why = own_name(bench, found.why)
    told = f"**{found.format}**: {count(len(found.items), 'item')}{verdicts}. {why}."
    parts = [f'<p class="hint eh-found">{rich(told)}</p>']
    if found.off:
        names = ", ".join(found.off)
        why = next(iter(found.off.values()))
        parts.append(notice("warn", "Without an order shown.", f"{why} Off: {names}."))
    if found.notes:
        listed = "".join(f"<p>{rich(note)}</p>" for note in found.notes)
        parts.append(
            f"<details class='eh-how' data-keep='notes'><summary>{count(len(found.notes), 'note')} "
            f"on these records</summary>{listed}</details>"
        )
    if found.shards is not None:
        parts.append(f'<p class="hint eh-found">{_SHARDS}</p>')
    if found.verdicts:
        button = press("Open these verdicts as a study", {"do": "recorded"}, errand=True)
        parts.append(f'<div class="eh-row">{button}</div>')
    return "".join(parts)


# --------------------------------------------------------------------- an unknown table


def mapping_form(bench: Bench) -> str:
    """Column by column: what it is. The guess is shown, never applied by itself."""
    table = unknown_table(bench)
    if table is None:
        return ""
    said = bench.sheet.raw("data", "mapping")
    guess = guess_mapping(table.columns, table.rows)
    mapping = {str(k): str(v) for k, v in said.items()} if isinstance(said, Mapping) else guess
    rows = "".join(_column(table, column, mapping.get(column, "")) for column in table.columns[:60])
    state = "saved with the study" if said else "a guess, not applied yet"
    head = sub_head("What the columns are", state)
    use = "" if said else press("Read the table this way", {"do": "map", "mapping": guess})
    return f'{head}{rows}<div class="eh-row">{use}</div>'


def unknown_table(bench: Bench) -> Table | None:
    """The table of a source that is mapped by the study, or that no format knows."""
    sheet = bench.sheet
    if sheet.source.startswith("hub:") or sheet.source == "probe":
        return None
    if bench.loaded is not None and not sheet.raw("data", "mapping"):
        return None
    try:
        path = source_path(data_of(sheet), sheet.folder)
        if not path.is_file() or not is_table(path):
            return None
        table = _table(path, path.stat().st_mtime_ns)
    except EvenhandError:
        return None
    known = not sheet.raw("data", "mapping") and looks_like(table, path)
    return None if known else table


@lru_cache(maxsize=4)
def _table(path: Path, stamp: int) -> Table:
    return read_table(path)


def _column(table: Table, column: str, field: str) -> str:
    examples = (text_of(one.get(column)).strip() for one in table.rows[:20])
    example = next((text for text in examples if text), "empty")
    options = [
        ("", "not used"),
        (f"responses.{column}", f"answers of {column}"),
        *((name, f"{name}: {told}") for name, told in FIELDS.items()),
        (f"meta.{column}", f"meta.{column}: for filters"),
    ]
    if field.startswith("responses.") and field != f"responses.{column}":
        options.insert(1, (field, f"answers of {field[10:]}"))
    short = example if len(example) <= 60 else example[:60] + " …"
    return row(column, choose(f"mapping.{column}", options, field), f"“{short}”",
               to=f"mapping.{column}")  # fmt: skip


# ---------------------------------------------------------------------- what did not fit


def _joined(join: JoinReport) -> str:
    """Matched, missing, duplicate, empty, conflicting: said before a cent is spent."""
    head = sub_head("Join report", f"answers to {count(join.questions, 'question')}")
    kinds = [kind for kind in _KINDS if kind in ("missing", "empty") or join_total(join, kind)]
    heads = "".join(f"<th>{safe(kind)}</th>" for kind in kinds)
    rows = "".join(
        f"<tr><td>{safe(one.contestant)}</td><td>{count(one.matched)}</td>"
        + "".join(f"<td>{_number(getattr(one, kind))}</td>" for kind in kinds)
        + "</tr>"
        for one in join.files
    )
    table = (
        f'<table class="eh-jt"><thead><tr><th>contestant</th><th>found</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )
    on = f"Joined on {', '.join(join.on)}."
    if join.duplicate_questions:
        on += f" {count(join.duplicate_questions, 'question')} with the key of another."
    return f'{head}{table}<p class="hint">{safe(on)} Items without an answer are not asked.</p>' + (
        _examples(join.files)
    )


def join_total(join: JoinReport, kind: str) -> int:
    return sum(getattr(one, kind) for one in join.files)


def _examples(files: Sequence[FileJoin]) -> str:
    lines = [
        f"<p>{safe(one.contestant)}, {safe(kind)}: {safe('; '.join(keys))}</p>"
        for one in files
        for kind, keys in (one.examples or {}).items()
        if keys
    ]
    if not lines:
        return ""
    return (
        "<details class='eh-how' data-keep='join examples'><summary>Examples</summary>"
        f"{''.join(lines)}</details>"
    )


def _coverage(bench: Bench) -> str:
    """Who answered how many of the items of the slice."""
    names = [str(name) for name in _playing(bench)]
    found = [covered(name, [item.responses.get(name) for item in bench.items]) for name in names]
    if not any(one.missing or one.empty for one in found):
        return ""
    head = sub_head("Coverage", f"of {count(len(bench.items), 'item')}")
    rows = "".join(_covered(one) for one in found)
    return (
        f"{head}<table class='eh-jt'><thead><tr><th>contestant</th><th>found</th><th>missing</th>"
        f"<th>empty</th></tr></thead><tbody>{rows}</tbody></table>"
        '<p class="hint">Comparisons on items that lack an answer are not asked.</p>'
    )


def _playing(bench: Bench) -> Sequence[Any]:
    named = bench.sheet.raw("contestants")
    return named if isinstance(named, list) and named else bench.contestants[:20]


def _covered(one: Covered) -> str:
    return (
        f"<tr><td>{safe(one.name)}</td><td>{count(one.found)}</td>"
        f"<td>{_number(one.missing)}</td><td>{_number(one.empty)}</td></tr>"
    )


def _number(value: int) -> str:
    kind = "w" if value else "z"
    return f'<span class="{kind}">{count(value)}</span>'


def _skipped(bench: Bench) -> str:
    if bench.plan is None:
        return ""
    lines = [
        f"{one.prompt} is not asked on {count(one.items, 'item')}: {one.why}."
        for one in skipped(bench.plan.prompts, bench.plan.items)
    ]
    return notice("calm", "Skipped, not failed.", " ".join(lines[:4])) if lines else ""


# -------------------------------------------------------------------------- one of the items


def item_html(bench: Bench, view: View) -> str:
    n = len(bench.items)
    if not n:
        return ""
    at = min(view.item, n - 1)
    item = bench.items[at]
    where = " · ".join(part for part in (item.id, item.category) if part)
    head = (
        f'<div class="eh-sub"><b>{safe(f"{count(at + 1)} of the {count(n)}")}</b>'
        f"<span>{safe(where)} {steps(at, n, 'item')}</span></div>"
    )
    answers = "".join(
        f"<p><b>{safe(name)}</b> {safe(_short(text, 220))}</p>"
        for name, text in sorted(item.responses.items())
    )
    many = count(len(item.responses), "answer")
    folded = (
        f"<details class='eh-how' data-keep='answers'><summary>{many}</summary>{answers}</details>"
    )
    words = safe(_short(item.instruction, _LONG))
    return f'{head}<p class="eh-small eh-q" dir="auto">{words}</p>{_pictures(bench, item)}{folded}'


def _pictures(bench: Bench, item: Item) -> str:
    if not item.images:
        return ""
    try:
        folder = image_folder(data_of(bench.sheet), bench.sheet.folder)
    except EvenhandError:
        folder = None
    shown = pictures_html((picture(path, folder) for path in item.images[:4]), "image")
    context = item.context if isinstance(item.context, str) else " ".join(item.context)
    told = f"Description, {count(len(context.split()), 'word')}: {_short(context, 140)}"
    below = (
        told if context.strip() else "No description: a judge that cannot see has nothing to go by."
    )
    return f'{shown}<p class="hint">{safe(below)}</p>'


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rstrip() + " …"
