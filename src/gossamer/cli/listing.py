"""`gossamer config`, `gossamer modules`, `gossamer scorers`: the options and their choices."""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gossamer.cli.options import with_options
from gossamer.cli.output import put_json, put_table
from gossamer.cli.parameters import JsonLines
from gossamer.config import describe, load
from gossamer.frontier.scorers import SCORERS, is_strict
from gossamer.modules import MODULES
from gossamer.observe import printable


@with_options
def config(
    *seeds: str, config: Path | None = None, json: JsonLines = False, **given: object
) -> int:
    """Show the effective value of every option of a crawl, and where it comes from.

    The command takes the same arguments as `gossamer crawl`.

    Parameters
    ----------
    seeds
        The URLs to start from.
    config
        A TOML file of options.
    given
        The options of a crawl.
    """
    settings = describe(load({"seeds": seeds or None, **given}, os.environ, config))
    rows = [[one.name, one.value_text, one.origin] for one in settings]
    return _put(settings, [["option", "value", "from"], *rows], json=json)


class _Listed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A module or a scorer in a list."""

    name: str
    origin: str
    summary: str
    strict: bool | msgspec.UnsetType = msgspec.UNSET


def modules(*, json: JsonLines = False) -> int:
    """List the modules that --module can name."""
    listed = [_Listed(one.name, one.origin, one.summary) for one in MODULES.available()]
    rows = [[one.name, one.origin, one.summary] for one in listed]
    return _put(listed, [["module", "from", "what it does"], *rows], json=json)


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
