"""Import, list, show, export, delete, back up and repair the studies of a store, on the command
line."""

import argparse
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from judges.verdicts.verdict import RecordedReplyReader
from studies.errors import SourceError, StudyError
from studies.exchange import recorded_studies
from studies.exchange.export import EXPORT_FORMATS as OUT
from studies.exchange.export import write_export, write_judgement_lines
from studies.sources.detection.detect import study_keys_to_command_options
from studies.sources.folder_tables import find_files_by_pattern
from studies.sources.formats.any_table import MAPPING_FIELDS
from studies.sources.hub import HUB_PREFIX
from studies.sources.load import BUILT_IN_SOURCES, load_source
from studies.sources.registry import SOURCE_FORMATS
from studies.spec.study import DataSpec, dump_study
from studies.store.database import default_store_path
from studies.store.recovery.recovery_commands import add_recovery_parsers, backup, repair
from studies.store.store import Store, open_store_of_command
from studies.terminal import escape_control, run_command


def main(arguments: list[str] | None = None) -> int:
    options = _build_parser().parse_args(arguments)
    return run_command(lambda: _run_chosen_command(options))


def _run_chosen_command(options: argparse.Namespace) -> int:
    if options.command in (backup, repair, import_source):
        options.command(options)
        return 0
    store = open_store_of_command(options.store)
    options.command(store, options)
    store.close()
    return 0


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    commands = parser.add_subparsers(required=True)
    _add_import_parser(commands)
    add_recovery_parsers(commands)
    for name, command, summary in (
        ("list", list_studies, "list the studies of a store"),
        ("show", show_study, "print a study file and the counts of its judgements"),
        ("export", export_study, "write the judgements of a study with their texts"),
        ("delete", delete_study, "delete a study and the judgements no other study uses"),
    ):
        sub = commands.add_parser(name, help=summary, description=summary)
        if name != "list":
            sub.add_argument("study", help="the study's name")
        if name == "export":
            formats = "; ".join(f"{key}: {format.description}" for key, format in OUT.items())
            sub.add_argument("--format", default="jsonl", choices=list(OUT), help=formats)
            sub.add_argument(
                "--out",
                type=Path,
                help="the file to write (default: JSON lines to standard output)",
            )
        sub.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
        sub.set_defaults(command=command)
    return parser


def _add_import_parser(commands: Any) -> None:
    summary = "import recorded verdicts (file, folder or Hub dataset) as a study; calls no judge"
    sub = commands.add_parser("import", help=summary, description=summary)
    sub.add_argument(
        "file",
        nargs="+",
        help="a file, several files of one format, a pattern such as 'runs/*.jsonl', a folder, or "
        "hub:owner/name[:config][@revision]",
    )
    sub.add_argument("--name", default="", help="the study's name (default: the file's name)")
    sub.add_argument("--format", default="auto", help=f"auto, {', '.join(SOURCE_FORMATS)}")
    for option, shape, help in (
        (
            "--mapping",
            "column=field",
            "the field that a column holds, for tables of an unknown format; once per column. "
            f"Fields: {', '.join(MAPPING_FIELDS)}, responses.<contestant>, meta.<name>",
        ),
        ("--files", "name=path", "another file: the answers of a model, or the questions"),
    ):
        sub.add_argument(option, metavar=shape, action="append", default=[], help=help)
    sub.add_argument(
        "--read",
        default="",
        metavar="FORMAT",
        help="read the verdicts from the replies in the file, not from its column of winners: "
        f"auto, {', '.join(RecordedReplyReader.format_names)}",
    )
    sub.add_argument(
        "--split", default="", help="split of a Hub dataset, for example test or test[:200]"
    )
    sub.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
    sub.set_defaults(command=import_source)


def import_source(options: argparse.Namespace) -> None:
    """Import a source as a study; it is read before the store is opened, so that a file with an
    error creates no store."""
    path = Path(options.store) if options.store is not None else default_store_path()
    folder = path.parent
    with suppress(OSError):  # the store says what is wrong with its folder
        folder.mkdir(parents=True, exist_ok=True)
    files = _parse_assignments(options.files, "--files")
    mapping = _parse_assignments(options.mapping, "--mapping")
    first, *rest = _expand_file_patterns(options.file)
    spec = DataSpec(
        _path_relative_to_store_folder(folder, first),
        options.format,
        {name: _path_relative_to_store_folder(folder, path) for name, path in files.items()},
        mapping=mapping,
        split=options.split,
        read=options.read,
        parts=tuple(_path_relative_to_store_folder(folder, path) for path in rest),
    )
    name = options.name or recorded_studies.study_name_from_source(first)
    try:
        loaded = load_source(spec, folder)
        print(escape_control(study_keys_to_command_options("\n".join(loaded.summary_lines()))))
        recorded_studies.check_has_verdicts(name, spec, loaded)
        store = Store(path)
        recorded_studies.save_recorded_study(store, name, spec, loaded)
    except (SourceError, StudyError) as error:
        raise type(error)(study_keys_to_command_options(str(error))) from None
    store.frame(name)  # builds the frame file, so that the page opens a large study at once
    counts = store.status_counts(name, recorded=True)
    store.close()
    listed = ", ".join(f"{count:,} {key}" for key, count in counts.items() if key != "planned")
    print(f"study {name!r}: {listed}")


def _expand_file_patterns(names: list[str]) -> list[str]:
    """Replace patterns such as `*.jsonl` that the shell has not expanded by the matching files. If
    one of the names is an existing file or a Hub dataset, all names are returned unchanged."""
    if any(name.startswith(HUB_PREFIX) or Path(name).exists() for name in names):
        return names
    return [
        str(path)
        for name in names
        for path in (find_files_by_pattern(name, Path()) or [Path(name)])
    ]


def _path_relative_to_store_folder(folder: Path, path: str) -> str:
    """Return the path of a data file as saved studies state it: relative to the store's folder.
    The address of a Hub dataset and the name of a built-in source are returned unchanged.
    SourceError if there is no such file."""
    if path.startswith("hub:") or path in BUILT_IN_SOURCES:
        return path
    if not Path(path).expanduser().exists():
        known = " or ".join(BUILT_IN_SOURCES)
        raise SourceError(f"no such file: {path}; name a file, a folder, hub:owner/name or {known}")
    return os.path.relpath(Path(path).expanduser().resolve(), folder.resolve())


def _parse_assignments(pairs: list[str], option: str) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise StudyError(f"{option} {pair!r}: expected name=value")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def list_studies(store: Store, options: argparse.Namespace) -> None:
    lines = store.studies()
    for line in lines:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(line.updated))
        print(f"{escape_control(line.name)}\t{line.judged:,} of {line.planned:,} judged\t{day}")
    if not lines:
        print(f"no studies yet in {store.path}", file=sys.stderr)


def show_study(store: Store, options: argparse.Namespace) -> None:
    print(dump_study(store.study(options.study)))
    for name, count in store.status_counts(options.study, recorded=True).items():
        print(f"# {name} {count:,}")


def export_study(store: Store, options: argparse.Namespace) -> None:
    store.study(options.study)
    if options.out is not None:
        written = write_export(store, options.study, options.format, options.out)
        print(f"{options.out}: {written:,} records", file=sys.stderr)
    elif options.format == "jsonl":
        write_judgement_lines(store, options.study, sys.stdout)
    else:
        raise StudyError(f"--format {options.format} needs a file: name it with --out")


def delete_study(store: Store, options: argparse.Namespace) -> None:
    judgements = store.delete_study(options.study)
    print(f"deleted {options.study} and {judgements:,} judgements")


if __name__ == "__main__":
    sys.exit(main())
