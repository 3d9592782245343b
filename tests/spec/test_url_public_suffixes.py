"""The public suffix list's own test vectors, as the installed `publicsuffixlist` ships them."""

import re
from importlib import resources

import pytest

from gossamer.urls import Domains, host_key, normalise

_CHECK = re.compile(r"^checkPublicSuffix\('([^']+)', (?:'([^']+)'|null)\);", re.MULTILINE)


@pytest.mark.req("D6")
def test_registered_domains_are_those_of_the_published_vectors() -> None:
    vectors = resources.files("publicsuffixlist").joinpath("test_psl.txt").read_text("utf-8")
    domains = Domains()
    wrong = []
    checked = 0
    for name, expected in _CHECK.findall(vectors):
        url = normalise(f"http://{name}/")
        if url is None:
            assert name.startswith(".")  # not a host name at all
            continue
        # The vectors write international names in both ways; in our world there are only A-labels.
        wanted = normalise(f"http://{expected or name}/")
        assert wanted is not None
        checked += 1
        if domains.registered_domain(host_key(url)) != host_key(wanted):
            wrong.append((name, expected, domains.registered_domain(host_key(url))))
    assert wrong == []
    assert checked > 60
