"""The robots.txt of every authority in use."""

import asyncio
from collections.abc import Callable, Coroutine
from itertools import pairwise

import pytest

from gossamer.download.robots import RobotsCache, RobotsLimits
from gossamer.model import Cause, Headers, Outcome, Response, Url
from gossamer.policy.size_limits import Allowance

DAY_S = 24 * 3600.0


class RobotsWeb:
    """Answers for robots.txt files, a clock, and a gate behind which all answers can be held."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.asked: list[str] = []
        self.arrivals: asyncio.Queue[str] = asyncio.Queue()
        self.answers: dict[str, Response | Exception] = {}
        self.given_up = 0
        self.gate = asyncio.Event()
        self.gate.set()

    def clock(self) -> float:
        return self.now

    async def fetch(self, url: Url, _: Allowance) -> Response:
        self.asked.append(url)
        self.arrivals.put_nowait(url)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        answer = self.answers.get(url)
        if isinstance(answer, Exception):
            raise answer
        return answer or reply(Outcome.NOT_FOUND, 404, cause=Cause.STATUS_NOT_FOUND)

    def serve(self, url: str, robots: str) -> None:
        self.answers[url] = reply(Outcome.FETCHED, 200, body=robots.encode())

    def redirect(self, url: str, target: str) -> None:
        self.answers[url] = reply(Outcome.REDIRECTED, 301, target=Url(target))

    def fail(self, url: str, **headers: str) -> None:
        fields = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        self.answers[url] = reply(
            Outcome.SERVER_ERROR, 503, cause=Cause.STATUS_SERVER_ERROR, headers=Headers(fields)
        )

    def cache(self, **limits: int) -> RobotsCache:
        return RobotsCache(
            "Gossamer/0.1 (+http://us.test)", self.fetch, self.clock, RobotsLimits(**limits)
        )


def reply(
    outcome: Outcome,
    status: int,
    *,
    cause: Cause | None = None,
    headers: Headers | None = None,
    body: bytes = b"",
    target: Url | None = None,
) -> Response:
    return Response(
        url=Url("http://any.test/"),
        outcome=outcome,
        cause=cause,
        status=status,
        headers=headers or Headers(),
        body=body,
        target=target,
        started=0.0,
        ended=0.0,
    )


Story = Callable[[RobotsWeb], Coroutine[None, None, None]]


def play(story: Story) -> RobotsWeb:
    async def with_web() -> RobotsWeb:
        web = RobotsWeb()
        await story(web)
        return web

    return asyncio.run(with_web())


@pytest.mark.req("F4")
def test_a_forbidden_page_is_denied_by_name_and_the_file_fetched_once() -> None:
    async def story(web: RobotsWeb) -> None:
        web.serve("http://a.test/robots.txt", "User-agent: gossamer\nDisallow: /private/")
        cache = web.cache()
        verdict = await cache.judge(Url("http://a.test/private/x?y"))
        assert verdict.refusal is Outcome.ROBOTS_DENIED
        assert verdict.reason == "Disallow: /private/ (line 2)"
        assert (await cache.judge(Url("http://a.test/public"))).allowed
        assert web.asked == ["http://a.test/robots.txt"]

    play(story)


def test_every_authority_has_its_own_file() -> None:
    async def story(web: RobotsWeb) -> None:
        web.serve("http://a.test/robots.txt", "User-agent: *\nDisallow: /")
        cache = web.cache()
        assert not (await cache.judge(Url("http://a.test/"))).allowed
        assert (await cache.judge(Url("https://a.test/"))).allowed
        assert (await cache.judge(Url("http://a.test:8080/"))).allowed
        assert (await cache.judge(Url("http://www.a.test/"))).allowed

    assert play(story).asked == [
        "http://a.test/robots.txt",
        "https://a.test/robots.txt",
        "http://a.test:8080/robots.txt",
        "http://www.a.test/robots.txt",
    ]


@pytest.mark.req("B3")
def test_the_rules_carry_the_crawl_delay() -> None:
    async def story(web: RobotsWeb) -> None:
        web.serve("http://a.test/robots.txt", "User-agent: *\nCrawl-delay: 7")
        web.fail("http://b.test/robots.txt")
        cache = web.cache()
        rules = await cache.rules(Url("http://a.test/"))
        assert rules is not None
        assert rules.crawl_delay_s == 7.0
        assert await cache.rules(Url("http://b.test/")) is None

    play(story)


def test_a_file_is_fetched_again_after_a_day() -> None:
    async def story(web: RobotsWeb) -> None:
        web.serve("http://a.test/robots.txt", "User-agent: *\nDisallow: /")
        cache = web.cache()
        page = Url("http://a.test/x")
        assert not (await cache.judge(page)).allowed
        web.serve("http://a.test/robots.txt", "")
        web.now += DAY_S - 1
        assert not (await cache.judge(page)).allowed
        web.now += 1
        assert (await cache.judge(page)).allowed
        assert len(web.asked) == 2

    play(story)


def test_an_unreachable_file_is_tried_again_ever_more_rarely() -> None:
    async def story(web: RobotsWeb) -> None:
        web.fail("http://a.test/robots.txt")
        cache = web.cache()
        page = Url("http://a.test/x")
        for wait_s in (60.0, 120.0, 240.0):
            started = web.now
            verdict = await cache.judge(page)
            assert verdict.refusal is Outcome.ROBOTS_UNREACHABLE
            assert verdict.retry_at == started + wait_s
            web.now = started + wait_s - 1
            assert (await cache.judge(page)) == verdict
            web.now = started + wait_s
        assert len(web.asked) == 3
        web.serve("http://a.test/robots.txt", "User-agent: *\nDisallow: /y")
        assert (await cache.judge(page)).allowed

    play(story)


def test_retry_after_is_heard() -> None:
    async def story(web: RobotsWeb) -> None:
        web.fail("http://a.test/robots.txt", retry_after="5")
        verdict = await web.cache().judge(Url("http://a.test/x"))
        assert verdict.retry_at == web.now + 5.0

    play(story)


def test_the_old_rules_hold_while_the_file_is_unreachable() -> None:
    async def story(web: RobotsWeb) -> None:
        web.serve("http://a.test/robots.txt", "User-agent: *\nDisallow: /private/")
        cache = web.cache()
        await cache.judge(Url("http://a.test/"))
        web.fail("http://a.test/robots.txt")
        web.now += DAY_S
        assert (await cache.judge(Url("http://a.test/"))).allowed
        assert not (await cache.judge(Url("http://a.test/private/"))).allowed
        assert len(web.asked) == 2
        web.now += 60
        assert (await cache.judge(Url("http://a.test/"))).allowed
        assert len(web.asked) == 3

    play(story)


def test_redirects_are_followed_to_other_hosts_for_the_first_one() -> None:
    async def story(web: RobotsWeb) -> None:
        web.redirect("http://a.test/robots.txt", "https://a.test/robots.txt")
        web.redirect("https://a.test/robots.txt", "https://cdn.test/files/robots")
        web.serve("https://cdn.test/files/robots", "User-agent: *\nDisallow: /private/")
        cache = web.cache()
        assert not (await cache.judge(Url("http://a.test/private/"))).allowed
        assert (await cache.judge(Url("https://cdn.test/private/"))).allowed

    assert play(story).asked == [
        "http://a.test/robots.txt",
        "https://a.test/robots.txt",
        "https://cdn.test/files/robots",
        "https://cdn.test/robots.txt",
    ]


@pytest.mark.parametrize(("hops", "allowed"), [(5, False), (6, True)])
def test_five_redirects_are_followed_and_no_more(hops: int, allowed: bool) -> None:
    async def story(web: RobotsWeb) -> None:
        names = ["http://a.test/robots.txt", *(f"http://h{hop}.test/r" for hop in range(hops))]
        for name, target in pairwise(names):
            web.redirect(name, target)
        web.serve(names[-1], "User-agent: *\nDisallow: /")
        assert (await web.cache().judge(Url("http://a.test/x"))).allowed is allowed
        assert len(web.asked) == 6

    play(story)


def test_a_circle_of_redirects_ends_and_allows() -> None:
    async def story(web: RobotsWeb) -> None:
        web.redirect("http://a.test/robots.txt", "http://a.test/robots.txt")
        assert (await web.cache().judge(Url("http://a.test/x"))).allowed
        assert len(web.asked) == 6

    play(story)


def test_all_who_wait_share_one_fetch() -> None:
    async def story(web: RobotsWeb) -> None:
        web.serve("http://a.test/robots.txt", "User-agent: *\nDisallow: /1")
        web.gate.clear()
        cache = web.cache()
        judging = [
            asyncio.create_task(cache.judge(Url(f"http://a.test/{number}"))) for number in range(3)
        ]
        await web.arrivals.get()
        web.gate.set()
        verdicts = await asyncio.gather(*judging)
        assert [verdict.allowed for verdict in verdicts] == [True, False, True]
        assert len(web.asked) == 1
        assert cache._memory.packed("http://a.test") is not None
        assert not cache._pending

    play(story)


def test_whoever_stops_waiting_stops_nobody_else() -> None:
    async def story(web: RobotsWeb) -> None:
        web.gate.clear()
        cache = web.cache()
        page = Url("http://a.test/")
        first = asyncio.create_task(cache.judge(page))
        await web.arrivals.get()
        second = asyncio.create_task(cache.judge(page))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        web.gate.set()
        assert (await second).allowed
        assert len(web.asked) == 1

    play(story)


def test_a_fetch_that_nobody_waits_for_is_given_up() -> None:
    async def story(web: RobotsWeb) -> None:
        web.gate.clear()
        cache = web.cache()
        page = Url("http://a.test/")
        alone = asyncio.create_task(cache.judge(page))
        await web.arrivals.get()
        alone.cancel()
        # The next one comes before the cancelled fetch has ended, and must not join it.
        late = asyncio.create_task(cache.judge(page))
        with pytest.raises(asyncio.CancelledError):
            await alone
        await web.arrivals.get()
        assert web.given_up == 1
        web.gate.set()
        assert (await late).allowed
        assert web.given_up == 1

    play(story)


def test_a_fetch_that_breaks_us_breaks_all_who_wait_and_is_not_kept() -> None:
    async def story(web: RobotsWeb) -> None:
        web.answers["http://a.test/robots.txt"] = RuntimeError("we are broken")
        cache = web.cache()
        page = Url("http://a.test/")
        both = await asyncio.gather(cache.judge(page), cache.judge(page), return_exceptions=True)
        assert [str(one) for one in both] == ["we are broken"] * 2
        web.serve("http://a.test/robots.txt", "")
        assert (await cache.judge(page)).allowed
        assert len(web.asked) == 2

    play(story)


FEW = {"packed_bytes": 1_300, "ready_bytes": 500}
"""Room for two authorities, of which one is ready."""


def test_the_least_recently_used_is_forgotten_first() -> None:
    async def story(web: RobotsWeb) -> None:
        cache = web.cache(**FEW)
        for name in ("a", "b", "a", "c", "a", "b"):
            await cache.judge(Url(f"http://{name}.test/"))

    asked = play(story).asked
    assert [url.removeprefix("http://")[0] for url in asked] == ["a", "b", "c", "b"]


def test_large_files_displace_only_each_other() -> None:
    async def story(web: RobotsWeb) -> None:
        robots = "User-agent: *\n" + "\n".join(
            f"Disallow: /{hash((number, 1)):x}" for number in range(5_000)
        )
        for name in ("x", "y", "z"):
            web.serve(f"http://{name}.test/robots.txt", robots)
        cache = web.cache(**FEW, large_bytes=1_000)
        for name in ("a", "x", "b", "y", "z", "a", "b", "z", "x"):
            assert (await cache.judge(Url(f"http://{name}.test/"))).allowed

    asked = play(story).asked
    assert [url.removeprefix("http://")[0] for url in asked] == ["a", "x", "b", "y", "z", "x"]


@pytest.mark.req("D19")
def test_whoever_waits_for_its_turn_is_not_asked_about_again() -> None:
    """More hosts than can be remembered would otherwise be asked for robots.txt for ever."""
    homes = [Url(f"http://h{number}.test/") for number in range(10)]

    async def story(web: RobotsWeb) -> None:
        cache = web.cache(**FEW)
        for home in homes:
            cache.remember_verdict(home, await cache.judge(home))
        for home in homes:
            verdict = cache.known_verdict(home)
            assert verdict is not None
            assert verdict.allowed
        assert cache.known_verdict(homes[0]) is None, "it is told once"
        assert not cache._verdicts
        cache.remember_verdict(homes[0], await cache.judge(homes[0]))
        await cache.judge(homes[1])
        await cache.judge(homes[2])
        web.now += DAY_S
        assert cache.known_verdict(homes[0]) is None, "it does not outlast the rules"

    assert len(play(story).asked) == 13


def test_what_was_packed_is_the_same() -> None:
    async def story(web: RobotsWeb) -> None:
        web.serve(
            "http://a.test/robots.txt",
            "User-agent: *\nCrawl-delay: 7\nDisallow: /a%20*b$\nAllow: /\u00e4\nDisallow: /"
            + "x" * 500,
        )
        web.fail("http://b.test/robots.txt")
        cache = web.cache(ready_bytes=1)
        urls = [
            Url(f"http://{host}.test{path}")
            for host in "ab"
            for path in ("/", "/a%20xb", "/a%20xbc", "/%C3%A4", "/" + "x" * 501)
        ]
        first = [await cache.judge(url) for url in urls]
        assert [cache.known_verdict(url) for url in reversed(urls)] == first[::-1]
        assert cache.known_delay_s(urls[0]) == 7.0

    assert len(play(story).asked) == 2


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    "line",
    [
        b"Allow:/\n",
        b"Disallow:/*a*b\n",
        b"Disallow:/" + b"*a" * 8_000 + b"\n",
        b"Disallow:/%61%62%63\n",
        b"Sitemap:http://a.b/c\n",
    ],
)
def test_a_hostile_file_holds_nobody_up(line: bytes) -> None:
    """Others have their turn while it is parsed."""

    async def story(web: RobotsWeb) -> None:
        body = (b"User-agent: *\n" + line * (500_000 // len(line)))[:500_000]
        web.answers["http://a.test/robots.txt"] = reply(Outcome.FETCHED, 200, body=body)
        judging = asyncio.create_task(web.cache().judge(Url("http://a.test/x")))
        turns = 0
        while not judging.done():
            turns += 1
            await asyncio.sleep(0)
        assert turns > 10

    play(story)


def test_a_file_replaced_again_and_again_takes_its_place_once() -> None:
    async def story(web: RobotsWeb) -> None:
        web.serve("http://a.test/robots.txt", "User-agent: *\nDisallow: /x")
        cache = web.cache()
        await cache.judge(Url("http://a.test/"))
        before = cache._memory._small.bytes
        for _ in range(5):
            web.now += DAY_S
            await cache.judge(Url("http://a.test/"))
        assert cache._memory._small.bytes == before > 0

    play(story)
