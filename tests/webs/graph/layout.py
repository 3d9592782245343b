"""The layout of the synthetic web: the host and path of each page, which is a number."""

import re
from bisect import bisect_right
from itertools import accumulate

PRIVATE_DIRECTORY = "/private/"

_NUMBER = re.compile(r"[1-9][0-9]{0,11}")


class Layout:
    """Pages 0, 1, 2 … in the order of their hosts; the first host is the largest.

    The sizes follow a power law of the host's rank, as on the real web, and every host has at
    least one page: its home page, "/".
    """

    def __init__(self, hosts: int, pages: int, skew: float) -> None:
        self.sizes = _sizes(hosts, pages, skew)
        """How many pages each host has."""
        self.firsts = [0, *accumulate(self.sizes[:-1])]
        """The home page of each host."""
        self.host_names = [f"h{host:04}.test" for host in range(hosts)]

    def host_of(self, page: int) -> int:
        """Return the host of a page."""
        return bisect_right(self.firsts, page) - 1

    def pages_of(self, host: int) -> range:
        """Return the pages of a host, its home page first."""
        return range(self.firsts[host], self.firsts[host] + self.sizes[host])

    def locate(self, page: int) -> tuple[int, str]:
        """Return the host of a page, and its path and query there."""
        host = bisect_right(self.firsts, page) - 1
        return host, _path(page - self.firsts[host])

    def url(self, page: int) -> str:
        """Return the URL of a page, in normal form."""
        host, path = self.locate(page)
        return f"http://{self.host_names[host]}{path}"

    def find(self, host: int, target: str) -> int | None:
        """Return the page of exactly this path and query on a host; None if there is none."""
        found = _NUMBER.search(target)
        number = int(found[0]) if found else 0
        if number >= self.sizes[host] or _path(number) != target:
            return None
        return self.firsts[host] + number

    def find_url(self, url: str) -> int | None:
        """Return the page of exactly this URL; None if there is none."""
        scheme, _, rest = url.partition("://")
        name, slash, target = rest.partition("/")
        if scheme != "http" or name not in self.host_names:
            return None
        return self.find(self.host_names.index(name), slash + target)


def _path(number: int) -> str:
    """Return the path of a host's page of that number; no two are the same."""
    if number == 0:
        return "/"
    match number % 10:
        case 2 | 3:
            return f"/section/p{number}.html"
        case 4:
            return f"/~author/p{number}.html"
        case 6:
            return f"/list?n={number}&view=all"
        case 9:
            return f"{PRIVATE_DIRECTORY}p{number}.html"
        case _:
            return f"/p{number}.html"


def _sizes(hosts: int, pages: int, skew: float) -> list[int]:
    """Distribute the pages by weights that fall with the rank, at least one to each host."""
    weights = [(rank + 1) ** -skew for rank in range(hosts)]
    spare = pages - hosts
    total = sum(weights)
    ends = [round(spare * part / total) for part in accumulate(weights)]
    ends[-1] = spare
    return [1 + end - begin for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
