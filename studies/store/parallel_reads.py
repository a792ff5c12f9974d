"""Reading a large study with two connections at once, both from one state of the store.

SQLite runs a query without Python's global lock, so two queries use two processor cores. A study's
plan is read in blocks of consecutive rows; while the next blocks are read, the caller parses those
already read.
"""

import contextvars
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import islice
from queue import SimpleQueue
from typing import Any, Final

ROWS_PER_BLOCK: Final = 20_000
"""Maximum number of rows of a plan that are read together (a block), to save memory."""
CONNECTIONS: Final = 2
MIN_PARALLEL_BLOCKS: Final = 4
"""Minimum number of blocks for which two connections are used; opening connections takes time."""
ATTEMPTS: Final = 5
"""Number of attempts to open two connections to the same state; a writer may commit in between."""
OpenReader = Callable[[], sqlite3.Connection]
Row = tuple[Any, ...]
Block = Mapping[str, Any]
"""SQL parameters for one block of a study's plan: name of the study, first and last row number."""


def read_blocks(
    connection: sqlite3.Connection, open_reader: OpenReader, study: str, sql: str
) -> Iterator[Row]:
    """Run the query `sql` for each block of a study's plan; yield the first row of each result,
    in the order of the plan.

    A block is a range of row numbers of the plan. `sql` has the parameters `:study`, `:first`
    and `:last` (the first and last row number of the block). All blocks are read from one
    state of the store. `open_reader` opens a further connection, for large plans."""
    with _read_transaction(connection):
        blocks = blocks_of_plan(connection, study)
        if len(blocks) < MIN_PARALLEL_BLOCKS:
            yield from (connection.execute(sql, block).fetchone() for block in blocks)
            return
    with ExitStack() as stack:
        readers = _open_readers_of_same_state(connection, open_reader, stack)
        blocks = blocks_of_plan(readers[0], study)  # this state may be newer than the one above
        yield from _read_in_order(readers, sql, blocks)


def blocks_of_plan(connection: sqlite3.Connection, study: str) -> list[Block]:
    """Return the blocks of a study's plan as parameters of a query: the study, and the first and
    last row number. A block covers ROWS_PER_BLOCK consecutive row numbers."""
    blocks: list[Block] = []
    find = (  # positions have gaps: those of imported rows may begin at 2**40
        "SELECT min(position) FROM plan WHERE study=(SELECT id FROM studies WHERE name=?) "
        "AND position>?"
    )
    last = -1
    while (first := connection.execute(find, (study, last)).fetchone()[0]) is not None:
        last = first + ROWS_PER_BLOCK - 1
        blocks.append({"study": study, "first": first, "last": last})
    return blocks


@contextmanager
def _read_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Context with a read transaction, in which all queries see the same state of the store."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.rollback()  # nothing was written; a COMMIT would fail on a damaged page


def _open_readers_of_same_state(
    watcher: sqlite3.Connection, open_reader: OpenReader, stack: ExitStack
) -> list[sqlite3.Connection]:
    """Return several connections, each in a read transaction, that all see the same state of the
    store; `stack` closes them.

    They see the same state if no other connection has committed meanwhile, which SQLite's
    data_version, read through `watcher`, shows. After several failed attempts, a single
    connection is returned."""
    for _ in range(ATTEMPTS):
        with ExitStack() as attempt:
            before = _data_version(watcher)
            readers = [_open_in_transaction(open_reader, attempt) for _ in range(CONNECTIONS)]
            if _data_version(watcher) == before:
                stack.push(attempt.pop_all())
                return readers
    return [_open_in_transaction(open_reader, stack)]


def _open_in_transaction(open_reader: OpenReader, stack: ExitStack) -> sqlite3.Connection:
    """Open a connection and begin a read transaction on it; `stack` closes both."""
    connection = open_reader()
    stack.callback(connection.close)
    stack.enter_context(_read_transaction(connection))
    connection.execute("SELECT count(*) FROM studies").fetchone()  # the state of the first read
    return connection


def _data_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def _read_in_order(
    readers: list[sqlite3.Connection], sql: str, blocks: list[Block]
) -> Iterator[Row]:
    """Run `sql` for each block in threads, one per connection of `readers`; yield the first row of
    each result in the order of the blocks. To save memory, only a few blocks are read ahead."""
    free: SimpleQueue[sqlite3.Connection] = SimpleQueue()
    for reader in readers:
        free.put(reader)

    def read_block(block: Block) -> Row:
        connection = free.get()
        try:
            row: Row = connection.execute(sql, block).fetchone()
            return row
        finally:
            free.put(connection)

    waiting: Iterator[Block] = iter(blocks)
    pool = ThreadPoolExecutor(len(readers), thread_name_prefix="read blocks")
    running: deque[Future[Row]] = deque()

    def start_blocks(count: int) -> None:
        for block in islice(waiting, count):
            # The context has the visitor, to whose rows a visitor's connection is restricted.
            running.append(pool.submit(contextvars.copy_context().run, read_block, block))

    try:
        start_blocks(len(readers) + 1)
        while running:
            row = running.popleft().result()
            start_blocks(1)
            yield row
    finally:
        pool.shutdown(cancel_futures=True)
