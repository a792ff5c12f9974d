"""Whose machine this is: that of the person at the keyboard, or one that strangers use.

At the bottom, because sources, judges and the page each hold strangers to tighter rules, and a rule
that was not passed down must not be a rule that does not hold.
"""

from __future__ import annotations

import os


def is_public() -> bool:
    """EVENHAND_PUBLIC=1 says so; on a Space it need not be said."""
    said = os.environ.get("EVENHAND_PUBLIC", "1" if "SPACE_ID" in os.environ else "")
    return said not in ("", "0")
