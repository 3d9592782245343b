"""Records that Python packs are those that the library reads, and the other way round."""

import math
import re
from importlib.resources import files

import pytest

from gossamer.stores.redis.records import (
    UNREADABLE,
    HostRow,
    UrlRow,
    read_host,
    read_targets,
    read_url,
    write_host,
    write_targets,
    write_url,
)
from gossamer.stores.url_record import UrlState

URL = UrlRow(
    state=int(UrlState.DONE),
    hops=2,
    depth=3,
    finished=1700.5,
    host=2**31,
    parent=2**33,
    deaths=2,
    flags=3,
    score=12.5,
    page=2**34,
    duplicate_of=2**35,
    similarity=9_612,
    own_similarity=10_000,
    found=1600.25,
    url="http://a.test/?q=%C3%A4",
    attempts=[(1650.0, "server_error", "STATUS_SERVER_ERROR", "ä", 503), (1, "fetched", "", "", 0)],
)


def test_the_fields_of_a_host_are_those_of_the_library() -> None:
    source = files("gossamer.stores.redis").joinpath("lua", "hosts.lua").read_text("utf-8")
    fields = HostRow.__struct_fields__
    read = re.findall(r"(\w+) = v\[(\d+)\]", source)
    numbered = [(name, str(number)) for number, name in enumerate(fields, 1)]
    (stock,) = (one for one in numbered if one[0] == "stock")  # it has a function of its own
    assert read == [one for one in numbered if one != stock]
    assert f"unpack_stock(h, v[{stock[1]}])" in source
    (written,) = re.findall(r"cmsgpack\.pack\(\{(.*?)\}\)", source, re.DOTALL)
    assert re.findall(r"(?:h\.|pack_)(\w+)", written) == list(fields)


def test_a_url_comes_back() -> None:
    assert read_url(write_url(URL)) == URL
    waiting = URL._replace(state=int(UrlState.QUEUED), finished=math.inf, attempts=())
    assert read_url(write_url(waiting)) == waiting


def test_a_host_comes_back() -> None:
    host = HostRow(name="a.test", domain="a.test", next=5.5, failures=1, unanswered=0, aside=True)
    assert read_host(write_host(host)) == host


@pytest.mark.parametrize("ids", [[], [1], [5, 3, 3, 2**33, 1]])
def test_targets_come_back(ids: list[int]) -> None:
    assert read_targets(write_targets(ids)) == ids


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"nonsense",
        bytes(200),
        write_url(URL)[:-1],
        write_url(URL) + b"more",
        write_url(URL._replace(state=9)),
        b"\x09" + write_url(URL)[1:],
    ],
)
def test_what_is_no_record_is_refused(packed: bytes) -> None:
    with pytest.raises(UNREADABLE):
        read_url(packed)
