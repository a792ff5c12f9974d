"""Conditional logit model of one choice among N options: strengths, position and label effects."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.special import logit as log_odds

from metrics.estimation import row_selection
from metrics.estimation.intervals import join_notes
from metrics.estimation.measures import ORDER_UNKNOWN_NOTE
from metrics.ratings import bradley_terry_fit, conditional_logit
from metrics.ratings.battles import Floats, Ints, dense_codes
from metrics.ratings.conditional_logit import (
    PSEUDO_COUNT,
    LogitFit,
    LogitProblem,
    Mask,
    largest_first_sort_key,
)
from studies.domain import Estimate
from studies.frames.frame import SEP

METHOD: Final = "conditional logit"
NO_CHOICES_NOTE: Final = "no readable choice"
ONE_ORDER_NOTE: Final = (
    "position and content cannot be separated with these orders: run rotations; strengths "
    "include the effect of position"
)
NOT_CROSSED_NOTE: Final = (
    "each label is always in the same position: cross the labels to separate the two effects"
)
TIES_LEFT_OUT_NOTE: Final = "verdicts that name no single option are left out"


@dataclass(frozen=True, slots=True)
class ChoiceModel:
    """Fit of P(slot s) ∝ exp(θ_option + γ_slot + λ_label): strengths θ, position effects γ and
    label effects λ, which each sum to zero.

    `slots[N]` has the N position effects where N options were shown, `share_if_equal[N]` the share
    of choices for each position if all options were equal. `slots` and `labels` are empty if the
    orders do not separate these effects from the others.
    """

    strength: dict[str, Estimate] = field(default_factory=dict)
    slots: dict[int, tuple[Estimate, ...]] = field(default_factory=dict)
    share_if_equal: dict[int, tuple[Estimate, ...]] = field(default_factory=dict)
    labels: dict[str, Estimate] = field(default_factory=dict)
    log_likelihood: float | None = None
    regularised: bool = False
    note: str = ""


def fit_choice_model(frame: pd.DataFrame, *, min_options: int = 2) -> ChoiceModel:
    """Fit the conditional logit model of ChoiceModel to the choices among `min_options` or more
    options, all judges and prompts pooled.

    Every readable pick of every order counts once; ties and picks of unknown order are left out.
    If no order is known, or the orders do not separate position from content, strengths are fitted
    without position effects. Options that were shown together share one scale of strengths;
    position effects are separate for each number of options. Without a readable choice the model is
    empty, with a note.
    """
    rows = row_selection.select_picks(
        frame.loc[(frame["options"] >= max(min_options, 2)).to_numpy()]
    )
    single = (rows["pick"] >= 0).to_numpy()
    left_out = TIES_LEFT_OUT_NOTE if not single.all() else ""
    rows = rows.loc[single]
    if not len(rows):
        return ChoiceModel(note=join_notes(NO_CHOICES_NOTE, left_out))
    known = row_selection.select_known_order(rows)
    if not len(known):
        return _fit_choice_design(
            _ChoiceDesign(_ChoiceTable(rows), ()), join_notes(ORDER_UNKNOWN_NOTE, left_out)
        )
    table = _ChoiceTable(known)
    crossed = table.labels and not table.is_unidentified("label")
    layout = _ChoiceDesign(table, ("slot", "label") if crossed else ("slot",))
    note = "" if crossed or not table.labels else NOT_CROSSED_NOTE
    if conditional_logit.unidentified_parameters(layout.problem)[layout.columns("slot")].any():
        layout, note = _ChoiceDesign(table, ()), ONE_ORDER_NOTE
    return _fit_choice_design(layout, join_notes(note, left_out))


class _ChoiceTable:
    """Choices as integer codes. `setting` numbers the distinct combinations of options in the order
    shown and their labels."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.names = row_selection.contestants(rows)
        shown = rows["shown"].cat.codes.to_numpy(np.int64)
        called = rows["labels"].cat.codes.to_numpy(np.int64)
        code = shown * (len(rows["labels"].cat.categories) + 1) + called
        _, example, self.setting = np.unique(code, return_index=True, return_inverse=True)
        self.options = row_selection.slot_contestants(rows.take(example), self.names)
        self.label_rows = [str(text).split(SEP) for text in rows["labels"].iloc[example]]
        self.labels = sorted({label for setting in self.label_rows for label in setting})
        self.pick = rows["pick"].to_numpy(np.int64)
        self.item = dense_codes(
            row_selection.resampling_unit(rows).cat.codes.to_numpy().astype(np.int64)
        )
        self.available: Mask = self.options != row_selection.NO_SLOT
        self.sizes = self.available.sum(axis=1)

    @property
    def match_counts(self) -> Ints:
        """Number of choices in which each option was shown."""
        times = np.bincount(self.setting, minlength=len(self.options))
        seen = np.where(self.available, self.options, len(self.names))
        weights = np.repeat(times, self.options.shape[1])
        return np.bincount(seen.ravel(), weights, len(self.names) + 1)[:-1].astype(np.int64)

    def is_unidentified(self, kind: str) -> bool:
        """Whether effects of this kind (slot or label) cannot be separated from other effects."""
        layout = _ChoiceDesign(self, ("slot", "label"))
        return bool(
            conditional_logit.unidentified_parameters(layout.problem)[layout.columns(kind)].any()
        )

    def strength_regressors(self) -> Floats:
        """Regressors of the strengths θ, [setting, slot, column]: the strength of the option shown
        in a slot. In each group of options that are linked by being shown together, strengths sum
        to zero, so that those of m options take m − 1 columns."""
        base = np.repeat(self.options[:, :1], self.options.shape[1], axis=1)[self.available]
        size = len(self.names)
        links = np.zeros((size, size), bool)
        links[base, self.options[self.available]] = True
        label = bradley_terry_fit.graph_components(links)
        blocks = [
            _zero_sum_basis_of_group(np.flatnonzero(label == group), size)
            for group in np.unique(label)
        ]
        basis = np.concatenate(blocks, axis=1)
        return np.asarray(basis[np.maximum(self.options, 0)])

    def slot_regressors(self) -> Floats:
        """Regressors of the position effects, [setting, slot, column]: the option shown in a slot
        gets the effect of this position. One set of effects for each number of options shown, which
        sum to zero; N effects therefore take N − 1 columns."""
        width = self.options.shape[1]
        blocks = []
        for size in np.unique(self.sizes):
            block = np.zeros((len(self.options), width, size - 1))
            block[self.sizes == size, :size] = conditional_logit.zero_sum_basis(int(size))
            blocks.append(block)
        return np.concatenate(blocks, axis=2)

    def label_regressors(self) -> Floats:
        """Regressors of the label effects, [setting, slot, column]: an option gets the effect of
        the label that it was shown under, such as A. The effects sum to zero, so that those of L
        labels take L − 1 columns."""
        place = {label: code for code, label in enumerate(self.labels)}
        basis = conditional_logit.zero_sum_basis(len(self.labels))
        block = np.zeros((*self.options.shape, len(self.labels) - 1))
        for row, labels in enumerate(self.label_rows):
            for slot, label in enumerate(labels):
                block[row, slot] = basis[place[label]]
        return block


def _zero_sum_basis_of_group(members: Ints, size: int) -> Floats:
    """Basis [option, column] of strengths that sum to zero within the group `members` and are zero
    for all other of the `size` options."""
    block = np.zeros((size, len(members) - 1))
    block[members] = conditional_logit.zero_sum_basis(len(members))
    return block


class _ChoiceDesign:
    """The regressors of the model: those of the strengths and of the effects in `kinds` ("slot",
    "label")."""

    def __init__(self, table: _ChoiceTable, kinds: tuple[str, ...]) -> None:
        self.table = table
        blocks = {"strength": table.strength_regressors()}
        if "slot" in kinds:
            blocks["slot"] = table.slot_regressors()
        if "label" in kinds:
            blocks["label"] = table.label_regressors()
        self.width = {kind: block.shape[2] for kind, block in blocks.items()}
        counts, multiplicity = conditional_logit.tally_by_item_kind(
            table.item,
            int(table.item.max()) + 1,
            table.setting,
            table.pick,
            (len(table.options), table.options.shape[1]),
        )
        self.problem = LogitProblem(
            design=np.concatenate(list(blocks.values()), axis=2) * table.available[:, :, None],
            available=table.available,
            tally=counts,
            multiplicity=multiplicity,
            shares=np.eye(table.options.shape[1]),
            pseudo=np.full(table.options.shape[1], PSEUDO_COUNT),
        )

    def columns(self, kind: str) -> Ints:
        """Column numbers of one kind of parameter (strength, slot or label); empty if left out."""
        start = 0
        for name, width in self.width.items():
            if name == kind:
                return start + np.arange(width)
            start += width
        return np.zeros(0, np.int64)

    def pad_weights(self, kind: str, block: Floats) -> Floats:
        """Return weights for all parameters: the columns of one kind (strength, slot or label) are
        those of `block`, all others are zero. Each row is one linear combination."""
        spread = np.zeros((len(block), sum(self.width.values())))
        spread[:, self.columns(kind)] = block
        return spread


def _fit_choice_design(design: _ChoiceDesign, note: str) -> ChoiceModel:
    fitted = conditional_logit.fit_conditional_logit(design.problem)
    effects, shares = _slot_effects(design, fitted)
    return ChoiceModel(
        strength=_strengths(design, fitted),
        slots=effects,
        share_if_equal=shares,
        labels=_label_effects(design, fitted),
        log_likelihood=fitted.log_likelihood,
        regularised=fitted.regularised,
        note=note,
    )


def _strengths(design: _ChoiceDesign, fitted: LogitFit) -> dict[str, Estimate]:
    """Return option -> strength in logits, the strongest first."""
    table = design.table
    first = {int(code): place for place, code in _place_of_each_option(table.options)}
    columns = table.strength_regressors()
    matches = table.match_counts
    found = {}
    for code, name in enumerate(table.names):
        row, slot = first[code]
        weights = design.pad_weights("strength", columns[row, slot][None, :])[0]
        found[name] = fitted.estimate(weights, int(matches[code]), unit="logit", method=METHOD)
    return dict(sorted(found.items(), key=largest_first_sort_key))


def _place_of_each_option(options: Ints) -> list[tuple[tuple[int, int], int]]:
    """List ((setting, slot), option) for each option: one of the places where the option was shown.
    A setting is a list of options in the order shown, with their labels."""
    codes, places = np.unique(options, return_index=True)
    width = options.shape[1]
    return [
        ((int(place) // width, int(place) % width), int(code))
        for code, place in zip(codes, places, strict=True)
        if code != row_selection.NO_SLOT
    ]


def _slot_effects(
    design: _ChoiceDesign, fitted: LogitFit
) -> tuple[dict[int, tuple[Estimate, ...]], dict[int, tuple[Estimate, ...]]]:
    """Return number of options -> position effects in logits, and number of options -> share of
    each position among equal options; both empty without position effects."""
    table = design.table
    effects: dict[int, tuple[Estimate, ...]] = {}
    shares: dict[int, tuple[Estimate, ...]] = {}
    if not len(design.columns("slot")):
        return effects, shares
    columns = table.slot_regressors()
    for size in np.unique(table.sizes):
        row = int(np.flatnonzero(table.sizes == size)[0])
        n = int((table.sizes[table.setting] == size).sum())
        weights = design.pad_weights("slot", columns[row, :size])
        effects[int(size)] = tuple(
            fitted.estimate(each, n, unit="logit", method=METHOD) for each in weights
        )
        shares[int(size)] = _equal_option_shares(fitted, weights, effects[int(size)])
    return effects, shares


def _equal_option_shares(
    fitted: LogitFit, weights: Floats, effects: tuple[Estimate, ...]
) -> tuple[Estimate, ...]:
    """Estimate softmax(γ), the share of each position among equal options; delta method on its
    log-odds. The position effects γ are the linear combinations `weights` of the fitted parameters,
    `effects` are their estimates."""
    effect = weights @ fitted.beta
    share = np.exp(effect - effect.max())
    share /= share.sum()
    found = []
    for place, own in enumerate(effects):
        slope = (np.eye(len(share))[place] - share) @ weights / (1 - share[place])
        error = fitted.clustered_standard_error(slope) if own.low is not None else None
        centre = float(log_odds(share[place]))
        half = None if error is None else error * fitted.t_quantile
        found.append(
            Estimate(
                float(share[place]),
                None if half is None else float(expit(centre - half)),
                None if half is None else float(expit(centre + half)),
                own.n,
                own.items,
                "share",
                0.95,
                own.method,
                own.note,
            )
        )
    return tuple(found)


def _label_effects(design: _ChoiceDesign, fitted: LogitFit) -> dict[str, Estimate]:
    """Return label -> effect in logits; empty if label effects are not fitted."""
    if not len(design.columns("label")):
        return {}
    table = design.table
    weights = design.pad_weights("label", conditional_logit.zero_sum_basis(len(table.labels)))
    times = np.bincount(table.setting, minlength=len(table.options))
    found = {}
    for code, label in enumerate(table.labels):
        here = np.array([label in labels for labels in table.label_rows])
        n = int(times[here].sum())
        found[label] = fitted.estimate(weights[code], n, unit="logit", method=METHOD)
    return found
