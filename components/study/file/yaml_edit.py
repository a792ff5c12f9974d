"""Change one key of a study file and leave all other lines as they are.

Comments, unknown keys and the order of lines must survive an edit in the form, so only the lines of
one key are replaced. If that is impossible (anchors, unusual layouts), the whole file is written
anew from its values: the layout may change, the values do not.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

from studies.spec.field_reader import load_yaml
from studies.spec.keys import DATA, STUDY

HUB_SAMPLE: Final = 50
"""Number of items that are sampled from a Hub dataset when it is chosen."""

LINE_WIDTH: Final = 96

KeyPath = tuple[str, ...]
"""Keys from the top level down: ("repeats",) or ("data", "count")."""


def parse_yaml(text: str) -> dict[str, Any]:
    """Parse a study file into a mapping. A ValueError if it cannot be parsed (it names the line) or
    is not a mapping."""
    values = load_yaml(text) if text.strip() else {}
    if not isinstance(values, dict):
        raise ValueError("a study file must consist of “key: value” lines")
    return {str(key): value for key, value in values.items()}


def get_value(values: Mapping[str, Any], path: KeyPath) -> Any:
    """The value at a path of keys; None if the path does not exist."""
    found: Any = values
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def put_value(text: str, path: KeyPath, value: Any) -> str:
    """The study file `text` with the value at `path` changed; all other lines stay as they are
    where possible. The value None removes the key, and also the block around it if nothing else is
    in it. ValueError if the file cannot be parsed, or if a key of `path` has a value that is not a
    block."""
    wanted = _copy_with_value(parse_yaml(text), path, value)
    if wanted == parse_yaml(text):
        return text
    top = path[:1]
    for at in (path, top):  # replace the smallest block possible, else the whole top-level key
        try:
            made = _splice_entry(text, at, get_value(wanted, at))
            if parse_yaml(made) == wanted:
                return made
        except (ValueError, yaml.YAMLError):
            continue
    return dump_study(wanted)


def reset_to_source(text: str, source: str) -> str:
    """Return the study file with another data source, and without the filters, models and sample
    size chosen for the former source. All items of a file are used; of a Hub dataset, which may be
    huge, only HUB_SAMPLE items."""
    for key in (*(key for key in DATA if key.rule.per_source), STUDY.contestants):
        text = put_value(text, key.path, None)
    text = put_value(text, DATA.source.path, source)
    return put_value(text, DATA.count.path, HUB_SAMPLE) if source.startswith("hub:") else text


def dump_study(values: Mapping[str, Any]) -> str:
    """Text of a whole study file: lists and judges are on one line where they fit."""
    return "".join(_yaml_entry(key, value) for key, value in values.items())


def _yaml_entry(key: str, value: Any) -> str:
    if key == STUDY.data.name and isinstance(value, Mapping) and value:
        inner = dump_study(value).splitlines()
        return f"{key}:\n" + "".join(f"  {line}\n" for line in inner)
    if isinstance(value, list) and any(isinstance(part, dict) for part in value):
        return f"{_dump_value({key: 0})[:-3]}\n" + _dump_value(value, flow=None)
    return (
        _dump_value({key: value})
        if not value or not isinstance(value, (list, dict))
        else _entry_on_one_line_if_it_fits(key, value)
    )


def _entry_on_one_line_if_it_fits(key: str, value: Any) -> str:
    head = _dump_value({key: 0})[:-2]
    line = f"{head}{_dump_value(value, flow=True)}"
    return line if len(line) <= LINE_WIDTH and line.count("\n") == 1 else _dump_value({key: value})


def _dump_value(value: Any, flow: bool | None = False) -> str:
    text: str = yaml.safe_dump(
        value, sort_keys=False, allow_unicode=True, width=LINE_WIDTH, default_flow_style=flow
    )
    return text


def _copy_with_value(values: dict[str, Any], path: KeyPath, value: Any) -> dict[str, Any]:
    made = copy.deepcopy(values)
    parent = made
    for key in path[:-1]:
        inner = parent.get(key)
        if inner is not None and not isinstance(inner, dict):
            raise ValueError(
                f"{key}: expected “key: value” lines, found {inner!r}; correct this "
                "in study.yaml first"
            )
        parent[key] = inner or {}
        parent = parent[key]
    if value is None:
        parent.pop(path[-1], None)
    else:
        parent[path[-1]] = value
    if len(path) > 1 and not made[path[0]]:
        del made[path[0]]
    return made


def _splice_entry(text: str, path: KeyPath, value: Any) -> str:
    """The file's text with the lines of the entry at `path` replaced, or inserted if there is no
    such entry; with the value None, removed. ValueError if the entry is not in a block that is
    written line by line."""
    root = yaml.compose(text, yaml.SafeLoader)
    block = _find_parent_block(root, path)
    lines = text.splitlines()
    column = block.start_mark.column
    entries = [(str(key.value), key.start_mark.line, _last_line(node)) for key, node in block.value]
    new = [] if value is None else _entry_lines(path[-1], value, column)
    for (name, first, last), (_, node) in zip(entries, block.value, strict=True):
        if name == path[-1]:
            comment = lines[last][node.end_mark.column :].strip() if first == last else ""
            if comment.startswith("#") and len(new) == 1:
                new = [f"{new[0]}  {comment}"]
            return _join_lines(lines[:first], new, lines[last + 1 :])
    after = _index_of_preceding_entry(entries, path)
    line = entries[0][1] if after is None else entries[after][2] + 1
    return _join_lines(lines[:line], new, lines[line:])


def _find_parent_block(root: yaml.Node | None, path: KeyPath) -> yaml.MappingNode:
    """The YAML block in which the last key of `path` stands or would stand; ValueError if there is
    none, or if it is written in one line ({a: 1})."""
    node = root
    for key in path[:-1]:
        inner = node.value if isinstance(node, yaml.MappingNode) else ()
        node = next((value for name, value in inner if name.value == key), None)
    if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
        raise ValueError("no block of lines")
    return node


def _last_line(node: yaml.Node) -> int:
    """Number of the last line of a YAML node, without comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last)
    mark = node.end_mark
    return mark.line - 1 if mark.column == 0 and mark.line > node.start_mark.line else mark.line


def _entry_lines(key: str, value: Any, column: int) -> list[str]:
    return [" " * column + line for line in _yaml_entry(key, value).splitlines()]


def _index_of_preceding_entry(entries: Sequence[tuple[str, int, int]], path: KeyPath) -> int | None:
    """Index in `entries` of the entry after which a new key is inserted, so that keys have the
    order of the documentation; None if it comes before all entries. `path`: the new key, with the
    block that contains it. `entries`: (key, first line, last line) of each entry of this block."""
    block = DATA if path[0] == STUDY.data.name and len(path) > 1 else STUDY
    rank = {key.name: index for index, key in enumerate(block)}
    own = rank.get(path[-1], len(rank))
    earlier = [i for i, (name, _, _) in enumerate(entries) if rank.get(name, -1) < own]
    return max(earlier, default=None)


def _join_lines(*parts: Sequence[str]) -> str:
    return "\n".join(line for part in parts for line in part) + "\n"
