"""Values of `combine` in a study file: counting rules, and ids of remedies (rules that turn several
stored verdicts into one decision).

The id of a remedy over several judges is followed by their names: `jury-both|gpt-4|claude-v1`.
"""

import re
from dataclasses import dataclass
from typing import Final

COMBINE_RULES: Final = {
    "pooled": "Count each order",
    "strict": "Win only if both agree",
    "majority": "Majority",
    "graded": "Graded",
}
"""Counting rule for the verdicts in two orders -> its label in the form."""
REMEDY_RULES: Final = {"single": "One call", "agree": "Must agree", "pool": "Added up"}
"""Remedies that equal a counting rule -> their labels in the form: `single` is the same rule as
`pooled`, `agree` as `strict`, `pool` as `majority`."""
JUDGE_SEPARATOR: Final = "|"
JURY_RULES: Final = ("jury", "jury-both", "opposite", "round-robin")
REMEDY_PATTERN: Final = re.compile(
    r"^(calibrated|margin\((0(\.\d+)?|1)\)|repeats\([2-9]\)(-both)?|prompt:[^|]+"
    rf"|({'|'.join(JURY_RULES)})(\|[^|]+){{2,99}})$"
)
"""Pattern of the remedies that are not in REMEDY_RULES; REMEDY_EXAMPLES lists some."""
REMEDY_EXAMPLES: Final = "calibrated, margin(0.25), repeats(3)-both, prompt:name, jury-both|a|b"


@dataclass(frozen=True)
class RemedyName:
    """A remedy as written in `combine`: its id, and the judges of a jury."""

    id: str
    judges: tuple[str, ...] = ()

    @property
    def is_jury(self) -> bool:
        return bool(self.judges)

    @property
    def prompt(self) -> str:
        """The prompt named in a remedy `prompt:<name>`; empty for every other remedy."""
        named = self.id.startswith("prompt:")
        return self.id.removeprefix("prompt:").removesuffix("+pool") if named else ""


def is_combine_rule(value: str) -> bool:
    """Whether a text is a valid value of `combine` in a study file."""
    return value in COMBINE_RULES | REMEDY_RULES or REMEDY_PATTERN.match(value) is not None


def parse_remedy(value: str) -> RemedyName | None:
    """Parse a remedy: "jury|a|b" -> id "jury", judges a and b. None for any other text, and also
    for the values in COMBINE_RULES and REMEDY_RULES, which are counting rules."""
    if value in COMBINE_RULES | REMEDY_RULES or not is_combine_rule(value):
        return None
    id, *judges = value.split(JUDGE_SEPARATOR)
    return RemedyName(id, tuple(judges))
