"""The recently used URLs of a shelf, by key and by id."""

from collections import OrderedDict

from gossamer.stores.contract import Place
from gossamer.stores.shelf import Known


class KnownCache:
    """Keeps at most so many URLs; the ones that came first leave first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._by_key: dict[bytes, Known] = {}
        # Not a plain dict: that takes longer to find its first entry the more were deleted there.
        self._by_id: OrderedDict[int, tuple[bytes, Known]] = OrderedDict()

    def by_key(self, key: bytes) -> Known | None:
        """Return the URL filed under that key, if it is here."""
        return self._by_key.get(key)

    def by_id(self, url_id: int) -> Known | None:
        """Return the URL of that id, if it is here."""
        found = self._by_id.get(url_id)
        return None if found is None else found[1]

    def keep(self, key: bytes, known: Known) -> Known:
        """Keep a URL, and return it."""
        self._by_key[key] = known
        self._by_id[known.id] = (key, known)
        if len(self._by_id) > self._size:
            _, (oldest, _) = self._by_id.popitem(last=False)
            del self._by_key[oldest]
        return known

    def place(self, url_id: int, place: Place) -> None:
        """Note where the URL stands, if it is here."""
        found = self._by_id.get(url_id)
        if found is not None:
            found[1].place = place
