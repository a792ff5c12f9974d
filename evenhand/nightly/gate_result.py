"""Result of a gate (a night, which is one run, compared with a baseline of earlier nights): one
check for each stream (judge, prompt and kind of score), the outcome, and a table in Markdown."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Final, Literal

from metrics.catalogue import records
from metrics.drift import night_history, night_scores
from studies.terminal import escape_control

Outcome = Literal["ok", "worse", "cannot tell"]
EXIT_CODES: Final[Mapping[Outcome, int]] = {"ok": 0, "worse": 1, "cannot tell": 2}
KIND_NAMES: Final = {
    "agreement": "Same verdicts as on other nights",
    "coverage": "Replies with a verdict",
    "resistance": "Verdicts for the original against its twin",
}
"""Kind of score -> its name, for the kinds that are no measures of the catalogue."""


def score_kind_name(kind: str) -> str:
    """Return the name, for display, of a kind of score such as "accuracy": from KIND_NAMES, else
    from the list of measures."""
    return KIND_NAMES.get(kind) or records.RECORDS[kind].name


@dataclass(frozen=True)
class StreamCheck:
    """Result of comparing a night (one run) with a baseline of earlier nights, for one stream: a
    judge, a prompt and a kind of score, such as accuracy."""

    stream: night_scores.Stream
    outcome: Outcome
    reason: str
    night: night_history.NightComparison | None = None
    threshold: float = 0.0
    failed: bool = False
    """Whether nothing was compared because the run failed; `reason` is then the cause."""

    @property
    def title(self) -> str:
        judge = self.stream.judge
        who = judge if self.stream.prompt in ("", "all") else f"{judge} · {self.stream.prompt}"
        return f"{who}: {score_kind_name(self.stream.kind)}"


@dataclass(frozen=True)
class GateResult:
    """Result of comparing a night (one run) with a baseline of earlier nights: one check for each
    stream (judge, prompt and kind of score)."""

    study: str
    checks: tuple[StreamCheck, ...]
    versions: tuple[str, ...] = ()
    """Sentences, one for each judge whose endpoint reports another model version than before."""
    version_fails: bool = False
    causes: tuple[str, ...] = ()
    """Sentences, one for each judge with calls that have no usable reply."""
    error: str = ""
    """Why nothing was compared, such as a missing baseline; empty if the night was compared."""
    changes: tuple[str, ...] = ()
    """Sentences, one for each score that became worse: whether the judge or the system that it
    judges changed; only with anchor items."""

    @property
    def outcome(self) -> Outcome:
        """Outcome of the night: "worse" if any check is, or if a changed model version counts as a
        failure; else "cannot tell" if any check cannot, or if there is none; else "ok"."""
        found = {check.outcome for check in self.checks}
        if "worse" in found or (self.version_fails and self.versions):
            return "worse"
        return "cannot tell" if "cannot tell" in found or not self.checks else "ok"

    @property
    def exit_code(self) -> int:
        """Exit code of the command: 0 ok, 1 worse, 2 cannot tell."""
        return EXIT_CODES[self.outcome]

    def __str__(self) -> str:
        return escape_control(markdown(self))

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        return str(self)


def markdown(result: GateResult) -> str:
    """Return the result as Markdown, for a comment on a pull request: a table with one row for each
    check, and the notes; only the error if nothing was compared."""
    lines = [
        f"### Judge gate: {result.outcome}",
        "",
        f"Study {_escape_cell(result.study)}. Each night is compared with all earlier ones, item "
        "by item.",
        "",
        "| check | result | tonight | before | difference [95 % CI] | items | evidence |",
        "|---|---|---|---|---|---|---|",
        *(_markdown_row_of_check(check) for check in result.checks),
    ]
    if result.error:
        lines = [f"### Judge gate: {result.outcome}", "", f"Error: {_escape_cell(result.error)}"]
    lines += [f"\n**Calls without a usable reply.** {_escape_cell(text)}" for text in result.causes]
    lines += [f"\n**Model version changed.** {_escape_cell(text)}" for text in result.versions]
    lines += [f"\n**Cause.** {_escape_cell(text)}" for text in result.changes]
    return "\n".join(lines)


def _markdown_row_of_check(check: StreamCheck) -> str:
    night = check.night
    reason = f"{check.outcome}: {check.reason}"
    if night is None:
        return f"| {_escape_cell(check.title)} | {_escape_cell(reason)} | | | | | |"
    got = night.difference
    shown = _percentage_points_text(got.value)
    if got.low is not None:
        shown += f" [{_percentage_points_text(got.low)}, {_percentage_points_text(got.high)}]"
    evidence = f"{night.strength:.3g} of {check.threshold:,.0f}"
    cells = (
        _escape_cell(check.title), _escape_cell(reason), _share_text(night.value),
        _share_text(night.before), shown, f"{got.items:,}", evidence,
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _share_text(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _percentage_points_text(value: float | None) -> str:
    """Return a difference of shares in percentage points, such as "+1.5"; "–" for None."""
    return "–" if value is None else f"{round(100 * value, 1) + 0.0:+.1f}".replace("-", "−")


def _escape_cell(text: str) -> str:
    """Return a text as one line for a table cell, with the special characters of Markdown and HTML
    escaped."""
    plain = escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\`*_{}\[\]|<>#!~])", r"\\\1", plain)
