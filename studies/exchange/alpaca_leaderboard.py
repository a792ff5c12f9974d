"""A leaderboard as AlpacaEval's CSV has it: everybody against one baseline, in per cent.

Its numbers are its own: each readable verdict is an annotation, a tie half a win, the standard
error that of independent annotations (our intervals go by items). A verdict read off label
probabilities counts by them in `win_rate`, and by its pick in `discrete_win_rate`. The length-
controlled rate is left out: theirs needs their own file of instruction difficulties.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from studies.domain import HUMAN_PREFIX, USABLE_STATUSES, Item, Judgement, Verdict
from studies.errors import StudyError
from studies.spec.study import Study

LEADERBOARD_COLUMNS: Final = (
    "", "win_rate", "standard_error", "n_wins", "n_wins_base", "n_draws", "n_total",
    "discrete_win_rate", "mode", "avg_length",
)  # fmt: skip
"""The first column has no name there either: it is the model."""
LEADERBOARD_MODE: Final = "community"


@dataclass(slots=True)
class _BaselineScore:
    """One model against the baseline."""

    points: list[float] = field(default_factory=list)
    wins: int = 0
    draws: int = 0
    lengths: dict[str, int] = field(default_factory=dict)

    def row(self, model: str) -> dict[str, object]:
        n = len(self.points)
        mean = math.fsum(self.points) / n
        spread = math.fsum((point - mean) ** 2 for point in self.points)
        error = math.sqrt(spread / (n - 1) / n) if n > 1 else 0.0
        length = round(sum(self.lengths.values()) / len(self.lengths)) if self.lengths else ""
        values = (
            model, 100 * mean, 100 * error, self.wins, n - self.wins - self.draws, self.draws, n,
            100 * (self.wins + self.draws / 2) / n, LEADERBOARD_MODE, length,
        )  # fmt: skip
        return dict(zip(LEADERBOARD_COLUMNS, values, strict=True))


def leaderboard_rows(
    study: Study, items: Mapping[str, Item], judgements: Iterable[Judgement]
) -> list[dict[str, object]]:
    """Every model that met the baseline, the highest win rate first. People's votes are left out
    unless nobody else judged; noise-floor repeats and unread replies always are."""
    read = [
        (j.ask.shown, j.verdict, j.ask.item, j.ask.judge.startswith(HUMAN_PREFIX))
        for j in judgements
        if j.verdict is not None and _is_pair_verdict(j)
    ]  # no reply stays in memory
    alone = all(one[-1] for one in read)
    heard = [one for one in read if alone or not one[-1]]
    baseline = _find_baseline(study, {frozenset(shown) for shown, *_ in heard})
    lines: dict[str, _BaselineScore] = {}
    for shown, verdict, item, _ in heard:
        if baseline in shown:
            model = shown[1 - shown.index(baseline)]
            line = lines.setdefault(model, _BaselineScore())
            _add_verdict(line, verdict, shown.index(model))
            if item in items and model in items[item].responses:
                line.lengths[item] = len(items[item].responses[model])
    rows = [line.row(model) for model, line in lines.items()]
    return sorted(rows, key=lambda row: (-float(str(row["win_rate"])), str(row[""])))


def _is_pair_verdict(judgement: Judgement) -> bool:
    """A read verdict on two different answers, no noise-floor repeat."""
    verdict, ask = judgement.verdict, judgement.ask
    read = judgement.status in USABLE_STATUSES and verdict is not None and verdict.pick is not None
    return read and len(set(ask.shown)) == len(ask.shown) == 2 and not ask.noise


def _add_verdict(line: _BaselineScore, verdict: Verdict, slot: int) -> None:
    won, drawn = verdict.pick == slot, verdict.pick == "tie"
    line.wins += won
    line.draws += drawn
    likely = verdict.label_probabilities
    if len(likely) == 2:  # what they lack to 1 is the tie's
        line.points.append(likely[slot] + max(1 - sum(likely), 0.0) / 2)
    else:
        line.points.append(0.5 if drawn else float(won))


def _find_baseline(study: Study, pairs: set[frozenset[str]]) -> str:
    """As the study names it, else whoever plays in every pair."""
    if not pairs:
        raise StudyError(f"{study.name!r} has no pair that was read: the leaderboard is of pairs")
    if study.baseline and any(study.baseline in pair for pair in pairs):
        return study.baseline
    everywhere = sorted(frozenset.intersection(*pairs))
    if len(everywhere) == 1:
        return everywhere[0]
    raise StudyError(
        f"{study.name!r} has no baseline that all others met, and AlpacaEval's leaderboard needs "
        "one: name it in the study (baseline: …), or export battles"
    )
