"""Parse YAML texts of study, prompt and price files within limits; an error at a place in the text
names its line."""

from collections.abc import Hashable
from typing import Any, Final

import yaml

from studies.settings import is_public

MAX_YAML_CHARS: Final = 500_000
"""Maximum length of a YAML text; the parser reads about 200,000 characters per second."""
MAX_PUBLIC_YAML_CHARS: Final = 100_000
"""Maximum length of a YAML text in public mode, which the parser reads in half a second."""
MAX_YAML_VALUES: Final = 100_000
"""Maximum number of values with all aliases expanded; a text with more is refused, since nine short
lines of aliases can expand to a billion values."""

MAX_YAML_DEPTH: Final = 100
"""Maximum nesting of lists and mappings; the parser's time grows with the square of the depth."""


class YamlTooLarge(yaml.MarkedYAMLError):
    """Raised for a YAML text that is nested too deeply, has too many values (with aliases
    expanded), or has an alias that contains itself."""


class BoundedYamlLoader(yaml.SafeLoader):
    """Safe YAML loader that raises YamlTooLarge for a text above MAX_YAML_DEPTH or
    MAX_YAML_VALUES; it stops reading there."""

    _depth = _nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._depth += 1
        self._nodes += 1
        problem = ""
        if self._depth > MAX_YAML_DEPTH:
            problem = f"more than {MAX_YAML_DEPTH} levels; remove some"
        elif self._nodes > MAX_YAML_VALUES:
            problem = f"more than {MAX_YAML_VALUES:,} values; remove some"
        if problem:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise YamlTooLarge(problem=problem, problem_mark=mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def get_single_node(self) -> yaml.Node | None:
        node: yaml.Node | None = super().get_single_node()
        if node is not None:
            _count_values(node, {}, ())
        return node


class _UniqueKeyLoader(BoundedYamlLoader):
    """YAML loader that refuses duplicate keys, of which PyYAML would silently drop the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:merge" and isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"the key {key.value!r} is written twice",
                        problem_mark=key.start_mark,
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _count_values(node: yaml.Node, known: dict[int, int], above: tuple[int, ...]) -> int:
    """Count the values of a YAML node with its aliases expanded; YamlTooLarge if they are too many,
    or if an alias contains itself. `known` caches counts by node id, `above` has the ids of the
    nodes that contain this node."""
    if id(node) in above:
        raise YamlTooLarge(problem="an alias that contains itself", problem_mark=node.start_mark)
    if id(node) not in known:
        inner = node.value if isinstance(node, yaml.CollectionNode) else ()
        parts = (part for one in inner for part in (one if isinstance(one, tuple) else (one,)))
        known[id(node)] = 1 + sum(_count_values(part, known, (*above, id(node))) for part in parts)
    if known[id(node)] > MAX_YAML_VALUES:
        problem = f"more than {MAX_YAML_VALUES:,} values, with aliases expanded"
        raise YamlTooLarge(problem=problem, problem_mark=node.start_mark)
    return known[id(node)]


def load_yaml(text: str) -> object:
    """Parse a YAML text; raise a ValueError, which names the line, if it is invalid, or if it is
    too long."""
    most = MAX_PUBLIC_YAML_CHARS if is_public() else MAX_YAML_CHARS
    if len(text) > most:
        raise ValueError(f"not valid YAML: longer than {most:,} characters; shorten it")
    try:
        return yaml.load(text, _UniqueKeyLoader)
    except (yaml.YAMLError, ValueError) as error:  # a date such as 2024-13-45 raises ValueError
        message = " ".join(str(error).split()).replace('in "<unicode string>", line', "in line")
        raise ValueError(f"not valid YAML: {message}") from None


def find_line_of_key(text: str, place: str) -> int:
    """Return the line of a key such as `judges[0].price.input` in a valid YAML text.

    If the key is absent, return the line of its block, or 0 for a key at the top level.
    """
    node, line = yaml.compose(text, yaml.SafeLoader), 0
    for part in place.replace("[", ".[").split("."):
        if part.startswith("[") and isinstance(node, yaml.SequenceNode):
            node = node.value[int(part[1:-1])]
            line = node.start_mark.line + 1
            continue
        entries = node.value if isinstance(node, yaml.MappingNode) else ()
        key, node = next((entry for entry in entries if entry[0].value == part), (None, None))
        if key is None:
            break
        line = key.start_mark.line + 1
    return line
