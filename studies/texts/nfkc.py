"""NFKC normalisation, which makes letters of other styles plain. Normalise only the matches of
NFKC_RUN, one at a time: time and space then stay small for texts of any length."""

import unicodedata
from typing import Final

NFKC_RUN: Final = r"[\x00-\x7f]?[^\x00-\x7f\ufdfa\ufdfb]{1,32}"
"""Pattern of a text to normalise at once. Runs are bounded, because NFKC sorts combining marks by
insertion, quadratic in their number. Two Arabic ligatures, which become 18 and 8 characters, are
left as they are; any other character becomes at most six."""


def normalise_nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)
