"""The store: one SQLite file of studies, plans, judgements and votes."""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from studies.domain import ERROR_STATUSES, USABLE_STATUSES, Ask, Item, Judgement, count_calls_left
from studies.errors import StoreUnusable, StudyError, UnknownStudy
from studies.frames.frame_codes import NO_PICK
from studies.lazy_values import cached_property
from studies.spec.combine_rules import COMBINE_RULES, REMEDY_EXAMPLES, REMEDY_RULES, is_combine_rule
from studies.spec.study import Study, parse_study
from studies.store.ballot_queries import VotingRules, put_voting_rules
from studies.store.caching import frame_cache
from studies.store.queries.alignment_queries import derived_studies
from studies.store.queries.item_queries import ItemQueries
from studies.store.queries.judgement_queries import JudgementQueries
from studies.store.queries.plan_queries import PlanQueries
from studies.store.queries.prompt_queries import PromptQueries
from studies.store.queries.run_queries import RunQueries, delete_runs
from studies.store.queries.run_queries import StoredRun as StoredRun
from studies.store.rows import LAST_USED, PromptText, RequestRecord, update_study_text
from studies.store.saving import PlanChange as PlanChange
from studies.store.saving import delete_study_rows, rename_study_rows, write_study_rows

if TYPE_CHECKING:
    import pandas as pd

    from studies.frames.twin_rows import TwinRows

frame_cache.register_cache_producer(sys.modules[__name__])


@dataclass(frozen=True)
class StudySummary:
    """One study in the list of studies. Its requests are counted only when `planned`, `judged`,
    `unusable` or `failed` is first read, because counting takes a second for a large study."""

    name: str
    recorded: bool
    updated: float
    """Time at which the study was last saved, run or voted on."""
    _count: Callable[[], Counter[str]]

    @cached_property
    def planned(self) -> int:
        """Number of planned calls; in a study that makes no calls, number of recorded verdicts and
        votes."""
        return self._counts.total()

    @cached_property
    def judged(self) -> int:
        """Number of the planned calls or recorded verdicts that have a reply; a failed call
        has none."""
        return self.planned - count_calls_left(self._counts)

    @property
    def unusable(self) -> int:
        """Number of replies without a usable verdict."""
        return self.judged - sum(self._counts[status] for status in USABLE_STATUSES)

    @property
    def failed(self) -> int:
        """Number of calls or recorded verdicts with an error instead of a reply."""
        return sum(self._counts[status] for status in ERROR_STATUSES)

    @cached_property
    def _counts(self) -> Counter[str]:
        return self._count()


class Store(ItemQueries, PromptQueries, PlanQueries, JudgementQueries, RunQueries):
    """A store in one SQLite file: its studies, their judgement frames (the tables that metrics
    read), and queries on calls and replies."""

    @property
    def unrestricted(self) -> Store:
        """The same store without restrictions by visitor (see studies/sharing/visitor_store.py)."""
        return self

    @property
    def read_only(self) -> bool:
        """Whether the page shows this store without the tabs that add or run studies; always False
        for this class."""
        return False

    @property
    def folder(self) -> Path:
        """Folder of uploads and prompts, to which the paths in studies are relative."""
        return self.path.parent

    @property
    def salt(self) -> str:
        """Text that is hashed into the keys of a visitor's calls, so that visitors do not share
        replies; always "" in this class, in which all studies share replies."""
        return ""

    def salt_of(self, study: str) -> str:
        """Return the salt of a study: the text that was hashed into the keys of its calls (see
        `salt`); always "" in this class."""
        return ""

    def folder_of(self, study: str) -> Path:
        """Return the folder of the study's owner, to which the paths of the study are relative;
        here always `folder`."""
        return self.folder

    def owns(self, study: str) -> bool:
        """Whether the current visitor owns a study and so may run and change it; always True here
        (see `VisitorStore`)."""
        return True

    def name_to_save_under(self, name: str) -> str:
        """Return the name that a study gets if the current visitor saves it as `name`; in
        this class `name` itself, in `VisitorStore` often with a mark of the visitor."""
        return name

    # ---- studies -------------------------------------------------------------------------

    def save_study(
        self,
        study: Study,
        items: Sequence[Item],
        asks: Iterable[tuple[Ask, RequestRecord]],
        prompts: Iterable[PromptText] = (),
        *,
        plan_sha: str = "",
        recorded: Iterable[Judgement] = (),
        only_recorded: bool = False,
    ) -> PlanChange:
        """Write a study, its items and its plan in one transaction, in place of its earlier
        version. Stored judgements and votes on the page are kept. Return how its planned
        calls changed.

        `asks` are the planned calls with their requests, `recorded` judgements made without
        a call. `plan_sha` is the hash of the plan. `only_recorded` states that the study
        makes no calls."""

        def write_study_and_plan(connection: sqlite3.Connection) -> PlanChange:
            return write_study_rows(
                connection,
                study,
                items,
                asks,
                prompts,
                recorded,
                plan_sha=plan_sha,
                only_recorded=only_recorded,
            )

        return self.writer.run(write_study_and_plan)  # type: ignore[no-any-return]

    def studies(self) -> list[StudySummary]:
        """List the studies of the store, the last saved, run or voted on first."""
        rows = self.read(
            f"SELECT name, recorded, {LAST_USED} AS used FROM studies s ORDER BY used DESC"
        )
        return [
            StudySummary(
                name,
                bool(recorded),
                updated,
                partial(self._count_asks_by_status, name, bool(recorded)),
            )
            for name, recorded, updated in rows.fetchall()
        ]

    def _count_asks_by_status(self, study: str, recorded: bool) -> Counter[str]:
        """Return status -> number of the study's calls; if `recorded` is True, its recorded
        verdicts and votes count too."""
        found = Counter(self.ask_counts_by_status(study, "live"))
        return found + Counter(self.ask_counts_by_status(study, "recorded")) if recorded else found

    def study(self, name: str) -> Study:
        """Return the study of this name; UnknownStudy if there is none."""
        row = self.read("SELECT yaml FROM studies WHERE name=?", (name,)).fetchone()
        if row is None:
            known = ", ".join(line.name for line in self.studies()) or "none yet"
            raise UnknownStudy(f"no study named {name!r} in this store. Known studies: {known}")
        return _parse_stored_study(row[0], name)

    def creation_time(self, study: str) -> float | None:
        """Return the time when a study was first saved; None if there is no such study."""
        row = self.read("SELECT created FROM studies WHERE name=?", (study,)).fetchone()
        return float(row[0]) if row else None

    def study_file_texts(self) -> dict[str, str]:
        """Return study name -> text of its study file."""
        return dict(self.read("SELECT name, yaml FROM studies").fetchall())

    def rename_study(self, name: str, new_name: str) -> None:
        """Rename a study to `new_name`; judgements and votes are kept. Studies made from it, whose
        names begin with its name, are renamed too, unless their new names are taken. StudyError if
        a study named `new_name` exists, UnknownStudy if there is no study `name`."""
        self.study(name)
        taken = {line.name for line in self.studies()}
        if new_name in taken:
            raise StudyError(f"a study named {new_name!r} exists; choose another name")
        new = {
            one: new_name + one.removeprefix(name) for one in (name, *derived_studies(self, name))
        }
        renamed = [(self.study(one), new[one]) for one in new if new[one] not in taken]
        for study, _ in renamed:
            self._cache.drop_study(study.name)
            frame_cache.delete_study_cache(self.path, study.name)
        self.writer.run(lambda connection: rename_study_rows(connection, renamed))

    def delete_study(self, name: str) -> int:
        """Delete a study, its runs and the judgements that only it uses; return the number of
        judgements. UnknownStudy if there is no such study."""
        self.study(name)
        self._cache.drop_study(name)
        frame_cache.delete_study_cache(self.path, name)
        count = self.writer.run(lambda connection: delete_study_rows(connection, name))
        self.unrestricted.writer.run(lambda connection: delete_runs(connection, name))
        return int(count)

    def set_combine_rule(self, name: str, combine: str) -> None:
        """Change the rule by which a study combines the verdicts of both orders; StudyError for an
        unknown rule, or if the visitor does not own the study."""
        if not self.owns(name):
            raise StudyError(f"only the owner of {name!r} can change its combination rule")
        if not is_combine_rule(combine):
            known = ", ".join([*COMBINE_RULES, *REMEDY_RULES, REMEDY_EXAMPLES])
            raise StudyError(f"combine: no rule named {combine!r}; choose one of {known}")
        study = replace(self.study(name), combine=combine)
        self.writer.run(lambda connection: update_study_text(connection, study))

    def set_voting_rules(self, study: str, voting: VotingRules) -> None:
        self.study(study)
        self.writer.run(lambda connection: put_voting_rules(connection, study, voting))

    # ---- the frame --------------------------------------------------------------------------

    def frame(self, study: str | None = None, twins: TwinRows = "without") -> pd.DataFrame:
        """Return the judgement frame of a study; without a name, that of the only study in the
        store (StudyError if there are none or several).

        `twins` states whether comparisons that show a twin (an answer with one change) are left out
        ("without"), returned alone ("only") or together with the others ("with").
        """
        from studies.frames.reply_facts import REPLY_FACTS  # import pandas
        from studies.frames.twin_rows import filter_rows_by_twins

        name = study or self._only_study_name()
        version, facts = self.version(name), tuple(REPLY_FACTS)
        spec = self.study(name)  # read after the version, so never older
        frame = self.memoised(
            name, ("frame", facts), lambda: self._load_frame(name, spec, version), version
        )
        selected = self.memoised(
            name, ("frame", facts, twins), lambda: filter_rows_by_twins(frame, twins), version
        )
        return selected.copy(deep=False)  # copy-on-write: callers cannot change the cache

    def prepare_frame_without_rows(self, study: str) -> None:
        """Compute and cache what a study's frame needs besides its rows, so that this can be done
        while another thread reads the rows. Nothing is returned."""
        self.item_facts(study)
        frame_cache.precompute_code_fingerprint()

    def _load_frame(self, study: str, spec: Study, version: tuple[str, int]) -> pd.DataFrame:
        """Return a study's frame with all rows, also with columns about replies and votes. It is
        taken from the disk cache, or else built; if it is large, it is then written to this cache
        (without these columns). `version` is the version of the study."""
        frame = frame_cache.read_cached_frame(
            self.path, study, lambda old: self._versions.is_current(study, old, self.read)
        )
        if frame is None:
            frame = self._build_frame(study, spec)
            frame_cache.cache_frame(self.path, study, version, frame)
        from studies.frames.reply_facts import (  # import pandas
            REPLY_FACTS,
            add_reply_facts,
            min_reply_length_to_read,
        )
        from studies.store.queries.vote_columns import add_vote_columns

        if REPLY_FACTS:
            frame = add_reply_facts(frame, self._reply_texts(study, min_reply_length_to_read()))
        return add_vote_columns(frame, self.read_connection, study)

    def _build_frame(self, study: str, spec: Study) -> pd.DataFrame:
        from studies.frames.columns import JudgementColumns  # import pandas
        from studies.frames.frame import frame_from_rows

        return frame_from_rows(
            JudgementColumns.from_texts(self._column_texts(study), NO_PICK),
            self.item_facts(study),
            study=study,
            families=spec.families,
            judge_families={judge.name: judge.family for judge in spec.judges},
            scale_of=lambda prompt: self.scale_of_prompt(study, prompt),
        )

    def _only_study_name(self) -> str:
        """Return the name of the only study in the store; StudyError if it has none or several."""
        names = [line.name for line in self.studies()]
        if len(names) != 1:
            listed = ", ".join(names) or "none yet"
            raise StudyError(f"choose a study with --study; this store has: {listed}")
        return names[0]


def open_store_of_command(path: Path | None) -> Store:
    """Return the store at `path` for a command; StoreUnusable if there is no such file, so that a
    mistyped path creates no store. If `path` is None, return the store at the default path,
    which is created if it is missing."""
    if path is not None and not path.exists():
        raise StoreUnusable(f"there is no store at {path}; --store names the SQLite file")
    return Store(path)


@lru_cache(maxsize=256)
def _parse_stored_study(text: str, name: str) -> Study:
    """Parse the study file `text` of the study `name`; cached, because parsing YAML is slow and a
    parsed study is immutable."""
    return parse_study(text, name)
