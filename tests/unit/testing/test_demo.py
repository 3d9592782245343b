import re
from collections.abc import Callable
from typing import Any

from gossamer.testing import Web, demo_site

Get = Callable[..., Any]


def test_the_demonstration_has_what_every_crawler_meets(web: Web, get: Get) -> None:
    web.site("other.test").page("/", html="not the demonstration")
    seed = demo_site(web)
    assert seed == f"{web.base_url}/"

    depth = {"/": 0}
    waiting = ["/"]
    answers = {}
    repeated = 0
    for path in waiting:
        answers[path] = answer = get(path, host=web.base_url.removeprefix("http://"))
        links = [match.decode() for match in re.findall(rb'href="([^"#]+)', answer.body)]
        if answer.status == 301:
            links.append(answer.headers["location"])
        repeated += len(links) - len(set(links))
        for link in links:
            if link not in depth and link.startswith("/"):
                depth[link] = depth[path] + 1
                waiting.append(link)
            elif not link.startswith("/"):
                assert link == "http://meadow.example/"

    pages = [path for path, answer in answers.items() if answer.body.startswith(b"<!doctype")]
    assert len(pages) == 13
    assert max(depth.values()) == 4
    assert repeated > 0
    assert answers["/attic.html"].status == 404
    assert answers["/cobweb.html"].status == 301
    assert answers["/portrait.png"].headers["content-type"] == "image/png"
    assert b"Disallow: /larder.html" in get("/robots.txt", host="127.0.0.1").body
