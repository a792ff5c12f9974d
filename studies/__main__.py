"""python -m studies {import,list,show,export,delete}: what a store holds."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

from studies.errors import SourceError, StudyError
from studies.exports import FORMATS as OUT
from studies.exports import export, write_lines
from studies.recorded import save_recorded, study_name
from studies.sources.formats import FORMATS
from studies.sources.load import BUILT_IN, load_source
from studies.store import Store, existing
from studies.study import DataSpec, dump
from studies.terminal import ended, plain


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    return ended(lambda: _done(options))


def _done(options: argparse.Namespace) -> int:
    making = options.command is import_file
    store = Store(options.store) if making else existing(options.store)
    options.command(store, options)
    store.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    commands = parser.add_subparsers(required=True)
    _import_parser(commands)
    for name, command, told in (
        ("list", list_studies, "the studies of a store"),
        ("show", show_study, "one study: its file and its counts"),
        (
            "export",
            export_study,
            "the judgements of a study with their texts, in many formats",
        ),
        ("delete", delete_study, "a study, and the judgements no other study asks for"),
    ):
        sub = commands.add_parser(name, help=told, description=told)
        if name != "list":
            sub.add_argument("study", help="the study's name")
        if name == "export":
            known = "; ".join(f"{key}: {way.told}" for key, way in OUT.items())
            sub.add_argument("--format", default="jsonl", choices=list(OUT), help=known)
            sub.add_argument(
                "--out", type=Path, help="the file to write; none: JSON lines to stdout"
            )
        sub.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
        sub.set_defaults(command=command)
    return parser


def _import_parser(commands: Any) -> None:
    told = "somebody's file, folder or Hub dataset of verdicts as a study: no key, no call"
    sub = commands.add_parser("import", help=told, description=told)
    sub.add_argument("file", help="a file, a folder, or hub:owner/name[:config]@revision")
    sub.add_argument("--name", default="", help="the study's name; default: the file's")
    sub.add_argument("--format", default="auto", help=f"auto, {', '.join(FORMATS)}")
    for option, shape, help in (
        ("--mapping", "column=field", "what a column is, for tables of no known format"),
        ("--files", "name=path", "a further file: a model's answers, or questions"),
    ):
        sub.add_argument(option, metavar=shape, action="append", default=[], help=help)
    sub.add_argument("--split", default="", help="of a Hub dataset, as test or test[:200]")
    sub.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
    sub.set_defaults(command=import_file)


def import_file(store: Store, options: argparse.Namespace) -> None:
    files, mapping = _named(options.files, "--files"), _named(options.mapping, "--mapping")
    spec = DataSpec(
        _beside(store, options.file),
        options.format,
        {name: _beside(store, path) for name, path in files.items()},
        mapping=mapping,
        split=options.split,
    )
    name = options.name or study_name(options.file)
    loaded = load_source(spec, store.path.parent)
    print(plain("\n".join(loaded.told())))
    save_recorded(store, name, spec, loaded)
    counts = store.counts(name, recorded=True)
    told = ", ".join(f"{counts[key]:,} {key}" for key in counts if key not in ("planned",))
    print(f"study {name!r}: {told}")


def _beside(store: Store, path: str) -> str:
    """A study's paths start at the store's folder, where the page looks for them."""
    if path.startswith("hub:") or path in BUILT_IN:
        return path
    if not Path(path).expanduser().exists():
        known = " or ".join(BUILT_IN)
        raise SourceError(f"no such file: {path}; name a file, a folder, hub:owner/name or {known}")
    return os.path.relpath(Path(path).expanduser().resolve(), store.path.parent.resolve())


def _named(pairs: list[str], option: str) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise StudyError(f"{option} {pair!r}: expected name=value")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def list_studies(store: Store, options: argparse.Namespace) -> None:
    lines = store.studies()
    for line in lines:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(line.updated))
        print(f"{plain(line.name)}\t{line.judged:,} of {line.planned:,} judged\t{day}")
    if not lines:
        print(f"no studies yet in {store.path}", file=sys.stderr)


def show_study(store: Store, options: argparse.Namespace) -> None:
    print(dump(store.study(options.study)))
    for name, count in store.counts(options.study, recorded=True).items():
        print(f"# {name} {count:,}")


def export_study(store: Store, options: argparse.Namespace) -> None:
    store.study(options.study)
    if options.out is not None:
        written = export(store, options.study, options.format, options.out)
        print(f"{options.out}: {written:,} records", file=sys.stderr)
    elif options.format == "jsonl":
        write_lines(store, options.study, sys.stdout)
    else:
        raise StudyError(f"--format {options.format} goes to a file: name it with --out")


def delete_study(store: Store, options: argparse.Namespace) -> None:
    gone = store.delete_study(options.study)
    print(f"deleted {options.study} and {gone:,} judgements")


if __name__ == "__main__":
    sys.exit(main())
