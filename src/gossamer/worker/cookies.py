"""The cookies of a crawl: from the store to the requests, and back what these have changed."""

from collections.abc import Callable, Sequence

from gossamer.download.request_settings import RequestCookies
from gossamer.frontier.contract import FrontierClient
from gossamer.model import HostKey, Url
from gossamer.policy.cookies import Cookie, CookieChanges, find_changes
from gossamer.urls import host_key


class OpenJar:
    """The cookies of a URL's domain, while the URL is requested."""

    def __init__(self, domain: str, jar: Sequence[Cookie]) -> None:
        self._jar = jar
        self.domain = domain
        self.cookies = RequestCookies(one.line for one in jar)
        """What the request sends, and what is there after it."""

    @property
    def changes(self) -> CookieChanges:
        """What the request has changed."""
        return find_changes(self._jar, self.cookies.lines, self.domain)


class CookieJars:
    """The jars of the crawl, in the store, one for each registered domain.

    `domain_of` goes by the public suffix list; `applies` says whether a host gets cookies at all.
    """

    def __init__(
        self,
        store: FrontierClient,
        domain_of: Callable[[str], str],
        applies: Callable[[HostKey], bool],
    ) -> None:
        self._store = store
        self._domain_of = domain_of
        self._applies = applies

    async def open(self, url: Url) -> OpenJar | None:
        """Return the cookies for a request; None if the host gets none and none are kept of it."""
        host = host_key(url)
        if not self._applies(host):
            return None
        domain = self._domain_of(host)
        return OpenJar(domain, await self._store.cookies(domain))

    async def keep(self, jar: OpenJar) -> bool:
        """Store what a request has changed; return whether it has set a cookie."""
        if not (changes := jar.changes):
            return False
        await self._store.put_cookies(jar.domain, changes)
        return bool(changes.changed)

    async def has_any(self, url: Url) -> bool:
        """Return whether there are cookies of the URL's domain, which it may get."""
        jar = await self.open(url)
        return jar is not None and bool(jar.cookies.lines)
