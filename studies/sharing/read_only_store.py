"""A store for a read-only page: no visitor may run or change its studies."""

from studies.store.store import Store


class ReadOnlyStore(Store):
    """A store whose studies no visitor may run or change."""

    @property
    def read_only(self) -> bool:
        return True

    def owns(self, study: str) -> bool:
        return False
