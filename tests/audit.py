"""python -m tests.audit PIP-AUDIT: known holes in the versions that are installed.

Exit code 0: looked, and found none; or could not look, which is said in capitals and is no failure,
since a machine without a network has done nothing wrong. EVENHAND_AUDIT=strict makes it one (2).
Exit code 1: there are holes, each with the version that mends it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from typing import Any

MINUTES = 5


def main(command: list[str]) -> int:
    looked = [*command, "--path", sysconfig.get_paths()["purelib"], "--format", "json",
              "--progress-spinner", "off"]  # fmt: skip
    try:
        done = subprocess.run(
            looked, capture_output=True, text=True, timeout=60 * MINUTES, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return not_audited(f"{type(error).__name__}: {error}")
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return not_audited((done.stderr.strip().splitlines() or ["no answer"])[-1])
    return told(packages)


def told(packages: list[dict[str, Any]]) -> int:
    """What was found, a line each; packages that could not be looked up are counted."""
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    if len(skipped) == len(packages):
        reason = packages[0]["skip_reason"] if packages else "nothing is installed"
        return not_audited(f"it knows none of the {len(packages)} packages: {reason}")
    holes = [(package, hole) for package in packages for hole in package.get("vulns", ())]
    for package, hole in holes:
        mended = ", ".join(hole.get("fix_versions") or ()) or "no version yet"
        print(f"{package['name']} {package['version']}: {hole['id']}; mended in {mended}")
    left = f"; NOT LOOKED UP: {', '.join(skipped)}" if skipped else ""
    print(f"{len(packages) - len(skipped)} packages looked up, {len(holes)} known holes{left}")
    return 1 if holes else 0


def not_audited(why: str) -> int:
    print(f"NOT AUDITED: the database of known holes gave no answer ({why[:300]})")
    return 2 if os.environ.get("EVENHAND_AUDIT") == "strict" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
