"""A fault: one way in which a server of the simulated web misbehaves."""

from collections.abc import Callable
from html import escape
from random import Random
from typing import TypeAlias

import msgspec

from gossamer.testing.site import Raw, RawStep, Reply, SiteAnswer
from gossamer.testing.traffic import RequestRecord

FAULT_PATH = "/fault"
"""Where most faults are: the home page of a faulty host links to it."""
END = f"{FAULT_PATH}/end"
"""A page that other pages of a fault link or redirect to: found if they are understood."""
NextRandom: TypeAlias = Callable[[], float]
"""Returns the next number from 0 to below 1."""


def draws(key: int | str) -> NextRandom:
    """Return the random numbers of a key, the same in every process and version of Python.

    Only the method `random` of `Random` is guaranteed never to change.
    """
    return Random(key).random  # noqa: S311 -- nothing here is secret


OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


class FaultRequest(msgspec.Struct, frozen=True):
    """A request that a fault answers."""

    origin: str
    """The scheme, name and port of the host, such as `http://maze.test`."""
    record: RequestRecord
    honest: Callable[[], Reply]
    """Returns what the host would answer without the fault."""

    @property
    def target(self) -> str:
        """The path and query that were asked for."""
        return self.record.path


Player: TypeAlias = Callable[[FaultRequest], SiteAnswer | None]
"""Answers a request; None leaves it to the honest part of the host."""


class Fault(msgspec.Struct, frozen=True):
    """A kind of misbehaviour, switched on for a host by its name."""

    name: str
    """Also the name of a host that has it, so lower case with hyphens."""
    summary: str
    """What the server does, in a few words."""
    play: Player
    at: tuple[str, ...] = (FAULT_PATH,)
    """The beginnings of the paths that it answers."""

    def answer(self, request: FaultRequest) -> SiteAnswer | None:
        """Return its answer to a request; None if the request is none of its business."""
        return self.play(request) if request.target.startswith(self.at) else None


def always(answer: SiteAnswer) -> Player:
    """Return what gives the same answer to every request."""
    return lambda _request: answer


def raw(*steps: RawStep) -> Player:
    """Return what sends exactly these bytes and pauses."""
    return always(Raw(steps))


def status(number: int, **fields: str) -> Player:
    """Return what answers with this status and header fields (`_` stands for a hyphen)."""
    headers = {name.replace("_", "-"): value for name, value in fields.items()}
    return always(Reply(status=number, headers=headers))


def answers(name: str, summary: str, answer: SiteAnswer) -> Fault:
    """Return a fault that gives the same answer to every request."""
    return Fault(name, summary, always(answer))


def sends(name: str, summary: str, *steps: RawStep) -> Fault:
    """Return a fault that sends exactly these bytes and pauses."""
    return Fault(name, summary, raw(*steps))


def linking(*links: str, text: str = "", head: str = "") -> str:
    """Return a page with these links."""
    items = "".join(f'<li><a href="{escape(link)}">on</a>\n' for link in links)
    return f"<!doctype html><title>A page</title>{head}<p>{text}</p><ul>\n{items}</ul>\n"


def linked(*links: str, text: str = "", head: str = "") -> Reply:
    """Return the answer with a page that has these links."""
    return Reply(body=linking(*links, text=text, head=head))


def ended(make: Callable[[], SiteAnswer]) -> Player:
    """Return what answers with this, and with a page at whatever it leads to."""
    return ended_by(lambda _request: make())


def ended_by(play: Callable[[FaultRequest], SiteAnswer]) -> Player:
    """Return the same, for an answer that depends on the request."""
    return lambda request: (
        linked(text="The end.") if request.target != FAULT_PATH else play(request)
    )


def typed(body: bytes | str, kind: str = "text/html; charset=utf-8", **fields: str) -> Reply:
    """Return the answer with this content, type and header fields (`_` stands for a hyphen)."""
    headers = {name.replace("_", "-"): value for name, value in fields.items()}
    return Reply(headers={"Content-Type": kind, **headers}, body=body)
