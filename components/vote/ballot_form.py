"""The kind of ballot that a study uses, and the parts of an item that voters see."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from components.inspect.load_comparison import ItemImage, item_images
from judges.rendering.messages import rubric_criteria
from judges.rendering.prompt import Prompt, load_prompt, parse_prompt
from judges.verdicts.verdict_formats import PASS_FAIL_FORMAT, RUBRIC_FORMAT
from studies.domain import REFERENCE, Item
from studies.errors import EvenhandError
from studies.people.next_ballot import VoterProgress
from studies.spec.presets import PRESETS
from studies.store.ballot_queries import Ballot, BallotMode
from studies.store.queries.plan_queries import count_pair_multi_and_strong_verdicts
from studies.store.store import Store

DEFAULT_SCALE: Final = ("1", "2", "3", "4", "5")
"""Scale of "score" ballots in a study whose prompts declare no scale."""


class ModeTexts(NamedTuple):
    """Texts of a kind of ballot: its name, the noun of one ballot, the task of a voter, and the
    question above the answers."""

    name: str
    noun: str
    task: str
    question: str


_ONE: Final = "You read a question and one answer, and"
_TWO: Final = "You read a question and two answers, and say which is better"
MODES: Final[Mapping[BallotMode, ModeTexts]] = MappingProxyType(
    {
        "pair": ModeTexts(
            "A / tie / B", "pair", f"{_TWO}.",
            "Which answer follows the instruction better? A good answer follows it fully and is "
            "factual, helpful and accurate.",
        ),
        "levels": ModeTexts(
            "Five levels", "pair", f"{_TWO} and by how much.",
            "Which answer is better by the criteria, and by how much?",
        ),
        "options": ModeTexts(
            "Pick one of several", "question",
            "You read a question and several answers, and pick the best.",
            "Which answer is the most helpful one that follows the instruction?",
        ),
        "verify": ModeTexts(
            "Verification", "answer", f"{_ONE} say whether it follows the instruction.",
            "Does this answer correctly follow the instruction?",
        ),
        "pass": ModeTexts(
            "Pass or fail", "answer", f"{_ONE} say whether it is good enough.",
            "Is this answer good enough by the criteria?",
        ),
        "score": ModeTexts(
            "Score", "answer", f"{_ONE} give it a score.",
            "Which score does this answer get by the criteria?",
        ),
        "rubric": ModeTexts(
            "Rubric", "answer", f"{_ONE} give it a level on each criterion.",
            "Which level does this answer reach on each criterion?",
        ),
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BallotForm:
    """The kind of ballot that a study uses. `mode`: a pair, five levels, one of several options,
    verification, pass or fail, a score, or a rubric (several criteria, each with a score)."""

    mode: BallotMode
    origin: str
    """Text on the reason for this kind of ballot, shown to voters and organisers."""
    reference: bool = False
    """Whether voters see the item's reference answer; never in a study with a preset."""
    scale: tuple[str, ...] = DEFAULT_SCALE
    """Options of a "score" ballot, from the lowest to the highest."""
    criteria: str = ""
    """Criteria of the study, for ballots on one answer."""
    rubric: tuple[tuple[str, str], ...] = ()
    """Name and description of each criterion of a "rubric" ballot."""


@dataclass(frozen=True, slots=True)
class BallotContent:
    """An item as shown to a voter, without model names or verdicts."""

    instruction: str
    task: str
    texts: tuple[str, ...]
    """The answers in the order of the ballot."""
    images: tuple[ItemImage, ...] = ()
    context: str = ""
    criteria: str = ""
    reference: str = ""
    scale: tuple[str, ...] = ()
    """Options of a "score" or "rubric" ballot."""
    rubric: tuple[tuple[str, str], ...] = ()
    """Name and description of each criterion of a "rubric" ballot."""


@dataclass(frozen=True, slots=True)
class BallotState:
    """A ballot, with everything that its screen shows to one voter."""

    name: str
    ballot: Ballot
    content: BallotContent
    standing: VoterProgress
    earlier_vote: Mapping[str, Any] | None = None
    """The voter's stored vote on this ballot, in the form in which the vote button sends it."""
    timed: bool = True
    name_fixed: bool = False
    """Whether the name belongs to an account and cannot be changed here."""
    notice_text: str = ""
    is_warning: bool = False
    retry_time: float = 0.0
    """Time of an action that failed or got a notice. It is written into the HTML, because the
    browser unlocks the buttons only if the HTML has changed."""
    mark: str = ""
    """Short hash of study, item and answers, by which the page tells two ballots apart."""


def load_ballot_form(store: Store, study: str) -> BallotForm:
    """The kind of ballot of a study; computed again whenever the study is saved."""
    saved = store.version(study)[0]
    return store.memoised(
        study, ("ballot form",), lambda: _load_complete_ballot_form(store, study), saved
    )


def _load_complete_ballot_form(store: Store, study: str) -> BallotForm:
    """The kind of ballot, with scale and criteria of the study's prompts for single answers."""
    prompts = _load_prompts(store, study)
    form, own = _choose_ballot_form(store, study), store.study(study).criteria
    with_rubric = next((prompt for prompt in prompts if prompt.rubric), None)
    scaled = with_rubric if form.mode == "rubric" else None
    scale = next((one.scale for one in (scaled, *prompts) if one and one.scale), DEFAULT_SCALE)
    rubric = _list_rubric_criteria(with_rubric, own) if with_rubric else ()
    criteria = own or (_criteria_text(with_rubric) if with_rubric else "")
    return replace(form, scale=scale, criteria=criteria, rubric=rubric)


def _list_rubric_criteria(prompt: Prompt, criteria: str) -> tuple[tuple[str, str], ...]:
    """(name, description) of each criterion of a rubric: those in the study's `criteria` or, if
    these are empty or do not fit the rubric, those in the prompt."""
    try:
        return tuple(rubric_criteria(prompt, criteria).items())
    except EvenhandError:
        return prompt.rubric


def _criteria_text(prompt: Prompt) -> str:
    return "\n".join(f"{name}: {text}" for name, text in prompt.rubric)


_POINT_MODES: Final[Mapping[str, BallotMode]] = {PASS_FAIL_FORMAT: "pass", RUBRIC_FORMAT: "rubric"}
"""Verdict format of prompts for single answers -> kind of ballot; "score" for all other formats."""


def _choose_ballot_form(store: Store, study: str) -> BallotForm:
    prompts = _load_prompts(store, study)
    preset = PRESETS.get(store.study(study).preset)
    shows = any("reference" in prompt.variables for prompt in prompts) and preset is None
    protocols = {prompt.protocol for prompt in prompts}
    asked = "the same kind of verdict as the study's prompts ask for"
    because = f"as {preset.title} asks people" if preset else asked
    if "five-level" in protocols:
        return BallotForm("levels", because, shows)
    if "choice" in protocols and "pairwise" not in protocols:
        return BallotForm("options", because, shows)
    if protocols & {"pairwise", "choice"}:
        labelled = [one.format for one in prompts if one.format.labels != "none"]
        if not preset and labelled and not any(one.ties for one in labelled):
            because = "as the study's prompts ask, and a tie, which they do not offer"
        return BallotForm("pair", because, shows)
    if offered := [prompt for prompt in prompts if prompt.options]:
        return BallotForm(_POINT_MODES.get(offered[0].verdict, "score"), because, shows)
    return _form_from_verdicts(store, study)


def _form_from_verdicts(store: Store, study: str) -> BallotForm:
    """Kind of ballot for a study whose prompts do not determine one, such as one of imported
    verdicts. It follows the verdicts of the judges: several options if most verdicts are on more
    than two answers, else a pair, with five levels if some verdicts are "much better". Without
    verdicts, a pair."""
    pairs, more, strong = count_pair_multi_and_strong_verdicts(store, study)
    if more > pairs:
        return BallotForm("options", "the same kind of verdict as the study contains")
    return BallotForm(
        "levels" if strong else "pair",
        "the same kind of verdict as the study contains" if pairs else "the default",
    )


def _load_prompts(store: Store, study: str) -> list[Prompt]:
    if sent := store.planned_prompt_texts(study):  # the study file may name them by their paths
        return [parse_prompt(text, study) for text in sent]
    found = []
    for name in store.study(study).prompts:
        with contextlib.suppress(EvenhandError):  # the prompt file is missing
            found.append(load_prompt(name))
    return found


def build_ballot_content(
    store: Store, study: str, form: BallotForm, ballot: Ballot, item: Item
) -> BallotContent:
    """Content of a ballot as a voter sees it. The item's reference answer is included if
    `form.reference` is set, but not on a verification, nor if the ballot shows it as one of the
    answers."""
    images = item_images(store, study, item)
    criteria = item.criteria.get("subjective", "") if ballot.mode in ("pair", "levels") else ""
    if ballot.mode in ("pass", "score"):
        criteria = form.criteria
    hidden = ballot.mode == "verify" or REFERENCE in ballot.shown or not form.reference
    return BallotContent(
        item.instruction,
        item.meta.get("task", "") or item.category,
        tuple(item.answer(name) for name in ballot.shown),
        images,
        _context_text(item),
        criteria,
        "" if hidden else item.reference,
        form.scale if ballot.mode in ("score", "rubric") else (),
        form.rubric if ballot.mode == "rubric" else (),
    )


def _context_text(item: Item) -> str:
    if isinstance(item.context, str):
        return item.context
    return "\n\n".join(f"Image {k}: {text}" for k, text in enumerate(item.context, 1))
