"""What is judged: where the records come from and which slice of them is taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from components.format import count, safe
from components.study.bench import Bench
from components.study.fields import (
    choose,
    press,
    row,
    secret,
    seg,
    several,
    text,
    whole,
)
from components.study.public import is_public
from components.study.sheet import Sheet, View, listed
from studies.records import REFERENCE
from studies.sources.catalogue import CATALOGUE, known_set
from studies.sources.formats import FORMATS
from studies.sources.load import BUILT_IN

BUILTIN, FILE, UPLOAD, HUB, RECORDED = "built-in", "file", "upload", "hub", "recorded"
KINDS: Final = (
    (BUILTIN, "Built-in"), (FILE, "File"), (UPLOAD, "Upload"), (HUB, "Hub"), (RECORDED, "Recorded"),
)  # fmt: skip
UPLOADS: Final = "uploads"
"""The folder beside the store in which uploaded files are kept, by their content."""

HUB_KEY: Final = "@hub"
HUB_URL: Final = "https://huggingface.co"
"""The only host that a typed token is for."""
"""Under which name the browser keeps a token of the Hub."""

_KEEP: Final = (
    ("", "all items"),
    ("checks.follows=true", "reference verified by people"),
    ("checks.follows=true,unchecked", "verified or not checked"),
    ("reference=true", "items with a reference"),
)


def kind_of(source: str) -> str:
    if source in BUILT_IN:
        return BUILTIN
    if source.startswith("hub:"):
        return HUB
    return UPLOAD if source.startswith(f"{UPLOADS}/") else FILE


def upload_name(source: str) -> str:
    """The name that a file had before it was kept under its content's hash."""
    name = PurePath(source).name
    return name.partition("-")[2] or name if kind_of(source) == UPLOAD else name


def kind_shown(sheet: Sheet, view: View) -> str:
    return view.kind or kind_of(sheet.source)


def aside(bench: Bench) -> str:
    if bench.loaded is None:
        return ""
    return f"{count(len(bench.items))} of {count(len(bench.loaded.items))} items"


def source_form(bench: Bench, view: View) -> str:
    """Name, kind of source, and the source itself."""
    sheet = bench.sheet
    kinds = [kind for kind in KINDS if kind[0] != FILE or not is_public()]
    kind = kind_shown(sheet, view)
    name = row("Name", text("name", sheet.raw("name") or "", label="Name of the study"), to="name")
    switch = (
        f'<span id="f-kind-l" hidden>Source</span><div class="eh-kinds">'
        f"{seg('kind', kinds, kind)}</div>"
    )
    return name + switch + _source(sheet, kind)


def _source(sheet: Sheet, kind: str) -> str:
    source = sheet.source if kind_of(sheet.source) == kind else ""
    if kind == BUILTIN:
        names = [(name, "Probe set" if name == "probe" else name) for name in BUILT_IN]
        told = "64 questions, four answers each, the better one known"
        return row(
            "Source", choose("data.source", names, source or "probe"), told, to="data.source"
        )
    if kind == HUB:
        return _hub(sheet, source.removeprefix("hub:"))
    if kind == FILE:
        told = (
            "CSV, TSV, JSONL, JSON or Parquet, also .gz, or a folder; on the machine of this page"
        )
        box = text("data.source", source, mono=True, placeholder="records/items.jsonl", slow=True)
        return row("Path", box, told, to="data.source")
    if kind == UPLOAD:
        kept = upload_name(source)
        told = "CSV, TSV, JSONL, JSON or Parquet, also .gz; several files of answers are joined"
        return f'<p class="hint">{safe(f"In use: {kept}. " if kept else "")}{told}</p>'
    return (
        '<p class="hint">Somebody’s finished verdicts (MT-Bench, Arena, AlpacaEval, LLMBar, PRD …) '
        "open as a study at once: no key, no call. Add live judges to it afterwards.</p>"
    )


def _hub(sheet: Sheet, name: str) -> str:
    """A dataset by its name, with what is known of it; its split says how much of it is read."""
    known = known_set(*_repo(name)) if name else None
    control = text("hub", name, mono=True, placeholder="owner/name[:config]@revision", slow=True,
                   suggestions=[(one.hub, one.told) for one in CATALOGUE])  # fmt: skip
    told = known.told if known else "a dataset of the Hugging Face Hub, read at a pinned commit"
    splits = [(split, "") for split in (known.splits if known else ())]
    split = text("data.split", sheet.raw("data", "split") or "", mono=True, slow=True,
                 placeholder=f"{known.split if known else 'test'}[:500]",
                 suggestions=splits)  # fmt: skip
    fetch = press("Fetch with this token", {"do": "fetch"}, kind="small", errand=True)
    return (
        row("Dataset", control, told, to="hub")
        + row("Split", split, "test[:500] reads 500 rows and no more", to="data.split")
        + "<details class='eh-how' data-keep='hub token'><summary>A private dataset</summary>"
        + row("Token", secret(HUB_KEY, "f-token", HUB_URL),
              "your own; its rows are kept as a new file here", to="token")
        + f'<div class="eh-row">{fetch}</div></details>'
    )  # fmt: skip


def _repo(name: str) -> tuple[str, str]:
    repo, _, config = name.partition("@")[0].partition(":")
    return repo, config


# -------------------------------------------------------------------------------- the slice


def slice_form(bench: Bench, view: View) -> str:
    """Who plays, on which items; filters first, then a seeded draw."""
    sheet, items = bench.sheet, bench.loaded.items if bench.loaded else ()
    categories = Counter(item.category for item in items if item.category)
    names = [(name, f"{name} ({count(n)})") for name, n in sorted(categories.items())]
    drawn = {item.category for item in bench.items if item.category}
    chosen = [str(name) for name in listed(sheet.value("data", "categories"))]
    players = [(name, name) for name in bench.contestants]
    if any(item.reference.strip() for item in items):
        players.append((REFERENCE, f"{REFERENCE}, which then plays too"))
    playing = [str(name) for name in listed(sheet.raw("contestants"))]
    told = f"{count(len(drawn))} of {count(len(names))} categories in this draw" if names else ""
    parts = [
        row("Keep", choose("where", _keep_options(sheet), _keep(sheet)),
            sheet.hint(_kept(bench), "data", "where"), to="where"),
        row("Categories", several("data.categories", names, chosen, label="Categories"),
            sheet.hint("", "data", "categories"), to="data.categories", group=True),
        row("Contestants", several("contestants", players, playing, label="Contestants",
                                   nothing=_all(len(bench.contestants))),
            to="contestants", group=True),
        row("Items", whole("data.count", sheet.word("data", "count"), label="Items"),
            told if sheet.value("data", "count") else "0: all of them", to="data.count"),
        row("Seed", whole("data.seed", sheet.word("data", "seed"), label="Seed"), to="data.seed"),
    ]  # fmt: skip
    return "".join(parts) + _more(sheet, items, kind_shown(sheet, view))


def _all(many: int) -> str:
    """ "all 5"; of a file that is not read yet nobody knows how many."""
    return f"all {count(many)}" if many else "all"


def _keep_options(sheet: Sheet) -> list[tuple[str, str]]:
    value = _keep(sheet)
    known = [choice for choice, _ in _KEEP]
    return [*_KEEP, *([] if value in known else [(value, value.replace("=", " is "))])]


def _keep(sheet: Sheet) -> str:
    """The filters of a file in one line: field=value,value; field=value."""
    where = sheet.value("data", "where")
    if not isinstance(where, Mapping):
        return ""
    return "; ".join(f"{k}={','.join(_word(v) for v in listed(vs))}" for k, vs in where.items())


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kept(bench: Bench) -> str:
    if bench.loaded is None or not _keep(bench.sheet):
        return ""
    return "filters come first, then the draw"


def _more(sheet: Sheet, items: Any, kind: str) -> str:
    per = sheet.raw("data", "per")
    strata = ", ".join(f"{k}: {v}" for k, v in per.items()) if isinstance(per, Mapping) else ""
    metas = sorted({f"meta.{key}" for item in items[:200] for key in item.meta})
    fields = ["category", *metas[:12]]
    formats = [("auto", "found by itself"), *((f.name, f.told) for f in FORMATS.values())]
    parts = [
        row("Format", choose("data.format", formats, sheet.word("data", "format")),
            to="data.format"),
        row("Split", text("data.split", sheet.raw("data", "split") or "", placeholder="test"),
            "where the source has splits", to="data.split") if kind != HUB else "",
        row("Options", whole("data.options", sheet.word("data", "options"), high=64),
            sheet.hint("only items with exactly so many answers; 0: any", "data", "options"),
            to="data.options"),
        row("Filter", text("filter", _keep(sheet), mono=True, placeholder="category=writing,math"),
            f"field=value; fields: id, images, reference, {', '.join(fields)}, checks.follows",
            to="filter"),
        row("Per", text("data.per", strata, mono=True, placeholder="category: 2"),
            "so many of each: a stratified draw", to="data.per"),
        _files(sheet),
    ]  # fmt: skip
    return (
        "<details class='eh-how' data-keep='data more'><summary>Format, split, filters, "
        f"answer files</summary>{''.join(parts)}</details>"
    )


def _files(sheet: Sheet) -> str:
    """Answers of further models, each in a file of its own."""
    files = sheet.raw("data", "files")
    known: Mapping[str, Any] = files if isinstance(files, Mapping) else {}
    rows = "".join(
        row(str(name), text(f"files.{name}", value, mono=True, label=f"answers of {name}"),
            to=f"files.{name}")
        for name, value in known.items()
    )  # fmt: skip
    join = ", ".join(str(part) for part in listed(sheet.raw("data", "join")))
    add = text("files+", "", mono=True, placeholder="model-x = answers.csv")
    return (
        row("Answers of", add, "one more model’s file: its name, then the file", to="files+")
        + rows
        + row("Joined on", text("data.join", join, mono=True, placeholder="image, instruction"),
              "the columns that name a question; empty: found by itself", to="data.join")
    )  # fmt: skip
