"""Summary of all measures of a frame: the object that `python -m metrics --json` prints."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics.catalogue.records import estimate_position_measures
from metrics.estimation import entropy, intervals, measures, row_selection
from metrics.estimation.contrasts import Contrast, paired_contrasts
from metrics.estimation.multiple_comparisons import UNFILTERED_ERROR_SHARE, holm_adjust
from metrics.estimation.prompt_kinds import NO_PICKS_NOTE, five_level_mask, scoring_mask
from metrics.people.verification import verification_summary
from metrics.position import label_effect, order_tests, position_measures
from metrics.position.missing_bounds import consistency_bounds, first_share_bounds
from metrics.protocols.visit_leaderboard import visit_leaderboard_rows
from metrics.ratings.bradley_terry import bradley_terry_ratings
from metrics.ratings.online_elo import EloRating, elo_table
from metrics.ratings.position_term import position_term
from metrics.remedies import remedy_study
from metrics.summary.contrast_families import contrast_families
from metrics.summary.optional_sections import OPTIONAL_SECTIONS, WITH_PEOPLE
from metrics.summary.rating_sections import rating_sections, tie_model_table
from metrics.summary.remedy_section import RemedyInputs, remedy_section, study_of_inputs
from metrics.twins import style_control, twin_effects
from metrics.win_rates import counting_rules, win_rates
from metrics.win_rates.first_place import ranking_stability_section
from studies.domain import STATUSES, AnswerCheck, Estimate
from studies.frames.point_columns import pass_fail_mask
from studies.texts.style_features import Styles

SEED: Final = 7
"""Seed of the default generator, so that the same records give the same numbers."""

CONTRASTED_MEASURES: Final = (
    position_measures.CONSISTENCY,
    position_measures.FIRST_SHARE,
    position_measures.ACCURACY,
)
ELO_ORDERS: Final = 100
ELO_ROUNDS: Final = ((20_000, 200), (math.inf, 100))
"""Number of bootstrap samples for the intervals of online Elo, by the number of rows: (largest
number of rows, samples)."""

MAX_CONTRASTS: Final = 60
"""Number of contrasts above which a family is left out of the section `contrasts`."""

WITHOUT_SUSPECTS: Final = "without_suspects"
QUICK_NOTE: Final = "quick: one pass in plan order, no band and no interval"

Json = dict[str, Any]


def summarise_frame(
    frame: pd.DataFrame,
    by: Sequence[str] = (),
    rng: np.random.Generator | None = None,
    planned: int | None = None,
    combine: counting_rules.CombineRule = "pooled",
    unreadable: counting_rules.UnreadableRule = "exclude",
    quick: bool = False,
    checks: Mapping[str, Sequence[AnswerCheck]] | None = None,
    remedies: RemedyInputs | None = None,
    twins: pd.DataFrame | None = None,
    styles: Styles | None = None,
) -> Json:
    """Compute all measures of a frame as JSON types: section -> values.

    Ratings and win rates pool all judges and prompts, without people's votes (unless there are no
    other verdicts). `planned` is the number of planned calls (default: the rows of the frame). Some
    sections depend on the arguments:
    - `by`: "by" has the measures of every cell, nested by the columns `by`.
    - `combine`, `unreadable`: if not the default, "protocol" has the numbers by this counting rule.
    - `quick`: online Elo is played once, in plan order, without range and interval.
    - `checks` (people's verifications, by item): "verification".
    - `remedies`: facts about the study for "remedies", a section if better answers are known.
    - `twins` (rows that show a twin, an answer with one change): "twins".
    - `styles` (style of the answers): "style".

    If answers are suspected of injection, "without_suspects" has the numbers without them.
    """
    rng = rng or np.random.default_rng(SEED)
    inputs = remedies or RemedyInputs()
    study = study_of_inputs(frame, inputs)
    frame = remedy_study.add_call_credits(frame, study)
    result = _summary_with_protocol(frame, rng, planned, combine, unreadable, quick)
    if checks:
        result["verification"] = to_plain_data(verification_summary(checks, frame))
    if section := remedy_section(frame, inputs, study):
        result["remedies"] = to_plain_data(section)
    if twins is not None and len(twins):
        result["twins"] = to_plain_data(twin_effects.twins_section(twins, frame))
    if styles and (style := style_control.style_section(frame, styles)):
        result["style"] = to_plain_data(style)
    if by:
        evidence = measures.GroupedFrame(frame, by)
        cell = evidence.frame["cell"].to_numpy()
        nested: Json = {}
        for k, key in enumerate(evidence.cells if len(frame) else []):
            part = frame.loc[cell == k]
            _set_nested(
                nested,
                key,
                _pooled_summary(part, rng, None, quick) | _single_call_agreement_section(part),
            )
        result["by"] = nested
    suspected = row_selection.suspected_injection_mask(frame)
    if suspected.any():  # last, so that the random draws of other numbers are unchanged
        rest = frame.loc[~suspected]
        result[WITHOUT_SUSPECTS] = {
            "left_out": int(suspected.sum()),
            **_summary_with_protocol(rest, rng, None, combine, unreadable, quick),
        }
    return result


def _single_call_agreement_section(frame: pd.DataFrame) -> Json:
    """Build the part of the section `remedies` with the agreement of single calls, for the judges
    and prompts that have it."""
    rules: Json = {}
    for (judge, prompt), found in remedy_study.estimate_call_agreement(frame).items():
        if found.value is not None:
            rule = {"single": {"agreement": to_plain_data(found)}}
            rules.setdefault(judge, {})[prompt] = rule
    return {"remedies": {"rules": rules}} if rules else {}


def _summary_with_protocol(
    frame: pd.DataFrame,
    rng: np.random.Generator,
    planned: int | None,
    combine: counting_rules.CombineRule,
    unreadable: counting_rules.UnreadableRule,
    quick: bool,
) -> Json:
    """Compute all measures. If the study's counting rule (how the verdicts of two orders and
    unreadable replies count) is not the default, also compute win rates and ratings by that
    rule."""
    result = _pooled_summary(frame, rng, planned, quick)
    if (combine, unreadable) != win_rates.DEFAULT_RULES:
        result["protocol"] = _protocol_section(frame, combine, unreadable, rng, quick)
    return result


def _pooled_summary(
    frame: pd.DataFrame, rng: np.random.Generator, planned: int | None, quick: bool
) -> Json:
    """Compute the sections that need only a frame, all judges and prompts pooled (see
    `summarise_frame`)."""
    judged = row_selection.select_judges(frame)  # people's votes are the reference
    result: Json = {
        "elo": _elo_section(judged, rng, quick),
        "bradley_terry": to_plain_data(bradley_terry_ratings(judged)),
        "win_rate": to_plain_data(win_rates.win_rate(judged)),
        "head_to_head": to_plain_data(win_rates.head_to_head(judged)),
        "position": _position_section(frame),
        "position_pooled": _pooled_position_measures(judged),
    }
    for name, part in OPTIONAL_SECTIONS.items():
        value = part(frame if name in WITH_PEOPLE else judged)
        if value:
            result[name] = to_plain_data(value)
    result |= {
        name: to_plain_data(value) for name, value in rating_sections(judged).items() if value
    }
    found = _default_contrasts(frame, rng)
    if found:
        result["contrasts"] = [_contrast_as_json(one) for one in found]
    if families := contrast_families(frame):
        result["contrast_families"] = {
            by: {name: [_contrast_as_json(one) for one in lines] for name, lines in each.items()}
            for by, each in families.items()
        }
    result["counts"] = call_and_item_counts(frame, planned)
    return result


def _elo_section(frame: pd.DataFrame, rng: np.random.Generator, quick: bool) -> Json:
    rounds = next(number for most, number in ELO_ROUNDS if len(frame) <= most)
    orders = 0 if quick else ELO_ORDERS
    table = elo_table(frame, rng=rng, orders=orders, rounds=0 if quick else rounds)
    return {name: _elo_rating_as_json(rating, quick) for name, rating in table.items()}


def _elo_rating_as_json(rating: EloRating, quick: bool) -> Json:
    return {
        **to_plain_data(rating.estimate),
        **({"note": intervals.join_notes(rating.estimate.note, QUICK_NOTE)} if quick else {}),
        "order_low": to_plain_data(rating.order_low),
        "order_high": to_plain_data(rating.order_high),
        "matches": rating.matches,
    }


def _protocol_section(
    frame: pd.DataFrame,
    combine: counting_rules.CombineRule,
    unreadable: counting_rules.UnreadableRule,
    rng: np.random.Generator,
    quick: bool,
) -> Json:
    """Compute win rates, ratings and the leaderboard by a counting rule (`combine`,
    `unreadable`)."""
    frame = row_selection.select_judges(frame)
    merged = counting_rules.outcome_rows(frame, combine, unreadable)
    return {
        "combine": combine,
        "unreadable": unreadable,
        "elo": _elo_section(merged, rng, quick),
        "bradley_terry": to_plain_data(bradley_terry_ratings(merged)),
        "win_rate": to_plain_data(win_rates.win_rate(frame, combine, unreadable)),
        "head_to_head": to_plain_data(win_rates.head_to_head(frame, combine, unreadable)),
        "leaderboard": _leaderboard_section(frame, combine, unreadable, rng),
        "first_place": to_plain_data(ranking_stability_section(frame, combine, unreadable)),
        "tie_models": to_plain_data(tie_model_table(merged)),
    }


def _leaderboard_section(
    frame: pd.DataFrame,
    combine: counting_rules.CombineRule,
    unreadable: counting_rules.UnreadableRule,
    rng: np.random.Generator,
) -> Json:
    """Return VisIT-Bench's leaderboard: model -> Elo, matches, wins, losses, ties, and share of
    wins against the reference answer.

    Five-level verdicts and scores have tables of their own; they are left out here if there are
    other verdicts on pairs.
    """
    others = row_selection.select_rows(frame, ~(five_level_mask(frame) | scoring_mask(frame)))
    frame = others if len(row_selection.select_pairs(others)) else frame
    rows = visit_leaderboard_rows(
        frame, rng=rng, combine=combine, unreadable=unreadable, orders=0, rounds=0
    )
    return {
        row.model: {
            "elo": row.elo.estimate.value,
            **{name: getattr(row, name) for name in ("matches", "wins", "losses", "ties")},
            "against_reference": to_plain_data(row.against_reference),
            "reference_matches": row.reference_matches,
        }
        for row in rows
    }


def _position_section(frame: pd.DataFrame) -> Json:
    """Return judge -> prompt -> all position measures with bounds, the position term, flips, tests,
    counts by slot, and effects of labels. Pass/fail verdicts have no position and are left out."""
    frame = row_selection.select_rows(frame, ~pass_fail_mask(frame))
    cells = estimate_position_measures(frame, ["judge", "prompt"]) if len(frame) else {}
    evidence = measures.GroupedFrame(frame, ["judge", "prompt"])
    cell, scoring = evidence.frame["cell"].to_numpy(), scoring_mask(frame)
    nested: Json = {}
    by = ["judge", "prompt"]
    bounds = {
        "consistency_bounds": consistency_bounds(frame, by) if cells else {},
        "first_share_bounds": first_share_bounds(frame, by) if cells else {},
    }
    for k, key in enumerate(cells):
        rows = frame.loc[cell == k]
        values = to_plain_data(cells[key])
        values |= {name: to_plain_data(got[key]) for name, got in bounds.items()}
        values["position_term"] = to_plain_data(position_term(rows))
        values["flips"] = position_measures.flip_counts(rows)
        values["tests"] = to_plain_data(
            order_tests.flip_tests(rows) | _permutation_tests_of_many_options(rows)
        )
        values["slots"] = {
            str(n): position_measures.slot_and_tie_counts(rows, n)
            for n in _numbers_of_options(rows)
        }
        values |= to_plain_data(_position_and_label_effects(rows)) | to_plain_data(
            _entropy_split(rows)
        )
        if scoring[cell == k].all():
            for one in values.values():
                if "value" in one and one["value"] is None:
                    one["note"] = NO_PICKS_NOTE
        _set_nested(nested, key, values)
    choosing = set(cell[~scoring & (frame["options"] > 1).to_numpy()].tolist())
    _adjust_order_tests([nested[a][b]["tests"] for k, (a, b) in enumerate(cells) if k in choosing])
    return nested


def _adjust_order_tests(cells: list[Json]) -> None:
    """Add to each test of each judge and prompt (`cells`) its p-value `adjusted`, the one that the
    page shows without a filter: by Holm's method over all judges and prompts, and for the filters
    that a reader may try."""
    for name in {name for tests in cells for name in tests}:
        tests = [tests[name] for tests in cells if name in tests]
        values = holm_adjust([one["p"] for one in tests], error_share=UNFILTERED_ERROR_SHARE)
        for one, adjusted in zip(tests, values, strict=True):
            one["adjusted"] = adjusted


def _pooled_position_measures(judged: pd.DataFrame) -> Json:
    """Return the position measures of all judges and prompts together; empty without verdicts."""
    rows = row_selection.select_rows(judged, ~pass_fail_mask(judged))
    if not len(rows):
        return {}
    return to_plain_data(estimate_position_measures(rows)[()])  # type: ignore[no-any-return]


def _numbers_of_options(rows: pd.DataFrame) -> list[int]:
    """List the numbers of options (two or more) that occur."""
    return sorted({int(n) for n in rows["options"] if n > 1})


def _permutation_tests_of_many_options(rows: pd.DataFrame) -> dict[str, order_tests.OrderTest]:
    """Run the permutation test for each number of options above two ("permutation_3", …); empty if
    all rows have at most two options."""
    return {
        f"permutation_{n}": order_tests.permutation_test(rows, n)
        for n in _numbers_of_options(rows)
        if n > 2
    }


def _entropy_split(rows: pd.DataFrame) -> dict[str, Estimate]:
    """Return the entropy of the outcomes and its parts as "entropy_total", "entropy_noise" (within
    one order) and "entropy_order"; empty if no comparison was repeated in every order."""
    parts = entropy.split_entropy_by_order(rows)
    return {f"entropy_{name}": got for name, got in parts.items() if got.value is not None}


def _position_and_label_effects(rows: pd.DataFrame) -> dict[str, Estimate]:
    """Estimate position and label effects, if each label was shown in each position, and content
    and position terms (in logits), if there are label probabilities. Effects that cannot be
    estimated are left out."""
    effects = label_effect.slot_and_label_effects(rows)
    found = {f"{name}_effect": got for name, got in effects.items() if got.value is not None}
    split = label_effect.mean_content_and_position_terms(rows)
    return found | {f"logit_{name}": got for name, got in split.items() if got.value is not None}


def _set_nested(nested: Json, key: measures.CellKey, value: Json) -> None:
    """Store `value` in `nested` under the path `key`: nested[key[0]][key[1]]… = value."""
    for part in key[:-1]:
        nested = nested.setdefault(part, {})
    nested[key[-1]] = value


def _default_contrasts(frame: pd.DataFrame, rng: np.random.Generator) -> list[Contrast]:
    """Estimate the contrasts of CONTRASTED_MEASURES between judges, and between prompts, on the
    same items. There are none between judges (or prompts) if they would be more than MAX_CONTRASTS;
    contrasts without a value are left out."""
    machine = frame.loc[~row_selection.people_mask(frame)]
    found: list[Contrast] = []
    for by in ("judge", "prompt"):
        kinds = machine[by].astype(str).nunique()
        if kinds > 1 and kinds * (kinds - 1) // 2 * len(CONTRASTED_MEASURES) <= MAX_CONTRASTS:
            found += paired_contrasts(machine, [by], CONTRASTED_MEASURES, rng)
    return [one for one in found if one.raw.value is not None]


def _contrast_as_json(contrast: Contrast) -> Json:
    return {
        "measure": contrast.measure,
        "left": "/".join(contrast.left),
        "right": "/".join(contrast.right),
        "left_value": to_plain_data(contrast.left_value),
        "right_value": to_plain_data(contrast.right_value),
        "raw": to_plain_data(contrast.raw),
        "adjusted": to_plain_data(contrast.adjusted),
    }


def call_and_item_counts(frame: pd.DataFrame, planned: int | None = None) -> Json:
    """Count planned calls (`planned`, default: the rows of the frame), rows, calls repeated only to
    measure noise, items, and rows by status."""
    found = frame["status"].value_counts()
    return {
        "planned": len(frame) if planned is None else planned,
        "asked": len(frame),
        "noise": int(frame["noise"].sum()),
        "items": int(row_selection.resampling_unit(frame).nunique()),
        "by_status": {name: int(found.get(name, 0)) for name in STATUSES},
    }


def to_plain_data(value: Any) -> Any:
    """Convert dataclasses (such as estimates), mappings, lists and numpy numbers to JSON types; nan
    and inf become null."""
    if isinstance(value, Mapping):
        return {str(key): to_plain_data(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain_data(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: to_plain_data(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
