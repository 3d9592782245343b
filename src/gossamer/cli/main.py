"""The command `gossamer`: its subcommands, and its exit codes."""

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from gossamer import __version__

if TYPE_CHECKING:
    from cyclopts import App

STDERR = 2

COMMANDS = {
    "crawl": ("crawl:crawl", "Crawl from the seeds, politely: every page in scope once."),
    "resume": ("resume:resume", "Continue a crawl, as it was or with some options changed."),
    "retry": ("resume:retry", "Retry the failed URLs of a crawl, and continue it."),
    "replay": ("replay:replay", "Show the kept pages of a crawl to a module."),
    "status": ("status:status", "Show the state of a crawl, while it runs or afterwards."),
    "pages": ("pages:pages", "List the pages that a crawl kept, or every URL it knows."),
    "export": ("replay:export", "Write the results of a crawl to files: tables and more."),
    "explain": ("explain:explain", "Show why a URL was or was not fetched, or what it waits for."),
    "crawls": ("listing:crawls", "List the crawls of a store or a directory, or delete one."),
    "frontier": ("roles:frontier", "Score the URLs of a shared crawl and assign them to workers."),
    "worker": ("roles:worker", "Fetch pages for a shared crawl, from any machine."),
    "health": (
        "roles:health",
        "Check that the store answers and a role of a shared crawl is alive.",
    ),
    "verify": ("status:verify", "Check the stored state of a crawl."),
    "config": ("listing:config", "Show each effective option and where it comes from."),
    "modules": ("listing:modules", "List the modules, which process pages."),
    "scorers": ("listing:scorers", "List the scorers, which decide the order of a crawl."),
    "inspect": ("inspect:inspect", "Show what a crawler sees of one page, and why."),
    "web": ("web:web", "Serve a simulated web to try crawls and modules on, with faults."),
    "demo": ("web:demo", "Crawl a small site that Gossamer serves itself."),
}
"""The subcommands, imported on use: none loads the libraries of the others."""
EXIT_CODES = (
    "Exit codes: 0 done, also by a budget; 1 error; 2 wrong use; 3 no seed could be fetched; 4 a "
    "module failed on every page, could not be closed or was given up; 130 interrupted."
)


def run() -> NoReturn:
    """Run the command with the arguments of the process; an error is one line."""
    if sys.argv[1:] == ["--version"]:
        print(__version__)
        sys.exit()
    from gossamer.model.errors import ExitCode, GossamerError, UsageError  # noqa: PLC0415

    gc.set_threshold(100_000, 20, 20)  # nothing that is loaded now is garbage: do not search it
    occupy_standard_streams()
    try:
        code = run_command(sys.argv[1:])
    except UsageError as error:
        fail(str(error), ExitCode.WRONG_USE)
    except GossamerError as error:
        fail(str(error), ExitCode.FAILED)
    except KeyboardInterrupt:
        fail("interrupted", ExitCode.INTERRUPTED)
    sys.exit(code)


def run_command(words: Sequence[str]) -> int:
    """Run a subcommand and return its exit code."""
    from cyclopts import CycloptsError  # noqa: PLC0415

    from gossamer.cli.parameters import mistake  # noqa: PLC0415
    from gossamer.model.errors import ExitCode  # noqa: PLC0415

    try:
        code: int = make_app(words)(
            words, exit_on_error=False, print_error=False, result_action="return_value"
        )
    except CycloptsError as error:
        command = f"{words[0]} " if words[0] in COMMANDS else ""
        fail(f"{mistake(error, words)} See 'gossamer {command}--help'.", ExitCode.WRONG_USE)
    return code


def occupy_standard_streams() -> None:
    """Open standard streams that the process was started without.

    Else a socket would get the number of one, which the event loop takes for a mistake.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= STDERR:
        pass
    os.close(descriptor)


def fail(sentence: str, code: int) -> NoReturn:
    """Print an error on one line, and exit."""
    from gossamer.display.outlet import printable  # noqa: PLC0415 -- takes a while to load

    print(f"gossamer: {printable(sentence, None)}", file=sys.stderr)
    sys.exit(code)


def make_app(words: Sequence[str] = ()) -> "App":
    """Return the command-line application; the command that is used describes itself in full."""
    from cyclopts import App  # noqa: PLC0415

    app = App(
        name="gossamer",
        help="A polite web crawler. The classic one is `crawler seedURL pageDirectory maxDepth`.",
        version=__version__,
        help_format="plaintext",
    )
    for name, (function, summary) in COMMANDS.items():
        text = description(function) if words[:1] == [name] else summary
        end = EXIT_CODES if name == "crawl" else ""
        app.command(f"gossamer.cli.{function}", name=name, help=text, help_epilogue=end)
    return app


def description(function: str) -> str:
    """Return the docstring of a command up to its parameters, one line for each paragraph."""
    module, _, name = function.partition(":")
    docstring: str = getattr(import_module(f"gossamer.cli.{module}"), name).__doc__
    text, _, _ = docstring.partition("Parameters\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))
