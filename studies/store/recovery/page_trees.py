"""Page trees of the tables in a damaged file, and the pages that belong to no tree."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from studies.store.recovery.page_reader import BTreePage, PageFile, Row, Unreadable
from studies.store.recovery.table_shapes import MASTER, MASTER_SHAPE, TableShape


@dataclass(slots=True)
class TreeLosses:
    """Numbers of pages, and of single rows on readable pages (`cells`), of one table or index that
    could not be read."""

    pages: int = 0
    cells: int = 0
    read_pages: int = 0
    """Number of readable pages with rows, for the estimate of the rows on a lost page."""
    read_rows: int = 0

    @property
    def has_losses(self) -> bool:
        return bool(self.pages or self.cells)

    def estimate_lost_rows(self) -> int:
        """Estimate the number of lost rows, from the mean number of rows on readable pages."""
        mean = self.read_rows / self.read_pages if self.read_pages else 1.0
        return self.cells + round(self.pages * mean)


@dataclass(slots=True)
class PageTrees:
    """Page trees of the tables and indexes of a file; each page belongs to at most one tree."""

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
        """Yield the readable rows of a table or index, in the order of its tree, and count the
        losses. `root` is the number of its first page (None: as found by `find_roots`)."""
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
        """Read a page of a tree; None if it is unreadable, was read before, or belongs to an index
        instead of a table (or the other way round)."""
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
        """Yield the rows of a page that fit the table; count them and the others in `losses`."""
        fitting = [row for row in page.rows if shape.fits(row)]
        losses.cells += page.bad_cells + len(page.rows) - len(fitting)
        losses.read_pages += bool(fitting)
        losses.read_rows += len(fitting)
        yield from fitting

    def _orphaned_pages(self) -> Iterator[tuple[int, BTreePage]]:
        """Yield number and content of each readable page that no tree has so far."""
        for number in range(2, self.pages.count + 1):
            if number not in self._seen:
                try:
                    yield number, self.pages.btree_page(number)
                except Unreadable:
                    continue

    def orphaned_rows(self, names: Iterable[str]) -> Iterator[tuple[str, Row]]:
        """Yield the rows on pages that belong to no tree, each with the name of its table.

        A page is assigned to a table if its rows fit exactly one of the damaged tables `names`.
        """
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
