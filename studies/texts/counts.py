"""A count with its noun, in the singular for one: "1 item", "3,000 items"."""


def count(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 reply" or "1,600 replies". Of a noun of several
    words, the last is put in the plural."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return the regular plural of a noun; "people" for "person"."""
    if noun == "person":
        return "people"
    return noun[:-1] + "ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else noun + "s"
