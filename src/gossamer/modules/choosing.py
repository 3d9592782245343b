"""What a module's `links` returns, as the links to follow."""

import inspect
from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from typing import Any

from gossamer.model import Page
from gossamer.modules.hooks import FollowedLink
from gossamer.modules.loading import a_kind
from gossamer.plugins.calls import AnswerError, is_async, refuse_awaitable
from gossamer.urls import resolve

MAX_LINKS = 100_000
"""How many links a module may have followed from a page: more than any page has."""

Chosen = tuple[FollowedLink, ...]


def choosing(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the call as one that returns links, in normal form; it is async if the call is."""
    if is_async(call):

        async def choose_async(page: Page, links: Sequence[FollowedLink]) -> Chosen:
            given = call(page, links)
            given = await given if inspect.isawaitable(given) else given
            if isinstance(given, AsyncIterable):
                given = [one async for one in given]
            return _chosen(given, page, links)

        return choose_async

    def choose(page: Page, links: Sequence[FollowedLink]) -> Chosen:
        given = call(page, links)
        if inspect.isawaitable(given) or isinstance(given, AsyncIterable):
            refuse_awaitable(given)
        return _chosen(given, page, links)

    return choose


def _chosen(given: object, page: Page, links: Sequence[FollowedLink]) -> Chosen:
    if given is None:
        return tuple(links)
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise AnswerError(f"links returned {a_kind(given)} instead of the links to follow")
    chosen: list[FollowedLink] = []
    for one in given:
        if len(chosen) == MAX_LINKS:
            raise AnswerError(f"links returned more than {MAX_LINKS:,} links for one page")
        chosen.append(_link(one, page))
    return tuple(chosen)


def _link(given: object, page: Page) -> FollowedLink:
    """Return a link that a module has given back, or has added."""
    if not isinstance(given, str | FollowedLink):
        raise AnswerError(f"links returned {a_kind(given)} as a link: give a URL or a FollowedLink")
    text, score = (given, None) if isinstance(given, str) else (given.url, given.score)
    url = resolve(text, page.url)
    if url is None:
        raise AnswerError(f"links returned {text!r}, which is not a usable URL")
    if score is not None and not 0 <= score <= 100:  # nor is NaN
        raise AnswerError(f"links gave {text} the score {score}: scores go from 0 to 100")
    return FollowedLink(url, score)
