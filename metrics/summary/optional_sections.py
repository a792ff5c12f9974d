"""Summary sections that need special data, such as human votes; sections without data are left
out."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

import pandas as pd

from metrics.agreement import majority_agreement
from metrics.error_models import corrected_ranking, error_placement, unlabelled_jury
from metrics.estimation import measures, row_selection
from metrics.estimation.prompt_kinds import five_level_mask, scoring_mask
from metrics.labels import criterion_agreement, option_order, pass_by_order, point_ranking
from metrics.labels.label_sections import pass_fail_section, scores_section
from metrics.labels.point_rules import single_answer_rules_section
from metrics.labels.reliability import reliability_section
from metrics.labels.scores import criteria_order, score_contradictions, score_distribution
from metrics.people.voters import measure_voters
from metrics.position.position_measures import ACCURACY, SLOT_ENTROPY
from metrics.protocols import creation_alignment, creation_levels, grade_score, grade_table
from metrics.protocols.creation_alignment_table import human_alignment_table
from metrics.protocols.creation_table import creation_table
from metrics.protocols.printed_accuracies import accuracies_as_in_papers
from metrics.ratings.bradley_terry import bradley_terry_ratings
from metrics.ratings.choice_model import fit_choice_model
from metrics.ratings.judge_as_ranker import RankedStudy, judge_as_ranker
from metrics.summary.agreement_sections import people_sections, rater_pair_agreement
from metrics.win_rates import jury, length_effects, prediction_powered, self_preference, win_rates
from metrics.win_rates.first_place import ranking_stability_section
from metrics.win_rates.length_bins import length_effect
from metrics.win_rates.merged_orders import agreement_of_merged_orders, merge_both_orders
from metrics.win_rates.own_family_excess import own_family_excess
from metrics.win_rates.precision_plan import precision_plan
from studies.domain import Estimate

MAX_PRECISION: Final = 8
"""Number of contestants above which variance components are computed only for the one with the
highest win rate."""

Json = dict[str, Any]


def _grade_score_section(frame: pd.DataFrame) -> Json:
    """Return judge -> prompt -> Grade Score and further measures, for prompts that choose among
    more than two options or whose name starts with "grade-"; empty without such prompts."""
    chooses = (frame["options"] > 2) | frame["prompt"].astype(str).str.startswith("grade-")
    prompts = set(frame["prompt"].astype(str)[chooses.to_numpy(bool)])
    rows = row_selection.select_rows(frame, frame["prompt"].astype(str).isin(prompts))
    nested: Json = {}
    cells = grade_score.grade_estimates_by_cell(rows, ["judge", "prompt"]) if len(rows) else {}
    for (judge, prompt), parts in cells.items():
        own = (rows["judge"].astype(str) == judge) & (rows["prompt"].astype(str) == prompt)
        nested.setdefault(judge, {})[prompt] = parts | _measures_beside_grade_score(
            row_selection.select_rows(rows, own)
        )
    return nested


def _measures_beside_grade_score(rows: pd.DataFrame) -> Json:
    """Return measures beside the Grade Score; those that cannot be computed are left out.

    They are the entropy of all slots picked, the accuracy, the share of choices of an option that
    the judge itself graded lower than another one, and the share of choices of the unrelated option
    (an answer to another question). If the rule of the Grade Score's authors (gradelab) gives other
    numbers, grade, entropy and choice share by this rule are added.
    """
    found = {
        "pooled_entropy": SLOT_ENTROPY.estimate(rows),
        "accuracy": ACCURACY.estimate(rows),
        "contradictions": grade_table.share_of_choices_against_own_grades(rows),
        "unrelated_share": grade_table.unrelated_option_choice_share(rows),
        **_gradelab_scores(rows),
    }
    return {name: got for name, got in found.items() if got.value is not None}


def _gradelab_scores(rows: pd.DataFrame) -> dict[str, Estimate]:
    """Return "grade_gradelab", "entropy_gradelab" and "choice_gradelab": grade, entropy and choice
    share as the code of the Grade Score's authors (gradelab) computes them.

    That code also counts items with an unreadable rotation, and divides the entropy by the log of
    the number of orders, not of options. Where neither makes a difference the result is empty,
    because its numbers would equal those of the section `grade`.
    """
    table = grade_score.grade_table(rows)
    if not table.attrs["left_out"] and not (table["orders"] > table["options"]).any():
        return {}
    got = grade_score.estimate_grade_score_measures(rows, "gradelab")
    return {f"{name}_gradelab": got[name] for name in ("grade", "entropy", "choice")}


def _option_strengths(frame: pd.DataFrame) -> Mapping[str, Estimate]:
    """Return contestant -> strength in logits, from choices among more than two options; empty
    without such choices."""
    return fit_choice_model(frame, min_options=3).strength if (frame["options"] > 2).any() else {}


def _choice_position_and_label_effects(frame: pd.DataFrame) -> Json:
    """Return number of options -> effect of each position and, if it was estimated, "labels" ->
    effect of each label, for choices among more than two options; empty without such choices."""
    if not (frame["options"] > 2).any():
        return {}
    model = fit_choice_model(frame, min_options=3)
    return {str(n): list(effects) for n, effects in model.slots.items()} | (
        {"labels": model.labels} if model.labels else {}
    )


def _five_level_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of five-level prompts; only these prompts offer verdicts such as "much better"."""
    return row_selection.select_rows(frame, five_level_mask(frame))


def _reward_section(frame: pd.DataFrame) -> Mapping[str, Estimate]:
    rows = _five_level_rows(frame)
    return creation_levels.reward_table(rows, find_baseline(rows)) if len(rows) else {}


def _five_level_section(frame: pd.DataFrame) -> Json:
    rows = _five_level_rows(frame)
    return creation_levels.five_level_counts(rows, find_baseline(rows)) if len(rows) else {}


def find_baseline(frame: pd.DataFrame) -> str | None:
    """Return the contestant that is in every pair if there are at least three contestants, else
    None."""
    rows = row_selection.select_pairs(frame)
    names = row_selection.contestants(rows)
    everywhere = [
        name for name in names if ((rows["first"] == name) | (rows["second"] == name)).all()
    ]
    return everywhere[0] if len(names) > 2 and everywhere else None


def _agreement_section(frame: pd.DataFrame) -> Json:
    """Build the section on agreement.

    Keys, each only with the data it needs: people -> judge -> agreement with people; always_tie ->
    distance from people's scores of a judge that always answers "equal"; voters -> person ->
    measures; judges -> a -> b -> share of equal verdicts; pairs -> a -> b -> share, κ and α;
    merged_orders -> judge -> agreement with people if both orders are merged; alignment -> MAE and
    Consistency with people, as in Creation-MMBench; and the keys of `people_sections`.
    """
    result: Json = {}
    human = row_selection.people_mask(frame)
    if human.any():
        scores = creation_alignment.SignedScores(frame)
        result["people"] = {
            judge: {**parts, **_score_distances(scores, judge)}
            for (judge,), parts in majority_agreement.agreement_with_people_table(frame).items()
        }
        result["always_tie"] = asdict(scores.always_tie_gaps().alignment)
        result["voters"] = {one.name: asdict(one) for one in measure_voters(frame)}
        result |= people_sections(frame)
        judged, voted = (row_selection.select_rows(frame, mask) for mask in (~human, human))
        merged = agreement_of_merged_orders(merge_both_orders(judged), voted)
        if merged:
            result["merged_orders"] = merged
        if (frame["margin"] == 2).any():
            result["alignment"] = _alignment_with_people_section(frame)
    machines = {str(name) for name in frame["judge"][~human]}
    if len(machines) > 1:
        result["judges"] = majority_agreement.equal_verdict_share_matrix(frame)
    pairs = rater_pair_agreement(frame)
    if pairs:
        result["pairs"] = pairs
    return result


def _score_distances(scores: creation_alignment.SignedScores, judge: str) -> dict[str, Estimate]:
    """Return the mean distance of a judge's scores (−2…2) from people's ("mae"), and the share of
    distances of at most 1 ("within_one"): of each verdict, like the agreement beside them, and,
    with "merged_" before the name, of the mean of both orders, where both were planned."""
    one = scores.gaps(judge, "single").alignment
    found = {"mae": one.mae, "within_one": one.consistency}
    if scores.planned_in_both_orders(scores.judge == judge):
        both = scores.gaps(judge, "dual").alignment
        found |= {"merged_mae": both.mae, "merged_within_one": both.consistency}
    return found


def _alignment_with_people_section(frame: pd.DataFrame) -> Json:
    """Return MAE and Consistency with people, as in Creation-MMBench. Keys: judge, person, "people"
    (all pooled) or "always tie" -> "dual" (both orders averaged) or "single" (single verdicts) ->
    model, or "overall"."""
    human, levels = row_selection.people_mask(frame), five_level_mask(frame)
    if (levels & ~human).any():  # three-level judges keep all rows
        frame = row_selection.select_rows(frame, human | levels)
    table = human_alignment_table(frame, find_baseline(frame))
    nested: Json = {}
    for row in [*table.rows, *table.people, *table.always_tie]:
        runs = nested.setdefault(row.judge, {}).setdefault(row.run, {})
        runs[row.model] = {"mae": row.mae, "consistency": row.consistency}
    return nested


def _creation_section(frame: pd.DataFrame) -> Json:
    """Return category -> model -> Creation-MMBench's numbers; empty unless there are several
    categories. The numbers (CREATION_FIELDS) are VFS (visual factuality score, 0–10), Reward, Win
    Rate, five-level counts and numbers of unreadable replies."""
    rows = row_selection.select_rows(frame, five_level_mask(frame) | scoring_mask(frame))
    table = creation_table(rows, find_baseline(rows), ["category"])
    return {
        category: {
            row.model: {name: getattr(row, name) for name in CREATION_FIELDS} for row in rows
        }
        for (category,), rows in table.items()
        if len(table) > 1
    }


CREATION_FIELDS: Final = ("vfs", "baseline_vfs", "reward", "win_rate", "counts", "fail", "vfs_fail")


def _corrected_win_rates(frame: pd.DataFrame) -> Json:
    """Return contestant -> people's win rate corrected with the judges, for contestants that people
    voted on; empty unless the frame has both votes and judges' verdicts."""
    human = row_selection.people_mask(frame)
    if not human.any() or human.all():
        return {}
    found = prediction_powered.corrected_win_rates(frame)
    return {name: asdict(got) for name, got in found.items() if got.people.value is not None}


def _ratings_from_label_probabilities(frame: pd.DataFrame) -> Json:
    """Compute win rates and ratings from label probabilities; empty if no reply has them."""
    if "p_0" not in frame or not frame["p_0"].notna().any():
        return {}
    return {
        "win_rate": win_rates.win_rate(frame, outcome="probability"),
        "bradley_terry": bradley_terry_ratings(frame, outcome="probability"),
    }


def _length_effects(frame: pd.DataFrame) -> Mapping[str, Any]:
    """Return the share of wins of the longer answer ("longer"; "longer_of_equal" among equally good
    answers), win rates at equal length ("controlled": against the baseline, without one against
    the model with the highest win rate) and the length effect of the judges ("judges"); empty
    without a decisive verdict on answers of known, different lengths."""
    longer = length_effects.length_preference(frame)
    if longer.value is None:
        return {}
    pairs = row_selection.select_pairs(frame)
    opponent = find_baseline(frame) or next(iter(win_rates.win_rate(pairs)), "")
    controlled = length_effects.length_controlled_win_rates(pairs, opponent)
    equal = length_effects.length_preference_at_equal_quality(frame)
    known = {} if equal.value is None else {"longer_of_equal": equal}
    return {"longer": longer, **known, "controlled": controlled, "judges": length_effect(frame)}


def _ranker_section(frame: pd.DataFrame) -> Json:
    """Return judge -> prompt -> the judge as a ranker of models: τ, decisiveness, bias toward each
    model, and the two win rates of each pair; judges without any of them are left out."""
    evidence = measures.GroupedFrame(row_selection.select_judges(frame), ["judge", "prompt"])
    cell = evidence.frame["cell"].to_numpy()
    study = RankedStudy.from_frame(frame)
    nested: Json = {}
    for k, (judge, prompt) in enumerate(evidence.cells):
        found = judge_as_ranker(row_selection.select_rows(evidence.frame, cell == k), study)
        if found.tau.value is not None or found.bias:
            nested.setdefault(judge, {})[prompt] = found
    return nested


def _people_length_section(frame: pd.DataFrame) -> Json:
    """Return the effect of length on people's votes; empty if no vote is on two answers of known
    length."""
    votes = row_selection.select_rows(frame, row_selection.people_mask(frame))
    effect = length_effect(votes) if len(votes) else None
    return {} if effect is None else asdict(effect)


def _self_preference(frame: pd.DataFrame) -> Mapping[str, Any]:
    """Return the preference of judges for models of their own family in three ways: relative to
    people, as a term of a Bradley–Terry model, and relative to judges of other families; empty if
    no families are recorded."""
    if "family" not in frame:
        return {}
    return {
        "against_people": self_preference.self_preference(frame),
        "term": self_preference.own_family_term(frame),
        "against_outsiders": own_family_excess(frame),
    }


def _jury_section(frame: pd.DataFrame) -> Mapping[str, Any]:
    """Return the results of the jury of all judges: its members, coverage, win rates and their
    bounds, effective judges, correlation of verdicts, and the jury without labels; empty for fewer
    than three judges."""
    machine = frame.loc[~row_selection.people_mask(frame)]
    if machine["judge"].astype(str).nunique() < 3:
        return {}
    got = jury.decide_jury(machine)
    return {
        "panel": list(got.panel),
        "coverage": got.coverage,
        "win_rate": got.win_rate,
        "bounds": got.bounds,
        "effective_judges": worth.value if (worth := jury.effective_judges(machine)) else None,
        "verdict_correlation": jury.verdict_correlation(machine),
        "without_labels": unlabelled_jury.jury_without_labels(machine).as_json(),
    }


def _precision_section(frame: pd.DataFrame) -> Json:
    """Return contestant -> variance components of the contestant's points, and the gain from
    doubling the items, judges, prompts or repeats.

    With more than MAX_PRECISION contestants, only the one with the highest win rate is included.
    """
    found = {}
    names = list(win_rates.win_rate(row_selection.select_pairs(frame)))
    for name in names if len(names) <= MAX_PRECISION else names[:1]:
        plan = precision_plan(frame, name)
        if plan is not None:
            found[name] = {
                "items": plan.items,
                "variance_shares": plan.components.variance_shares(),
                "narrowing": dict(plan.narrowing),
                "repeat_known": plan.repeat_known,
            }
    return found


def _arena_hard_section(frame: pd.DataFrame) -> Json:
    """Compute ratings from five-level verdicts, with "much better" counted three times
    (Arena-Hard); empty without five-level verdicts on pairs."""
    rows = _five_level_rows(frame)
    if not len(row_selection.select_pairs(rows)):
        return {}
    return {"bradley_terry": bradley_terry_ratings(rows, weighting="arena-hard")}


def _accuracies_as_in_papers_section(frame: pd.DataFrame) -> Json:
    """Return judge -> prompt -> accuracies as papers define them; empty if no better answer is
    known."""
    nested: Json = {}
    frame = row_selection.select_rows(frame, frame["known_answer"] >= 0)
    for judge, prompt in row_selection.observed_combinations(frame, ("judge", "prompt")):
        own = (frame["judge"] == judge) & (frame["prompt"] == prompt)
        if found := accuracies_as_in_papers(row_selection.select_rows(frame, own)):
            nested.setdefault(judge, {})[prompt] = found
    return nested


def _missing_verdict_bounds(frame: pd.DataFrame) -> Mapping[str, Estimate]:
    """Return contestant -> bounds of its win rate over the missing verdicts; empty if none is
    missing."""
    return (
        win_rates.win_rate_bounds(frame)
        if not row_selection.usable_status_mask(frame).all()
        else {}
    )


Section = Callable[[pd.DataFrame], Mapping[str, Any]]


OPTIONAL_SECTIONS: Final[dict[str, Section]] = {
    "grade": _grade_score_section,
    "strength": _option_strengths,
    "places": _choice_position_and_label_effects,
    "error_placement": error_placement.error_placement_section,
    "reward": _reward_section,
    "levels": _five_level_section,
    "factuality": lambda frame: creation_levels.visual_factuality(frame, find_baseline(frame)),
    "ratings": creation_levels.single_answer_ratings,
    "pass_fail": pass_fail_section,
    "scores": scores_section,
    "criteria": criterion_agreement.criterion_agreement_section,
    "option_order": option_order.option_order_section,
    "pass_by_order": pass_by_order.pass_by_order_section,
    "criteria_order": criteria_order.criteria_order_section,
    "score_distribution": score_distribution.score_distribution_section,
    "score_contradictions": score_contradictions.score_contradictions_section,
    "point_repeats": score_distribution.repeat_variation_section,
    "reliability": reliability_section,
    "point_ranking": point_ranking.point_ranking_section,
    "point_remedies": single_answer_rules_section,
    "creation": _creation_section,
    "accuracies": _accuracies_as_in_papers_section,
    "agreement": _agreement_section,
    "corrected": _corrected_win_rates,
    "corrected_ranking": corrected_ranking.corrected_ranking_section,
    "probability": _ratings_from_label_probabilities,
    "jury": _jury_section,
    "bounds": _missing_verdict_bounds,
    "length": _length_effects,
    "people_length": _people_length_section,
    "ranker": _ranker_section,
    "first_place": ranking_stability_section,
    "self_preference": _self_preference,
    "precision": _precision_section,
    "arena_hard": _arena_hard_section,
}
WITH_PEOPLE: Final = frozenset(
    {
        "agreement",
        "corrected",
        "corrected_ranking",
        "jury",
        "people_length",
        "ranker",
        "self_preference",
    }
)
"""Sections computed from all rows; all others from the judges' rows, without people's votes."""
