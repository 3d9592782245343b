"""What the model knows: URLs, hosts, pages, and who has what in progress."""

import math
from dataclasses import dataclass, field

from gossamer.frontier.contract import Task
from gossamer.model import Outcome
from gossamer.policy.backoff import FIRST_DELAY_S
from gossamer.stores.url_record import Record

NAMES = [f"{host}/{page}" for host in ("a", "x.a", "b", "c") for page in range(6)]
CONTENTS = {"one": None, "two": 0, "three": 20, "four": 100, "five": 115, "six": 5}
"""What pages may say, and how far the sketch of that differs from those of the others."""
OWN = {"one": 0, "two": 0, "three": 10, "four": 10, "five": 200, "six": None}
"""How far their own contents differ from each other; None: there is little of it."""
PARTS = 255
SAME = 2.0
"""More than any likeness: the content is the same."""


def host_of(name: str) -> str:
    return name.partition("/")[0]


def domain_of(name: str) -> str:
    return host_of(name).split(".")[-1]


@dataclass
class ModelUrl:
    state: str = "waiting"
    depth: int = 0
    hops: int = 0
    outcome: Outcome | None = None
    finished_at: float = math.inf
    targets: list[str] = field(default_factory=list)
    redirect: bool = False
    page: int | None = None
    """The number of its page, which it never loses."""
    duplicate_of: int | None = None
    attempts: int = 0
    deaths: int = 0
    """How many workers have died on it."""


@dataclass
class ModelHost:
    crawl_delay: float = 0.0
    next_start: float = -math.inf
    failures: int = 0
    delay: float = FIRST_DELAY_S
    """What fits how it has answered."""


@dataclass
class HeldTask:
    task: Task
    worker: int
    deadline: float
    shared: bool = False
    """Whether several workers were allowed to serve its host when it was leased."""
    number: int | None = None
    content: str | None = None
    again: bool = False
    """Whether the number is that of the page which the URL has."""
    refused_by: str | None = None
    """Whose claim it was refused for."""
    duplicate_of: int | None = None
    repeats: Outcome = Outcome.DUPLICATE
    is_read: bool = False
    """Whether its own content is known to the store."""


@dataclass
class Durable:
    """What outlasts a process."""

    urls: dict[str, ModelUrl] = field(default_factory=dict)
    hosts: dict[str, ModelHost] = field(default_factory=dict)
    pages: dict[int, tuple[str, str, float]] = field(default_factory=dict)
    """URL, content and when it was fetched, each as of the last visit."""
    read: set[int] = field(default_factory=set)
    """The pages whose own content is known."""
    shown: dict[int, int] = field(default_factory=dict)
    """The depth at which the modules saw a page."""
    results: list[tuple[str, int | None, tuple[Record, ...] | None]] = field(default_factory=list)
    """URL, page and records of what was settled with a page or records, in order."""
    visits: int = 0
    bytes: int = 0
    received: int = 0
    short_at: int = 0
    """The limit of bytes under which the rest was too little for a task."""


def likeness(one: str, other: str) -> float:
    """Return how much the contents are similar to each other, from 0 to 1."""
    return _alike(CONTENTS[one], CONTENTS[other])


def own_likeness(one: str, other: str) -> float:
    """Return how much their own contents are similar to each other."""
    return _alike(OWN[one], OWN[other])


def _alike(changed: int | None, its: int | None) -> float:
    if changed is None or its is None:
        return 0.0
    return 1.0 if changed == its else 1 - max(changed, its) / PARTS
