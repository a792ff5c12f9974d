"""Leaderboard in the format of AlpacaEval's CSV: win rates against one baseline, in per cent.

It follows AlpacaEval's definitions: each readable verdict is an annotation, a tie is half a win,
and the standard error is that of independent annotations (Evenhand's own intervals are clustered by
item). A verdict with label probabilities counts by its probability in `win_rate` and by its pick in
`discrete_win_rate`. The length-controlled rate is left out because it needs AlpacaEval's file of
instruction difficulties.
"""

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
"""Column names. The name of the column with the models is empty, as in AlpacaEval's files."""
LEADERBOARD_MODE: Final = "community"


@dataclass(slots=True)
class _BaselineScore:
    """Results of one model against the baseline."""

    points: list[float] = field(default_factory=list)
    wins: int = 0
    draws: int = 0
    lengths: dict[str, int] = field(default_factory=dict)

    def leaderboard_row(self, model: str) -> dict[str, object]:
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
    """Build one row per model compared with the baseline, highest win rate first.

    The verdicts of all judges and prompts are pooled. Human votes count only if there are no other
    judges. Noise-floor repeats (calls repeated only to measure noise) and unusable replies are left
    out. StudyError if no verdict is left, or if there is no baseline.
    """
    verdicts = [
        (j.ask.shown, j.verdict, j.ask.item, j.ask.judge.startswith(HUMAN_PREFIX))
        for j in judgements
        if j.verdict is not None and _counts_as_pair_verdict(j)
    ]  # the replies are not kept, as they would fill the memory
    only_people = all(one[-1] for one in verdicts)
    counted = [one for one in verdicts if only_people or not one[-1]]
    baseline = _find_baseline(study, {frozenset(shown) for shown, *_ in counted})
    lines: dict[str, _BaselineScore] = {}
    for shown, verdict, item, _ in counted:
        if baseline in shown:
            model = shown[1 - shown.index(baseline)]
            line = lines.setdefault(model, _BaselineScore())
            _add_verdict(line, verdict, shown.index(model))
            if item in items and model in items[item].responses:
                line.lengths[item] = len(items[item].responses[model])
    rows = [line.leaderboard_row(model) for model, line in lines.items()]
    return sorted(rows, key=lambda row: (-float(str(row["win_rate"])), str(row[""])))


def _counts_as_pair_verdict(judgement: Judgement) -> bool:
    """Whether a judgement is a usable verdict on two different answers and no noise-floor
    repeat."""
    verdict, ask = judgement.verdict, judgement.ask
    usable = judgement.status in USABLE_STATUSES
    picked = verdict is not None and verdict.pick is not None
    return usable and picked and len(set(ask.shown)) == len(ask.shown) == 2 and not ask.noise


def _add_verdict(score: _BaselineScore, verdict: Verdict, slot: int) -> None:
    """Add a verdict to a model's results; `slot` (0 or 1) is the position of the model's answer."""
    won, drawn = verdict.pick == slot, verdict.pick == "tie"
    score.wins += won
    score.draws += drawn
    probabilities = verdict.label_probabilities
    if len(probabilities) == 2:  # the remaining probability is that of a tie
        score.points.append(probabilities[slot] + max(1 - sum(probabilities), 0.0) / 2)
    else:
        score.points.append(0.5 if drawn else float(won))


def _find_baseline(study: Study, pairs: set[frozenset[str]]) -> str:
    """Return the study's baseline if it is in a pair, else the only contestant that is in every
    pair; raise StudyError if there is neither, or no pair."""
    if not pairs:
        raise StudyError(
            f"{study.name!r} has no usable verdict on a pair, which a leaderboard needs; run or "
            "import verdicts first"
        )
    if study.baseline and any(study.baseline in pair for pair in pairs):
        return study.baseline
    everywhere = sorted(frozenset.intersection(*pairs))
    if len(everywhere) == 1:
        return everywhere[0]
    raise StudyError(
        f"{study.name!r} has no baseline that all other models were compared with. AlpacaEval's "
        "leaderboard needs one: name it in the study (baseline: …), or export battles"
    )
