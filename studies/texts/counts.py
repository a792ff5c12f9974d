"""A count with its noun, in the singular for one: "1 item", "3,000 items"."""


def count(number: int, noun: str) -> str:
    """Format a count with a thousands comma and its noun, such as "1 reply" or "1,600 replies"; of
    a noun phrase, the last word is put in the plural."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return the regular plural of a noun; "people" for "person"."""
    if noun == "person":
        return "people"
    return noun[:-1] + "ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else noun + "s"
