"""The plan of a study: the list of all its asks (requests to judges), and counts of them by status.

An ask is live if a run makes its call. Recorded verdicts and votes are asks too, but no calls. A
live ask without a final result is pending.

A twin is a changed copy of an answer. Noise-floor repeats are calls repeated only to measure how
much a judge varies."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from studies.domain import HUMAN_PREFIX, Ask
from studies.frames.frame_codes import ROW_SEP, SEP
from studies.store.rows import PLAN_COLUMNS, STUDY_ID, ask_from_row
from studies.store.store_file import StoreFile
from studies.texts.twin_families import TWIN_SIGN

KEYS_PER_QUERY: Final = 500
"""Maximum number of keys in one SQL statement, as SQLite limits the number of parameters."""


class PlanQueries(StoreFile):
    def plan_sha(self, study: str) -> str:
        """Return the hash of a study's plan; "" if there is no such study."""
        row = self.read("SELECT plan_sha FROM studies WHERE name=?", (study,)).fetchone()
        return row[0] if row else ""

    def asks(self, study: str) -> Iterator[Ask]:
        """Yield the planned calls (live asks) of a study, in the order of the plan."""
        rows = self.read(
            f"SELECT {PLAN_COLUMNS} FROM plan WHERE study={STUDY_ID} AND origin='live' "
            "ORDER BY position",
            (study,),
        )
        return (ask_from_row(row) for row in rows)

    def plans_calls(self, study: str) -> bool:
        """Whether there is a study of this name that plans calls (live asks)."""
        found = self.read(
            f"SELECT 1 FROM plan WHERE study={STUDY_ID} AND origin='live' LIMIT 1", (study,)
        )
        return found.fetchone() is not None

    def answered_keys(self, study: str) -> set[str]:
        """Return the planned keys of the study's calls that have a judgement other than an error. A
        call that was sent without refused parameters is stored under another key, but counted by
        its planned one."""
        rows = self.read(
            "SELECT COALESCE(a.key, p.key) FROM plan p JOIN judgements j ON j.key=p.key "
            f"LEFT JOIN adapted_requests a ON a.adapted=p.key WHERE p.study={STUDY_ID} "
            "AND p.origin='live' AND j.status!='error'",
            (study,),
        )
        return {key for (key,) in rows}

    def answered_keys_among(self, keys: Sequence[str]) -> set[str]:
        """Return those of the planned `keys` that have a judgement other than an error, in any
        study. The judgement can also be stored under the adapted key, which is the key of the call
        without refused parameters."""
        found: set[str] = set()
        for start in range(0, len(keys), KEYS_PER_QUERY):
            part = keys[start : start + KEYS_PER_QUERY]
            marks = ",".join("?" * len(part))
            rows = self.read(
                f"SELECT key FROM judgements WHERE key IN ({marks}) AND status!='error' UNION "
                "SELECT a.key FROM adapted_requests a JOIN judgements j ON j.key=a.adapted "
                f"WHERE a.key IN ({marks}) AND j.status!='error'",
                (*part, *part),
            )
            found.update(key for (key,) in rows)
        return found

    def pending_asks(
        self,
        study: str,
        judge: str,
        after: int,
        limit: int,
        *,
        again: Sequence[str] = ("error",),
        began: int = 2**62,
    ) -> list[tuple[int, Ask]]:
        """Return up to `limit` calls of a judge that are still to be made, each as (index in
        the plan, ask). Only indexes above `after` are searched.

        A call is to be made if it has no judgement. It is made again if its judgement has
        a status in `again` and was stored before this run began, which its sequence number
        (seq) shows: it is at most `began`."""
        rows = self.read(
            f"SELECT position, {PLAN_COLUMNS} FROM plan p "
            f"WHERE study={STUDY_ID} AND judge=? AND position>? "
            "AND origin='live' AND NOT EXISTS (SELECT 1 FROM judgements j WHERE j.key=p.key "
            f"AND (j.status NOT IN ({','.join('?' * len(again))}) OR j.seq>?)) "
            "ORDER BY position LIMIT ?",
            (study, judge, after, *again, began, limit),
        )
        return [(row[0], ask_from_row(row[1:])) for row in rows]

    # ---- counting ---------------------------------------------------------------------------

    def status_counts(self, study: str, *, recorded: bool = False) -> dict[str, int]:
        """Return status -> number of the study's calls, and "planned" -> number of all of them,
        noise-floor repeats included.

        With `recorded`, a study that plans no calls counts its recorded verdicts and votes
        instead, and their number is then also in "recorded"."""
        found = self.ask_counts_by_status(study, "live")
        if recorded and not found:
            found = self.ask_counts_by_status(study, "recorded")
            return {"planned": sum(found.values()), "recorded": sum(found.values()), **found}
        return {"planned": sum(found.values()), **found}

    def count_asks_without_twins(self, study: str) -> int:
        """Return the number of planned calls that do not show a twin (a changed copy of an answer).
        In a study that plans no calls, count recorded verdicts and votes instead."""
        found = self.status_counts(study, recorded=True)
        twins = self.read(
            f"SELECT count(*) FROM plan WHERE study={STUDY_ID} AND instr(shown, ?) > 0 "
            "AND origin=?",
            (study, TWIN_SIGN, "recorded" if "recorded" in found else "live"),
        ).fetchone()[0]
        return found["planned"] - int(twins)

    def ask_counts_by_status(self, study: str, origin: str) -> dict[str, int]:
        """Return status -> number of the asks (requests to judges) in the plan that have this
        origin: "live" (a run makes their calls) or "recorded" (imported verdicts and votes)."""
        found: dict[str, int] = {}
        for _, _, one, status, count in self.ask_counts_by_rater_and_status(study):
            if one == origin:
                found[status] = found.get(status, 0) + count
        return dict(sorted(found.items()))

    def ask_counts_by_rater_and_status(self, study: str) -> list[tuple[str, str, str, str, int]]:
        """Return (judge, prompt, origin, status, number of asks) for each such combination. Asks
        (requests to judges) have the origin "live" or "recorded", and the status `pending` without
        a judgement."""
        rows = self.cached_on_disk(study, "asks", lambda: self._query_ask_counts(study))
        return [(j, p, o, s, n) for j, p, o, s, n in rows]

    def _query_ask_counts(self, study: str) -> list[list[Any]]:
        """Return a list [judge, prompt, origin, status, number of asks] for each combination of the
        first four; `ask_counts_by_rater_and_status` explains them."""
        found: Counter[str] = Counter()
        rows = self.read_blocks(
            study,  # GROUP BY would sort all rows, which takes twice as long
            "SELECT group_concat(json_array(p.judge, p.prompt, p.origin, "
            f"COALESCE(j.status, 'pending')), '{ROW_SEP}') "
            "FROM plan p LEFT JOIN judgements j USING(key) "
            "WHERE p.study=(SELECT id FROM studies WHERE name=:study) "
            "AND p.position BETWEEN :first AND :last",
        )
        for (texts,) in rows:
            found.update((texts or "").split(ROW_SEP))
        return sorted([*json.loads(text), count] for text, count in found.items() if text)


def count_asks_by_status(
    store: StoreFile, study: str, statuses: Collection[str], until: int
) -> dict[str, int]:
    """Return status -> number of the study's calls with this status, for those of `statuses` that
    occur. Only judgements with a sequence number (seq) of at most `until` count."""
    rows = store.read(
        "SELECT j.status, count(*) FROM plan p JOIN judgements j USING(key) "
        f"WHERE p.study={STUDY_ID} AND p.origin='live' "
        f"AND j.status IN ({_sql_placeholders(statuses)}) AND j.seq<=? GROUP BY 1",
        (study, *statuses, until),
    )
    return dict(rows.fetchall())


def count_pending_asks_by_judge(
    store: StoreFile, study: str, again: Collection[str]
) -> dict[str, int]:
    """Return judge -> number of calls still to be made: those without a judgement, and those
    whose judgement has a status in `again`."""
    rows = store.read(
        f"SELECT judge, count(*) FROM plan p WHERE study={STUDY_ID} "
        "AND origin='live' AND NOT EXISTS (SELECT 1 FROM judgements j WHERE j.key=p.key "
        f"AND j.status NOT IN ({_sql_placeholders(again)})) GROUP BY judge",
        (study, *again),
    )
    return dict(rows.fetchall())


def count_asks_to_repeat(
    store: PlanQueries, study: str, again: Collection[str], *, pending: bool
) -> list[tuple[str, int]]:
    """Return, sorted by judge, pairs of a judge and the number of its calls whose status is in
    `again`. With `pending`, calls without a judgement count too."""
    wanted = {*again, "pending"} if pending else {*again}
    found: dict[str, int] = {}
    for judge, _, origin, status, count in store.ask_counts_by_rater_and_status(study):
        if origin == "live" and status in wanted:
            found[judge] = found.get(judge, 0) + count
    return sorted(found.items())


def ask_cost_count_and_mean(store: StoreFile, study: str, judge: str) -> tuple[int, float | None]:
    """Return the number of a judge's judgements with a known cost, and their mean cost in dollars,
    None without any."""
    count, mean = store.read(
        "SELECT count(*), avg(j.cost) FROM plan p JOIN judgements j USING(key) "
        f"WHERE p.study={STUDY_ID} AND p.judge=? AND j.cost IS NOT NULL",
        (study, judge),
    ).fetchone()
    return int(count), mean


def comparisons_not_by_people(store: StoreFile, study: str) -> Iterator[tuple[str, str]]:
    """Yield (item, contestants), once for each order of answers that the plan has for judges other
    than people. The contestants are joined by SEP in the order shown."""
    return store.read(
        f"SELECT DISTINCT item, shown FROM plan WHERE study={STUDY_ID} AND judge NOT LIKE ?",
        (study, f"{HUMAN_PREFIX}%"),
    )


def count_judge_asks_by_item(store: StoreFile, study: str) -> dict[str, int]:
    """Return item -> number of planned calls and recorded verdicts of judges other than people,
    without noise-floor repeats and calls that show a twin."""
    rows = store.read(
        f"SELECT item, count(*) FROM plan WHERE study={STUDY_ID} AND noise=0 "
        "AND judge NOT LIKE ? AND instr(shown, ?)=0 GROUP BY item",
        (study, f"{HUMAN_PREFIX}%", TWIN_SIGN),
    )
    return dict(rows.fetchall())


def stamp_of_verdicts_not_by_people(store: StoreFile, study: str) -> tuple[int, int]:
    """Return the number of judgements by judges other than people, and their last sequence number
    (seq).

    The result changes when such a judgement is stored or replaced.
    """
    row = store.read(
        "SELECT count(*), COALESCE(max(j.seq), 0) FROM plan p JOIN judgements j USING(key) "
        f"WHERE p.study={STUDY_ID} AND p.judge NOT LIKE ?",
        (study, f"{HUMAN_PREFIX}%"),
    ).fetchone()
    return int(row[0]), int(row[1])


def count_pair_multi_and_strong_verdicts(store: StoreFile, study: str) -> tuple[int, int, int]:
    """Return three numbers of judgements by judges other than people: those on two answers, those
    on more than two, and those with a margin above 1 (such as "much better")."""
    row = store.read(
        "SELECT count(*) FILTER (WHERE length(p.shown) - length(replace(p.shown, ?, '')) = 1), "
        "count(*) FILTER (WHERE length(p.shown) - length(replace(p.shown, ?, '')) > 1), "
        "count(*) FILTER (WHERE j.margin > 1) "
        f"FROM plan p JOIN judgements j USING(key) WHERE p.study={STUDY_ID} AND p.judge NOT LIKE ?",
        (SEP, SEP, study, f"{HUMAN_PREFIX}%"),
    ).fetchone()
    return int(row[0]), int(row[1]), int(row[2])


def count_items_judges_people_prompts(store: PlanQueries, study: str) -> list[int]:
    """Return four numbers of a study: its items, its judges other than people, the people, and the
    prompts of the judges other than people."""
    items = store.read(
        f"SELECT count(*) FROM study_items WHERE study={STUDY_ID}", (study,)
    ).fetchone()[0]
    asked = {(judge, prompt) for judge, prompt, *_ in store.ask_counts_by_rater_and_status(study)}
    people = {judge for judge, _ in asked if judge.startswith(HUMAN_PREFIX)}
    machines = {(judge, prompt) for judge, prompt in asked if judge not in people}
    judges, prompts = ({pair[place] for pair in machines} for place in (0, 1))
    return [int(items), len(judges), len(people), len(prompts)]


def _sql_placeholders(values: Collection[object]) -> str:
    return ",".join("?" * len(values))
