"""Injection suspects in the results: texts that seem to give the judge instructions. Their number,
their effect on win rates, and a report section with the main results with and without them.

Suspects are excluded only if the user chooses so; their effect on win rates is shown in any
case."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import WITH_SUSPECTS, WITHOUT_SUSPECTS, rater_names
from components.filtering.memo import memoise_by_study
from components.html.format import DASH, NARROW_SPACE, count, percent, share
from components.html.markup import EMPTY, Markup
from components.html.pieces import Action, notice_html, panel_html
from components.html.tables.table import plain_table
from components.inspect.injection_marks import texts_shown
from components.inspect.url_selection import ONLY_SUSPECTS
from metrics.catalogue.position_records import CONSISTENCY, FIRST_SHARE
from metrics.estimation.measures import GroupedFrame
from metrics.win_rates.win_rates import win_rates_by_cell
from studies.domain import Estimate
from studies.frames.frame import SEP, SUSPECT_COLUMN
from studies.texts.injection import INSTRUCTION, RULE_DESCRIPTIONS, find_echoed_spans, find_suspects

MAX_REPLIES_SCANNED: Final = 200
"""Maximum number of replies searched for repeated injection text; further replies are ignored."""
MAX_ROWS: Final = 20
"""Maximum number of models, or of judges with a prompt, per measure; further ones are left out."""
SECTION_TITLE: Final = "Injection suspects"
COMPARED_MEASURES: Final = tuple((one.name, one.estimator) for one in (CONSISTENCY, FIRST_SHARE))
SUSPECTS_SELECTION: Final = {"suspect": ONLY_SUSPECTS}
"""Filter with which the button "Read the suspects" opens Inspect."""


@dataclass(frozen=True, slots=True)
class WinRateShift:
    """Win rate of one model with and without the injection suspects."""

    name: str
    rate_with: float
    rate_without: float


@dataclass(frozen=True, slots=True)
class InjectionEffect:
    """The injection suspects among the filtered judgements, and their effect on win rates.

    `texts`, `items`: numbers of suspect texts and of items with one. `judgements` of
    `total_judgements` show a suspect text; `echo_count`: number of replies that repeat one, among
    the first MAX_REPLIES_SCANNED of these. `largest_shift`: the win rate that suspects change most;
    None if no win rate is known without them.
    """

    texts: int
    items: int
    judgements: int
    total_judgements: int
    echo_count: int
    largest_shift: WinRateShift | None


def include_injection_suspects(filtered: FilteredStudy) -> FilteredStudy:
    """The study with the same filters, except the filter that leaves out injection suspects."""
    return replace(filtered, filter=replace(filtered.filter, suspects=WITH_SUSPECTS))


@memoise_by_study
def injection_effect(filtered: FilteredStudy) -> InjectionEffect | None:
    """Counts of the injection suspects among the filtered judgements, and the win rate that they
    change most. They are counted even if the filter leaves them out. None without suspects."""
    included = include_injection_suspects(filtered)
    if SUSPECT_COLUMN not in filtered.unfiltered_frame or not included.frame[SUSPECT_COLUMN].any():
        return None
    rows = included.frame[included.frame[SUSPECT_COLUMN]]
    texts = suspect_text_places(filtered, rows)
    return InjectionEffect(
        texts=len(texts),
        items=len({item for item, _ in texts}),
        judgements=len(rows),
        total_judgements=len(included.frame),
        echo_count=_count_replies_with_echo(filtered, rows["seq"].tolist()),
        largest_shift=_largest_win_rate_shift(included),
    )


def suspect_text_places(filtered: FilteredStudy, rows: pd.DataFrame) -> list[tuple[str, str]]:
    """The suspect texts that judges saw in `rows`, each as (item, place). The place is
    "@instruction" for the instruction of the item, or the name of the model whose answer it is."""
    shown: dict[str, set[str]] = defaultdict(set)
    for item, contestants in rows[["item", "shown"]].drop_duplicates().itertuples(index=False):
        shown[item].update(contestants.split(SEP))
    return [
        (item, where)
        for item, facts in filtered.store.item_facts(filtered.name).items()
        for where in facts["suspects"]
        if item in shown and (where == INSTRUCTION or where in shown[item])
    ]


def _largest_win_rate_shift(included: FilteredStudy) -> WinRateShift | None:
    without = replace(included, filter=replace(included.filter, suspects=WITHOUT_SUSPECTS))
    rates = (win_rates_by_cell(one.counted_outcomes, ()) for one in (included, without))
    here, there = (one.get((), {}) for one in rates)
    known = [
        WinRateShift(name, one.value, there[name].value or 0.0)
        for name, one in here.items()
        if one.value is not None and name in there and there[name].value is not None
    ]
    return max(known, key=_shift_sort_key, default=None)


def _shift_sort_key(shift: WinRateShift) -> tuple[float, float]:
    """Sort key: the absolute change of the win rate when suspects (answers that seem to instruct
    the judge) are included; of two equal changes, the one that raises the win rate has the larger
    key."""
    change = round(shift.rate_with - shift.rate_without, 9)
    return abs(change), change


def _count_replies_with_echo(filtered: FilteredStudy, seqs: Sequence[int]) -> int:
    """Number of replies that repeat a suspect text which the call showed. `seqs` are sequence
    numbers of calls that show one; only the first MAX_REPLIES_SCANNED are read."""
    keys = filtered.store.keys_by_seq(seqs[:MAX_REPLIES_SCANNED])
    found = (filtered.store.judgement(filtered.name, key) for key in keys.values())
    return sum(
        bool(find_echoed_spans(one.reply, texts_shown(item, one.ask.shown)))
        for one in found
        if one is not None
        and one.reply
        and (item := filtered.store.item(filtered.name, one.ask.item)) is not None
    )


def suspects_notice(filtered: FilteredStudy) -> Markup:
    """HTML notice: number of suspects, and the win rate they change most, with and without them;
    empty without suspects."""
    text = suspects_notice_title_and_text(filtered)
    opens = Action("Read the suspects", SUSPECTS_SELECTION)
    return notice_html("warn", *text, opens) if text else EMPTY


def suspects_notice_title_and_text(filtered: FilteredStudy) -> tuple[str, str] | None:
    """Title and text of the notice on injection suspects; None if there are none."""
    found = injection_effect(filtered)
    if found is None:
        return None
    many = f"{count(found.texts, 'injection suspect')} in {count(found.items, 'item')}"
    left_out = filtered.filter.suspects == WITHOUT_SUSPECTS
    verb = "is" if found.texts == 1 else "are"
    title = f"{many} {verb} excluded." if left_out else f"{many}."
    rows = f"{count(found.judgements)} of {count(found.total_judgements, 'judgement')}"
    shown = f"In {rows}, the question or an answer has text that seems addressed to the judge."
    sentences = [f"{rows} are not counted." if left_out else shown]
    sentences.append(_shift_sentence(found.largest_shift, left_out))
    if found.echo_count:
        verb = "repeats" if found.echo_count == 1 else "repeat"
        sentences.append(f"{count(found.echo_count, 'reply')} {verb} the text of a suspect.")
    return title, " ".join(sentences)


def _shift_sentence(shift: WinRateShift | None, left_out: bool) -> str:
    if shift is None:
        return (
            "Without injection suspects no verdict is left: their effect on win rates is unknown."
        )
    here, there = shift.rate_with, shift.rate_without
    if left_out:
        here, there = there, here
    decimals = 0 if abs(here - there) >= 0.02 else 1
    seen, other = share(here, decimals), share(there, decimals)
    word = "With" if left_out else "Without"
    if seen == other:
        return f"{word} injection suspects, all win rates are the same as here, to 0.1 points."
    return f"{word} injection suspects, the win rate of {shift.name} is {other} instead of {seen}."


# --------------------------------------------------------------------- section of the report


@dataclass(frozen=True, slots=True)
class SuspectComparison:
    """One measure of a model, or of a judge and prompt, with and without injection suspects."""

    measure_name: str
    subject: str
    with_suspects: Estimate | None
    without_suspects: Estimate | None

    @property
    def has_estimate(self) -> bool:
        """Whether at least one of the two estimates has a value."""
        both = (self.with_suspects, self.without_suspects)
        return any(one is not None and one.value is not None for one in both)


def injection_report_section(filtered: FilteredStudy) -> Markup:
    text = suspects_notice_title_and_text(filtered)
    if text is None:
        rules = len(RULE_DESCRIPTIONS)
        none = (
            f"No text addressed to the judge was found: {rules} rules searched all questions and "
        )
        none += "answers for known wordings."
        if len(filtered.store.frame(filtered.name, "only")):
            none += " Changed copies of answers (twins) were not searched."
        return panel_html(SECTION_TITLE, "texts addressed to the judge", notice_html("calm", none))
    by_rule = count_suspect_texts_by_rule(filtered).most_common()
    found = [(rule, RULE_DESCRIPTIONS[rule], count(n)) for rule, n in by_rule]
    numbers = []
    for one in compare_with_and_without_suspects(filtered):
        if one.has_estimate:
            values = map(_estimate_text, (one.with_suspects, one.without_suspects))
            numbers.append((one.measure_name, one.subject, *values))
    heads = ("Measure", "Model or judge", "With these texts", "Without these texts")
    return panel_html(
        SECTION_TITLE,
        "texts addressed to the judge; all measures of this report include them unless stated "
        f"otherwise; 95{NARROW_SPACE}% CI",
        notice_html("warn", *text)
        + plain_table(("Rule", "Matches a text that", "Number of texts"), found)
        + plain_table(heads, numbers),
    )


def count_suspect_texts_by_rule(filtered: FilteredStudy) -> Counter[str]:
    """Name of a detection rule -> number of texts that match it, among the texts shown to judges.
    Texts that the filter on suspects leaves out count too."""
    filtered = include_injection_suspects(filtered)
    rows = filtered.frame[filtered.frame[SUSPECT_COLUMN]]
    seen = suspect_text_places(filtered, rows)
    items = {
        name: filtered.store.item(filtered.name, name) for name in dict.fromkeys(n for n, _ in seen)
    }
    rules = {
        (name, one.where): one.rules
        for name, item in items.items()
        if item is not None
        for one in find_suspects(item)
    }
    return Counter(rule for text in seen for rule in rules.get(text, ()))


def compare_with_and_without_suspects(filtered: FilteredStudy) -> list[SuspectComparison]:
    """Measures with and without suspects: win rates by model, then consistency and first-position
    share by judge and prompt, at most MAX_ROWS of each; also if the filter leaves suspects out."""
    filtered = include_injection_suspects(filtered)
    without = replace(filtered, filter=replace(filtered.filter, suspects=WITHOUT_SUSPECTS))
    rates = (win_rates_by_cell(one.counted_outcomes, ()) for one in (filtered, without))
    here, there = (one.get((), {}) for one in rates)
    best = sorted(here, key=lambda name: (-(here[name].value or 0), name))
    shown = best[:MAX_ROWS]
    made = [SuspectComparison("Win rate", name, here[name], there.get(name)) for name in shown]
    names = rater_names(filtered.measured_judge_rows)
    for what, measure in COMPARED_MEASURES:
        known, rest = (
            measure.by_cell(GroupedFrame(one.measured_judge_rows, ["judge", "prompt"]))
            for one in (filtered, without)
        )
        measured = [(cell, name) for cell, name in names.items() if cell in known]
        made += [
            SuspectComparison(what, name, known[cell], rest.get(cell))
            for cell, name in measured[:MAX_ROWS]
        ]
    return made


def _estimate_text(estimate: Estimate | None) -> str:
    return DASH if estimate is None else percent(estimate)
