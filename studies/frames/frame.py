"""The judgement frame that metrics read: a DataFrame with one row per judgement, which has integer
codes and categoricals but no texts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from studies.domain import HUMAN_PREFIX, STATUSES, USABLE_STATUSES, Preference
from studies.frames import known_answers, point_columns
from studies.frames.columns import JudgementColumns, NumberListColumn
from studies.frames.frame_codes import NO_PICK as NO_PICK
from studies.frames.frame_codes import SEP as SEP
from studies.frames.frame_codes import SUSPECT_COLUMN as SUSPECT_COLUMN
from studies.frames.frame_codes import TIE as TIE
from studies.texts.injection import INSTRUCTION

QUESTION_COLUMN: Final = "question"
"""Column: id of the question or conversation of an item. The frame has this column only if several
items share one, for example as turns of a conversation. Intervals then resample questions."""

RIGHT_COLUMN: Final = "right"
"""Column: 1 if the pick is one of the right answers, 0 if not, −1 if unknown. The frame has this
column only if a comparison has three options or more."""
RIGHT_OPTIONS_COLUMN: Final = "right_options"
"""Column beside `right`: number of right answers among the options, −1 if unknown."""


def frame_from_rows(
    rows: Iterable[tuple[Any, ...]] | JudgementColumns,
    items: Mapping[str, Mapping[str, Any]],
    *,
    study: str,
    families: Mapping[str, str] | None = None,
    judge_families: Mapping[str, str] | None = None,
    scale_of: point_columns.ScaleLookup | None = None,
) -> pd.DataFrame:
    """Build the frame of a study from `Store.frame_rows` (`rows`) and `Store.item_facts` (`items`).

    `families` maps contestants to model families, `judge_families` maps judges to them. `scale_of`
    returns a prompt's options from the lowest to the highest (empty if unknown), which gives named
    options their ranks.
    """
    columns = rows if isinstance(rows, JudgementColumns) else JudgementColumns(rows, NO_PICK)
    shown_codes, arrangements = columns.codes("shown"), columns.distinct_texts("shown")
    parts = [tuple(text.split(SEP)) for text in arrangements]
    item_codes, item_names = columns.codes("item"), columns.distinct_texts("item")
    judge = _sorted_categorical(columns.codes("judge"), columns.distinct_texts("judge"))
    item_facts = [items.get(name, {}) for name in item_names]
    slots = _SlotTable(parts)
    comparison = _comparison_column(shown_codes, parts)
    status = _status_column(columns)
    usable = np.isin(status.codes, [STATUSES.index(name) for name in USABLE_STATUSES])
    frame = pd.DataFrame(
        {
            "study": _categorical(np.zeros(len(columns), np.int8), [study]),
            "item": _categorical(item_codes, item_names),
            "category": _category_column(item_codes, item_facts),
            "judge": judge,
            "prompt": _sorted_categorical(
                columns.codes("prompt"), columns.distinct_texts("prompt")
            ),
            "shown": _categorical(shown_codes, arrangements),
            "labels": _sorted_categorical(*point_columns.labels_with_ranks(columns, scale_of)),
            "comparison": comparison,
            "options": _values_by_code(shown_codes, [len(names) for names in parts], np.int8),
            "orders": columns.integers("orders"),
            "repeat": columns.integers("repeat"),
            "noise": columns.integers("noise"),
            "status": status,
            "pick": np.where(usable, columns.integers("pick"), np.int8(NO_PICK)),
            "margin": np.where(usable, columns.integers("margin"), np.int8(0)),
            "known_answer": _known_answer_column(
                item_codes, shown_codes, comparison, item_facts, slots, judge
            ),
            "seq": columns.integers("seq"),
        }
    )
    for slot, column in enumerate(("first", "second")):
        frame[column] = _categorical(slots.contestant_in_slot(shown_codes, slot), slots.known)
    _add_number_columns(frame, "score", columns.scores, slots.width)
    _add_number_columns(frame, "p", columns.probabilities, slots.width)
    point_columns.add_single_answer_columns(frame, columns, usable)
    _add_length_columns(frame, item_codes, shown_codes, item_facts, slots)
    _add_family_columns(frame, shown_codes, parts, families or {}, judge_families or {})
    questions = [
        str(facts.get("question") or name)
        for name, facts in zip(item_names, item_facts, strict=True)
    ]
    if len(set(questions)) < len(questions):
        frame[QUESTION_COLUMN] = _question_column(item_codes, questions)
    if any(facts.get("suspects") for facts in items.values()):
        frame[SUSPECT_COLUMN] = _injection_flag_column(item_codes, shown_codes, item_facts, slots)
    labels = [facts.get("labels") or {} for facts in item_facts]
    if (gold := point_columns.gold_column(frame, labels)) is not None:
        frame[point_columns.GOLD_COLUMN] = gold
    point_columns.add_criterion_labels(frame, [facts.get("levels") or {} for facts in item_facts])
    if slots.width > 2:
        _add_right_pick_columns(frame, item_codes, item_facts)
    return frame


def has_known_answers(frame: pd.DataFrame) -> bool:
    """Whether any comparison has a known right answer or, among three options or more, several
    equally right answers. A known tie alone does not count."""
    columns = [one for one in ("known_answer", RIGHT_COLUMN) if one in frame]
    return bool((frame[columns] >= 0).to_numpy().any())


def _add_right_pick_columns(
    frame: pd.DataFrame, item_codes: np.ndarray, item_facts: Sequence[Mapping[str, Any]]
) -> None:
    """Add two columns: whether a pick is one of the right answers (1 or 0), and the number of right
    answers among the options; both are −1 where no right answer is known.

    Of three options or more, several can be equally good; `known_answer` is then a tie. A person's
    pick is compared with the votes of the others. Row n is about the item with code
    `item_codes[n]`; `item_facts[k]` has the facts (such as the preferences) of the item with code
    k.
    """
    comparisons = frame["comparison"].cat
    options = [tuple(str(name).split(SEP)) for name in comparisons.categories]
    persons, own = _persons_of_rows(frame["judge"].array)
    pairs = item_codes.astype(np.int64) * len(options) + comparisons.codes
    keys, inverse = np.unique(pairs * len(persons) + own, return_inverse=True)
    people = [_parse_preferences(facts.get("human") or ()) for facts in item_facts]
    best = [
        known_answers.best_answers(
            _votes_of_other_people(people[pair // len(options)], persons[person]),
            options[pair % len(options)],
        )
        if len(options[pair % len(options)]) > 1
        else ()
        for pair, person in zip(*np.divmod(keys, len(persons)), strict=True)
    ]
    sizes = np.asarray([len(names) or -1 for names in best], np.int8)[inverse]
    shown = [tuple(str(name).split(SEP)) for name in frame["shown"].cat.categories]
    picks, arrangement = frame["pick"].to_numpy(), frame["shown"].cat.codes
    right = [
        pick >= 0 and shown[code][pick] in best[at]
        for pick, code, at in zip(picks, arrangement, inverse, strict=True)
    ]
    frame[RIGHT_COLUMN] = np.where(sizes > 0, np.asarray(right, np.int8), np.int8(-1))
    frame[RIGHT_OPTIONS_COLUMN] = sizes


def _categorical(codes: np.ndarray, names: Sequence[str]) -> pd.Categorical[str]:
    return pd.Categorical.from_codes(codes, pd.Index(list(names), dtype="str"))


def _question_column(item_codes: np.ndarray, questions: Sequence[str]) -> pd.Categorical[str]:
    codes, names = pd.factorize(np.asarray(questions, dtype=object))
    return _categorical(_values_by_code(item_codes, codes.tolist(), np.int32), names.tolist())


def _values_by_code(codes: np.ndarray, values: Sequence[Any], dtype: Any) -> np.ndarray:
    """Return `values[code]` for each code, as an array of the type `dtype`; zeros if there are no
    values."""
    return np.asarray(values, dtype)[codes] if len(values) else np.zeros(len(codes), dtype)


def _status_column(columns: JudgementColumns) -> pd.Categorical[str]:
    known: dict[str, int] = {name: code for code, name in enumerate(STATUSES)}
    codes = [known.get(name, -1) for name in columns.distinct_texts("status")]
    return _categorical(_values_by_code(columns.codes("status"), codes, np.int8), STATUSES)


class _SlotTable:
    """Table of the contestant in each slot (position) of each order of answers. It has one row
    per order; a cell is the contestant's code, or -1 if the order has fewer slots."""

    def __init__(self, parts: Sequence[tuple[str, ...]]) -> None:
        self.known = sorted({name for part in parts for name in part})
        self.code_by_name = {name: code for code, name in enumerate(self.known)}
        self.width = max((len(part) for part in parts), default=0)
        self.names: np.ndarray = np.full((len(parts), max(self.width, 2)), -1, np.int32)
        for row, part in enumerate(parts):
            self.names[row, : len(part)] = [self.code_by_name[name] for name in part]

    def contestant_in_slot(self, shown: np.ndarray, slot: int) -> np.ndarray:
        """Return the code of the contestant in `slot` for each order `shown[k]`, -1 if it has no
        such slot."""
        return np.asarray(self.names[shown, slot])

    def slot_of(self, shown: np.ndarray, contestant: np.ndarray) -> np.ndarray:
        """Return, for each k, the slot of `contestant[k]` in the order `shown[k]`; undefined if
        this order does not show the contestant."""
        return np.asarray(np.argmax(self.names[shown] == contestant[:, None], axis=1))


def _category_column(
    codes: np.ndarray, item_facts: Sequence[Mapping[str, Any]]
) -> pd.Categorical[str]:
    of_item = [str(facts.get("category", "")) for facts in item_facts]
    return _sorted_categorical(codes, of_item)


def _comparison_column(codes: np.ndarray, shown: Sequence[tuple[str, ...]]) -> pd.Categorical[str]:
    return _sorted_categorical(codes, [SEP.join(sorted(part)) for part in shown])


def _sorted_categorical(codes: np.ndarray, names: Sequence[str]) -> pd.Categorical[str]:
    """Make a categorical with sorted categories; `codes` index `names`, which may contain
    duplicates."""
    known = sorted(set(names))
    code_of = {name: code for code, name in enumerate(known)}
    return _categorical(_values_by_code(codes, [code_of[name] for name in names], np.int32), known)


def _add_number_columns(
    frame: pd.DataFrame, prefix: str, numbers: NumberListColumn, width: int
) -> None:
    """Add scores or probabilities to the frame, one column `<prefix>_<slot>` for each of `width`
    slots; no column is added if no row has such numbers."""
    table = numbers.to_array(width)
    if table is not None:
        for slot in range(width):
            frame[f"{prefix}_{slot}"] = table[:, slot]


def _add_length_columns(
    frame: pd.DataFrame,
    item_codes: np.ndarray,
    shown_codes: np.ndarray,
    item_facts: Sequence[Mapping[str, Any]],
    slots: _SlotTable,
) -> None:
    """Add the length in characters of each answer shown, -1 if unknown; no column is added if all
    lengths are unknown. Row n is about the item with code `item_codes[n]` and shows the answers of
    `slots` with code `shown_codes[n]`; `item_facts[k]` has the facts (such as the lengths) of the
    item with code k."""
    lengths = np.full(
        (len(item_facts), len(slots.known) + 1), -1, np.int32
    )  # the last column is for empty slots
    for row, facts in enumerate(item_facts):
        for name, length in (facts.get("lengths") or {}).items():
            if name in slots.code_by_name:
                lengths[row, slots.code_by_name[name]] = length
    if (lengths >= 0).any():
        for slot in range(slots.width):
            frame[f"length_{slot}"] = lengths[
                item_codes, slots.contestant_in_slot(shown_codes, slot)
            ]


def _injection_flag_column(
    item_codes: np.ndarray,
    shown_codes: np.ndarray,
    item_facts: Sequence[Mapping[str, Any]],
    slots: _SlotTable,
) -> np.ndarray:
    """Return, for each row, whether its question or an answer shown is an injection suspect. Row n
    is about the item with code `item_codes[n]` and shows the answers of `slots` with code
    `shown_codes[n]`; `item_facts[k]` has the facts (such as the suspects) of the item with code
    k."""
    flagged = np.zeros(
        (len(item_facts), len(slots.known) + 1), bool
    )  # the last column is for empty slots
    in_question = np.zeros(len(item_facts), bool)
    for row, facts in enumerate(item_facts):
        for where in facts.get("suspects") or ():
            in_question[row] |= where == INSTRUCTION
            if where in slots.code_by_name:
                flagged[row, slots.code_by_name[where]] = True
    found: np.ndarray = in_question[item_codes]
    for slot in range(slots.width):
        found = found | flagged[item_codes, slots.contestant_in_slot(shown_codes, slot)]
    return found


def _known_answer_column(
    item_codes: np.ndarray,
    shown_codes: np.ndarray,
    comparison: pd.Categorical[str],
    item_facts: Sequence[Mapping[str, Any]],
    slots: _SlotTable,
    judges: pd.Categorical[str],
) -> np.ndarray:
    """Return the slot of the known best answer for each row, or TIE, or NO_PICK if it is unknown.

    If the known answer is the majority of people, the row of a person is compared with the majority
    of the others. Row n is about the item with code `item_codes[n]`, shows the answers of `slots`
    with code `shown_codes[n]`, and compares the contestants named in `comparison[n]`.
    `item_facts[k]` has the facts (such as the preferences) of the item with code k.
    """
    known_answer = np.full(len(item_codes), NO_PICK, np.int8)
    people = [
        _ItemPreferences(_parse_preferences(facts.get("human") or ())) for facts in item_facts
    ]
    has_votes = np.asarray([bool(votes.all) for votes in people], bool)[item_codes]
    if not has_votes.any():
        return known_answer
    options = [tuple(str(name).split(SEP)) for name in comparison.categories]
    persons, own = _persons_of_rows(judges)
    pairs = item_codes[has_votes].astype(np.int64) * len(options) + comparison.codes[has_votes]
    unique, inverse = np.unique(pairs * len(persons) + own[has_votes], return_inverse=True)
    best_of = np.asarray(
        [
            _code_of_best_answer(
                _votes_of_other_people(
                    people[pair // len(options)].preferences_among(options[pair % len(options)]),
                    persons[person],
                ),
                options[pair % len(options)],
                slots.code_by_name,
            )
            for pair, person in zip(*np.divmod(unique, len(persons)), strict=True)
        ],
        np.int32,
    )[inverse]
    best_slot = slots.slot_of(shown_codes[has_votes], best_of)
    known_answer[has_votes] = np.where(best_of >= 0, best_slot, best_of)
    return known_answer


def _persons_of_rows(judges: pd.Categorical[str]) -> tuple[list[str], np.ndarray]:
    """Return (names, indexes): "" followed by the names of all people, and for each row the index
    of its person in `names`; 0 if its judge is no person."""
    names = [str(name) for name in judges.categories]
    persons = ["", *sorted(name for name in names if name.startswith(HUMAN_PREFIX))]
    own = np.asarray([persons.index(name) if name in persons else 0 for name in names], np.int64)
    return persons, own[judges.codes]


class _ItemPreferences:
    """The preferences of an item, indexed by pair of answers.

    An item may have a thousand votes, of which a comparison needs only those on its own answers.
    """

    def __init__(self, preferences: Sequence[Preference]) -> None:
        self.all = preferences
        self._pairs: dict[frozenset[str], list[Preference]] = {}
        self._wider: list[Preference] = []
        for one in preferences:
            if one.shown is not None and len(one.shown) == 2 and not one.ranks:
                self._pairs.setdefault(frozenset(one.shown), []).append(one)
            else:
                self._wider.append(one)

    def preferences_among(self, options: Sequence[str]) -> list[Preference]:
        """Return the preferences that may decide between the options: those on two of the options,
        and, whatever they are about, all rankings, all choices among more than two answers, and
        all votes for which it is unknown which answers were shown."""
        found = list(self._wider)
        for pair in itertools.combinations(options, 2):
            found += self._pairs.get(frozenset(pair), ())
        return found


def _parse_preferences(human: Sequence[Sequence[Any]]) -> list[Preference]:
    return [
        Preference(judge, tuple(pair) if pair else None, picked, ranks=ranks)
        for judge, pair, picked, ranks in human
    ]


def _votes_of_other_people(people: list[Preference], person: str) -> list[Preference]:
    """Return the preferences without those of `person`; all of them if `person` is empty."""
    name = person.removeprefix(HUMAN_PREFIX)
    return [p for p in people if p.judge.removeprefix(HUMAN_PREFIX) != name] if name else people


def _code_of_best_answer(
    people: Sequence[Preference], options: tuple[str, ...], code: dict[str, int]
) -> int:
    """Return the code of the best of the options: the one known to be better by the design of the
    data, else the one that most of `people` prefer. TIE if the best are equally good, NO_PICK if it
    is unknown. `code`: contestant -> code."""
    winner = known_answers.best_answer(people, options) if len(options) > 1 else None
    return NO_PICK if winner is None else TIE if winner == "tie" else code[winner]


def _add_family_columns(
    frame: pd.DataFrame,
    codes: np.ndarray,
    shown: Sequence[tuple[str, ...]],
    families: Mapping[str, str],
    judge_families: Mapping[str, str],
) -> None:
    """Add columns with the model family of the judge and of the answer in each slot, "" if unknown;
    nothing is added if the families of all contestants, or of all judges, are unknown. A judge and
    a contestant of the same name belong to one family: the family given for either of them, else a
    family of their name. `shown[codes[k]]` are the contestants that row k shows."""
    both = set().union(*shown) & set(frame["judge"].cat.categories)
    same = {name: judge_families.get(name) or families.get(name) or name for name in both}
    families, judge_families = {**same, **families}, {**judge_families, **same}
    if not families or not any(judge_families.values()):
        return
    frame["family"] = (
        frame["judge"].map(lambda name: judge_families.get(name, "")).astype("category")
    )
    width = max((len(part) for part in shown), default=0)
    for slot in range(width):
        of_shown = [families.get(p[slot], "") if len(p) > slot else "" for p in shown]
        frame[f"family_{slot}"] = pd.Categorical(_values_by_code(codes, of_shown, object))
