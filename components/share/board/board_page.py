"""The page of a board: one HTML file with its numbers, drawn from `board.json` alone."""

from typing import Any, Final

from components.html.fonts import page_fonts
from components.html.format import count, join_names
from components.html.markup import ASSETS, Markup, json_script, read_program_file
from components.html.pieces import logo_html
from components.html.templates import macros

TEMPLATE: Final = "share/board/board.html"
MAX_NAMED: Final = 2
"""Number of rows that a headline names."""
_TOKENS_END: Final = "/* -------------------------------------------------------------------- bins"
"""The first line of style.css after the definitions of its CSS variables."""
Json = dict[str, Any]


def board_page(board: Json, manifest: str) -> Markup:
    """HTML of a board, a static page that compares judges. `board`: the contents of board.json;
    `manifest`: the SHA-256 of the file manifest.json, which lists the hashes of the other files."""
    files = {
        "tokens": read_program_file(ASSETS / "style.css").split(_TOKENS_END)[0],
        "style": read_program_file(ASSETS / "board" / "board.css"),
        "script": read_program_file(ASSETS / "board" / "board.js"),
    }
    data = json_script("board-data", board)
    return macros(TEMPLATE).page(
        board, *board_headline(board), files, page_fonts(), data, manifest, logo_html(),
        "python -m components board verify board/",
    )  # fmt: skip


def board_verified_message(board: Json) -> str:
    """The line that `board verify` prints if it finds no difference."""
    numbers = sum(
        one["value"] is not None for row in board["rows"] for one in row["numbers"].values()
    )
    return (
        f"{count(board['verdicts'], 'judgement')}, {count(len(board['rows']), 'row')}, "
        f"{count(numbers, 'number')}: all equal"
    )


def board_headline(board: Json) -> tuple[str, str]:
    """Headline of a board, and the sentence below it. The headline names the rows (judges with a
    prompt) that may be the best; if the board has several sets of items, those of the largest set.
    If the rows are not ranked, the headline is the board's title, and the sentence says how many
    rows there are."""
    key, rows = _first_ranked_column_and_its_rows(board)
    others = len(board["sets"]) - 1
    if not rows:
        return board["title"], count(len(board["rows"]), "row")
    one = board["sets"][rows[0]["set"]]
    lead = (
        f"{board['title']}. {count(one['items'], 'item')} of {one['source']}, "
        f"{count(one['comparisons'], 'comparison')}"
    )
    if others > 0:
        lead += f"; and {count(others, 'other set')} of items. Places compare rows on one set only"
    measure = next(column["name"] for column in board["columns"] if column["key"] == key)
    first = [row for row in rows if row["numbers"][key]["place"][0] == 1]
    return f"{_possible_leaders_text(rows, first)} by {measure.lower()}.", f"{lead}."


def _possible_leaders_text(rows: list[Json], first: list[Json]) -> str:
    """Words on `first`, the rows that may be the best of `rows`."""
    several = len({row["prompt"] for row in rows}) > 1
    names = [f"{row['judge']} with {row['prompt']}" if several else row["judge"] for row in first]
    if len(first) == len(rows) > 1:
        return f"None of {len(rows)} rows is shown to be ahead"
    if len(first) > MAX_NAMED:
        return f"{len(first)} of {len(rows)} rows may be first"
    may = "is" if len(first) == 1 else "may be"
    return f"{join_names(names)} {may} first of {len(rows)}"


def _first_ranked_column_and_its_rows(board: Json) -> tuple[str, list[Json]]:
    """(key, rows): key of the first column in which rows have places (ranges of ranks), and the
    rows with a place there. Places compare only rows on the same items, so these are the rows of
    one set: that with the most items, among equals with the most rows. ("", []) if no row has a
    place."""
    for column in board["columns"]:
        key = column["key"]
        placed = [row for row in board["rows"] if row["numbers"][key]["place"]]
        sets = {row["set"] for row in placed}
        if sets:
            size = {one: sum(row["set"] == one for row in placed) for one in sets}
            items = {one: board["sets"][one]["items"] for one in sets}
            best = max(sorted(sets), key=lambda one: (items[one], size[one]))
            return key, [row for row in placed if row["set"] == best]
    return "", []
