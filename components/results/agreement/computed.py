"""Estimates for the agreement panels, each computed on first use and cached.

A rater is a judge with a prompt, or the people who voted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from scipy.stats import norm

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.filtering.raters import Raters
from metrics.agreement.judge_as_annotator import JudgeAsAnnotator, judges_as_annotators
from metrics.agreement.majority_agreement import agreement_with_people_measure
from metrics.agreement.pairwise_agreement import (
    PEOPLE,
    PairAgreement,
    PeopleAgreement,
    VerdictGrid,
    agreement_among_people,
    agreement_matrix,
    build_verdict_grid,
)
from metrics.estimation import row_selection
from metrics.estimation.contrasts import critical_value_for_all_pairs, paired_contrasts
from metrics.estimation.frame_stacking import stack_frames
from metrics.people.voters import Voter, drop_voters, measure_voters
from metrics.protocols.creation_alignment import Alignment, SignedScores
from metrics.win_rates.merged_orders import agreement_of_merged_orders, merge_both_orders
from metrics.win_rates.prediction_powered import CorrectedWinRate, corrected_win_rates
from studies.domain import Estimate
from studies.lazy_values import cached_property

SEED: Final = 20_24
KNOWN_ANSWERS: Final = "known answers"
BOTH_ORDERS: Final = "both"


@dataclass(frozen=True)
class Agreement:
    """Agreement among the raters of a filtered study: judges with their prompts, and people."""

    raters: Raters

    @cached_property
    def agreement_by_rater_pair(self) -> dict[str, dict[str, PairAgreement]]:
        """Rater -> other rater -> their agreement. A rater is a judge with its prompt, or
        `people`, the majority of the votes, if there are any."""
        return agreement_matrix(self.raters.frame)

    @property
    def judges(self) -> list[str]:
        return [name for name in self.agreement_by_rater_pair if name != PEOPLE]

    @cached_property
    def ranked_judges(self) -> list[str]:
        """Judges by descending agreement with people (without votes: with the other judges)."""
        return sorted(self.judges, key=lambda name: -self._agreement_to_rank_by(name))

    @property
    def judges_compared_with_people(self) -> list[str]:
        """The `ranked_judges` with a known agreement with people."""
        known = {name: self.coefficients_with_people(name) for name in self.ranked_judges}
        return [name for name, got in known.items() if got and got.share.value is not None]

    def _agreement_to_rank_by(self, name: str) -> float:
        if self.raters.has_people:
            got = self.agreement_by_rater_pair[name].get(PEOPLE)
            return -1.0 if got is None or got.share.value is None else got.share.value
        shares = [got.share.value for got in self.agreement_by_rater_pair[name].values()]
        known = [value for value in shares if value is not None]
        return float(np.mean(known)) if known else -1.0

    def coefficients_with_people(self, judge: str) -> PairAgreement | None:
        return self.agreement_by_rater_pair.get(judge, {}).get(PEOPLE)

    @cached_property
    def voter_agreement(self) -> PeopleAgreement:
        return agreement_among_people(self.raters.frame)

    @cached_property
    def two_judges_agreeing_most(self) -> tuple[str, str, PairAgreement] | None:
        """The two judges with the highest κ, and their agreement; None if no κ is known."""
        pairs = [
            (a, b, got)
            for a in self.judges
            for b, got in self.agreement_by_rater_pair[a].items()
            if PEOPLE not in (a, b) and a < b and got.kappa.value is not None
        ]
        return max(pairs, key=lambda pair: float(pair[2].kappa.value or 0.0), default=None)

    @cached_property
    def people_rows(self) -> pd.DataFrame:
        frame = self.raters.frame
        return row_selection.select_rows(frame, row_selection.people_mask(frame))

    @cached_property
    def merged_order_verdicts(self) -> pd.DataFrame:
        """One verdict per model judge, prompt and pair, merged from the pair's two orders: an
        answer wins if it wins in both orders; otherwise it is a tie. Only pairs judged in both
        orders are included."""
        return merge_both_orders(self.raters.rows_of_model_judges)

    @cached_property
    def merged_share_equal_to_majority(self) -> dict[str, Estimate]:
        """Rater -> share of its verdicts, merged as in `merged_order_verdicts`, that are equal to
        the majority of people."""
        return agreement_of_merged_orders(self.merged_order_verdicts, self.people_rows)

    @cached_property
    def merged_agreement_with_people(self) -> dict[str, PairAgreement]:
        """Rater -> its agreement with the majority of people (share, κ and other coefficients),
        with the verdicts of the two orders merged as in `merged_order_verdicts`. Empty if no
        pair was judged in both orders."""
        if self.merged_order_verdicts.empty:
            return {}
        parts = {BOTH_ORDERS: self.merged_order_verdicts, PEOPLE: self.people_rows}
        grid = build_verdict_grid(stack_frames(parts, "merging"))
        return {
            name: grid.agreement_between(PEOPLE, name) for name in grid.raters if name != PEOPLE
        }

    def chance_agreement_with_people(self, rater: str, both_orders: bool) -> float | None:
        """Share of verdicts equal to the majority of people if the rater chose at random, with as
        many ties as measured; with `both_orders`, of its merged verdicts. None if unknown."""
        return self._verdict_grid.chance_agreement(rater, PEOPLE, both_orders)

    @cached_property
    def _verdict_grid(self) -> VerdictGrid:
        return build_verdict_grid(self.raters.frame)

    @cached_property
    def signed_scores(self) -> SignedScores:
        return SignedScores(self.raters.frame)

    def distance_from_people_scores(self, rater: str, both_orders: bool) -> Alignment:
        """Distance of a rater's scores from the people's mean score, as in Creation-MMBench: mean
        absolute error (MAE), and share within 1 (there called Consistency). With `both_orders`,
        scores are averaged over the two orders."""
        return self.signed_scores.gaps(rater, "dual" if both_orders else "single").alignment

    @property
    def has_five_level_verdicts(self) -> bool:
        return bool((self.raters.rows["margin"] == 2).any())

    @cached_property
    def judges_replacing_a_voter(self) -> list[JudgeAsAnnotator]:
        """For each judge, its agreement with the other voters if it takes the place of one voter,
        compared with the agreement of that voter with them."""
        return judges_as_annotators(self.raters.frame, np.random.default_rng(SEED))

    @cached_property
    def prompts_replacing_a_voter(self) -> list[JudgeAsAnnotator]:
        """As `judges_replacing_a_voter`, for each prompt: the verdicts of its judges count as
        those of one rater. Empty without votes, and with fewer than two judges or prompts."""
        shown = [self.raters.names[name] for name in self.raters.filtered_rater_names]
        if not self.raters.has_people or any(len({one[k] for one in shown}) < 2 for k in (0, 1)):
            return []
        rows = self.raters.rows
        judge, prompt = rows["judge"].astype(str), rows["prompt"].astype(str)
        rater = pd.Categorical(np.where(row_selection.people_mask(rows), judge, prompt))
        return judges_as_annotators(rows.assign(judge=rater), np.random.default_rng(SEED))

    # ---- people

    @cached_property
    def voters(self) -> list[Voter]:
        return measure_voters(self.people_rows)

    @cached_property
    def flagged_voters(self) -> list[str]:
        return [one.name for one in self.voters if one.flags]

    @cached_property
    def vote_count(self) -> int:
        return len(self.people_rows)

    @cached_property
    def not_random_pair_vote_count(self) -> int:
        """Number of votes on pairs chosen because judges flip or disagree, not at random."""
        return int(row_selection.disputed_case_vote_mask(self.people_rows).sum())

    @cached_property
    def agreement_by_all_votes(self) -> dict[str, Estimate]:
        """Agreement of each judge with the people's majority, and (key "two people") of two people
        with each other. All votes count, including those on pairs not chosen at random."""
        return self._compute_people_agreement(self.raters.frame)

    @cached_property
    def agreement_without_flagged_voters(self) -> dict[str, Estimate]:
        """As `agreement_by_all_votes`, without the votes of flagged voters, whose votes look
        careless or biased."""
        return self._compute_people_agreement(drop_voters(self.raters.frame, self.flagged_voters))

    @cached_property
    def agreement_on_random_pairs(self) -> dict[str, Estimate]:
        """Rater -> agreement with people's votes, without the votes on pairs that people got
        because judges flip or disagree there."""
        random = ~row_selection.disputed_case_vote_mask(self.raters.frame)
        return self._compute_people_agreement(row_selection.select_rows(self.raters.frame, random))

    def _compute_people_agreement(self, frame: pd.DataFrame) -> dict[str, Estimate]:
        grid = build_verdict_grid(frame)
        has_people = PEOPLE in grid.raters
        found = {
            n: grid.agreement_between(PEOPLE, n).share
            for n in self.ranked_judges
            if has_people and n in grid.raters
        }
        return found | {"two people": agreement_among_people(frame).pair.share}

    @cached_property
    def win_rates_corrected_by_votes(self) -> dict[str, CorrectedWinRate]:
        """Model -> prediction-powered win rate, which corrects the judges' verdicts by people's
        votes on pairs chosen at random; empty without votes."""
        return corrected_win_rates(self.raters.frame) if self.raters.has_people else {}


@memoise_by_study
def load_agreement(filtered: FilteredStudy) -> Agreement:
    """The agreement of a filtered study. It is cached, so that headline, key figures and panels
    share one object and its computed results."""
    return Agreement(Raters(filtered))


def judges_equally_close_to_people(data: Agreement, names: Sequence[str]) -> list[str]:
    """The judge that agrees most with people, and the judges whose agreement is not significantly
    lower. `names`: judges by descending agreement with people; the first is the one with which
    the others are compared.

    The difference of two judges is paired by item. Its interval is widened for all pairs of
    judges, also those that a filter hides, since any judge could have been the first."""
    if len(names) < 2:
        return list(names)
    everyone = load_agreement(data.raters.filtered.of_all_raters)
    frame, measures = everyone.raters.frame, [agreement_with_people_measure()]
    cells, family = (
        [(name,) for name in some] for some in (names, everyone.judges_compared_with_people)
    )
    critical = 0.0
    if len(family) > 2:
        rng = np.random.default_rng(SEED)
        max_t = critical_value_for_all_pairs(frame, ["judge"], measures, rng, family)
        # With few items max-t alone claims too often.
        critical = max(max_t, float(norm.isf(0.025 / math.comb(len(family), 2))))
    pairs = [(cells[0], cell) for cell in cells[1:]]
    rng = np.random.default_rng(SEED)
    made = paired_contrasts(frame, ["judge"], measures, rng, pairs, critical=critical)
    same = [
        one.right[0]
        for one in made
        if one.raw.value is not None and (one.adjusted.low is None or one.adjusted.low <= 0)
    ]
    return [names[0], *same]
