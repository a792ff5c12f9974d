"""Panel on verified answers: people check whether single answers follow the instruction, have a
fault or are harmful. It shows the pass rate by model, and how often judges prefer an answer
that passes."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import ALL_CHOICE
from components.filtering.raters import rater_filters
from components.html.format import count, decimal, percent
from components.html.markup import EMPTY, Markup, fill, link
from components.html.pieces import paragraph, wrap
from components.html.tables import range_table as range_tables
from components.html.tables.forest_cells import fit_share_axis as axis_for
from components.html.tables.table import TableCell
from components.inspect.verification_filter import (
    ANY_CHECK,
    CHECK_OUTCOMES,
    FOLLOWS,
    HARMFUL,
    NEITHER,
    ONE_FOLLOWS,
    PREFERRED_FAILS,
    verification_bits,
)
from components.results.agreement.computed import Agreement
from components.results.agreement.disputes import html, shorten_question
from components.results.agreement.panels import estimate_html
from metrics.agreement.pairwise_agreement import PEOPLE
from metrics.estimation import row_selection
from metrics.estimation.measures import GroupedFrame
from metrics.people.verification import FAULTS, VerificationArrays, VerificationShares
from studies.domain import REFERENCE, Estimate
from studies.frames.frame import SEP, TIE
from studies.people.verifications import ChecksByItem, checks_of_answers

CONTESTANT_HEADS: Final = (
    "Verified",
    "Follow the instruction, %",
    "Answer's fault, % of no",
    "Caption's fault, % of no",
    "Neither's fault, % of no",
    "Harmful, %",
)
ALL_ANSWERS: Final = "all answers"
MAX_MISJUDGED: Final = 8


@dataclass(frozen=True, eq=False)
class VerificationData:
    """People's checks of single answers in a filtered study (does the answer follow the
    instruction, does it have faults, is it harmful): by item in `checks`, and as arrays in
    `verified`. `data` is the agreement of the study's raters (judges, each with a prompt, and
    people)."""

    data: Agreement
    checks: ChecksByItem
    verified: VerificationArrays

    @property
    def has_checks(self) -> bool:
        return len(self.verified) > 0


def load_answer_verifications(data: Agreement) -> VerificationData:
    """Load the verifications of the answers that pass the filters on category and models."""
    filtered = data.raters.filtered
    checks = _filter_checks(filtered, checks_of_answers(filtered.store, filtered.name))
    return VerificationData(data, checks, VerificationArrays(checks))


def _filter_checks(filtered: FilteredStudy, checks: ChecksByItem) -> ChecksByItem:
    chosen = filtered.filter
    if checks and chosen.category != ALL_CHOICE:
        facts = filtered.store.item_facts(filtered.name)
        checks = {i: c for i, c in checks.items() if facts[i]["category"] == chosen.category}
    if not chosen.contestants:
        return checks
    selected = {
        item: tuple(check for check in found if check.contestant in chosen.contestants)
        for item, found in checks.items()
    }
    return {item: found for item, found in selected.items() if found}


def verification_subtitle(verification: VerificationData) -> str:
    """Subtitle of the panel: numbers of verifications, answers and people."""
    got = verification.verified.verifier_agreement
    checked = count(len(verification.verified), "verification")
    return f"{checked} of {count(got.answers, 'answer')} by {count(got.people, 'person')}"


def show_answer_verifications(verification: VerificationData) -> Markup:
    """HTML of the panel: pass rates, agreement of verifiers, judges' preferences, misjudged
    pairs."""
    return (
        _verification_by_model_table(verification)
        + _verifier_agreement_sentence(verification)
        + _passing_answer_preferences_table(verification)
        + _misjudged_pairs_list(verification)
    )


# -------------------------------------------------------------------------------- contestants


def _verification_by_model_table(verification: VerificationData) -> Markup:
    by = verification.verified.by_contestant
    here = set(row_selection.contestants(verification.data.raters.rows))
    behind, lines = _outcomes_of_compared_answers(verification), []
    for name in sorted(by, key=lambda name: -(by[name].follows.value or 0.0)):
        who = link(_displayed_contestant_name(name), {"contestant": name} if name in here else None)
        cells = _verification_share_cells(by[name], behind, name)
        lines.append(range_tables.range_row(who, *cells))
    if len(by) > 1:
        cells = _verification_share_cells(verification.verified.overall, behind)
        lines.append(range_tables.range_row(ALL_ANSWERS, *cells, kind="who"))
    heads = [TableCell("Answers of", "nm"), *map(TableCell, CONTESTANT_HEADS)]
    return range_tables.range_table(heads, lines, "numbers", "Verified answers, by model")


def _displayed_contestant_name(contestant: str) -> str:
    return "the reference" if contestant == REFERENCE else contestant


InspectableBits = Mapping[str, int]
"""Model ("" for all models) -> bit set of the verification outcomes (CHECK_OUTCOMES) that occur
among the model's compared answers."""


def _outcomes_of_compared_answers(verification: VerificationData) -> InspectableBits:
    """Model -> bit set of the verification outcomes (such as passed or harmful) among those of
    its answers that judges or people compared; the key "" pools all models. Only these outcomes
    have comparisons that a click can open."""
    rows = verification.data.raters.rows
    rows = row_selection.select_rows(rows, rows["item"].isin(list(verification.checks)))
    group, groups = row_selection.group_codes(rows, ("item", "comparison"))
    first = rows.iloc[row_selection.first_row_per_group(group, groups)]
    places = zip(first["item"].astype(str), first["comparison"].astype(str), strict=True)
    compared = {(item, name) for item, names in places for name in names.split(SEP)}
    found = dict.fromkeys(("", *verification.verified.contestants), 0)
    for item, checks in verification.checks.items():
        for check in checks:
            if (item, check.contestant) in compared:
                for whose in ("", check.contestant):
                    found[whose] |= verification_bits(check)
    return found


def _verification_share_cells(
    found: VerificationShares, inspectable: InspectableBits, name: str = ""
) -> list[Markup]:
    """Cells of the row of the model `name`, or of all models if it is "": the number of
    verifications, and the shares of answers that follow the instruction, have each fault, and
    are harmful. A number is a link if `inspectable` says that some compared answer has this
    outcome."""
    whose = {"contestant": name} if name else {}
    opens = [
        {**whose, "verified": kind} if inspectable[name] & 1 << CHECK_OUTCOMES.index(kind) else None
        for kind in (ANY_CHECK, FOLLOWS, *FAULTS, NEITHER, HARMFUL)
    ]
    faults = (found.fault_answer, found.fault_caption, found.fault_neither)
    shares = (found.follows, *faults, found.harmful)
    cells = [fill('<span class="lb">{}</span>', CONTESTANT_HEADS[0])]
    cells[0] += link(count(found.follows.n), opens[0])
    for head, one, where in zip(CONTESTANT_HEADS[1:], shares, opens[1:], strict=True):
        tip = f"n {count(one.n)}, {count(one.items, 'item')}"
        cells.append(estimate_html(one, head=head, tip=tip, opens=where))
    return cells


# ---------------------------------------------------------------------------------- verifiers


def _verifier_agreement_sentence(verification: VerificationData) -> Markup:
    got = verification.verified.verifier_agreement
    words = "No answer was verified by two people, so agreement between verifiers is unknown."
    if got.twice:
        words = (
            f"Two or more people verified {count(got.twice, 'answer')}. Two verifiers of one "
            f"answer agree in **{percent(got.same)}** of cases, κ {_estimate_text(got.kappa)}, "
            f"Krippendorff's α {_estimate_text(got.alpha)}."
        )
    return paragraph(words)


def _estimate_text(estimate: Estimate) -> str:
    return f"unknown ({estimate.note})" if estimate.value is None else decimal(estimate, 2)


# ------------------------------------------------------------------------------------- judges


def _passing_answer_preferences_table(verification: VerificationData) -> Markup:
    """HTML table: how often each judge prefers the answer that passes, on pairs of one passing and
    one failing answer; a sentence if no judge compared such a pair."""
    lines = _list_passing_answer_preferences(verification)
    if not lines:
        words = (
            "No judge has compared an answer verified as following the instruction with one "
            "verified as not following it."
        )
        return paragraph(words, "eh-small eh-mute eh-under")
    axis = axis_for([e for _, e, _ in lines], holds=(0.5, 1.0), bounds=(0, 1))
    axis = replace(axis, chance=0.5)
    first = "Judge (% of its decisive verdicts that choose the answer that follows the instruction)"
    heads = [
        TableCell(first, "nm"),
        range_tables.axis_cell(axis),
        TableCell("Verdicts, %", "num d"),
        TableCell("Ties, %", "num m"),
    ]
    rows = []
    for name, prefers, ties in lines:
        people = name == PEOPLE
        marks = range_tables.people_track(axis, prefers)
        opens: dict[str, str] | None = None
        if not people:
            marks = range_tables.track_html(axis, *range_tables.interval_marks("p", axis, prefers))
            opens = rater_filters(verification.data.raters, name) | {"verified": ONE_FOLLOWS}
        tied = {**opens, "slot": TIE} if opens and ties.value else None
        cells = (marks, estimate_html(prefers), estimate_html(ties, opens=tied))
        tip = f"{name}\n{percent(prefers)}\nties {percent(ties)}; chance 50\u202f%"
        who = link(name, opens)
        rows.append(range_tables.range_row(who, *cells, tip=tip, kind="who" if people else ""))
    head = Markup("<h3>Do judges prefer the answer that follows the instruction?</h3>")
    label = "Preferences of judges on pairs in which exactly one answer follows the instruction"
    made = range_tables.range_table(heads, rows, "short", label, axis)
    return wrap(fill('<div class="eh-beside">{}{}</div>', head, made))


def _list_passing_answer_preferences(
    verification: VerificationData,
) -> list[tuple[str, Estimate, Estimate]]:
    """For each rater, on pairs of one passing and one failing answer: (name, share of decisive
    verdicts for the passing answer, share of ties). Judges come first, sorted by descending share
    for the passing answer; people come last."""
    verified = verification.verified
    evidence = GroupedFrame(verification.data.raters.rows_of_model_judges, ["judge"])
    prefers = verified.following_preference_measure.by_cell(evidence)
    ties = verified.tie_measure_if_one_answer_follows.by_cell(evidence)
    found = [(cell[0], prefers[cell], ties[cell]) for cell in ties if ties[cell].n]
    found.sort(key=lambda line: -(line[1].value if line[1].value is not None else -1.0))
    votes = verification.data.people_rows
    if (tied := verified.tie_measure_if_one_answer_follows.estimate(votes)).n:
        found.append((PEOPLE, verified.following_preference_measure.estimate(votes), tied))
    return found


# ------------------------------------------------------------------------- misjudged pairs


@dataclass(frozen=True, slots=True)
class MisjudgedPair:
    """A pair in which some verdicts prefer the answer that fails verification."""

    item: str
    follows: str
    fails: str
    wrong_verdicts: int
    decided_verdicts: int


def misjudged_pairs(verification: VerificationData) -> list[MisjudgedPair]:
    """Pairs of one passing and one failing answer in which at least one verdict of a model judge
    prefers the failing one; the highest share of such verdicts first."""
    machine = verification.data.raters.rows_of_model_judges
    rows = verification.verified.select_verdicts_where_one_answer_follows(machine)
    rows = row_selection.select_rows(rows, rows["right"] >= 0)
    wrong: Counter[tuple[str, str]] = Counter()
    decided: Counter[tuple[str, str]] = Counter()
    for item, names, right in zip(rows["item"], rows["comparison"], rows["right"], strict=True):
        place = (str(item), str(names))
        decided[place] += 1
        wrong[place] += not right
    standing = verification.verified.follows_instruction_by_majority
    found = [
        MisjudgedPair(item, follows, fails, bad, decided[item, names])
        for (item, names), bad in wrong.items()
        if bad
        for follows, fails in [sorted(names.split(SEP), key=lambda n: not standing[item, n])]
    ]
    return sorted(
        found, key=lambda m: (-m.wrong_verdicts / m.decided_verdicts, -m.wrong_verdicts, m.item)
    )


def _misjudged_pairs_list(verification: VerificationData) -> Markup:
    found = misjudged_pairs(verification)
    if not found:
        return EMPTY
    filtered, top = verification.data.raters.filtered, found[:MAX_MISJUDGED]
    questions = filtered.store.questions(filtered.name, {m.item for m in top})
    rows = []
    for pair in top:
        about = [one for one in verification.checks[pair.item] if one.contestant == pair.fails]
        no = [check for check in about if not check.follows]
        faults = Counter(f"the {check.fault}'s fault" for check in no if check.fault)
        why = f", {faults.most_common(1)[0][0]}" if faults else ""
        names = (_displayed_contestant_name(pair.fails), _displayed_contestant_name(pair.follows))
        question = shorten_question(questions.get(pair.item) or pair.item)
        rows.append((pair, question, *names, len(no), len(about), why))
    more, rest = len(found) - len(top), EMPTY
    if more > 0:
        opens = link(f"and {count(more)} more", {"verified": PREFERRED_FAILS})
        rest = fill('<p class="eh-small eh-mute">{}</p>', opens)
    return html.misjudged(rows, rest)
