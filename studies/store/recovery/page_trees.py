"""The pages of each table in a damaged file. From its first page, a table's pages are linked as a
tree; pages that no link reaches belong to no tree and are searched separately."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from studies.store.recovery.page_reader import BTreePage, PageFile, Row, Unreadable
from studies.store.recovery.table_shapes import MASTER, MASTER_SHAPE, TableShape


@dataclass(slots=True)
class TreeLosses:
    """Losses of one table or index: the number of whole pages that could not be read, and of
    unreadable single rows on other pages (`cells`)."""

    pages: int = 0
    cells: int = 0
    read_pages: int = 0
    """Number of readable pages with rows, for the estimate of the rows on a lost page."""
    read_rows: int = 0

    @property
    def has_losses(self) -> bool:
        return bool(self.pages or self.cells)

    def estimate_lost_rows(self) -> int:
        """Return an estimate of the number of lost rows: each lost page is taken to have as
        many rows as a readable page has on average."""
        mean = self.read_rows / self.read_pages if self.read_pages else 1.0
        return self.cells + round(self.pages * mean)


@dataclass(slots=True)
class PageTrees:
    """Reads the rows of the tables and indexes in a damaged SQLite file. Each of them is stored in
    pages that are linked as a tree, and each page belongs to at most one tree."""

    pages: PageFile
    shapes: dict[str, TableShape]
    losses: dict[str, TreeLosses] = field(default_factory=dict)
    roots: dict[str, int] = field(default_factory=dict)
    _seen: set[int] = field(default_factory=set)

    def find_roots(self) -> None:
        """Read the number of each table's first page from the file's list of tables; if this list
        is damaged, find its entries by searching all pages."""
        self._seen = self.pages.free_pages()
        found = list(self.rows(MASTER, 1))
        if self.losses[MASTER].has_losses:
            for _, page in self._orphaned_pages():
                found += [row for row in page.rows if MASTER_SHAPE.fits(row)]
        for row in found:
            name, root = row.values[1], row.values[3]
            if name in self.shapes and MASTER_SHAPE.fits(row):
                self.roots[name] = root

    def rows(self, name: str, root: int | None = None) -> Iterator[Row]:
        """Yield the readable rows of a table or index, in the order of its tree; count the
        unreadable ones in `losses`. `root` is the number of its first page (None: as found
        by `find_roots`). A page is read only once, so a second call for the same table
        yields no rows."""
        losses = self.losses.setdefault(name, TreeLosses())
        shape = MASTER_SHAPE if name == MASTER else self.shapes[name]
        start = self.roots.get(name) if root is None else root
        if start is None:
            losses.pages += 1
            return
        waiting = [start]
        while waiting:
            number = waiting.pop()
            page = self._read_tree_page(number, shape)
            if page is None:
                losses.pages += 1
                continue
            waiting.extend(reversed(page.children))
            yield from self._fitting_rows(page, shape, losses)

    def _read_tree_page(self, number: int, shape: TableShape) -> BTreePage | None:
        """Read a page of a table or index. None if the page is unreadable or was read before, or
        if it is a page of an index where one of a table is expected (or the other way round)."""
        if number in self._seen:
            return None
        try:
            page = self.pages.btree_page(number)
        except Unreadable:
            return None
        if page.is_table_page != (shape.has_rowid and not shape.is_index):
            return None  # a page of another tree
        self._seen.add(number)
        return page

    @staticmethod
    def _fitting_rows(page: BTreePage, shape: TableShape, losses: TreeLosses) -> Iterator[Row]:
        """Yield those rows of a page that fit the columns of the table. Count them in `losses`
        as read and the other rows of the page as lost."""
        fitting = [row for row in page.rows if shape.fits(row)]
        losses.cells += page.bad_cells + len(page.rows) - len(fitting)
        losses.read_pages += bool(fitting)
        losses.read_rows += len(fitting)
        yield from fitting

    def _orphaned_pages(self) -> Iterator[tuple[int, BTreePage]]:
        """Yield the number and content of each readable page that has not been read as part of a
        table or index."""
        for number in range(2, self.pages.count + 1):
            if number not in self._seen:
                try:
                    yield number, self.pages.btree_page(number)
                except Unreadable:
                    continue

    def orphaned_rows(self, names: Iterable[str]) -> Iterator[tuple[str, Row]]:
        """Yield the rows on pages that no table's links reach, each with the name of the table that
        it is assigned to.

        `names` are the damaged tables. A page is assigned to the one of them that all its rows
        fit; if they fit several tables or none, the page is left out."""
        candidates = [self.shapes[name] for name in names]
        for number, page in self._orphaned_pages():
            fitting = [
                shape
                for shape in candidates
                if page.rows and all(shape.fits(row) for row in page.rows)
            ]
            if len(fitting) == 1:
                self._seen.add(number)
                yield from ((fitting[0].name, row) for row in page.rows)
