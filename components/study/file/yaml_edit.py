"""A study file changed one key at a time: the lines a reader wrote stay as they are.

The form is a view of the file. What the form does not know (a comment, a key, an order of lines)
must survive a click in it, so a change replaces the lines of one key and nothing else. Where that
cannot be done (anchors, odd layouts) the whole file is written anew from its values: never
another meaning, at worst another layout.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

from studies.spec.field_reader import load_yaml

KEY_ORDER: Final = (
    "name", "preset", "data", "contestants", "judges", "prompts", "protocol", "pairing", "baseline",
    "new", "reference_games", "families", "orders", "labels", "unrelated", "repeats", "noise_floor",
    "judge_sees", "combine", "unreadable", "reading", "extraction", "concurrency", "budget_usd",
)  # fmt: skip
DATA_KEY_ORDER: Final = (
    "source", "format", "files", "join", "mapping", "split", "where", "options", "categories",
    "count", "per", "seed",
)  # fmt: skip

SOURCE_KEYS: Final = (
    "format", "files", "join", "mapping", "split", "where", "options", "categories", "per",
)  # fmt: skip
"""What is said about one source and means nothing for another."""

LINE_WIDTH: Final = 96

KeyPath = tuple[str, ...]
"""("repeats",) or ("data", "count")."""


def read_mapping(text: str) -> dict[str, Any]:
    """The mapping of a study file; ValueError says on which line it cannot be read."""
    values = load_yaml(text) if text.strip() else {}
    if not isinstance(values, dict):
        raise ValueError("a study file is made of 'key: value' lines")
    return {str(key): value for key, value in values.items()}


def get_value(values: Mapping[str, Any], path: KeyPath) -> Any:
    """The value at a path, or None."""
    found: Any = values
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def put_value(text: str, path: KeyPath, value: Any) -> str:
    """The file with one value changed; None takes the key out, as does an emptied block."""
    wanted = _with_value(read_mapping(text), path, value)
    if wanted == read_mapping(text):
        return text
    top = path[:1]
    for at in (path, top):  # the smallest block that can be replaced, else the whole key
        try:
            made = _splice_entry(text, at, get_value(wanted, at))
            if read_mapping(made) == wanted:
                return made
        except (ValueError, yaml.YAMLError):
            continue
    return dump_study(wanted)


def change_source(text: str, source: str) -> str:
    """The study on other records: all their contestants, none of the old filters."""
    for key in SOURCE_KEYS:
        text = put_value(text, ("data", key), None)
    return put_value(put_value(text, ("contestants",), None), ("data", "source"), source)


def dump_study(values: Mapping[str, Any]) -> str:
    """A whole file: a line a key, short lists and judges in one line, as people write them."""
    return "".join(_yaml_entry(key, value) for key, value in values.items())


def _yaml_entry(key: str, value: Any) -> str:
    if key == "data" and isinstance(value, Mapping) and value:
        inner = dump_study(value).splitlines()
        return "data:\n" + "".join(f"  {line}\n" for line in inner)
    if isinstance(value, list) and any(isinstance(part, dict) for part in value):
        return f"{_dump_value({key: 0})[:-3]}\n" + _dump_value(value, flow=None)
    return (
        _dump_value({key: value})
        if not value or not isinstance(value, (list, dict))
        else _flow_entry(key, value)
    )


def _flow_entry(key: str, value: Any) -> str:
    head = _dump_value({key: 0})[:-2]
    line = f"{head}{_dump_value(value, flow=True)}"
    return line if len(line) <= LINE_WIDTH and line.count("\n") == 1 else _dump_value({key: value})


def _dump_value(value: Any, flow: bool | None = False) -> str:
    text: str = yaml.safe_dump(
        value, sort_keys=False, allow_unicode=True, width=LINE_WIDTH, default_flow_style=flow
    )
    return text


def _with_value(values: dict[str, Any], path: KeyPath, value: Any) -> dict[str, Any]:
    made = copy.deepcopy(values)
    parent = made
    for key in path[:-1]:
        inner = parent.get(key)
        if inner is not None and not isinstance(inner, dict):
            raise ValueError(f"{key}: expected key: value lines, found {inner!r}; mend it first")
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
    """The text with the lines of one entry replaced, taken out, or put in where they belong."""
    root = yaml.compose(text, yaml.SafeLoader)
    block = _find_block(root, path)
    lines = text.splitlines()
    column = block.start_mark.column
    entries = [(str(key.value), key.start_mark.line, _last_line(node)) for key, node in block.value]
    new = [] if value is None else _entry_lines(path[-1], value, column)
    for name, first, last in entries:
        if name == path[-1]:
            return _join_lines(lines[:first], new, lines[last + 1 :])
    after = _entry_before(entries, path)
    place = entries[0][1] if after is None else entries[after][2] + 1
    return _join_lines(lines[:place], new, lines[place:])


def _find_block(root: yaml.Node | None, path: KeyPath) -> yaml.MappingNode:
    """The block that holds the last key of the path; flow style ({a: 1}) is no block of lines."""
    node = root
    for key in path[:-1]:
        inner = node.value if isinstance(node, yaml.MappingNode) else ()
        node = next((value for name, value in inner if name.value == key), None)
    if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
        raise ValueError("no block of lines")
    return node


def _last_line(node: yaml.Node) -> int:
    """A block ends where its last scalar does; its own mark lies behind the comments after it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last)
    mark = node.end_mark
    return mark.line - 1 if mark.column == 0 and mark.line > node.start_mark.line else mark.line


def _entry_lines(key: str, value: Any, column: int) -> list[str]:
    return [" " * column + line for line in _yaml_entry(key, value).splitlines()]


def _entry_before(entries: Sequence[tuple[str, int, int]], path: KeyPath) -> int | None:
    """The entry after which a new key stands, in the order that people know."""
    order = DATA_KEY_ORDER if path[0] == "data" and len(path) > 1 else KEY_ORDER
    rank = {name: place for place, name in enumerate(order)}
    mine = rank.get(path[-1], len(order))
    earlier = [i for i, (name, _, _) in enumerate(entries) if rank.get(name, -1) < mine]
    return max(earlier, default=None)


def _join_lines(*parts: Sequence[str]) -> str:
    return "\n".join(line for part in parts for line in part) + "\n"
