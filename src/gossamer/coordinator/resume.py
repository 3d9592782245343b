"""Going on with a crawl: which options are stored, which may change, and the command for it."""

import os
import shlex
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from gossamer.config import OPTIONS, CrawlOptions, StoreAddress, load
from gossamer.config.sources import STORED
from gossamer.config.store_address import IN_DIRECTORY, OWN_REDIS
from gossamer.config.values import format_size
from gossamer.coordinator.plan import Plan, check_given_fields
from gossamer.model import Outcome, Snapshot
from gossamer.model.errors import CrawlError, UsageError
from gossamer.modules.plugins import absolute_name, file_of
from gossamer.stores.bodies import IN_STORE
from gossamer.stores.object_store import S3_SCHEME
from gossamer.stores.rows import decode_metadata

LOCAL = frozenset(
    {
        *("profile", "dir", "store", "insecure_store", "name", "fresh"),
        *("pagerank_key", "log_format", "verbose", "quiet"),
    }
)
"""The options that each process has of its own: where it is, how it shows itself, its secrets."""
FIXED = (
    *("seeds", "seed_files", "sitemaps", "scope", "depth", "include", "exclude", "markers"),
    *("follow", "accept", "revisit_s"),
)
"""The options that make a crawl what it is: they cannot change while it goes on."""
FIXED_BY_RULES = ("scope", "depth")
"""What cannot change in the rules for single hosts either."""


# -- the options that are stored with a crawl ----------------------------------------------------


def pack_options(options: CrawlOptions) -> bytes:
    """Return the options that all processes of a crawl share."""
    shared = [option.field for option in OPTIONS if option.field not in LOCAL]
    return msgspec.json.encode({name: getattr(options, name) for name in shared})


def pack_plan(plan: Plan) -> bytes:
    """Return the options of a crawl, with the scorer that was chosen.

    Another process, which may lack the key to a service, is to choose no other one.
    """
    return pack_options(replace(plan.options, scorer=plan.scorer_name))


def stored_values(note: bytes) -> dict[str, Any]:
    """Return the stored options by their fields; those that are unknown here are left out."""
    try:
        shared = msgspec.json.decode(note, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise CrawlError(f"the options of the crawl in the store are damaged: {error}") from error
    return {
        option.field: tuple(value) if isinstance(value, list) else value
        for option in OPTIONS
        if option.field in shared
        for value in [shared[option.field]]
    }


def unpack_options(note: bytes, local: CrawlOptions) -> CrawlOptions:
    """Return the options of the crawl for a process that has local ones besides."""
    return CrawlOptions(**stored_values(note) | {name: getattr(local, name) for name in LOCAL})


def read_options(note: bytes | None, where: object) -> CrawlOptions | None:
    """Return the options of a stored crawl for its readers; None: it has not begun."""
    if note is None:
        return None
    try:
        # 0 of them need a shared store, and which store it was is not stored.
        return CrawlOptions(**stored_values(note) | {"workers": None})
    except (CrawlError, UsageError) as error:
        raise CrawlError(f"the options in {where} are damaged: {error}") from error


def check_unchanged(options: CrawlOptions, note: bytes) -> None:
    """Refuse to go on with a crawl that was started with different options."""
    before, now = msgspec.json.decode(note), msgspec.json.decode(pack_options(options))
    for option in OPTIONS:
        name = option.field
        if name in FIXED and name in before and before[name] != now[name]:
            raise UsageError(
                f"this crawl was started with different {option.name} "
                f"({option.show(before[name])} instead of {option.show(now[name])}): give the "
                "same, name another --dir or --name, or start over with --fresh"
            )
    for name in FIXED_BY_RULES:
        ruled_before, ruled = (
            {pattern: keys[name] for pattern, keys in tables.items() if name in keys}
            for tables in (before.get("host", {}), now["host"])
        )
        if ruled_before != ruled:
            raise UsageError(
                f"this crawl was started with different {name} in the rules for single hosts: "
                "give the same, name another --dir or --name, or start over with --fresh"
            )


# -- where a crawl was run -----------------------------------------------------------------------

ORIGIN_NOTE = "origin"


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a crawl was run, and which secrets it had."""

    machine: str
    folder: str
    """The working directory, from which the files of modules and scorers were named."""
    directory: str
    """The directory of the results."""
    secrets: tuple[str, ...] = ()
    """The secret options that were set, by name: their values are not kept."""

    @property
    def is_here(self) -> bool:
        """Whether it was this machine, so that the paths mean the same."""
        return self.machine == socket.gethostname()


def origin_of(options: CrawlOptions, directory: Path) -> Origin:
    """Return the origin of a crawl that this process works on."""
    return Origin(
        machine=socket.gethostname(),
        folder=_text(working_directory()),
        directory=_text(working_directory() / directory),
        secrets=tuple(
            option.name
            for option in OPTIONS
            if option.secret and getattr(options, option.field) is not None
        ),
    )


def read_origin(note: bytes | None) -> Origin | None:
    """Return the origin that was kept with a crawl, if it was."""
    return decode_metadata(note, Origin, "the origin of the crawl in the store is")


def working_directory() -> Path:
    """Return the working directory, also if it was removed."""
    try:
        return Path.cwd()
    except OSError:
        return Path(os.sep)


def _text(path: Path) -> str:
    """Return a path as JSON can hold it; one that is not UTF-8 is not found again."""
    return str(path).encode(errors="replace").decode()


def crawl_command(plan: Plan, environment: Mapping[str, str], verb: str, *more: str) -> str:
    """Return `gossamer VERB …` for a crawl."""
    store = plan.options.store
    if store in {IN_DIRECTORY, OWN_REDIS}:
        return directory_command(str(plan.directory), verb, *more)
    name = plan.name if store.is_server else None
    return store_command(store, name, environment, verb, *more)


def directory_command(directory: str, verb: str, *more: str) -> str:
    """Return `gossamer VERB …` for the crawl in a directory."""
    where = f"./{directory}" if directory.startswith("-") else directory
    return shlex.join(["gossamer", verb, where, *more])


def store_command(
    store: StoreAddress, name: str | None, environment: Mapping[str, str], verb: str, *more: str
) -> str:
    """Return `gossamer VERB …` for a crawl in a store; a comment names a variable that it needs.

    An address with a password is left to the environment, where other users cannot see it.
    """
    command, comment = ["gossamer", verb], ""
    if environment.get("GOSSAMER_STORE", "").strip() != (store.url or str(store)):
        if store.is_server and str(store) != store.url:
            comment = f"  # with GOSSAMER_STORE set to {store}"
        else:
            command += ["--store", str(store)]
    if name is not None:
        command += ["--name", name]
    return shlex.join([*command, *more]) + comment


# -- the options to go on with -------------------------------------------------------------------


class CrawlToContinue(msgspec.Struct, frozen=True, kw_only=True):
    """A stored crawl that is to go on."""

    address: StoreAddress
    name: str | None
    """Its name in a shared store."""
    directory: Path | None
    """Where its state is; None: in a shared store."""
    options: bytes
    """The note of its options."""
    origin: Origin | None


def options_as_stored(crawl: CrawlToContinue, directory: Path | None) -> CrawlOptions:
    """Return the options of a crawl as they are, for who reads it and writes to a directory."""
    where = _where(crawl, {"dir": directory})
    return load(where, {}, None, stored_values(crawl.options)).options


def options_to_continue(
    crawl: CrawlToContinue,
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    config: Path | None,
) -> CrawlOptions:
    """Return the options of a crawl with those that were given now.

    A `UsageError` names an option that cannot change, or something that is missing here.
    """
    stored = stored_values(crawl.options)
    if crawl.origin is not None and crawl.origin.is_here:
        stored |= _named_from_here(stored, Path(crawl.origin.folder))
    loaded = load({**flags, **_where(crawl, flags)}, environment, config, stored)
    options = loaded.options
    if options.fresh:
        raise UsageError("--fresh starts a crawl over: use it with 'gossamer crawl'")
    for option in OPTIONS:
        if option.field in FIXED and option.field in stored:
            before = option.take(stored[option.field])
            if getattr(options, option.field) != before:
                raise UsageError(
                    f"{option.name} cannot change while a crawl goes on "
                    f"({loaded.origins[option.name]}): it was started with {option.show(before)}; "
                    "leave it out, or start another crawl with another --dir or --name"
                )
    if loaded.origins["module"] == STORED:
        _check_files(options.module)
    _check_secrets(options, crawl.origin)
    check_given_fields(flags, options)
    return options


def command_to_continue(
    plan: Plan, ended_by: str, environment: Mapping[str, str], last: Snapshot | None = None
) -> str | None:
    """Return the command that goes on after such an end; None if nothing is left to do.

    A limit that was reached is doubled, or else what is there already, if that is more. URLs of
    hosts that were given up are left, too.
    """
    options = plan.options
    pages, size = (0, 0) if last is None else (last.visits, last.received)
    higher = {
        "interrupted": [],
        "max-time": [],
        "max-pages": ["--max-pages", str(2 * max(options.max_pages, pages))],
        "max-bytes": ["--max-bytes", format_size(2 * max(options.max_bytes, size))],
    }
    if options.store.scheme == "memory":
        return None
    more = ["--insecure-store"] if options.insecure_store else []
    if ended_by in higher:
        return crawl_command(plan, environment, "resume", *more, *higher[ended_by])
    is_given_up = last is not None and last.outcomes.get(Outcome.GAVE_UP, 0) > 0
    if ended_by != "complete" or not is_given_up:
        return None
    return crawl_command(plan, environment, "retry", *more)


def module_changes(
    before: Sequence[str], now: Sequence[str], origin: Origin | None, replay: Callable[[str], str]
) -> Iterator[str]:
    """Yield a sentence for each module that a crawl did not have before, or has no longer.

    `replay` returns the command that shows kept pages to a module.
    """
    here = working_directory()
    there = Path(origin.folder) if origin is not None else here
    known = {absolute_name(spec, there): spec for spec in before if spec != "noop"}
    wanted = {absolute_name(spec, here): spec for spec in now if spec != "noop"}
    for spec in (wanted[name] for name in wanted if name not in known):
        yield (
            f"module {spec} was not part of this crawl: it sees only new pages; '{replay(spec)}' "
            "shows it the kept ones"
        )
    for spec in (known[name] for name in known if name not in wanted):
        yield (
            f"module {spec} was part of this crawl and is left out: it does not see the new pages; "
            f"add --module {spec} to show them to it"
        )


def _where(crawl: CrawlToContinue, flags: Mapping[str, object]) -> dict[str, object]:
    """Return where the crawl is, and its results: as given, beside the state, or where they were.

    It is not one of its options: each process has its own.
    """
    results = flags.get("dir")
    if results is None and crawl.address in {IN_DIRECTORY, OWN_REDIS}:
        results = crawl.directory
    elif results is None and crawl.origin is not None and crawl.origin.is_here:
        results = crawl.origin.directory
    return {"store": crawl.address, "name": crawl.name, "dir": results}


def _named_from_here(stored: Mapping[str, Any], folder: Path) -> dict[str, object]:
    """Return modules, scorer, outputs and bodies with their files named from here."""
    if folder == working_directory():
        return {}
    named: dict[str, object] = {
        "module": tuple(absolute_name(spec, folder) for spec in stored.get("module", ())),
        "output": tuple(str(folder / Path(path).expanduser()) for path in stored.get("output", ())),
    }
    if "scorer" in stored:
        named["scorer"] = absolute_name(stored["scorer"], folder)
    bodies = stored.get("bodies", IN_STORE)
    if bodies != IN_STORE and not bodies.startswith(S3_SCHEME):
        named["bodies"] = str(folder / bodies)
    return named


def _check_files(modules: Sequence[str]) -> None:
    for spec in modules:
        if (file := file_of(spec)) is not None and not Path(file).expanduser().exists():
            raise UsageError(
                f"the module {spec} of this crawl is not here any more: put {file} back, or name "
                "the modules with --module"
            )


def _check_secrets(options: CrawlOptions, origin: Origin | None) -> None:
    had_key = origin is not None and "pagerank-key" in origin.secrets
    if had_key and options.pagerank_key is None and options.scorer in {"auto", "pagerank"}:
        raise UsageError(
            "this crawl is ranked with a PageRank key, which is not stored with it: set "
            "GOSSAMER_PAGERANK_KEY again, or go on without it by --scorer importance"
        )
