"""The simulated web: the same from the same numbers, of any size, and every page can be found."""

import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from gossamer.model.errors import UsageError
from gossamer.testing.server import parse_request
from gossamer.testing.simulator import FAULTS, Fault, ServedWeb, SimulatedWeb
from gossamer.testing.simulator.fault import always
from gossamer.testing.site import Prepared, Reply


def get(served: ServedWeb, url: str) -> str:
    """Return the answer to a request, without a socket; one of steps is empty."""
    host, _, path = url.removeprefix("http://").partition("/")
    record = parse_request(f"GET /{path} HTTP/1.1\r\nHost: {host}".encode())
    assert record is not None
    answer = served.answer(record)
    return answer.whole.decode("latin-1") if isinstance(answer, Prepared) else ""


def reached(served: ServedWeb, seed: str) -> set[str]:
    """Return every page that is found from a seed, over links and redirects."""
    found, waiting = set(), [seed]
    while waiting:
        url = waiting.pop()
        if url not in found and "/private/" not in url and "/fault" not in url:
            found.add(url)
            origin = "/".join(url.split("/")[:3])
            links = re.findall(r'(?:href="|Location: )([^"\r]+)', get(served, url))
            waiting += [f"{origin}{link}" if link.startswith("/") else link for link in links]
    return found


def test_the_same_numbers_make_the_same_web() -> None:
    webs = [ServedWeb(SimulatedWeb(seed=seed, hosts=5)) for seed in (1, 1, 2)]
    one, same, other = (get(web, web.home("h3")) for web in webs)
    assert one == same != other


def test_every_honest_page_is_found_from_the_first() -> None:
    served = ServedWeb(SimulatedWeb(hosts=60, pages=90, faults={"maze": 0, "http-09": 0.3}))
    hosts = served.web.all_hosts
    honest = [f"h{number}" for number in range(60) if hosts.fault_of(number) is None]
    found = reached(served, served.home())
    wanted = {url for label in honest for url in served.honest_urls(label)}
    assert wanted <= found | {url for url in wanted if "/private/" in url}
    assert served.home("maze") in get(served, served.home())
    assert 0.1 < 1 - len(honest) / 60 < 0.5


def test_sizes_follow_a_power_law_and_nothing_is_stored() -> None:
    served = ServedWeb(SimulatedWeb(hosts=1_000_000_000, pages=1_000_000_000))
    sizes = [len(str(served.web.all_hosts.numbered(10**power).size)) for power in range(9)]
    assert sizes == sorted(sizes, reverse=True)
    assert "Not found" not in get(served, "http://h0.test/p999999998.html")
    assert "Not found" in get(served, "http://h0.test/p999999999999.html")
    assert "Not found" in get(served, "http://h1000000000.test/")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"hosts": 0}, "one host"),
        ({"faults": {"x": 0}}, "no fault"),
        ({"faults": {"maze": 2}}, "1"),
    ],
)
def test_a_web_that_cannot_be_is_refused(wrong: dict[str, int], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        SimulatedWeb(**wrong)  # type: ignore[arg-type]


def test_a_fault_of_ones_own_is_added_by_its_name() -> None:
    mine = Fault("mine", "says so", always(Reply(body="It is mine.")))
    served = ServedWeb(SimulatedWeb(faults={"mine": 0}, catalogue={**FAULTS, "mine": mine}))
    assert served.home("mine") in get(served, served.home())
    assert "It is mine." in get(served, f"{served.home('mine')}fault")


def test_a_fault_can_be_a_host() -> None:
    """Its name is one, so that a host can be called like it."""
    assert [name for name in FAULTS if not re.fullmatch(r"[a-z]+[a-z0-9-]*[a-z0-9]", name)] == []


def test_the_command_serves_and_says_how_to_crawl() -> None:
    words = [str(Path(sys.executable).with_name("gossamer")), "web", "--hosts", "3"]
    words += ["--fault", "maze"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        first, crawl = command.stdout.readline(), command.stdout.readline()
        port = first.split(":")[2].split("/")[0]
        asked = urllib.request.Request(
            f"http://127.0.0.1:{port}/", headers={"Host": f"h2.localhost:{port}"}
        )
        page = urllib.request.urlopen(asked, timeout=20).read()  # noqa: S310
        command.terminate()
        assert b"<title>h2 0</title>" in page
        assert f"gossamer crawl http://h0.localhost:{port}/" in crawl
        assert "1 requests to 1 hosts" in command.stdout.read()
    assert command.returncode == 0
