"""The function library: all of Gossamer's code that runs on the server.

It is loaded once into each server (FUNCTION LOAD), which keeps it beside its data, and is called by
name (FCALL). Its name, and with it the name of every function, holds a digest of its content: so
versions of Gossamer share a server, and what is loaded is never replaced. A server that does not
have it, because it is new or was flushed, says so without carrying anything out; then it is loaded
and the call is made again.

The source is one chunk. A file of `lua/` is a module as `require` takes them, which returns a table
of its functions, and may use those before it in `MODULES`. A file of `lua/steps/` registers a
function of the server. While a server loads a library, it gives it nothing of Lua's own library,
and later it looks for every name of that in two tables: so the first call puts them into local
variables (`bind`).
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from redis import exceptions
from redis.asyncio import Redis
from redis.typing import EncodableT

from gossamer.stores.redis.constants import CONSTANTS
from gossamer.stores.redis.counters import FORMAT
from gossamer.stores.redis.keys import COUNTERS, NAMES

MODULES = (
    "commands",
    "counters",
    "urls",
    "queues",
    "domains",
    "host_limits",
    "hosts",
    "workers",
    "rings",
    "agenda",
    "scheduler",
    "leases",
    "feedback",
    "sketches",
    "digests",
    "claims",
    "paths",
    "links",
    "slices",
    "dismissal",
    "pages",
    "results",
    "context",
    "steps",
)
"""Each is in the local variable of its name for those that follow."""

GLOBALS = (
    *("cmsgpack", "error", "ipairs", "math", "next", "pairs", "rawget", "redis"),
    *("setmetatable", "string", "struct", "table", "tonumber", "unpack"),
)
"""What the modules use of Lua's library and the server's."""

_LUA = files(__package__) / "lua"
_DIGEST_CHARACTERS = 16


@cache
def digest() -> str:
    """Return what the content of the library is known by."""
    return hashlib.sha256(_body().encode()).hexdigest()[:_DIGEST_CHARACTERS]


@cache
def source() -> str:
    """Return the library as a server gets it."""
    return f"#!lua name=gossamer_{digest()}\nlocal DIGEST = '{digest()}'\n{_body()}"


@cache
def function_name(step: str) -> str:
    """Return the name under which a server knows a step."""
    return f"gossamer_{step}_{digest()}"


def is_missing(error: object) -> bool:
    """Tell whether a server says that it does not have the library."""
    return isinstance(error, exceptions.ResponseError) and "Function not found" in str(error)


def is_loaded(error: object) -> bool:
    """Tell whether a server refuses the library because it has it."""
    return isinstance(error, exceptions.ResponseError) and "already exists" in str(error)


async def call(client: Redis, step: str, key: str, *arguments: EncodableT) -> Any:  # noqa: ANN401 -- as the server answers
    """Return what a function of one key answers; load the library where it is missing."""
    name = function_name(step)
    try:
        return await client.fcall(name, 1, key, *arguments)
    except exceptions.ResponseError as error:
        if not is_missing(error):
            raise
    try:
        await client.function_load(source())
    except exceptions.ResponseError as error:
        if not is_loaded(error):
            raise
    return await client.fcall(name, 1, key, *arguments)


@cache
def _body() -> str:
    """Return the source without what depends on its digest."""
    shared = (f"local const = {_table(CONSTANTS)}\n", f"local K = {_table(NAMES)}\n")
    return "".join((_binding(), *shared, _packing(), *_parts()))


def _packing() -> str:
    """Return the functions that read and write the packed counters (`counters.py`)."""
    fields = ", ".join(f"{name} = v[{at}]" for at, name in enumerate(COUNTERS, start=1))
    values = ", ".join(f"counts.{name}" for name in COUNTERS)
    return (
        f"local COUNTER_COUNT = {len(COUNTERS)}\n"
        f"local function unpack_counts(packed) local v = {{ struct.unpack('{FORMAT}', packed) }} "
        f"return {{ {fields} }} end\n"
        f"local function pack_counts(counts) return struct.pack('{FORMAT}', {values}) end\n"
    )


def _binding() -> str:
    """Return what makes local variables of the names, when `bind` is called."""
    names = ", ".join(GLOBALS)
    return (
        f"local function theirs() return {names} end\n"
        f"local register_function = redis.register_function\n"
        f"local {names}\n"
        f"local function bind() {names} = theirs() end\n"
    )


def _parts() -> Iterator[str]:
    for name in MODULES:
        module = (_LUA / f"{name}.lua").read_text(encoding="utf-8")
        yield f"local {name} = (function()\n{module}end)()\n"
    steps = [path for path in (_LUA / "steps").iterdir() if path.name.endswith(".lua")]
    for path in sorted(steps, key=lambda path: path.name):
        yield f"do\n{path.read_text(encoding='utf-8')}end\n"


def _table(values: Mapping[str, int | float | str]) -> str:
    return "{ " + ", ".join(f"{name} = {_literal(value)}" for name, value in values.items()) + " }"


def _literal(value: float | str) -> str:
    if isinstance(value, str):
        return f"'{value}'"
    return "1 / 0" if value == math.inf else repr(value)
