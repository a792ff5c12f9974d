"""Vote buttons of a ballot with their keys, and levels of a rubric."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from judges.verdicts.point_readers import score_by_option
from studies.store.ballot_queries import BallotMode

ButtonKey = tuple[str, str]
"""(key symbol printed on the button, names of the keys in browser events separated by spaces)."""


@dataclass(frozen=True, slots=True)
class VoteButton:
    """A button for one vote: its label, the data it sends, and its keyboard key."""

    label: str
    payload: Mapping[str, Any]
    key: ButtonKey

    def matches_vote(self, vote: Mapping[str, Any] | None) -> bool:
        """Whether a press of this button would give the stored `vote`; False if `vote` is None."""
        return vote is not None and all(vote.get(k) == v for k, v in self.payload.items())


PAIR_BUTTONS: Final = (
    VoteButton("A is better", {"pick": 0, "margin": 1}, ("←", "ArrowLeft 1")),
    VoteButton("Tie", {"pick": "tie", "margin": 0}, ("↓", "ArrowDown t T 2")),
    VoteButton("B is better", {"pick": 1, "margin": 1}, ("→", "ArrowRight 3")),
)
LEVEL_BUTTONS: Final = (
    VoteButton("A much better", {"pick": 0, "margin": 2}, ("1", "1")),
    VoteButton("A better", {"pick": 0, "margin": 1}, ("2", "2 ArrowLeft")),
    VoteButton("Tie", {"pick": "tie", "margin": 0}, ("3", "3 ArrowDown t T")),
    VoteButton("B better", {"pick": 1, "margin": 1}, ("4", "4 ArrowRight")),
    VoteButton("B much better", {"pick": 1, "margin": 2}, ("5", "5")),
)
VERIFY_BUTTONS: Final = (
    VoteButton("Yes, it does", {"follows": True, "fault": None}, ("1", "1 y Y ArrowLeft")),
    VoteButton("No: the answer is wrong", {"follows": False, "fault": "answer"}, ("2", "2")),
    VoteButton("No: the caption is incomplete", {"follows": False, "fault": "caption"}, ("3", "3")),
    VoteButton("No: another reason", {"follows": False, "fault": None}, ("4", "4")),
)
PASS_BUTTONS: Final = (
    VoteButton("Pass", {"score": 1.0}, ("1", "1 p P ArrowLeft")),
    VoteButton("Fail", {"score": 0.0}, ("2", "2 f F ArrowRight")),
)


def vote_buttons(
    mode: BallotMode, options: int, scale: Sequence[str] = ()
) -> tuple[VoteButton, ...]:
    """The vote buttons of a ballot of this `mode`. "options": one for each of the `options`
    answers; "score": one for each option of `scale`; "rubric": none, since levels are chosen
    instead; any other mode: a fixed set."""
    fixed = {
        "pair": PAIR_BUTTONS,
        "levels": LEVEL_BUTTONS,
        "verify": VERIFY_BUTTONS,
        "pass": PASS_BUTTONS,
        "rubric": (),
    }
    if mode in fixed:
        return fixed[mode]
    votes: Mapping[str, dict[str, Any]] = (
        {name: {"score": value} for name, value in score_by_option(tuple(scale)).items()}
        if mode == "score"
        else {f"Answer {k + 1}": {"pick": k, "margin": 1} for k in range(options)}
    )
    keys = [str(k) if k < 10 else "" for k in range(1, len(votes) + 1)]  # there is no key 10
    return tuple(
        VoteButton(name, vote, (key, key))
        for key, (name, vote) in zip(keys, votes.items(), strict=True)
    )
