"""The cache of recently used URLs, by key and by id."""

from collections.abc import Iterable

from gossamer.stores.embedded.rows import KnownUrl


class KnownCache:
    """A cache of the last used URLs: at most `size`, and at least half of that.

    There are two generations. A used URL is in the young one; when that has grown to half of the
    size, it becomes the old one, and the previous old one is dropped. So no search is needed to
    evict a URL.
    """

    def __init__(self, size: int) -> None:
        self._half = max(1, size // 2)
        self._keys: dict[bytes, KnownUrl] = {}
        self._ids: dict[int, KnownUrl] = {}
        self._old_keys: dict[bytes, KnownUrl] = {}
        self._old_ids: dict[int, KnownUrl] = {}

    def by_keys(self, keys: Iterable[bytes]) -> list[KnownUrl | None]:
        """Return the URLs with these keys; None for one that is not cached."""
        get, old = self._keys.get, self._by_old_key
        return [get(key) or old(key) for key in keys]

    def by_key(self, key: bytes) -> KnownUrl | None:
        """Return the URL with this key, if it is cached."""
        return self._keys.get(key) or self._by_old_key(key)

    def by_id(self, url_id: int) -> KnownUrl | None:
        """Return the URL with this id, if it is cached."""
        return self._ids.get(url_id) or self._old_ids.get(url_id)

    def keep(self, known: KnownUrl) -> KnownUrl:
        """Cache a URL in the young generation; return it."""
        if len(self._keys) >= self._half:
            self._old_keys, self._old_ids = self._keys, self._ids
            self._keys, self._ids = {}, {}
        self._keys[known.key] = known
        self._ids[known.id] = known
        return known

    def clear(self) -> None:
        """Drop everything."""
        for one in (self._keys, self._ids, self._old_keys, self._old_ids):
            one.clear()

    def _by_old_key(self, key: bytes) -> KnownUrl | None:
        known = self._old_keys.get(key)
        return None if known is None else self.keep(known)
