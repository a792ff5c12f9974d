"""True winner of a comparison."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from studies.domain import Preference
from studies.frames.known_answers import best_answer, best_answers, better_answer
from tests.studies.small_items import prefers


def ranks(judge: str = "ann", **of: int) -> Preference:
    return Preference(judge, None, None, ranks=of)


def test_the_design_outvotes_the_people() -> None:
    crowd = [prefers("y", "x", "y", judge=name) for name in ("ann", "bob", "cem")]
    assert better_answer(crowd, "x", "y") == "y"
    assert better_answer([*crowd, prefers("x", "x", "y")], "x", "y") == "x"


def test_the_majority_decides_and_a_split_vote_is_a_tie() -> None:
    for_x, for_y = prefers("x", "x", "y", judge="ann"), prefers("y", "y", "x", judge="bob")
    assert better_answer([for_x, for_x, for_y], "x", "y") == "x"
    assert better_answer([for_x, for_y], "x", "y") == "tie"
    assert better_answer([for_x, prefers("tie", "x", "y", judge="bob")], "x", "y") == "tie"


def test_nobody_asked_is_none_and_never_a_tie() -> None:
    assert better_answer([], "x", "y") is None
    assert better_answer([prefers("x", "x", "z")], "x", "y") is None
    assert best_answer([], "xyz") is None


def test_a_pick_out_of_several_beats_each_of_them_and_says_nothing_of_the_rest() -> None:
    among = [prefers("x", "x", "y", "z", judge="ann")]
    assert better_answer(among, "x", "y") == better_answer(among, "z", "x") == "x"
    assert better_answer(among, "y", "z") is None
    assert best_answer(among, ("z", "y", "x")) == "x"


def test_where_the_order_is_not_known_all_the_answers_were_seen() -> None:
    assert better_answer([prefers("x", judge="ann")], "x", "y") == "x"
    assert better_answer([prefers("tie", judge="ann")], "x", "y") == "tie"
    assert better_answer([prefers("z", judge="ann")], "x", "y") is None


def test_ranks_are_read_pair_by_pair_and_one_is_best() -> None:
    said = [ranks(x=2, y=1, z=2)]
    assert (better_answer(said, "x", "y"), better_answer(said, "x", "z")) == ("y", "tie")
    assert best_answer(said, "xyz") == "y"
    assert better_answer(said, "x", "unranked") is None


def test_several_unbeaten_are_a_tie_and_so_is_a_circle() -> None:
    # x and y tie, both beat z: two are unbeaten.
    assert best_answer([ranks(x=1, y=1, z=2)], "xyz") == "tie"
    circle = [prefers("x", "x", "y"), prefers("y", "y", "z"), prefers("z", "z", "x")]
    assert best_answer(circle, "xyz") == "tie"


def test_one_that_ties_with_a_beaten_one_is_still_the_only_unbeaten() -> None:
    said = [prefers("x", "x", "y"), prefers("tie", "x", "z"), prefers("y", "y", "z")]
    # z loses to y, y loses to x; only x is beaten by nobody.
    assert best_answer(said, "xyz") == "x"


def test_an_answer_to_another_question_is_worse_than_any_other() -> None:
    assert better_answer([], "x", "@unrelated") == better_answer([], "@unrelated", "x") == "x"
    assert best_answer([prefers("y", "x", "y")], ("@unrelated", "x", "y")) == "y"
    assert best_answer([], ("@unrelated", "x", "y")) is None


names = st.sampled_from("wxyz")
said = st.lists(
    st.builds(
        lambda judge, shown, place: prefers([*shown, "tie"][place], *shown, judge=judge),
        st.sampled_from(["ann", "bob", "by-design"]),
        st.lists(names, min_size=2, max_size=3, unique=True),
        st.integers(0, 2),
    )
    | st.builds(
        lambda of: Preference("ann", None, None, ranks=of),
        st.dictionaries(names, st.integers(1, 3), min_size=1),
    ),
    max_size=6,
)


@given(said, st.permutations("wxyz"), st.integers(2, 4), st.randoms(use_true_random=False))
def test_the_truth_hangs_neither_on_the_order_shown_nor_on_that_of_the_votes(
    votes: list[Preference], order: list[str], n: int, random: object
) -> None:
    options = order[:n]
    shuffled = list(votes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert best_answer(votes, options) == best_answer(shuffled, options[::-1])
    assert best_answer(votes, options) in (*options, "tie", None)


def test_two_answers_can_be_equally_right_among_four():
    said = [ranks(precise=1, padded=1, flawed=2, offtopic=3)]
    assert best_answers(said, ("flawed", "precise", "offtopic", "padded")) == ("precise", "padded")
    assert best_answers(said, ("flawed", "precise", "offtopic")) == ("precise",)
    assert best_answers(said, ("precise", "padded")) == ()  # a tie: no choice is wrong
    assert best_answers([], ("precise", "padded", "flawed")) == ()
    circle = [prefers("x", "x", "y"), prefers("y", "y", "z"), prefers("z", "z", "x")]
    assert best_answers(circle, "xyz") == ()
