"""Card "Improve the prompt" of the view Remedies: how the labelled items are split into learning
and hold-out items (no candidate is made from the hold-out), mistakes by kind, candidates (changed
prompts), and the result of trying them.

A case is a comparison or a single answer. It is labelled if its right verdict is known, and
disputed if it has votes or labels but no majority for one verdict."""

from dataclasses import dataclass, replace
from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.html.format import count
from components.html.markup import EMPTY, Markup
from components.html.tables.forest_cells import Axis
from components.html.tables.typed_columns import TypedColumn, ValueRow, measure_column, page_table
from components.html.tables.value_table import ROUND_PERCENT, SCORE, STYLES
from components.html.templates import macros
from components.results.remedies.improve_actions import (
    judge_and_prompt_to_improve,
    saved_prompts_folder,
    written_rules_and_problem,
)
from judges.operations.prompt_candidates import EXAMPLES, added_lines, find_adopted_version
from judges.rendering.prompt import Prompt, parse_prompt
from judges.rendering.prompt_library import last_version
from metrics.catalogue.records import RECORDS
from metrics.estimation import row_selection
from metrics.summary.alignment import alignment_text
from metrics.summary.alignment.alignment_section import (
    LookResult,
    compare_latest_candidates,
    read_alignment_inputs,
)
from metrics.summary.alignment.candidate_table import CandidateLine, CandidateTable
from metrics.summary.alignment.learn_mistakes import JudgeMistakes, judge_mistakes
from metrics.summary.alignment.prompt_advice import PromptAdvice
from metrics.summary.alignment.side_effects import verdict_kind_of
from studies.domain import Estimate
from studies.people.label_split import LEAST_HOLD_OUT, LabelSplit, Look, draw_split, stored_split
from studies.people.study_labels import PAIRS, SCORES, CaseKey, LabelKind, StudyLabels, read_labels
from studies.spec.derived_names import candidate_study_name
from studies.store.store import Store

TEMPLATE: Final = "results/remedies/improve.html"
MAX_LINKS: Final = 8
"""Maximum number of disputed labels that have a link."""
HOW: Final = (
    "Labelled items are split once, by seed, into learn and hold-out; the parts are stored with "
    "the study and never reshuffled. Candidates are today's prompt with one more block, made from "
    "learn items only. Agreement: of a comparison, the mean credit of its calls (right 1, tie ½, "
    "wrong 0); of a single answer, a verdict equal to the label, or a score at most one step from "
    "it. Differences are paired by item and adjusted for all candidates (max-t) and for the number "
    "of looks at the hold-out (Bonferroni). A candidate that gains and significantly adds flips, "
    "position, length, unusable replies, distance of scores from the labels, or an effect of twins "
    "is not recommended. Length: the share of verdicts for the longer answer minus the share of "
    "known answers that are the longer one; for single answers, the mean verdict on those longer "
    "than the median minus that on the others, at equal labels."
)


@dataclass(frozen=True)
class ImproveCard:
    """Values of the card "Improve the prompt": sizes of the split, mistakes, texts of the form,
    result.

    `mistaken`: number of mistaken verdicts on learn items; `calls`: calls that one candidate needs
    on the hold-out; `owned`: whether the reader may change the study; `blocked`: reason why no
    candidate can be tried here, or ""; `rules`, `writer`: rules that the judge wrote, and its name;
    `problem`: problem of the reply with these rules, or ""; `criteria`: criteria of the study that
    the prompt does not show; `adopt`, `adopted`: version of the prompt that the button would save,
    and that was saved ("" if none); `block`: lines that the candidate `block_of` adds to the
    prompt; `ignores_filters`: whether filters are set that do not apply to the numbers.
    """

    judge: str
    prompt: str
    labels: StudyLabels
    split: LabelSplit
    mistakes: list[tuple[str, Estimate]]
    disputed: tuple[CaseKey, ...]
    mistaken: int
    calls: int
    owned: bool
    blocked: str
    rules: str
    writer: str
    problem: str
    criteria: str
    advice: PromptAdvice | None = None
    adopt: str = ""
    adopted: str = ""
    adopt_kind: str = ""
    block: tuple[str, ...] = ()
    block_of: str = ""
    ignores_filters: bool = False
    least: int = LEAST_HOLD_OUT
    examples: int = EXAMPLES

    @property
    def compares_pairs(self) -> bool:
        """Whether the labels are on comparisons, not on single answers."""
        return self.labels.kind == PAIRS

    @property
    def case_noun(self) -> str:
        return "comparison" if self.compares_pairs else "answer"

    @property
    def label_noun(self) -> str:
        """Words for the label that each case has, such as "a label" or "a verdict of people" (for
        comparisons, "a known better answer" or "a majority of people"); if there are cases of both
        kinds, both, with their numbers."""
        voted = sum(bool(one.votes) for one in self.labels.cases)
        known, by_people = "a label", "a verdict of people"
        if self.compares_pairs:
            known, by_people = "a known better answer", "a majority of people"
        if 0 < voted < len(self.labels.cases):
            return (
                f"{known} ({count(len(self.labels.cases) - voted)}) or {by_people} ({count(voted)})"
            )
        return by_people if voted else known

    @property
    def agreement_definition(self) -> str:
        """Text that defines the agreement shown in the table of candidates."""
        if self.labels.kind == SCORES:
            return "% of scores at most one step from the label"
        voted = sum(bool(one.votes) for one in self.labels.cases)
        labels = "the majority of people" if voted else "known answers"
        if 0 < voted < len(self.labels.cases):
            labels = "known answers and majorities of people"
        return f"% agreement with {labels if self.compares_pairs else 'the labels'}"

    @property
    def disputed_links(self) -> list[tuple[str, dict[str, str]]]:
        """Item of each disputed case, at most MAX_LINKS, and the parameters that open the case in
        Inspect."""
        names = ("item", "contestant", "against")
        return [
            (key[0], {"tab": "inspect", **dict(zip(names, key, strict=False))})
            for key in self.disputed[:MAX_LINKS]
        ]

    @property
    def holdout_trial_count_text(self) -> str:
        """The number of looks (how often candidates were tried on the hold-out) in words: "once",
        "twice", "3 times"."""
        looks = len(self.split.looks)
        return {1: "once", 2: "twice"}.get(looks, f"{looks} times")


def load_labels_and_split(
    store: Store, name: str, kind: LabelKind
) -> tuple[StudyLabels, LabelSplit]:
    """Labels of one kind, and the split of the labelled items into learning and hold-out
    items. A stored split is kept, and items labelled since are added to it; else a new one is
    drawn. This function does not store it."""

    def split_labels(labels: StudyLabels) -> LabelSplit:
        split = draw_split(store.items(name), labels.items, stored_split(store, name))
        return split.select_items(labels.items)

    def read_and_split() -> tuple[StudyLabels, LabelSplit]:
        labels = read_labels(store, name, kind)
        return labels, split_labels(labels)

    found: tuple[StudyLabels, LabelSplit] = store.memoised(
        name, ("labels_and_split", kind), read_and_split
    )
    stored = stored_split(store, name)
    if stored is not None and stored.looks != found[1].looks:
        return found[0], split_labels(found[0])
    return found


def build_improve_card_and_table(filtered: FilteredStudy) -> tuple[ImproveCard, Markup] | None:
    """Build the card "Improve the prompt" of the judge and prompt shown, and the HTML table of
    their latest candidates (empty if none were compared); None without labels, or with more
    labelled cases than MAX_CASES of improve_actions.py."""
    store, name, rater = filtered.store, filtered.name, judge_and_prompt_to_improve(filtered)
    if rater is None:
        return None
    judge, prompt = rater
    frame = filtered.whole_frame_by_person
    own = row_selection.select_rows(frame, (frame["judge"] == judge) & (frame["prompt"] == prompt))
    labels, split = load_labels_and_split(store, name, verdict_kind_of(own))
    found = judge_mistakes(own, judge, prompt, labels.select_items(split.learn))
    known = {spec.name for spec in filtered.study.judges}
    blocked = "" if judge in known else (
        f"{judge} is recorded and cannot be asked here; add it in Study, step “Judge and prompt”, "
        "to try candidates."
    )  # fmt: skip
    written = written_rules_and_problem(store, name, judge, prompt)
    inputs = read_alignment_inputs(store, name) if split.looks else None
    result = None if inputs is None else compare_latest_candidates(inputs, judge, prompt)
    shown, more = EMPTY, {}
    if result is not None:
        latest, table, advice = result
        shown = EMPTY if table is None else candidates_table(table, latest)
        more = _trial_fields(store, name, latest.look, advice)
    orders = 2 if labels.kind == PAIRS else int(own["orders"].max()) if len(own) else 1
    card = ImproveCard(
        judge=judge,
        prompt=prompt,
        labels=labels,
        split=split,
        mistakes=_mistake_rows(found, labels.kind),
        disputed=labels.disputed,
        mistaken=round((found.all.value or 0) * found.all.n) if found is not None else 0,
        calls=max(orders, 1) * len(labels.select_items(split.hold_out).cases),
        owned=store.owns(name) and not store.read_only,
        blocked=blocked,
        rules="\n".join(written[0]),
        writer=judge if written[0] else "",
        problem=written[1],
        criteria=_study_criteria_unless_in_prompt(filtered, prompt),
        ignores_filters=filtered.filter.selects_cases,
        **more,
    )
    return card, shown


def _mistake_rows(found: JudgeMistakes | None, kind: LabelKind) -> list[tuple[str, Estimate]]:
    """Rows of the table of mistakes, (name, share of mistaken verdicts): of all verdicts, then by
    position of the better answer, by label and by category. Empty if mistakes are unknown."""
    if found is None:
        return []
    tie, step = "; a tie is a mistake", "; a mistake is more than one step from the label"
    rows = [("all verdicts" + {PAIRS: tie, SCORES: step}.get(kind, ""), found.all)]
    rows += [(f"better answer shown {name}", one) for name, one in found.by_position.items()]
    rows += [(f"label {name}", one) for name, one in found.by_label.items()]
    return [*rows, *found.by_category.items()]


def _study_criteria_unless_in_prompt(filtered: FilteredStudy, prompt: str) -> str:
    """Criteria of the study, to fill in the form; "" if the prompt already contains them."""
    plain = prompt.partition("@")[0]
    texts = filtered.store.planned_prompt_texts(filtered.name)
    shows = any(
        one.name == plain and "criteria" in one.variables for one in map(parse_prompt, texts)
    )
    return "" if shows else filtered.study.criteria


def _trial_fields(store: Store, name: str, look: Look, advice: PromptAdvice) -> dict[str, Any]:
    """Field of ImproveCard -> value, for the fields on the latest look (trial of candidates on the
    hold-out items): the advice; the lines that the shown candidate adds to the prompt; and, if it
    should be adopted, the version that the button saves and the version already saved."""
    found: dict[str, Any] = {"advice": advice}
    kinds = {one.name: one.kind for one in look.candidates}
    shown = advice.prompt or next(iter(kinds), "")
    prompts = _load_candidate_prompts(store, name, look)
    today = prompts.get(look.prompt.partition("@")[0])
    if today is not None and shown in prompts:
        found["block"] = tuple(added_lines(prompts[shown], today).splitlines())
        found["block_of"] = shown
        if advice.advice == "adopt":
            last = last_version(today.name, saved_prompts_folder(store)) or today
            found["adopt_kind"] = kinds[shown]
            found["adopt"] = f"{today.name}@{max(last.version, today.version) + 1}"
            if find_adopted_version(prompts[shown], today, saved_prompts_folder(store)) is not None:
                found["adopted"] = f"{today.name}@{last.version}"
    return found


def _load_candidate_prompts(store: Store, name: str, look: Look) -> dict[str, Prompt]:
    study = candidate_study_name(name, look.judge, look.prompt)
    parsed = [parse_prompt(text) for text in store.planned_prompt_texts(study)]
    return {one.name: one for one in parsed}


AGREEMENT: Final = measure_column("candidate_agreement", "agreement", "Agreement")
EFFECT_COLUMNS: Final = {
    "flips": ("Flips", ROUND_PERCENT),
    "first_share": ("First position", ROUND_PERCENT),
    "length_excess": ("Length, points", STYLES["points"]),
    "distance": ("Distance", SCORE),
}
"""Key of a side effect -> head and number format of its column."""


def _effect_column(key: str) -> TypedColumn:
    head, style = EFFECT_COLUMNS[key]
    return TypedColumn(head, lambda line: line.effects[key], style)


def _candidate_columns(table: CandidateTable) -> list[TypedColumn]:
    """Columns of agreement, difference and the side effects that apply."""
    agreement = AGREEMENT
    if table.kind == SCORES:
        agreement = replace(AGREEMENT, head=f"{RECORDS['scores.within_one'].name}, %")
    plot = TypedColumn("", lambda line: line.agreement, axis=Axis())
    difference = measure_column("candidate_difference", "difference", "Difference")
    effects = [_effect_column(one.key) for one in alignment_text.effects_with_column(table)]
    return [plot, agreement, difference, *effects]


def candidates_table(table: CandidateTable, result: LookResult) -> Markup:
    """HTML table of today's prompt and the candidates, measured on the hold-out items; with a
    column on the effects of twins (answers with one change that should not matter), if twins
    were judged."""

    def tokens(line: CandidateLine) -> int | None:
        found = result.call_tokens(line.prompt)
        return None if found is None else round(found)

    def row(line: CandidateLine) -> ValueRow:
        if line.status == "today":
            return ValueRow(line.prompt, line, note="today")
        return ValueRow(f"+ {line.prompt.rpartition('+')[2]}", line)

    def calls(line: CandidateLine) -> int:
        return result.call_count(line.prompt)

    def twins(line: CandidateLine) -> str:
        return alignment_text.format_twin_effect(line.prompt, result)

    def status(line: CandidateLine) -> str:
        return "" if line.status == "today" else alignment_text.format_status(line, table)

    more = [
        TypedColumn("Calls", calls, tip="calls on the hold-out"),
        TypedColumn("Tokens", tokens, tip="mean tokens of a call, prompt and reply"),
    ]
    if result.twins:
        tip = "largest effect beyond its floor, 95 % CI adjusted for all families and prompts"
        more.append(TypedColumn("Twins", twins, tip=tip))
    columns = (*_candidate_columns(table), *more, TypedColumn("", status))
    return page_table("Prompt", columns, map(row, table.lines), "Candidates on the hold-out")


def render_improve_prompt_card(filtered: FilteredStudy) -> Markup | None:
    """Render the card "Improve the prompt", and above it the result of the latest look (trial of
    candidates on the hold-out), if there was one; None without labels, or with over MAX_CASES."""
    found = build_improve_card_and_table(filtered)
    if found is None:
        return None
    (card, table), template = found, macros(TEMPLATE)
    drawn = template.improve(card)
    return drawn if card.advice is None else template.result(card, table) + drawn
