"""Frame columns about votes cast on the page: `seconds` and `chosen`.

A frame has them only if a vote has a time, as every vote cast on the page has. `seconds` is the
duration of the vote; NaN if not timed or for a judge model. `chosen` is the reason why the
comparison was chosen (random, flipped, split); empty for votes that came with the data and for
judge models.
"""

import sqlite3

import numpy as np
import pandas as pd

from studies.domain import HUMAN_PREFIX
from studies.store.ballot_queries import selection_reasons


def add_vote_columns(
    frame: pd.DataFrame, connection: sqlite3.Connection, study: str
) -> pd.DataFrame:
    """Return the frame of judgements and votes with two more columns: `seconds`, the time that a
    vote took, and `chosen`, why the voter got this comparison. If it is recorded for no vote when
    or how long it was cast, the frame is returned unchanged."""
    human = any(str(name).startswith(HUMAN_PREFIX) for name in frame["judge"].cat.categories)
    if not human:
        return frame
    chosen = selection_reasons(connection, study)
    rows = connection.execute(
        "SELECT j.seq, j.key, j.seconds, j.time FROM plan p JOIN judgements j USING(key) "
        "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND p.judge LIKE ?",
        (study, f"{HUMAN_PREFIX}%"),
    ).fetchall()
    if not any(time or seconds for _, _, seconds, time in rows):
        return frame
    took = {seq: seconds for seq, _, seconds, _ in rows if seconds > 0}
    why = {seq: chosen[key] for seq, key, *_ in rows if key in chosen}
    return frame.assign(
        seconds=frame["seq"].map(took).astype(np.float64),
        chosen=pd.Categorical(frame["seq"].map(lambda seq: why.get(seq, ""))),
    )
