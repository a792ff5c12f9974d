"""Codes of the frame of human votes."""

import numpy as np
import pandas as pd
import pytest

from studies.frames.arrangement import Arrangement, add_ranks_to_labels
from studies.frames.battle_frame import MAX_SPARE_CODES, _group_codes, frame_from_battles
from studies.frames.frame import SEP
from studies.frames.point_columns import CRITERION_LABEL_PREFIX, LEVEL_PREFIX, add_criterion_labels


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([0, 0, 1, 1, 0], [0, 1, 0, 1, 1]),
        ([0, 0, 9, 9, 0], [0, 9, 0, 9, 9]),  # 100 codes are too many for five rows
        ([0, 0, 4, 4, 4], [0, 1, 0, 1, 1]),
        ([0, 8, 0, 8, 0], [0, 0, 2**61 - 1, 0, 0]),  # 8 * 2**61 is 0 in 64 bits
        ([0, 2**40, 0, 2**40, 5], [2**40, 0, 2**40, 0, 5]),
        ([3, 3, 3, 3, 3], [2**62, 2**62, 2**62, 1, 1]),
    ],
)
def test_rows_have_one_code_exactly_if_all_their_values_are_equal(one, other):
    columns = [np.array(one), np.array(other)]
    pairs = list(zip(one, other, strict=True))
    for made in (_group_codes(*columns), _group_codes(*columns[::-1])):
        assert made.min() >= 0 and made.max() < MAX_SPARE_CODES * 5
        equal = [[a == b for b in pairs] for a in pairs]
        assert (made[:, None] == made[None, :]).tolist() == equal


def test_without_a_column_of_items_each_row_is_an_item_of_its_number():
    """Codes are in the order of the texts: 10 comes before 2."""
    rows = [("a", "b", "a")] * 12
    table = pd.DataFrame(rows, columns=["model_a", "model_b", "winner"])
    found = frame_from_battles(table)["item"]
    assert found.tolist() == [str(k) for k in range(12)]
    assert list(found.cat.categories) == sorted(map(str, range(12)))


def test_ranks_are_added_to_the_names_of_a_scale_alone():
    for labels, found in (
        (("good", "bad"), ("good:2", "bad:1")), (("1", "2"), ("1", "2")), (("good",), ("good",)),
        (("good", "fair"), ("good", "fair")), (("fail", "pass"), ("fail", "pass")),
    ):  # fmt: skip
        assert add_ranks_to_labels(labels, ("bad", "good")) == found
    assert add_ranks_to_labels(("good",), ("good",)) == ("good",)


def rubric_frame(rows: list[tuple[str, str, str, str, list[float]]]) -> pd.DataFrame:
    """Frame of (item, judge, contestant, criteria, levels) with two columns of levels."""
    labels = [SEP.join(Arrangement(("1", "5"), (), tuple(row[3])).labels) for row in rows]
    columns = {name: [row[k] for row in rows] for k, name in enumerate(("item", "judge", "first"))}
    frame = pd.DataFrame({**columns, "labels": labels}, dtype="category")
    frame["options"] = np.int8(1)
    for place in (0, 1):
        frame[f"{LEVEL_PREFIX}{place}"] = [row[4][place] for row in rows]
    return frame


def test_the_right_levels_are_those_of_the_data_else_the_mean_of_people():
    """The judge lists b before a. People gave x 1 and 3 for a, 5 and 5 for b; the data say 4."""
    people = [("q", "human:1", "x", "ab", [1.0, 5.0]), ("q", "human:2", "x", "ba", [5.0, 3.0])]
    judge = [("q", "j", "x", "ba", [2.0, 2.0]), ("q", "j", "y", "ab", [2.0, 2.0])]
    columns = [f"{CRITERION_LABEL_PREFIX}{place}" for place in (0, 1)]
    for given, right in (
        ({}, [5.0, 2.0]),
        ({"x": {"a": 4.0, "c": 9.0}, "z": {"a": 1.0}}, [5.0, 4.0]),
    ):
        frame = rubric_frame([*people, *judge])
        add_criterion_labels(frame, [given])
        found = frame[columns].to_numpy()
        assert found[2].tolist() == right and np.isnan(found[[0, 1, 3]]).all()
    for rows, given in (
        (judge, {}), (judge, {"z": {"a": 1.0}}), ([("q", "human:1", "x", "ab", [np.nan] * 2)], {}),
    ):  # fmt: skip
        frame = rubric_frame(rows)
        add_criterion_labels(frame, [given])
        assert not set(columns) & set(frame)
