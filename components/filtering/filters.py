"""Filters of the results: judge, prompt, category, models, counting rule, suspected injections."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import pandas as pd

from metrics.agreement.pairwise_agreement import PEOPLE
from metrics.estimation.row_selection import pool_as_one_judge, select_rows, used_categories
from metrics.win_rates.counting_rules import remedy_text
from studies.domain import HUMAN_PREFIX
from studies.frames.frame import SEP, SUSPECT_COLUMN

ALL_CHOICE = "all"
STUDY_RULE: Final = "study default"
STRICT_RULE: Final = "win only if both orders agree"
COUNTING_RULES: Final[dict[str, tuple[str, str]]] = {
    "count each order": ("pooled", "exclude"),
    STRICT_RULE: ("strict", "exclude"),
    "majority of the orders": ("majority", "exclude"),
    "graded replies averaged": ("graded", "exclude"),
    "win only if both orders agree; unusable reply = tie": ("strict", "tie"),
}
"""Choice in the menu of counting rules -> values of `combine` and `unreadable` in a study file."""
COMBINE_TEXTS: Final = {
    "pooled": "each order counts separately",
    "strict": "an answer wins only if it wins in both orders",
    "majority": "a win in one order and a tie in the other is a win",
    "graded": "the mean score of both orders decides (scores: probabilities, levels or points)",
}
_UNREADABLE_TEXTS: Final = {"exclude": "are left out", "tie": "count as ties"}


def counting_rule_text(combine: str, unreadable: str) -> str:
    """Sentences on the page that explain a counting rule, given its two values in a study file."""
    orders = f"Where models are compared, {combine_rule_text(combine)}."
    return f"{orders} Unusable replies {_UNREADABLE_TEXTS[unreadable]}."


def combine_rule_text(combine: str) -> str:
    """Text that explains a rule for combining the two orders of a pair. `combine`: a rule's name,
    or the name of a remedy (a rule that decides a comparison from several stored verdicts)."""
    return COMBINE_TEXTS.get(combine) or remedy_text(combine)


FILTER_COLUMNS: Final = ("judge", "prompt", "category", "item")
"""Categorical columns from which categories without rows are removed after filtering."""
WITH_SUSPECTS: Final = "with"
WITHOUT_SUSPECTS: Final = "without"


@dataclass(frozen=True, slots=True)
class Filter:
    """The selected filters; the value `all` selects everything."""

    judge: str = ALL_CHOICE
    prompt: str = ALL_CHOICE
    category: str = ALL_CHOICE
    contestants: tuple[str, ...] = ()
    """Selected models. Empty: all judgements. One model: all its comparisons. Several: only
    comparisons among them."""
    rule: str = STUDY_RULE
    suspects: str = WITH_SUSPECTS
    """WITH_SUSPECTS or WITHOUT_SUSPECTS: whether to include judgements of texts with suspected
    prompt injections (see studies.texts.injection)."""

    @property
    def of_all_raters(self) -> Self:
        """The same filters without those on judge and prompt."""
        return replace(self, judge=ALL_CHOICE, prompt=ALL_CHOICE)

    @property
    def selects_cases(self) -> bool:
        """Whether a filter on category, models or suspected prompt injections is set, so that only
        some of the comparisons count. Filters on judge, prompt and counting rule do not matter
        here."""
        return replace(self.of_all_raters, rule=STUDY_RULE) != Filter()

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        mask = pd.Series(True, index=frame.index)
        for column in ("judge", "prompt", "category"):
            value = getattr(self, column)
            if value != ALL_CHOICE:
                mask &= frame[column] == value
        if self.contestants:
            mask &= self._contestant_mask(frame)
        if self.suspects == WITHOUT_SUSPECTS and SUSPECT_COLUMN in frame:
            mask &= ~frame[SUSPECT_COLUMN]
        rows = select_rows(frame, mask)
        used = {name: used_categories(rows[name]) for name in FILTER_COLUMNS}
        return rows.assign(
            **{
                name: rows[name].cat.set_categories(names)
                for name, names in used.items()
                if len(names) < len(rows[name].cat.categories)
            }
        )

    def _contestant_mask(self, frame: pd.DataFrame) -> np.ndarray:
        chosen = set(self.contestants)
        shown = frame["shown"].cat
        sets = [set(str(text).split(SEP)) for text in shown.categories]
        matches = [names >= chosen if len(chosen) == 1 else names <= chosen for names in sets]
        return np.array([*matches, False])[shown.codes.to_numpy()]


def judge_rows_or_people_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of model judges; if there are none, the rows of people."""
    human = _human_mask(frame)
    return frame if human.all() else select_rows(frame, ~human)


def pool_people_if_no_judge(frame: pd.DataFrame) -> pd.DataFrame:
    """Frame with all people as one judge if it has no model judges; else the frame unchanged."""
    if frame.empty or not _human_mask(frame).all():
        return frame
    return pool_as_one_judge(frame, PEOPLE)


def _human_mask(frame: pd.DataFrame) -> np.ndarray:
    judge = frame["judge"].cat
    human = np.array([str(name).startswith(HUMAN_PREFIX) for name in judge.categories], bool)
    return human[judge.codes.to_numpy()] if len(human) else np.zeros(len(frame), bool)


def rater_names(frame: pd.DataFrame) -> dict[tuple[str, ...], str]:
    """Short name of each rater (a judge with a prompt) that has rows in the frame: (judge, prompt)
    -> name, as `short_rater_names` chooses it."""
    judge, prompt = frame["judge"].cat, frame["prompt"].cat
    one, two = (column.codes.to_numpy().astype(np.int64) for column in (judge, prompt))
    named, prompts = (one >= 0) & (two >= 0), len(prompt.categories)
    counts = np.bincount(one[named] * prompts + two[named])
    raters = [divmod(int(code), prompts) for code in np.flatnonzero(counts)]
    return short_rater_names([(judge.categories[j], prompt.categories[p]) for j, p in raters])


def short_rater_names(raters: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Name each (judge, prompt): by its judge if there is only one prompt, by its prompt if there
    is only one judge with several prompts, else as "judge, prompt"."""
    judges = {judge for judge, _ in raters}
    prompts = {prompt for _, prompt in raters}
    named: dict[tuple[str, ...], str] = {}
    for judge, prompt in raters:
        if len(judges) == 1 and len(prompts) > 1:
            named[judge, prompt] = str(prompt)
        else:
            named[judge, prompt] = str(judge) if len(prompts) == 1 else f"{judge}, {prompt}"
    return named


def rater_column_head(raters: Collection[tuple[str, ...]]) -> str:
    """Head of a column of raters, "Prompt" or "Judge", by the names that `short_rater_names` gives
    these pairs (judge, prompt)."""
    return "Prompt" if len({judge for judge, _ in raters}) == 1 < len(raters) else "Judge"


def filter_choices(frame: pd.DataFrame, column: str) -> list[str]:
    return [
        ALL_CHOICE,
        *sorted(str(value) for value in used_categories(frame[column]) if str(value)),
    ]
