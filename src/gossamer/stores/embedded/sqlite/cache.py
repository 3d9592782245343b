"""The recently used URLs of a backend, by key and by id."""

from collections.abc import Iterable

from gossamer.stores.embedded.backend import Known


class KnownCache:
    """Keeps at least half, at most all of so many URLs, those used last.

    There are two generations. What is used belongs to the young one; when that has grown to half
    of the size, the old one is dropped and the young one becomes the old one. So nothing is ever
    searched for what has to go.
    """

    def __init__(self, size: int) -> None:
        self._half = max(1, size // 2)
        self._keys: dict[bytes, Known] = {}
        self._ids: dict[int, Known] = {}
        self._old_keys: dict[bytes, Known] = {}
        self._old_ids: dict[int, Known] = {}

    def __len__(self) -> int:
        return len(self._keys.keys() | self._old_keys.keys())

    def __repr__(self) -> str:
        return f"<KnownCache: {len(self)} of at most {2 * self._half} URLs>"

    def by_keys(self, keys: Iterable[bytes]) -> list[Known | None]:
        """Return the URLs filed under these keys; None for one that is not here."""
        get, old = self._keys.get, self._by_old_key
        return [get(key) or old(key) for key in keys]

    def by_key(self, key: bytes) -> Known | None:
        """Return the URL filed under that key, if it is here."""
        return self._keys.get(key) or self._by_old_key(key)

    def by_id(self, url_id: int) -> Known | None:
        """Return the URL of that id, if it is here."""
        return self._ids.get(url_id) or self._old_ids.get(url_id)

    def keep(self, known: Known) -> Known:
        """Keep a URL that is not here, or not among the young; return it."""
        if len(self._keys) >= self._half:
            self._old_keys, self._old_ids = self._keys, self._ids
            self._keys, self._ids = {}, {}
        self._keys[known.key] = known
        self._ids[known.id] = known
        return known

    def clear(self) -> None:
        """Forget everything."""
        for one in (self._keys, self._ids, self._old_keys, self._old_ids):
            one.clear()

    def _by_old_key(self, key: bytes) -> Known | None:
        known = self._old_keys.get(key)
        return None if known is None else self.keep(known)
