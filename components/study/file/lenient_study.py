"""Read a study file for the form, even with errors; missing values come from the preset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from components.html.format import NARROW_SPACE, number
from components.study.file import yaml_edit as study_edit
from components.study.file.yaml_edit import get_value
from judges.rendering.prompt_library import LibraryPrompt, list_prompts, prompts_folder
from studies.spec.keys import DATA, STUDY, default_values
from studies.spec.presets import PRESETS, Preset

NEW_STUDY_NAME: Final = "My study"

START_YAML: Final = f"""\
name: {NEW_STUDY_NAME}
data:
  source: probe
  count: 12
  seed: 7
contestants: [flawed, precise]
judges:
- {{name: embedded, model: embedded}}
prompts: [brief-letters]
noise_floor: 0.2
"""
"""Study file of a new form; its study runs on this machine in a minute."""

STUDY_DEFAULTS: Final[Mapping[str, Any]] = default_values()


@dataclass(frozen=True, slots=True)
class FormState:
    """State of the form apart from the study file: open drawer, selected item, last notice."""

    study: str = ""
    """Name of the stored study that the form and the header show."""
    former_names: tuple[str, ...] = ()
    """Names that the study had before it was renamed in this form."""
    opened: str = ""
    """Text of the study file when the study was opened."""
    unsaved: Mapping[str, str] = field(default_factory=dict)
    """Study -> its changed study file, for studies left in the form without saving."""
    last_change: int = 0
    """Number of the last form change that the server has applied for this page."""
    panel: str = ""
    """Name of the open drawer: "judge" or "prompts"; empty if none is open."""
    kind: str = ""
    """Kind of data source (such as "hub") selected in the form, before a source is chosen."""
    item: int = 0
    """Index of the selected item in the slice."""
    prompt: str = ""
    """Prompt in the drawer, by its name in study files; empty: the first prompt of the study."""
    other: str = ""
    """Prompt with which `prompt` is compared, by its name in study files."""
    mode: str = "side"
    """Content of the prompt drawer: "library", "side" (template and preview), "editor",
    "compare"."""
    judge: str = ""
    """Index (as text) of the judge in the open drawer."""
    describer: str = ""
    """Name of the judge that describes images."""
    describing: str = ""
    """Name of the prompt for describing images."""
    whole: bool = False
    """Whether the slice profile describes all loaded items instead of the slice."""
    shown: str = ""
    """Study-file text that the form currently shows."""
    notice_html: str = ""
    """Notice about the last change."""


@dataclass(frozen=True, slots=True)
class LenientStudy:
    """Values of a study file; if it cannot be parsed, no values and the reason `parse_error`."""

    text: str
    folder: Path
    values: Mapping[str, Any] = field(default_factory=dict)
    parse_error: str = ""

    def value_in_file(self, *path: str) -> Any:
        """The value written in the file, without preset and defaults; None if it is missing."""
        return get_value(self.values, path)

    def default_value(self, *path: str) -> Any:
        """The value used if the file lacks the key: the preset's value, else the default."""
        if (preset := self.preset) is not None:
            value = get_value(preset.values_for(self.source), path)
            if value is not None:
                return value
        return get_value(STUDY_DEFAULTS, path)

    def value(self, *path: str) -> Any:
        """The value written in the file, else `default_value`."""
        own = self.value_in_file(*path)
        return self.default_value(*path) if own is None else own

    @property
    def source(self) -> str:
        return str(self.value_in_file(*DATA.source) or DATA.source.default)

    @property
    def preset(self) -> Preset | None:
        return PRESETS.get(str(self.value_in_file(*STUDY.preset) or ""))

    @property
    def judges(self) -> list[dict[str, Any]]:
        return [
            dict(j) for j in as_list(self.value_in_file(*STUDY.judges)) if isinstance(j, Mapping)
        ]

    def editable_judges(self) -> list[dict[str, Any]]:
        """The judges as mappings. Raises ValueError if an entry of the file is not a mapping,
        because an edit would delete the entry."""
        if len(self.judges) < len(as_list(self.value_in_file(*STUDY.judges))):
            raise ValueError(
                f"{STUDY.judges}: an entry does not consist of “key: value” lines; correct it in "
                "study.yaml first"
            )
        return self.judges

    @property
    def prompts(self) -> list[str]:
        return [str(name) for name in as_list(self.value(*STUDY.prompts))]

    def text_value(self, *path: str) -> str:
        """The value of a key as text; empty if it is missing, or a list or mapping."""
        value = self.value(*path)
        return "" if value is None or isinstance(value, (list, dict)) else str(value)

    def number_or_zero(self, *path: str) -> float:
        value = self.value(*path)
        return float(value) if isinstance(value, (int, float)) else 0.0

    def differing_preset_value(self, *path: str) -> str | None:
        """Value that the preset sets for a key (or the default, if it sets nothing), as text, if
        the study file has another value; None if the file has the same value or none, or if no
        preset is chosen."""
        if self.preset is None or self.value_in_file(*path) is None:
            return None
        base = self.default_value(*path)
        same = normalise_value(self.value_in_file(*path)) == normalise_value(base)
        return None if same else value_text(base)


def read_lenient_study(text: str, folder: Path) -> LenientStudy:
    try:
        return LenientStudy(text, folder, study_edit.parse_yaml(text))
    except ValueError as error:
        return LenientStudy(text, folder, {}, str(error))


def as_list(value: Any) -> list[Any]:
    """A value as a list: a single value becomes a list of one element, None and "" become []."""
    if value is None or value == "":
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def normalise_value(value: Any) -> Any:
    """The value with tuples as lists and integers as floats, also inside lists and mappings, so
    that values that mean the same compare equal."""
    if isinstance(value, (list, tuple)):
        return [normalise_value(part) for part in value]
    if isinstance(value, Mapping):
        return {str(key): normalise_value(part) for key, part in value.items()}
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def value_text(value: Any) -> str:
    """A value of the study file as text for a hint, such as "first, second" for a list."""
    if isinstance(value, (list, tuple)):
        return ", ".join(value_text(part) for part in value) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {value_text(part)}" for key, part in value.items()) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return number(value) if isinstance(value, int) else str(value) or "none"


def percent_text(value: float) -> str:
    """Format a share as a whole percentage: 0.2 is "20 %"."""
    return f"{100 * value:.0f}{NARROW_SPACE}%"


def user_prompts_folder(folder: Path) -> Path:
    """Folder of the prompts saved by users of this page; `folder` is the folder of the store."""
    return prompts_folder(folder / "store")


def available_prompts(folder: Path) -> list[LibraryPrompt]:
    """Built-in prompts, and prompts saved beside the store; read again if one of their files
    changes."""
    own = user_prompts_folder(folder)
    files = sorted(own.iterdir()) if own.is_dir() else ()
    stamps = tuple((path.name, path.stat().st_mtime_ns) for path in files)
    return list(_list_prompts_cached(own, stamps))


@lru_cache(maxsize=16)
def _list_prompts_cached(
    own: Path, stamps: tuple[tuple[str, int], ...]
) -> tuple[LibraryPrompt, ...]:
    """Built-in prompts, and those in the folder `own`. `stamps`, its files with their modification
    times, are part of the cache key, so that a changed folder is read again."""
    return tuple(list_prompts(own)[0])


def find_prompt(name: str, offered: Sequence[LibraryPrompt], folder: Path) -> LibraryPrompt | None:
    """Return the prompt among `offered` to which `name` refers in a study file in `folder`; None if
    there is none. A study file refers to a built-in prompt by its name, to another by the path of
    its file, relative to `folder` if the file is inside it. No file is read."""
    return next((one for one in offered if one.name_in_study_file(folder) == name), None)
