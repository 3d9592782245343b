"""`gossamer config`, `gossamer modules`, `gossamer scorers`: the options and their choices."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from gossamer.cli.options import with_options
from gossamer.cli.output import put_json, put_table
from gossamer.cli.parameters import JsonLines, option
from gossamer.config import describe, load
from gossamer.frontier.scorers import SCORERS, is_strict
from gossamer.modules import MODULES
from gossamer.modules.spec import known_options
from gossamer.observe import printable
from gossamer.plan.host_report import describe_host


@with_options
def config(
    *seeds: str,
    config: Path | None = None,
    host: Annotated[
        str | None,
        option("--host", "Show what applies to this host instead: host, host:port or origin."),
    ] = None,
    json: JsonLines = False,
    **given: object,
) -> int:
    """Show the effective value of every option of a crawl, and where it comes from.

    The command takes the same arguments as `gossamer crawl`. With --host it shows what applies to
    requests to one host: the rules for it, the options, or the defaults.

    Parameters
    ----------
    seeds
        The URLs to start from.
    config
        A TOML file of options.
    given
        The options of a crawl.
    """
    loaded = load({"seeds": seeds or None, **given}, os.environ, config)
    settings = describe(loaded) if host is None else describe_host(loaded, host)
    rows = [[one.name, one.value_text, one.origin] for one in settings]
    return _put(settings, [["option", "value", "from"], *rows], json=json)


class _Listed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A module or a scorer in a list."""

    name: str
    origin: str
    summary: str
    strict: bool | msgspec.UnsetType = msgspec.UNSET
    options: tuple[str, ...] = ()
    """Those that it is known to take."""


def modules(*, json: JsonLines = False) -> int:
    """List the modules that --module can name."""
    listed = [
        _Listed(one.name, one.origin, one.summary, options=known_options(one.found))
        for one in MODULES.available()
    ]
    rows = [[one.name, one.origin, ", ".join(one.options), one.summary] for one in listed]
    return _put(listed, [["module", "from", "options", "what it does"], *rows], json=json)


def scorers(*, json: JsonLines = False) -> int:
    """List the scorers that --scorer can name."""
    listed = [
        _Listed(one.name, one.origin, one.summary, is_strict(one.found))
        for one in SCORERS.available()
    ]
    rows = [
        [one.name, one.origin, "strict" if one.strict else "weighted random", one.summary]
        for one in listed
    ]
    return _put(listed, [["scorer", "from", "order", "what it does"], *rows], json=json)


def _put(records: Sequence[msgspec.Struct], rows: list[list[str]], *, json: bool) -> int:
    if json:
        put_json(records)
    else:
        put_table([[printable(cell) for cell in row] for row in rows])
    return 0
