"""Measures by which two judges or prompts are compared, in the families of the catalogue of
measures (such as Position or Quality); all in percentage points, so that they can share an axis."""

from dataclasses import replace
from typing import Final

from metrics.catalogue import answer_records, records
from metrics.catalogue.label_records import SINGLE_ANSWERS
from metrics.catalogue.position_records import BEHAVIOUR
from metrics.catalogue.record import MeasureRecord
from metrics.summary.contrast_families import WIN_RATES
from metrics.win_rates.win_rates import win_rate_measure
from studies.texts import twin_families


def _rename_if_times_100(record: MeasureRecord) -> MeasureRecord:
    """The record of a measure; if its values are decimals, "× 100" is added to its name, because
    all values are shown in percentage points."""
    if record.style == "decimal":
        return replace(record, name=f"{record.name}, × 100")
    return record


def _list_family_records(name: str) -> tuple[MeasureRecord, ...]:
    return tuple(_rename_if_times_100(one) for one in records.records_of_family(name))


POSITION: Final = "Position"
QUALITY: Final = "Quality"
NUDGES: Final = "Nudges"
COMPARISONS: Final = "All measures of comparisons"
TWINS: Final = records.RECORDS["twin_preference"]
FAMILIES: Final[dict[str, tuple[MeasureRecord, ...]]] = {
    **{
        name: _list_family_records(name)
        for name in records.contrast_family_names()
        if name != SINGLE_ANSWERS
    },
    NUDGES: tuple(one for one in _list_family_records(BEHAVIOUR) if one.question == "nudges"),
    COMPARISONS: tuple(
        _rename_if_times_100(one)
        for one in records.RECORDS.values()
        if set(one.families) - {SINGLE_ANSWERS}
    ),
    WIN_RATES: (),
    SINGLE_ANSWERS: _list_family_records(SINGLE_ANSWERS),
}
"""Family -> measures. COMPARISONS has those of all families of comparisons. For "Win rates" the
tuple is empty: `family_measures` builds one measure for each model of the study."""
CATEGORY_MEASURES: Final = {
    one.name: one for one in (*FAMILIES[BEHAVIOUR], *FAMILIES[SINGLE_ANSWERS])
}
"""Name -> measure, for the measures that can be shown by category and by item."""


def measure_family_of_view(view: str) -> str:
    """Name of the family of measures (a key of FAMILIES) that a view of Results compares, in a
    study of comparisons."""
    families = {
        "Position": POSITION,
        "Nudges": NUDGES,
        "Agreement": QUALITY,
        "Ranking": WIN_RATES,
        "Remedies": QUALITY,
    }
    return families.get(view, BEHAVIOUR)


def twin_effect_record(family: str) -> MeasureRecord:
    """Record of the measure "effect of the twins of the kind `family`", which two judges or
    prompts can be compared by. A twin is an answer with one change that should not matter. The
    effect of a change that cannot matter (the floor) is subtracted."""
    words = twin_families.FAMILIES[family].words
    return replace(TWINS, name=f"Twin {family}", definition=f"{words}; minus the floor")


def family_measures(
    name: str, contestants: list[str], known_by_people: bool
) -> list[MeasureRecord]:
    """The measures of the family `name`; for WIN_RATES, one measure for each model in
    `contestants`. Accuracy is left out with `known_by_people` (the better answers are known
    only from people's votes), because it then equals agreement with people."""
    if name == WIN_RATES:
        return [
            replace(
                records.RECORDS["win_rate"],
                name=who,
                measure=win_rate_measure(who),
                selection={"contestant": who},
            )
            for who in contestants
        ]
    without = answer_records.ACCURACY.key if known_by_people else ""
    return [one for one in FAMILIES[name] if one.key != without]
