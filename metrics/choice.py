"""Conditional logit for one choice among N options: strengths beside slot and label effects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.special import logit as log_odds

from metrics import logit
from metrics.battles import Floats, Ints, dense
from metrics.bt_fit import linked
from metrics.intervals import joined
from metrics.logit import (
    PSEUDO_COUNT,
    Fit,
    LikelihoodRatio,
    Mask,
    Problem,
    by_value,
)
from metrics.measures import ORDER_UNKNOWN
from metrics.selection import ABSENT, contestants, ordered, picked, slots
from studies.frame import SEP
from studies.records import Estimate

METHOD: Final = "conditional logit"
NO_CHOICES: Final = "no readable choice"
ONE_ORDER: Final = (
    "place and content cannot be told apart in the orders that were read: run rotations; "
    "strengths still hold the places in them"
)
NOT_CROSSED: Final = "labels go with places: cross them to tell the two apart"
TIES_LEFT_OUT: Final = "verdicts that name no single option are left out"


@dataclass(frozen=True, slots=True)
class ChoiceModel:
    """P(slot s) ∝ exp(θ_option + γ_slot + λ_label), each kind of effect summing to zero.

    `slots[N]` are the N place effects where N options were shown, `share_if_equal[N]` what each
    place would get among equal options, against 1/N. `labels` is empty where labels go with places.
    """

    strength: dict[str, Estimate] = field(default_factory=dict)
    slots: dict[int, tuple[Estimate, ...]] = field(default_factory=dict)
    share_if_equal: dict[int, tuple[Estimate, ...]] = field(default_factory=dict)
    labels: dict[str, Estimate] = field(default_factory=dict)
    slot_test: LikelihoodRatio | None = None
    label_test: LikelihoodRatio | None = None
    log_likelihood: float | None = None
    regularised: bool = False
    note: str = ""


def choice_model(frame: pd.DataFrame, *, least: int = 2) -> ChoiceModel:
    """Fit the choices among `least` or more options; pool judges and prompts, or filter before.

    Every readable pick of every order counts once; picks whose order is not known are left out,
    unless there are no others: then there are strengths and no places. Options that were shown
    together share one scale of strengths; places have their own effects for each number of options.
    """
    rows = picked(frame.loc[(frame["options"] >= max(least, 2)).to_numpy()])
    single = (rows["pick"] >= 0).to_numpy()
    left_out = TIES_LEFT_OUT if not single.all() else ""
    rows = rows.loc[single]
    if not len(rows):
        return ChoiceModel(note=joined(NO_CHOICES, left_out))
    known = ordered(rows)
    if not len(known):
        return _model(_Layout(_Table(rows), ()), joined(ORDER_UNKNOWN, left_out))
    table = _Table(known)
    crossed = table.labels and not table.open("label")
    layout = _Layout(table, ("slot", "label") if crossed else ("slot",))
    note = "" if crossed or not table.labels else NOT_CROSSED
    if logit.unidentified(layout.problem)[layout.columns("slot")].any():
        layout, note = _Layout(table, ()), ONE_ORDER
    return _model(layout, joined(note, left_out))


class _Table:
    """Choices as codes: one setting per distinct (options in order, labels in order)."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.names = contestants(rows)
        shown = rows["shown"].cat.codes.to_numpy(np.int64)
        called = rows["labels"].cat.codes.to_numpy(np.int64)
        code = shown * (len(rows["labels"].cat.categories) + 1) + called
        _, example, self.setting = np.unique(code, return_index=True, return_inverse=True)
        self.options = slots(rows.take(example), self.names)
        self.called = [str(text).split(SEP) for text in rows["labels"].iloc[example]]
        self.labels = sorted({label for setting in self.called for label in setting})
        self.pick = rows["pick"].to_numpy(np.int64)
        self.item = dense(rows["item"].cat.codes.to_numpy().astype(np.int64))
        self.available: Mask = self.options != ABSENT
        self.sizes = self.available.sum(axis=1)

    @property
    def matches(self) -> Ints:
        """How often each option was in a choice."""
        times = np.bincount(self.setting, minlength=len(self.options))
        seen = np.where(self.available, self.options, len(self.names))
        weights = np.repeat(times, self.options.shape[1])
        return np.bincount(seen.ravel(), weights, len(self.names) + 1)[:-1].astype(np.int64)

    def open(self, kind: str) -> bool:
        """Whether this kind of effect cannot be told from the others."""
        layout = _Layout(self, ("slot", "label"))
        return bool(logit.unidentified(layout.problem)[layout.columns(kind)].any())

    def strength_columns(self) -> Floats:
        """Contrasts of θ within each group of options that were shown together."""
        base = np.repeat(self.options[:, :1], self.options.shape[1], axis=1)[self.available]
        size = len(self.names)
        links = np.zeros((size, size), bool)
        links[base, self.options[self.available]] = True
        label = linked(links)
        blocks = [_spread(np.flatnonzero(label == group), size) for group in np.unique(label)]
        basis = np.concatenate(blocks, axis=1)
        return np.asarray(basis[np.maximum(self.options, 0)])

    def slot_columns(self) -> Floats:
        """Contrasts of place effects, apart for each number of options."""
        width = self.options.shape[1]
        blocks = []
        for size in np.unique(self.sizes):
            block = np.zeros((len(self.options), width, size - 1))
            block[self.sizes == size, :size] = logit.contrasts(int(size))
            blocks.append(block)
        return np.concatenate(blocks, axis=2)

    def label_columns(self) -> Floats:
        """Contrasts of label effects."""
        place = {label: code for code, label in enumerate(self.labels)}
        basis = logit.contrasts(len(self.labels))
        block = np.zeros((*self.options.shape, len(self.labels) - 1))
        for row, called in enumerate(self.called):
            for slot, label in enumerate(called):
                block[row, slot] = basis[place[label]]
        return block


def _spread(members: Ints, size: int) -> Floats:
    block = np.zeros((size, len(members) - 1))
    block[members] = logit.contrasts(len(members))
    return block


class _Layout:
    """Which columns of the design belong to strengths, slots and labels."""

    def __init__(self, table: _Table, kinds: tuple[str, ...]) -> None:
        self.table = table
        blocks = {"strength": table.strength_columns()}
        if "slot" in kinds:
            blocks["slot"] = table.slot_columns()
        if "label" in kinds:
            blocks["label"] = table.label_columns()
        self.width = {kind: block.shape[2] for kind, block in blocks.items()}
        counts, multiplicity = logit.tally(
            table.item,
            int(table.item.max()) + 1,
            table.setting,
            table.pick,
            (len(table.options), table.options.shape[1]),
        )
        self.problem = Problem(
            design=np.concatenate(list(blocks.values()), axis=2) * table.available[:, :, None],
            available=table.available,
            tally=counts,
            multiplicity=multiplicity,
            shares=np.eye(table.options.shape[1]),
            pseudo=np.full(table.options.shape[1], PSEUDO_COUNT),
        )

    def columns(self, kind: str) -> Ints:
        start = 0
        for name, width in self.width.items():
            if name == kind:
                return start + np.arange(width)
            start += width
        return np.zeros(0, np.int64)

    def weights(self, kind: str, block: Floats) -> Floats:
        """Rows of a block of contrasts as weights on all parameters."""
        spread = np.zeros((len(block), sum(self.width.values())))
        spread[:, self.columns(kind)] = block
        return spread


def _model(layout: _Layout, note: str) -> ChoiceModel:
    fitted = logit.fit(layout.problem)
    effects, shares = _slot_effects(layout, fitted)
    return ChoiceModel(
        strength=_strengths(layout, fitted),
        slots=effects,
        share_if_equal=shares,
        labels=_label_effects(layout, fitted),
        slot_test=_test(layout, fitted, "slot"),
        label_test=_test(layout, fitted, "label"),
        log_likelihood=fitted.log_likelihood,
        regularised=fitted.regularised,
        note=note,
    )


def _test(layout: _Layout, fitted: Fit, kind: str) -> LikelihoodRatio | None:
    columns = layout.columns(kind)
    return logit.likelihood_ratio(layout.problem, fitted, columns) if len(columns) else None


def _strengths(layout: _Layout, fitted: Fit) -> dict[str, Estimate]:
    table = layout.table
    first = {int(code): place for place, code in _first_places(table.options)}
    columns = table.strength_columns()
    matches = table.matches
    found = {}
    for code, name in enumerate(table.names):
        row, slot = first[code]
        weights = layout.weights("strength", columns[row, slot][None, :])[0]
        found[name] = fitted.estimate(weights, int(matches[code]), unit="logit", method=METHOD)
    return dict(sorted(found.items(), key=by_value))


def _first_places(options: Ints) -> list[tuple[tuple[int, int], int]]:
    """One (setting, slot) at which each option stands."""
    codes, places = np.unique(options, return_index=True)
    width = options.shape[1]
    return [
        ((int(place) // width, int(place) % width), int(code))
        for code, place in zip(codes, places, strict=True)
        if code != ABSENT
    ]


def _slot_effects(
    layout: _Layout, fitted: Fit
) -> tuple[dict[int, tuple[Estimate, ...]], dict[int, tuple[Estimate, ...]]]:
    table = layout.table
    effects: dict[int, tuple[Estimate, ...]] = {}
    shares: dict[int, tuple[Estimate, ...]] = {}
    if not len(layout.columns("slot")):
        return effects, shares
    columns = table.slot_columns()
    for size in np.unique(table.sizes):
        row = int(np.flatnonzero(table.sizes == size)[0])
        n = int((table.sizes[table.setting] == size).sum())
        weights = layout.weights("slot", columns[row, :size])
        effects[int(size)] = tuple(
            fitted.estimate(each, n, unit="logit", method=METHOD) for each in weights
        )
        shares[int(size)] = _shares(fitted, weights, effects[int(size)])
    return effects, shares


def _shares(fitted: Fit, weights: Floats, effects: tuple[Estimate, ...]) -> tuple[Estimate, ...]:
    """softmax(γ): each place's share among equal options, by the delta method on its log-odds."""
    effect = weights @ fitted.beta
    share = np.exp(effect - effect.max())
    share /= share.sum()
    found = []
    for place, own in enumerate(effects):
        slope = (np.eye(len(share))[place] - share) @ weights / (1 - share[place])
        error = fitted.error(slope) if own.low is not None else None
        centre = float(log_odds(share[place]))
        half = None if error is None else error * fitted.quantile
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


def _label_effects(layout: _Layout, fitted: Fit) -> dict[str, Estimate]:
    if not len(layout.columns("label")):
        return {}
    table = layout.table
    weights = layout.weights("label", logit.contrasts(len(table.labels)))
    times = np.bincount(table.setting, minlength=len(table.options))
    found = {}
    for code, label in enumerate(table.labels):
        here = np.array([label in called for called in table.called])
        n = int(times[here].sum())
        found[label] = fitted.estimate(weights[code], n, unit="logit", method=METHOD)
    return found
