"""`gossamer config`, `gossamer modules`, `gossamer scorers`: the options and their choices."""

import os
from pathlib import Path

import msgspec

from gossamer.cli.options import with_options
from gossamer.cli.output import put_json, put_table
from gossamer.cli.parameters import Json
from gossamer.config import describe, load
from gossamer.frontier.scorers import SCORERS, is_strict
from gossamer.modules import MODULES
from gossamer.observe import printable


@with_options
def config(*seeds: str, config: Path | None = None, json: Json = False, **given: object) -> int:
    """Show the effective value of every option of a crawl, and where it comes from.

    The command takes the same arguments as `gossamer crawl`.

    Parameters
    ----------
    seeds
        The URLs to start from.
    config
        A TOML file of options.
    json
        Print one JSON object a line.
    given
        The options of a crawl.

    """
    settings = describe(load({"seeds": seeds or None, **given}, os.environ, config))
    if json:
        put_json(settings)
    else:
        rows = [[one.name, printable(one.value_text), printable(one.origin)] for one in settings]
        put_table([["option", "value", "from"], *rows])
    return 0


class _Listed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A module or a scorer in a list."""

    name: str
    origin: str
    summary: str
    strict: bool | msgspec.UnsetType = msgspec.UNSET


def modules(*, json: Json = False) -> int:
    """List the modules that --module can name.

    Parameters
    ----------
    json
        Print one JSON object a line.

    """
    listed = [_Listed(one.name, one.origin, one.summary) for one in MODULES.available()]
    if json:
        put_json(listed)
    else:
        rows = [[printable(part) for part in (one.name, one.origin, one.summary)] for one in listed]
        put_table([["module", "from", "what it does"], *rows])
    return 0


def scorers(*, json: Json = False) -> int:
    """List the scorers that --scorer can name.

    Parameters
    ----------
    json
        Print one JSON object a line.

    """
    listed = [
        _Listed(one.name, one.origin, one.summary, is_strict(one.found))
        for one in SCORERS.available()
    ]
    if json:
        put_json(listed)
    else:
        rows = [
            [
                printable(one.name),
                printable(one.origin),
                "strict" if one.strict else "weighted random",
                printable(one.summary),
            ]
            for one in listed
        ]
        put_table([["scorer", "from", "order", "what it does"], *rows])
    return 0
