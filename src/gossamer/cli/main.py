"""The command `gossamer`: its subcommands, and its exit codes."""

import gc
import os
import sys
from typing import NoReturn

from cyclopts import App, CycloptsError

import gossamer
from gossamer.errors import GossamerError, UsageError

EXIT_FAILED, EXIT_WRONG_USE, EXIT_INTERRUPTED = 1, 2, 130
STDERR = 2

COMMANDS = {
    "crawl": ("crawl:crawl", "Crawl from the seeds, politely: every page in scope once."),
    "status": ("status:status", "Show the state of a crawl, while it runs or afterwards."),
    "pages": ("pages:pages", "List the pages that a crawl kept, or every URL it knows."),
    "explain": ("explain:explain", "Show why a URL was or was not fetched, or what it waits for."),
    "frontier": ("roles:frontier", "Score the URLs of a shared crawl and assign them to workers."),
    "worker": ("roles:worker", "Fetch pages for a shared crawl, from any machine."),
    "health": (
        "health:health",
        "Check that the store answers and a role of a shared crawl is alive.",
    ),
    "verify": ("verify:verify", "Check the stored state of a crawl."),
    "migrate": ("migrate:migrate", "Copy a crawl to another store, where it can continue."),
    "config": ("listing:config", "Show each effective option and where it comes from."),
    "modules": ("listing:modules", "List the modules, which process pages."),
    "scorers": ("listing:scorers", "List the scorers, which decide the order of a crawl."),
    "inspect": ("inspect:inspect", "Show what a crawler sees of one page, and why."),
    "demo": ("demo:demo", "Crawl a small site that Gossamer serves itself."),
}
"""The subcommands, imported on use: none loads the libraries of the others."""


def run() -> NoReturn:
    """Run the command with the arguments of the process; an error is one line."""
    gc.set_threshold(20_000, 20, 20)  # almost nothing that is loaded now is garbage
    occupy_standard_streams()
    try:
        code = make_app()(
            sys.argv[1:], exit_on_error=False, print_error=False, result_action="return_value"
        )
    except CycloptsError as error:
        fail(f"{' '.join(str(error).split())} See 'gossamer --help'.", EXIT_WRONG_USE)
    except UsageError as error:
        fail(str(error), EXIT_WRONG_USE)
    except GossamerError as error:
        fail(str(error), EXIT_FAILED)
    except KeyboardInterrupt:
        fail("interrupted", EXIT_INTERRUPTED)
    sys.exit(code)


def occupy_standard_streams() -> None:
    """Open standard streams that the process was started without.

    Else a socket would get the number of one, which the event loop takes for a mistake.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= STDERR:
        pass
    os.close(descriptor)


def fail(sentence: str, code: int) -> NoReturn:
    """Print an error on one line, and exit."""
    print(f"gossamer: {sentence}", file=sys.stderr)
    sys.exit(code)


def make_app() -> App:
    """Return the command-line application."""
    app = App(
        name="gossamer",
        help="A polite web crawler. The classic one is `crawler seedURL pageDirectory maxDepth`.",
        version=gossamer.__version__,
        help_format="plaintext",
    )
    for name, (function, summary) in COMMANDS.items():
        app.command(f"gossamer.cli.{function}", name=name, help=summary)
    return app
