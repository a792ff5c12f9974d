"""What people verified, answer by answer, and whether judges prefer the answers that stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from components.agreement.data import Agreement
from components.drawing.panels import Action, button, wrap
from components.drawing.tracks import Cell, Row, axis_cell, bar, diamond, link, point, table, track
from components.drawing.tracks import spread_axis as axis_for
from components.format import NONE, count, decimal, interval, number, percent, rich, safe
from components.inspect.verified import (
    ANY,
    APART,
    FOLLOWS,
    HARMFUL,
    MISLED,
    NEITHER,
    SAID,
    bits_of,
)
from components.rows import ALL, contestants_in
from components.scene import Scene
from components.voices import select_of
from metrics import selection
from metrics.concord import PEOPLE
from metrics.measures import Evidence
from metrics.verification import FAULTS, Findings, Verified
from studies.frame import SEP, TIE
from studies.records import REFERENCE, Check, Estimate
from studies.verified import Checks, checks_of

HEADS: Final = (
    "Verified", "Follow it, %", "Answer's fault, %", "Caption's fault, %", "Neither's, %",
    "Harmful, %",
)  # fmt: skip
EVERYBODY: Final = "all answers"
MOST_LISTED: Final = 8


@dataclass(frozen=True, eq=False)
class Seen:
    """The verifications that the filters leave, beside the verdicts that they leave."""

    data: Agreement
    checks: Checks
    verified: Verified

    @property
    def any(self) -> bool:
        return len(self.verified) > 0


def seen(data: Agreement) -> Seen:
    """Read anew each time: a verification is no judgement, so it changes no frame."""
    scene = data.voices.scene
    checks = _filtered(scene, checks_of(scene.store, scene.name))
    return Seen(data, checks, Verified(checks))


def _filtered(scene: Scene, checks: Checks) -> Checks:
    chosen = scene.filter
    if checks and chosen.category != ALL:
        facts = scene.store.narrow_items(scene.name)
        checks = {i: c for i, c in checks.items() if facts[i]["category"] == chosen.category}
    if not chosen.contestants:
        return checks
    kept = {i: tuple(c for c in said if c.contestant in chosen.contestants)
            for i, said in checks.items()}  # fmt: skip
    return {item: said for item, said in kept.items() if said}


def told(one: Seen) -> str:
    """Under the heading: how many words, about how many answers, by whom."""
    if not one.any:
        return ""
    got = one.verified.verifiers
    who = "1 person" if got.people == 1 else f"{count(got.people)} people"
    return f"{count(len(one.verified), 'verification')} of {count(got.answers, 'answer')} by {who}"


def show_verified(one: Seen) -> str:
    """Shares by contestant, how far verifiers agree, whom judges prefer, where they do not."""
    if not one.any:
        return ""
    return _contestants(one) + _agreement(one) + _judges(one) + _misled(one)


# -------------------------------------------------------------------------------- contestants


def _contestants(one: Seen) -> str:
    by = one.verified.by_contestant
    ranked = sorted(by, key=lambda name: -(by[name].follows.value or 0.0))
    here, behind = set(contestants_in(one.data.voices.rows)), _behind(one)
    lines = [
        Row([Cell(link(_named(name), _opens(name, here)), "nm"), *_cells(by[name], behind, name)])
        for name in ranked
    ]
    if len(by) > 1:
        cells = _cells(one.verified.overall, behind)
        lines.append(Row([Cell(EVERYBODY, "nm"), *cells], kind="who"))
    heads = [Cell("Answers of", "nm"), *(Cell(safe(head)) for head in HEADS)]
    return table(heads, lines, "numbers", "Verified answers, by contestant")


def _named(contestant: str) -> str:
    return "the reference" if contestant == REFERENCE else contestant


def _opens(contestant: str, here: set[str]) -> Mapping[str, object] | None:
    """What is compared somewhere can be read there; a reference that never plays cannot."""
    return {"contestant": contestant} if contestant in here else None


Behind = Mapping[str, int]
"""By contestant, "" for all: what was verified of answers that are compared, as bits of SAID."""


def _behind(one: Seen) -> Behind:
    """A number is a link where Inspect has what it counts: not of what no judge compared."""
    rows = one.data.voices.rows
    rows = selection.rows_of(rows, rows["item"].isin(list(one.checks)))
    group, groups = selection.group_codes(rows, ("item", "comparison"))
    first = rows.iloc[selection.first_rows(group, groups)]
    places = zip(first["item"].astype(str), first["comparison"].astype(str), strict=True)
    compared = {(item, name) for item, names in places for name in names.split(SEP)}
    found = dict.fromkeys(("", *one.verified.contestants), 0)
    for item, said in one.checks.items():
        for check in said:
            if (item, check.contestant) in compared:
                for whose in ("", check.contestant):
                    found[whose] |= bits_of(check)
    return found


def _cells(got: Findings, behind: Behind, name: str = "") -> list[Cell]:
    whose = {"contestant": name} if name else {}
    opens = [
        {**whose, "verified": kind} if behind[name] & 1 << SAID.index(kind) else None
        for kind in (ANY, FOLLOWS, *FAULTS, NEITHER, HARMFUL)
    ]
    shares = (got.follows, got.fault_answer, got.fault_caption, got.fault_neither, got.harmful)
    told = f'<span class="lb">{safe(HEADS[0])}</span>{link(count(got.follows.n), opens[0])}'
    return [
        Cell(told, "num"),
        *(_share(*one) for one in zip(HEADS[1:], shares, opens[1:], strict=True)),
    ]


def _share(head: str, estimate: Estimate, opens: Mapping[str, object] | None) -> Cell:
    label = f'<span class="lb">{safe(head)}</span>'
    if estimate.value is None:
        none = f'<span class="eh-mute" data-tip="{safe(estimate.note)}">{NONE}</span>'
        return Cell(label + none, "num")
    tip = f"n {count(estimate.n)}, {count(estimate.items, 'item')}"
    value = f'<b data-tip="{tip}">{link(number(100 * estimate.value, 0), opens)}</b>'
    return Cell(f'{label}{value} <span class="eh-ci">{interval(estimate, 0, scale=100)}</span>')


# ---------------------------------------------------------------------------------- verifiers


def _agreement(one: Seen) -> str:
    got = one.verified.verifiers
    if not got.twice:
        words = "No answer was verified by two people, so that how far they agree is not known."
    else:
        words = (
            f"{count(got.twice, 'answer')} verified by two or more: two people say the same in "
            f"**{percent(got.same)}**, κ {_plain(got.kappa)}, Krippendorff's α {_plain(got.alpha)}."
        )
    return wrap(f'<p class="eh-small eh-under">{rich(words)}</p>')


def _plain(estimate: Estimate) -> str:
    return f"not known ({estimate.note})" if estimate.value is None else decimal(estimate, 2)


# ------------------------------------------------------------------------------------- judges


def _judges(one: Seen) -> str:
    """Of two answers, one verified as following and one as failing: which one is preferred?"""
    lines = _preferences(one)
    if not lines:
        words = (
            "No judge has compared an answer that follows the instruction with one that does not, "
            "as far as people verified them."
        )
        return wrap(f'<p class="eh-small eh-mute eh-under">{words}</p>')
    axis = axis_for([e for _, e, _ in lines], holds=(0.5, 1.0), bounds=(0, 1))
    axis = replace(axis, chance=0.5)
    heads = [
        Cell("Prefers the one that follows", "nm"), axis_cell(axis), Cell("%", "num d"),
        Cell("Ties, %", "num m"),
    ]  # fmt: skip
    rows = []
    for name, prefers, ties in lines:
        people = name == PEOPLE
        marks = diamond(axis, prefers) if people else track(
            axis, bar("v", axis, prefers.low, prefers.high), point("p", axis, prefers.value)
        )  # fmt: skip
        opens = None if people else select_of(one.data.voices, name) | {"verified": APART}
        tied = {**opens, "slot": TIE} if opens and ties.value else None
        cells = [
            Cell(link(name, opens), "nm"), Cell(marks, "trk"), Cell(_value(prefers), "num d"),
            Cell(_value(ties, tied), "num m"),
        ]  # fmt: skip
        tip = f"{name}\n{percent(prefers)}\nties {percent(ties)}; a coin 50"
        rows.append(Row(cells, tip=tip, kind="who" if people else ""))
    head = "<h3>Do judges prefer the answer that follows the instruction?</h3>"
    made = table(heads, rows, "short", "Judges on pairs of which one answer fails", axis)
    return wrap(f'<div class="eh-beside">{head}{made}</div>')


def _preferences(one: Seen) -> list[tuple[str, Estimate, Estimate]]:
    """(voice, prefers the one that follows, ties), the best first, people last."""
    voices, verified = one.data.voices, one.verified
    evidence = Evidence(voices.machines, ["judge"])
    prefers = verified.prefers_following.each(evidence)
    ties = verified.ties_apart.each(evidence)
    found = [(cell[0], prefers[cell], ties[cell]) for cell in ties if ties[cell].n]
    found.sort(key=lambda line: -(line[1].value if line[1].value is not None else -1.0))
    votes = one.data.people_rows
    if (tied := verified.ties_apart.of(votes)).n:
        found.append((PEOPLE, verified.prefers_following.of(votes), tied))
    return found


def _value(estimate: Estimate, opens: Mapping[str, object] | None = None) -> str:
    if estimate.value is None:
        return f'<span class="eh-mute" data-tip="{safe(estimate.note)}">{NONE}</span>'
    value = link(number(100 * estimate.value, 0), opens)
    return f'<b>{value}</b> <span class="eh-ci">{interval(estimate, 0, scale=100)}</span>'


# --------------------------------------------------------------------------- where they do not


@dataclass(frozen=True, slots=True)
class Misled:
    """One pair on which verdicts prefer the answer that fails."""

    item: str
    follows: str
    fails: str
    wrong: int
    decided: int


def misled(one: Seen) -> list[Misled]:
    """Pairs on which judges prefer what fails: most of them first, then the most verdicts."""
    rows = one.verified.mixed(one.data.voices.machines)
    rows = selection.rows_of(rows, rows["right"] >= 0)
    wrong: Counter[tuple[str, str]] = Counter()
    decided: Counter[tuple[str, str]] = Counter()
    for item, names, right in zip(rows["item"], rows["comparison"], rows["right"], strict=True):
        place = (str(item), str(names))
        decided[place] += 1
        wrong[place] += not right
    standing = one.verified.standing
    found = [
        Misled(item, *sorted(names.split(SEP), key=lambda n: not standing[item, n]), bad,
               decided[item, names])
        for (item, names), bad in wrong.items()
        if bad
    ]  # fmt: skip
    return sorted(found, key=lambda m: (-m.wrong / m.decided, -m.wrong, m.item))


def _misled(one: Seen) -> str:
    found = misled(one)
    if not found:
        return ""
    scene, top = one.data.voices.scene, found[:MOST_LISTED]
    questions = scene.store.questions(scene.name, {m.item for m in top})
    head = (
        '<div class="eh-dl h"><span>Question</span><span>Fails, as verified</span>'
        "<span>Prefer it all the same</span><span></span></div>"
    )
    rows = "".join(_line(m, one.checks, questions.get(m.item) or m.item) for m in top)
    more = len(found) - len(top)
    all_of_them = link(f"and {count(more)} more", {"verified": MISLED})
    rest = f'<p class="eh-small eh-mute">{all_of_them}</p>' if more > 0 else ""
    title = "<h3>Where an answer that fails is preferred</h3>"
    body = f'<div class="eh-dl-box">{head}{rows}</div>{rest}'
    return wrap(f'<div class="eh-beside">{title}{body}</div>')


def _line(one: Misled, checks: Mapping[str, tuple[Check, ...]], question: str) -> str:
    said = [check for check in checks[one.item] if check.contestant == one.fails]
    no = [check for check in said if not check.follows]
    faults = Counter(f"the {check.fault}'s fault" for check in no if check.fault)
    why = f", {faults.most_common(1)[0][0]}" if faults else ""
    words = " ".join(question.split())[:160]
    select = {"item": one.item, "contestant": one.follows, "against": one.fails}
    return (
        f'<div class="eh-dl"><span class="q" dir="auto">{safe(words)}</span>'
        f'<span class="eh-small"><b>{safe(_named(one.fails))}</b> <span class="eh-mute">'
        f"{len(no)} of {len(said)} say no{safe(why)}</span></span>"
        f'<span class="eh-small">{count(one.wrong)} of {count(one.decided, "verdict")} '
        f'<span class="eh-mute">against {safe(_named(one.follows))}</span></span>'
        f"{button(Action('Open', select), small=True)}</div>"
    )
