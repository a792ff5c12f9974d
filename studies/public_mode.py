"""Public mode: whether this process serves visitors over the network or only its own user.

It is the lowest module because sources, judges and the page all apply stricter limits to visitors.
Each reads the mode itself, so a limit does not depend on a caller passing the mode on.
"""

from __future__ import annotations

import os


def is_public() -> bool:
    """Return whether EVENHAND_PUBLIC has a value other than 0; on a Space the default is 1."""
    value = os.environ.get("EVENHAND_PUBLIC", "1" if "SPACE_ID" in os.environ else "")
    return value not in ("", "0")
