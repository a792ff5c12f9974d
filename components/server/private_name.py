"""Check of the private names of Gradio that the page uses, and the error for a missing one."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from studies.errors import EvenhandError

_log: Final = logging.getLogger(__name__)


class GradioChanged(EvenhandError):
    """Raised if a private name of Gradio that public mode depends on is missing."""


@dataclass(frozen=True, slots=True)
class PrivateName:
    """One private name of Gradio, or several that are used together."""

    name: str
    use: str
    fallback: str
    """Consequence of a failed check."""
    attributes: frozenset[str]
    """Its attribute names; a test checks that only the module `gradio_private` uses them."""
    check: Callable[[Any, Any], bool]
    """Function (gradio package, page) -> whether the name exists with the expected meaning."""
    protects_visitors: bool = False
    """Whether public mode is refused if the name is missing."""

    def is_working(self, blocks: Any, package: Any) -> bool:
        """Whether the check passes; a missing attribute, key or argument counts as a failed
        check."""
        try:
            return self.check(package, blocks)
        except (AttributeError, KeyError, TypeError):
            return False


def check_names(names: Iterable[PrivateName], blocks: Any, package: Any, *, public: bool) -> None:
    """Raise GradioChanged in public mode if a name that protects visitors is missing; log every
    missing name."""
    missing = [name for name in names if not name.is_working(blocks, package)]
    for name in missing:
        _log.warning("Gradio has changed: %s no longer exists. %s", name.name, name.fallback)
    unsafe = ", ".join(name.name for name in missing if name.protects_visitors)
    if public and unsafe:
        raise GradioChanged(
            f"Gradio {getattr(package, '__version__', '')} lacks {unsafe}, which public mode "
            "depends on. Install the release of requirements.txt, or unset EVENHAND_PUBLIC"
        )
