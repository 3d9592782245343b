"""Traps: hosts that have a page for every URL, and a link to another."""

from gossamer.testing.simulator.fault import FAULT_PATH, Fault, FaultRequest, draws, linked
from gossamer.testing.site import Reply

_WORDS = (
    "silk",
    "orb",
    "hub",
    "dew",
    "moth",
    "reed",
    "loom",
    "knot",
    "husk",
    "fern",
    "moss",
    "dusk",
)


def _letters(key: str, count: int) -> str:
    draw = draws(key)
    return "".join("abcdefghijklmnopqrstuvwxyz"[int(draw() * 26)] for _ in range(count))


def _prose(key: str) -> str:
    draw = draws(key)
    return " ".join(_WORDS[int(draw() * len(_WORDS))] for _ in range(60))


def _calendar(request: FaultRequest) -> Reply:
    """Return a day, which links to the next one and to the next month."""
    day = int(request.target.rpartition("=")[2] or 0) if "=" in request.target else 0
    links = [f"{FAULT_PATH}/day?d={day + step}" for step in (1, 30)]
    return linked(*links, text=f"Nothing happens on day {day}.")


def _sessions(parameter: str, request: FaultRequest) -> Reply:
    """Return one of ten pages, with links under a new session."""
    links = [
        f"{FAULT_PATH}/{number}?{parameter}={_letters(f'{request.target}{number}', 16)}"
        for number in range(10)
    ]
    path = request.target.partition("?")[0]
    return linked(*links, text=_prose(path))


def _deep(request: FaultRequest) -> Reply:
    """Return a page that links one level deeper, with the segment repeated."""
    return linked(f"{request.target.partition('?')[0]}/a", text=_prose(request.target))


def _relative(_request: FaultRequest) -> Reply:
    """Return a page with relative links below a path that takes any suffix: they pile up."""
    return linked("fault/b/c/", "b/c/", text="A shop for shoes.")


def _facets(request: FaultRequest) -> Reply:
    """Return a page with filters that can be combined in any order."""
    path, _, query = request.target.partition("?")
    chosen = query.split("&") if query else []
    links = [
        f"{path}?{'&'.join([*chosen, f'{word}=1'])}" for word in _WORDS if f"{word}=1" not in chosen
    ]
    return linked(*links, text=_prose(" ".join(sorted(chosen))))


def _maze(request: FaultRequest) -> Reply:
    """Return a page that nobody wrote, with links to more of them."""
    names = [_letters(f"{request.target} {number}", 12) for number in range(8)]
    links = [f"{FAULT_PATH}/{name[:5]}/{name[5:]}" for name in names]
    return linked(*links, text=_prose(request.target))


def _growing(request: FaultRequest) -> Reply:
    """Return a page whose link has a longer query."""
    path, _, query = request.target.partition("?")
    return linked(
        f"{path}?{query}&next=1" if query else f"{path}?next=1", text=_prose(request.target)
    )


def _soft(request: FaultRequest) -> Reply:
    """Answer 200 to everything, with links to more that is not there."""
    links = [f"{FAULT_PATH}/{_letters(f'{request.target}{number}', 8)}" for number in range(3)]
    return linked(*links, text="Sorry, there is no such page here. Try one of these.")


def _same(request: FaultRequest) -> Reply:
    """Return the page that has a hundred names."""
    return linked(*(f"{FAULT_PATH}/{number}" for number in range(100)), text="The same, always.")


TRAPS = (
    Fault("calendar", "has a page for every day of all years", _calendar),
    Fault(
        "session-ids",
        "gives each visit a session of a known name",
        lambda request: _sessions("PHPSESSID", request),
    ),
    Fault(
        "session-unknown",
        "gives each visit a session of an odd name",
        lambda request: _sessions("zx", request),
    ),
    Fault("path-deep", "has a page one level deeper, always", _deep),
    Fault("path-relative", "has relative links that pile up", _relative),
    Fault("facets", "has filters that can be combined", _facets),
    Fault("maze", "invents pages", _maze),
    Fault("query-growing", "has a query that grows", _growing),
    Fault("soft-404", "answers 200 to everything", _soft),
    Fault("same-page", "has one page under a hundred names", _same),
)
