"""How often does a study without any effect get a sentence that claims one?

Every kind of sentence made from numbers is read from the function that writes it, on studies drawn
by `null_studies`. At most 5 % of studies may get a false sentence of a kind, where a kind counts
once for a study, under all filters and on all cards together. `python -m
tests.soak.test_null_sentences` prints the table of docs/coverage.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.filtering.raters import Raters
from components.results.bias.computed import Bias, BiasCounts, bias_from_frame, count_alternatives
from components.results.bias.many_options import option_finding
from components.results.bias.pair_tests import fit_option_rows
from components.results.bias.sentences import bias_finding, flip_leans, low_consistency_warning
from components.results.cards.report_card import ReportCard
from components.results.cards.sentence_rules import card_sentences
from components.results.contrasts.panels import contrast_finding
from components.results.contrasts.tab import find_pair
from components.results.ranking.computed import load_ranking
from components.results.ranking.sentences import ranking_finding
from components.results.wins.sentences import wins_finding
from metrics.estimation.intervals import simultaneous_interval
from metrics.win_rates.own_family_excess import own_family_excess
from studies.store.store import Store
from tests.metrics.frames import build, rotated
from tests.soak.null_studies import (
    COINS,
    EIGHT_JUDGES,
    EQUAL_MODELS,
    MISSING,
    MISSING_SECOND,
    NO_POSITION,
    PEOPLE,
    NullStudy,
)
from tests.voted_studies import save

STUDIES = int(os.environ.get("EVENHAND_SEEDS", "300"))
POSITION_RULES = {"by label", "by place", "one way", "rather", "order"}
PEOPLE_RULES = {"above people", "below people"}


def stored(study: NullStudy, seed: int, store: Store, **more: object) -> FilteredStudy:
    """Save one drawn study in a store."""
    name = f"{study.name} {seed}"
    save(store, name, study.rows(seed), categories=study.category_of(), **more)
    return FilteredStudy(store, name)


def cards(view: FilteredStudy, group: int, rules: set[str]) -> bool:
    """Whether a card of any judge has a sentence by one of these rules."""
    raters = Raters(view)
    found = (ReportCard(raters, name) for name in raters.names)
    return any(card_sentences(card.facts, card.words)[group].rule in rules for card in found)


# -- claims: each returns whether a study got a false sentence of its kind -------------------------


def position_preferred(view: FilteredStudy) -> bool:
    return any(
        row.is_significant or row.leaning_categories
        for row in flip_leans(bias_from_frame(view.frame))
    )


def position_preferred_under_a_filter(view: FilteredStudy) -> bool:
    """Under any category, judge, both, or pair of models."""
    counts, frame = BiasCounts(view.frame), view.frame
    judges = sorted(set(frame["judge"].astype(str)))
    filters = [
        Filter(judge=judge, category=category)
        for judge in ("all", *judges)
        for category in sorted(set(frame["category"].astype(str)))
    ]
    if any(row.is_significant for one in filters for row in flip_leans(Bias(counts, one))):
        return True
    models = sorted({name for shown in frame["shown"].unique() for name in shown.split("\x1f")})
    for both in combinations(models, 2):
        one = Filter(contestants=both)
        counts = BiasCounts(one.apply(frame), count_alternatives(frame, one))
        if any(row.is_significant for row in flip_leans(Bias(counts, one))):
            return True
    return False


def order_decides(view: FilteredStudy) -> bool:
    return "order decides" in bias_finding(bias_from_frame(view.frame))[0]


def low_consistency(view: FilteredStudy) -> bool:
    return bool(low_consistency_warning(bias_from_frame(view.frame)))


def card_position(view: FilteredStudy) -> bool:
    return cards(view, 0, POSITION_RULES)


def card_people(view: FilteredStudy) -> bool:
    return cards(view, 1, PEOPLE_RULES)


def is_ahead(view: FilteredStudy) -> bool:
    title, lead = ranking_finding(load_ranking(view))
    return " is ahead of " in title or "would lead" in lead or "people put" in title


def wins_more(view: FilteredStudy) -> bool:
    title = wins_finding(view)[0]
    leads = "leads significantly" in title
    return leads or not title.startswith(("No model", "No win"))


def more_consistent(view: FilteredStudy) -> bool:
    pair = find_pair(view, "", "")
    title = contrast_finding(pair, "Behaviour")[0]
    return "more consistent" in title or "opposite" in title


def differs_from_people(view: FilteredStudy) -> bool:
    lead = wins_finding(view)[1]
    return "largest difference to people" in lead and "includes 0" not in lead


# -- claims on frames: repeats and several options, which the small store does not have ------------


def repeats_show_an_order_effect(seed: int) -> bool:
    """Three repeats in both orders, pairs of different difficulty, no order effect."""
    draw, rows = np.random.default_rng([seed, 3]), []
    for k in range(24):
        for judge in range(3):
            p = draw.choice([0.5, 0.8, 0.95])
            for shown in ("xy", "yx"):
                for repeat in range(3):
                    name = "x" if draw.random() < p else "y"
                    rows.append({"item": f"q{k}", "judge": f"j{judge}", "shown": shown,
                                 "pick": shown.index(name), "repeat": repeat})  # fmt: skip
    leans = flip_leans(bias_from_frame(build(rows)))
    return any(row.order_decides or row.is_significant for row in leans)


def options_preferred(seed: int) -> bool:
    """Four options in four rotations; a choice depends on content and noise only."""
    draw, rows = np.random.default_rng([seed, 4]), []
    for k in range(20):
        for judge in range(3):
            worth = np.exp(draw.normal(size=4))
            shows = rotated(f"q{k}", range(4), judge=f"j{judge}")
            for row in shows:
                weights = np.array([worth[int(name[1])] for name in row["shown"]])
                row["pick"] = int(draw.choice(4, p=weights / weights.sum()))
            rows += shows
    frame = build(rows)
    title = option_finding(bias_from_frame(frame), fit_option_rows(frame))[0]
    return "prefer" in title and not title.startswith("No ")


def own_family_preferred(seed: int) -> bool:
    """Three judges with one view of quality; the models of two of them differ in strength."""
    draw, rows, family = np.random.default_rng([seed, 5]), [], {"g": "G", "c": "C", "v": "V"}
    strength = {"g": 0.9, "c": 0.0, "v": -0.9}
    for k in range(40):
        worth = {name: value + 0.8 * draw.normal() for name, value in strength.items()}
        for pair in combinations("gcv", 2):
            for judge in "GCN":
                for shown in (pair, pair[::-1]):
                    first = 1 / (1 + np.exp(1.2 * (worth[shown[1]] - worth[shown[0]])))
                    rows.append({"item": f"q{k}", "judge": f"j{judge}", "shown": shown,
                                 "pick": int(draw.random() > first), "family": judge,
                                 "families": tuple(family[x] for x in shown)})  # fmt: skip
    found = [one.excess for one in own_family_excess(build(rows)).values()]
    adjusted = [simultaneous_interval(one, len(found)) for one in found]
    return any(not one.low <= 0 <= one.high for one in adjusted)


@dataclass(frozen=True)
class NullLine:
    """One line of the table: a kind of sentence on one kind of null study."""

    sentence: str
    study: str
    claims: Callable[[int, Store], bool]


def stored_line(
    sentence: str, study: NullStudy, claim: Callable[[FilteredStudy], bool]
) -> NullLine:
    return NullLine(sentence, study.name, lambda seed, store: claim(stored(study, seed, store)))


def frame_line(sentence: str, study: str, claim: Callable[[int], bool]) -> NullLine:
    return NullLine(sentence, study, lambda seed, store: claim(seed))


PREFERS = "“prefers a position”, headline, rows and categories"
CARD = "“toward the answer shown first”, “the order matters”, on any card"
LINES = (
    *(stored_line(PREFERS, study, position_preferred)
      for study in (COINS, NO_POSITION, MISSING, MISSING_SECOND)),
    stored_line("the same, under any filter", NO_POSITION, position_preferred_under_a_filter),
    *(stored_line("“the order decides most pairs”", study, order_decides)
      for study in (COINS, NO_POSITION, MISSING_SECOND)),
    *(stored_line(CARD, study, card_position) for study in (COINS, NO_POSITION, MISSING_SECOND)),
    stored_line("“low consistency”, below chance", COINS, low_consistency),
    frame_line("“the order decides”, “prefers a position”", "three repeats, no order effect",
               repeats_show_an_order_effect),
    frame_line("“prefers a position” of four", "four options, no position effect",
               options_preferred),
    stored_line("“a is ahead of b”, “would lead”, “people put c first”", EQUAL_MODELS, is_ahead),
    stored_line("“a wins 60 %”, “leads in 2 categories”", EQUAL_MODELS, wins_more),
    stored_line("“a is steadier than b”, “opposite positions”", EIGHT_JUDGES, more_consistent),
    stored_line("“more often”, “less often than a person”, on any card", PEOPLE, card_people),
    stored_line("“largest difference to people” without 0", PEOPLE, differs_from_people),
    frame_line("self-preference relative to outsiders excludes 0", "strong own model, no bias",
               own_family_preferred),
)  # fmt: skip


def false_share(line: NullLine, studies: int) -> float:
    """Share of null studies that get a false sentence."""
    said = 0
    with TemporaryDirectory() as folder:
        for seed in range(studies):
            store = Store(Path(folder) / f"{seed}.db")
            try:
                said += line.claims(seed, store)
            finally:
                store.close()
                (Path(folder) / f"{seed}.db").unlink(missing_ok=True)
    return said / studies


@pytest.mark.long
@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.sentence}, {line.study}")
def test_at_most_one_null_study_in_twenty_gets_a_false_sentence(line, capsys):
    got = false_share(line, STUDIES)
    with capsys.disabled():
        print(f"\n{_row(line, got)}", flush=True)
    assert got <= 0.05 + 2.5 * (0.05 * 0.95 / STUDIES) ** 0.5


def _row(line: NullLine, got: float) -> str:
    return f"| {line.sentence} | {line.study} | {got:.3f} |"


def table() -> Iterator[str]:
    yield "| sentence | null study | studies with a false one |"
    yield "|---|---|---|"
    for line in LINES:
        yield _row(line, false_share(line, STUDIES))


if __name__ == "__main__":
    for text in table():
        print(text, flush=True)
