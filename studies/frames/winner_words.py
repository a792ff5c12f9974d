"""Words for the winner of a comparison: one vocabulary for files, tables and the library."""

from typing import Final, Literal

FIRST: Final = (
    "first", "a", "model_a", "left", "response_a", "model_1", "output_1", "answer_a",
    "a>b", "a>>b", "[[a]]",
)  # fmt: skip
SECOND: Final = (
    "second", "b", "model_b", "right", "response_b", "model_2", "output_2", "answer_b",
    "b>a", "b>>a", "[[b]]",
)  # fmt: skip
TIED: Final = (
    "tie", "draw", "equal", "same", "both", "c", "-", "a=b", "b=a", "[[c]]", "tie (bothbad)",
    "tie(bothbad)", "both_bad", "bothbad", "both bad",
)  # fmt: skip
WINNER_WORDS: Final[dict[str, int | Literal["tie"]]] = {
    **dict.fromkeys(FIRST, 0), **dict.fromkeys(SECOND, 1), **dict.fromkeys(TIED, "tie"),
}  # fmt: skip
"""Word in lower case -> index of the winner in the order of the row, or a tie. A contestant of that
name takes precedence. Numbers are left out, because 1 means the first answer in some files and the
second in others."""
PEOPLE_COLUMNS: Final = (
    "human_winner", "human_preference", "human_choice", "human_vote", "human_verdict", "human",
)  # fmt: skip
"""Names of the column with the answer that people prefer, beside a judge's column of winners."""
ITEM_COLUMNS: Final = (
    "item", "question_id", "prompt_id", "qid", "item_id", "uid", "instruction_id", "id",
)  # fmt: skip
"""Names of the column with the question of each row, the most specific first."""
