"""All environment variables, with meaning, default and type; no other module reads the environment.

Every value is read when it is needed, not at import, so that a process can change its mode. The
table in `docs/command-line.md` lists the same variables; a test compares the two.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from studies.errors import SettingError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One environment variable with its meaning, default and parser."""

    name: str
    meaning: str
    parse: Callable[[str], T]
    """Function that converts the variable's text; raises ValueError if the text is not as
    `expected`."""
    fallback: T
    default: str = "none"
    """The default in words, for the documentation."""
    expected: str = "text"
    example: str = ""

    def read(self, environment: Mapping[str, str] | None = None) -> T:
        """Return the value of the variable, or the fallback if it is unset or blank; raise
        SettingError if it is invalid. `environment`: variable -> text (None: the environment of the
        process)."""
        text = (os.environ if environment is None else environment).get(self.name, "").strip()
        if not text:
            return self.fallback
        try:
            return self.parse(text)
        except ValueError:
            raise SettingError(
                f"{self.name} is {text!r}, not {self.expected}. Set {self.name}={self.example}."
            ) from None

    def is_set(self) -> bool:
        return self.name in os.environ


def _split_at_commas(text: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in text.split(",") if entry.strip())


def _parse_switch(text: str) -> bool:
    """Return False for "0", True for any other text."""
    return text != "0"


def _make_number_parser(convert: Callable[[str], T], low: float, high: float) -> Callable[[str], T]:
    """Return a function that converts a text to a number with `convert`; it raises ValueError for a
    number below `low` or above `high`."""

    def parse_number_in_range(text: str) -> T:
        value = convert(text)
        if not low <= float(str(value)) <= high:  # nan fails this comparison too
            raise ValueError(text)
        return value

    return parse_number_in_range


def _parse_open_or_closed(text: str) -> bool:
    return ("closed", "open").index(text) == 1


def _text_setting(name: str, meaning: str, default: str = "none") -> Setting[str]:
    return Setting(name, meaning, str, "", default)


def _dollar_setting(name: str, meaning: str, default: float) -> Setting[float]:
    parse = _make_number_parser(float, 0, 999_999)
    amount = f"{default:g}"
    return Setting(name, meaning, parse, default, amount, "an amount of dollars below 1e6", amount)


def _whole_number_setting(
    name: str, meaning: str, default: str, example: str, high: int
) -> Setting[int]:
    expected = f"a whole number from 1 to {high}"
    return Setting(name, meaning, _make_number_parser(int, 1, high), 0, default, expected, example)


STORE: Final = _text_setting(
    "EVENHAND_STORE", "the SQLite file", "`evenhand.db` in the user's data folder"
)
RECORDS: Final = _text_setting(
    "EVENHAND_RECORDS", "folder that `${EVENHAND_RECORDS}` in `data.source` stands for"
)
WEIGHTS: Final = _text_setting(
    "EVENHAND_GGUF", "weights of the embedded judge", "the packaged model"
)
THREADS: Final = _whole_number_setting(
    "EVENHAND_THREADS", "threads of the embedded judge", "2, or 1 on one core", "2", 1024
)
CACHE: Final = _text_setting(
    "EVENHAND_CACHE", "folder for re-quantised weights", "the user's cache folder"
)
MAX_FILE_MB: Final = _whole_number_setting(
    "EVENHAND_MAX_FILE_MB", "largest file that is read", "300 private, 50 public", "300", 10**6
)
VISITORS_MB: Final = _whole_number_setting(
    "EVENHAND_VISITORS_MB",
    "megabytes of the store and all visitors' files in public mode",
    "5000",
    "5000",
    10**7,
)
PUBLIC: Final[Setting[bool | None]] = Setting(
    "EVENHAND_PUBLIC", "`1`: public mode", _parse_switch, None, "`1` on a Space"
)
HOSTS: Final[Setting[tuple[str, ...]]] = Setting(
    "EVENHAND_HOSTS", "further hosts that are served", _split_at_commas, ()
)
ENDPOINTS: Final[Setting[tuple[str, ...]]] = Setting(
    "EVENHAND_ENDPOINTS", "further endpoint hosts in public mode", _split_at_commas, ()
)
KEY_MINUTES: Final = Setting(
    "EVENHAND_KEY_MINUTES",
    "minutes without use after which a typed key is deleted",
    _make_number_parser(float, 0.01, 24 * 60),
    30.0,
    "30",
    "a number of minutes from 0.01 to 1440",
    "30",
)
SECRET: Final = _text_setting(
    "EVENHAND_SECRET", "secret that signs visitors' identities", "made at first start"
)
VOTES: Final = Setting(
    "EVENHAND_VOTES",
    "`open`: visitors may vote on the built-in studies",
    _parse_open_or_closed,
    False,
    "closed",
    "open or closed",
    "open",
)
SNAPSHOT: Final = _text_setting(
    "EVENHAND_SNAPSHOT", "Hub dataset for backups of the store (with `HF_TOKEN`)"
)
BACKUPS: Final = Setting(
    "EVENHAND_BACKUPS",
    "daily backups of the store that are stored beside it; `0`: none, also not before an update",
    _make_number_parser(int, 0, 365),
    3,
    "3; none a day in public mode",
    "a whole number from 0 to 365",
    "3",
)
HOST_KEY_VARIABLE: Final = _text_setting(
    "EVENHAND_HOUSE_KEY_ENV", "variable with the key that the owner lends to visitors"
)
HOST_KEY_MODELS: Final[Setting[tuple[str, ...]]] = Setting(
    "EVENHAND_HOUSE_MODELS", "models of the lent key, separated by commas", _split_at_commas, ()
)
HOST_KEY_URL: Final = Setting(
    "EVENHAND_HOUSE_URL", "endpoint of the lent key", str, "https://api.openai.com/v1", "OpenAI"
)
HOST_KEY_RUN_USD: Final = _dollar_setting(
    "EVENHAND_HOUSE_RUN_USD", "dollars of the lent key per run", 0.1
)
HOST_KEY_VISITOR_USD: Final = _dollar_setting(
    "EVENHAND_HOUSE_VISITOR_USD", "dollars of the lent key per visitor and day", 0.25
)
HOST_KEY_DAY_USD: Final = _dollar_setting(
    "EVENHAND_HOUSE_DAY_USD", "dollars of the lent key per day", 2.0
)
HOST_KEY_OFF: Final = Setting(
    "EVENHAND_HOUSE_OFF", "`1`: switches the lent key off", _parse_switch, False, "`0`"
)
PORT: Final = Setting(
    "PORT",
    "port of the page",
    _make_number_parser(int, 0, 65_535),
    7860,
    "7860",
    "a port from 0 to 65535",
    "7860",
)
HUB_TOKEN: Final = _text_setting("HF_TOKEN", "token for the Hugging Face Hub")
HUB_ENDPOINT: Final = _text_setting("HF_ENDPOINT", "another server with the Hub's API", "the Hub")
TEMP_FOLDER: Final = _text_setting(
    "GRADIO_TEMP_DIR", "folder of uploads and exports", "a new temporary folder"
)
ANALYTICS: Final = _text_setting("GRADIO_ANALYTICS_ENABLED", "Gradio's usage statistics", "`False`")
USER_DATA: Final = _text_setting(
    "XDG_DATA_HOME", "the user's data folder on Linux", "`~/.local/share`"
)
USER_CONFIG: Final = _text_setting(
    "XDG_CONFIG_HOME", "the user's configuration folder", "`~/.config`"
)
USER_CACHE: Final = _text_setting(
    "XDG_CACHE_HOME", "the user's cache folder on Linux", "`~/.cache`"
)
WINDOWS_DATA: Final = _text_setting(
    "LOCALAPPDATA", "the user's data and cache folder on Windows", "`~/AppData/Local`"
)
PYTHON_PATH: Final = _text_setting("PYTHONPATH", "further import folders of a local Ray's workers")
RAY_PROGRESS: Final = _text_setting(
    "RAY_DATA_DISABLE_PROGRESS_BARS", "`1`: no progress bars of Ray", "`1`"
)
SPACE_ID: Final = _text_setting("SPACE_ID", "name of the Space; set by the Hub")
SPACE_HOST: Final[Setting[tuple[str, ...]]] = Setting(
    "SPACE_HOST", "hosts of the Space; set by the Hub", _split_at_commas, ()
)
SYSTEM: Final = _text_setting("SYSTEM", "`spaces` on a Space; set by the Hub")
_LOGIN: Final = tuple(
    _text_setting(name, "login with Hugging Face; set by the Hub where `hf_oauth: true`")
    for name in ("OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_SCOPES", "OPENID_PROVIDER_URL")
)
LOGIN_SETTINGS: Final[tuple[Setting[str] | Setting[tuple[str, ...]], ...]] = (
    SPACE_ID,
    SPACE_HOST,
    *_LOGIN,
)
"""Variables that Gradio's login needs, without the variable `SYSTEM`, which it needs too."""

ALL_SETTINGS: Final = (
    *(value for value in tuple(globals().values()) if isinstance(value, Setting)),
    *_LOGIN,
)


def is_space() -> bool:
    """Whether this process runs on a Hugging Face Space."""
    return SPACE_ID.is_set()


def is_public() -> bool:
    """Whether this process serves visitors over the network instead of only its own user.

    Sources, judges and the page have stricter limits for visitors. Each of them calls this function
    itself, so that no limit depends on an argument of the caller.
    """
    chosen = PUBLIC.read()
    return is_space() if chosen is None else chosen


def check_settings() -> None:
    """Raise SettingError for the first environment variable with an invalid value."""
    for setting in ALL_SETTINGS:
        setting.read()


def secret_value(name: str) -> str:
    """Return the value of the environment variable `name`, which contains an API key; "" if it
    is unset. The name, such as OPENAI_API_KEY, comes from a study or from another setting."""
    return os.environ.get(name, "")


def set_environment_value(setting: Setting[str], value: str | None) -> None:
    """Set an environment variable that a library reads; None removes it."""
    if value is None:
        os.environ.pop(setting.name, None)
    else:
        os.environ[setting.name] = value


def child_environment(**defaults: str) -> dict[str, str]:
    """Return the environment for a child process: that of this process, with the values
    `defaults` for variables that are unset here."""
    return {**defaults, **os.environ}
