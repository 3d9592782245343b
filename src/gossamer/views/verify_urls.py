"""The check of URLs: whether each is filed under its own key and host, and is in scope."""

from collections.abc import Iterable, Iterator, Sequence

from gossamer.urls import Scope, normalise, parse_seed
from gossamer.views.audit import FiledUrl
from gossamer.worker.links import LinkFilter
from gossamer.worker.sitemaps import sitemap_key


class UrlCheck:
    """Checks every URL in one pass; what concerns scope and seeds is kept in lists."""

    def __init__(
        self, scope: Scope | None, seeds: Sequence[str], *, has_files: bool = False
    ) -> None:
        """Prepare; `has_files`: there are more seeds than those, in files."""
        self._scope = scope
        self._has_files = has_files
        self._link_filter = LinkFilter(Scope.for_seeds("any", []), str)
        filed = map(self._link_filter.file, map(parse_seed, seeds))
        self._seeds = {link.key: link.url for link in filed}
        self.outside: list[str] = []
        """The URLs that are out of scope; call `misfiled` first."""
        self.orphans: list[str] = []
        """URLs found on no page that are not seeds, and missing seeds; as above."""

    def misfiled(self, urls: Iterable[FiledUrl]) -> Iterator[str]:
        """Yield the URLs that are not in normal form, or are filed under another key or host."""
        missing = dict(self._seeds)
        one = None
        for one in urls:
            missing.pop(one.key, None)
            is_known = one.key in self._seeds or one.is_sitemap or self._has_files
            if one.is_seed and not is_known:
                self.orphans.append(f"{one.url} was found on no page and is not a seed")
            yield from self._complaint(one)
        # A crawl that was killed at its very beginning has no URL at all.
        if one is not None:
            self.orphans += [f"the seed {url} is missing" for url in missing.values()]

    def _complaint(self, one: FiledUrl) -> Iterator[str]:
        url = normalise(one.url)
        if url != one.url:
            yield f"{one.url} is not in normal form"
            return
        is_seed = one.depth == 0 or one.is_seed
        if self._scope and not one.is_sitemap:  # a sitemap may be elsewhere
            verdict = self._scope.judge(url, is_seed=is_seed)
            if not verdict:
                self.outside.append(f"{url}: {verdict.explain(url)}")
        link = self._link_filter.file(url)
        if one.key != (sitemap_key(url) if one.is_sitemap else link.key):
            yield f"{url} is filed under the key of another URL"
        elif link.host != one.host:
            yield f"{url} is filed under the host {one.host}"
        elif one.host != one.domain and not one.host.endswith(f".{one.domain}"):
            yield f"{url} is filed under the domain {one.domain}"
