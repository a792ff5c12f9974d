"""The store of a read-only page: no visitor owns its studies."""

from studies.store.store import Store


class ReadOnlyStore(Store):
    """A store whose studies no visitor may run or change."""

    @property
    def read_only(self) -> bool:
        return True

    def owns(self, study: str) -> bool:
        return False
