"""`gossamer config`, `gossamer modules`, `gossamer scorers`: what there is to choose from."""

import os
from pathlib import Path

from gossamer.cli.options import with_options
from gossamer.cli.output import put_json, put_table
from gossamer.cli.parameters import Json
from gossamer.config import describe, load
from gossamer.frontier import scorers as scoring
from gossamer.modules import available
from gossamer.observe import printable


@with_options
def config(*seeds: str, config: Path | None = None, json: Json = False, **given: object) -> int:
    """Show every option of a crawl as it would be in force, and where it comes from.

    It takes what `gossamer crawl` takes.

    Parameters
    ----------
    seeds
        The URLs to begin with.
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


def modules(*, json: Json = False) -> int:
    """List the modules that can be given to --module by name.

    Parameters
    ----------
    json
        Print one JSON object a line.

    """
    offers = available()
    if json:
        put_json(offers)
    else:
        rows = [[printable(part) for part in (one.name, one.origin, one.summary)] for one in offers]
        put_table([["module", "from", "what it does"], *rows])
    return 0


def scorers(*, json: Json = False) -> int:
    """List the scorers that can be given to --scorer by name.

    Parameters
    ----------
    json
        Print one JSON object a line.

    """
    infos = scoring.available()
    if json:
        put_json(infos)
    else:
        rows = [
            [
                printable(one.name),
                printable(one.origin),
                "strict" if one.strict else "by lot",
                printable(one.summary),
            ]
            for one in infos
        ]
        put_table([["scorer", "from", "order", "what it does"], *rows])
    return 0
