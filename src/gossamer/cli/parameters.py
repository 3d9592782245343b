"""The parameters of commands: flags from the declared options, and which crawl a command reads."""

import inspect
import os
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypeVar

from cyclopts import Argument, CycloptsError, MissingArgumentError, Parameter, UnusedCliTokensError
from cyclopts import Group as HelpGroup

from gossamer.config import OPTIONS, LogFormat, Option, StoreAddress, load
from gossamer.config.options import RETIRED
from gossamer.model import Outcome
from gossamer.model.errors import UsageError
from gossamer.stores.crawl_views import ReadRequest

Command = TypeVar("Command", bound=Callable[..., object])
_GROUPS = list(dict.fromkeys(option.group for option in OPTIONS))
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def option(name: str | list[str], text: str) -> Parameter:
    """Return an option: a switch, or one with a value, which is repeated to give several."""
    return Parameter(name=name, help=text, negative="", show_default=False)


Directory = Annotated[
    Path | None,
    option(
        "--dir",
        "The directory of the crawl; by default this one, or the only crawl right below it.",
    ),
]
StoreUrl = Annotated[
    str | None,
    option(
        "--store",
        "The store of the crawl, if it is not in a directory: redis://HOST or sqlite:PATH; prefer "
        "the variable GOSSAMER_STORE for passwords.",
    ),
]
CrawlName = Annotated[
    str | None,
    option("--name", "The name of the crawl in a shared store; by default the only one there."),
]
Json = Annotated[bool, option("--json", "Print one JSON object.")]
JsonLines = Annotated[bool, option("--json", "Print one JSON object per line.")]
LogFormatChoice = Annotated[
    LogFormat, option("--log-format", "Report as text for people, or as json for programs.")
]
Quiet = Annotated[bool, option(["--quiet", "-q"], "Show errors only.")]


def with_options(
    command: Command, only: Collection[str] = (), unchangeable: Collection[str] = ()
) -> Command:
    """Give a command with `**flags` a flag for each option of a crawl, or for these only.

    A command that goes on with a crawl has options that cannot change: they are not in its help,
    and the command says what is wrong with them. The others are stored, so they have no defaults.
    Only the flags that were given are passed, so that `load` can distinguish them from defaults.
    """
    parameters = [
        parameter
        for parameter in inspect.signature(command).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    flags = [
        _flag(option, show=option.name not in unchangeable, show_default=not unchangeable)
        for option in OPTIONS
        if (option.name in only if only else option.name != "seeds" and not option.is_table)
    ]
    # Flags that help does not show, so that `load` can say what took their place.
    retired = [
        _keyword(name, str, Parameter(name=f"--{name}", show=False))
        for name in ([] if only else RETIRED)
    ]
    vars(command)["__signature__"] = inspect.Signature([*parameters, *flags, *retired])
    return command


def _flag(option: Option, *, show: bool, show_default: bool) -> inspect.Parameter:
    is_switch = isinstance(option.default, bool)
    is_list = isinstance(option.default, tuple)
    default = option.show(option.default)
    details = Parameter(
        name=[option.flag, option.alias] if option.alias else option.flag,
        group=HelpGroup(option.group, sort_key=_GROUPS.index(option.group)),
        help=option.help,
        metavar=option.kind.metavar,
        negative=f"--no-{option.name}" if is_switch else "",
        allow_leading_hyphen="|-" in option.kind.metavar,
        show=show,
        show_default=show_default and default not in {"none", "false"} and default,
    )
    return _keyword(
        option.name, bool if is_switch else tuple[str, ...] if is_list else str, details
    )


def _keyword(name: str, kind: Any, details: Parameter) -> inspect.Parameter:  # noqa: ANN401
    return inspect.Parameter(
        name.replace("-", "_"),
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind, details],
    )


def reads_crawl(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the flags that name a stored crawl; it gets their `ReadRequest` first."""
    _, *rest = inspect.signature(command).parameters.values()
    arguments = [item.replace(kind=_POSITIONAL[0]) for item in rest if item.kind in _POSITIONAL]
    keywords = [item for item in rest if item.kind not in _POSITIONAL]

    naming = inspect.signature(crawl_to_read).parameters
    signature = inspect.Signature([*arguments, *naming.values(), *keywords])

    @wraps(command)
    def run(*values: object, **options: object) -> int:
        bound = signature.bind(*values, **options).arguments
        named = {name: bound.pop(name, None) for name in naming}
        return command(crawl_to_read(**named), **bound)

    vars(run)["__signature__"] = signature
    return run


def crawl_to_read(
    directory: Directory = None, *, store: StoreUrl = None, name: CrawlName = None
) -> ReadRequest:
    """Return which crawl is meant: in a directory, in a file or in a shared store.

    A directory that is given alone takes precedence over the variable GOSSAMER_STORE.
    """
    if directory is not None and str(directory).startswith(("http:", "https:")):
        raise UsageError("this command takes the directory of a crawl, not a seed: leave it out")
    if directory is not None and store is None and name is None:
        return ReadRequest(address=StoreAddress("sqlite"), directory=directory)
    options = load({"store": store, "name": name}, os.environ).options
    return ReadRequest(address=options.store, name=options.name, directory=directory)


def parse_outcome(name: str, among: Collection[Outcome]) -> Outcome:
    """Return the outcome of that name, with underscores, hyphens or spaces in it.

    If there is none, the complaint names those among which to choose.
    """
    try:
        return Outcome(name.strip().lower().replace("-", "_").replace(" ", "_"))
    except ValueError as error:
        names = ", ".join(sorted(among))
        raise UsageError(f"there is no outcome {name!r}: name one of {names}") from error


def mistake(error: CycloptsError, words: Sequence[str]) -> str:
    """Return one sentence about a command line that the library could not read."""
    match error:
        case UnusedCliTokensError(unused_tokens=[*unused]):
            tokens = " and ".join(f"'{token}'" for token in unused)
            return (
                f"{tokens} cannot be used here: leave {'it' if len(unused) == 1 else 'them'} out."
            )
        case MissingArgumentError(keyword=str(flag)):
            return _without_value(flag, words)
        case MissingArgumentError(argument=Argument(name=name)):
            return f"{name} is missing."
        case _:
            return " ".join(str(error).split())


def _without_value(flag: str, words: Sequence[str]) -> str:
    """Return what is wrong with an option behind which the library found no value."""
    value = next((after for word, after in pairwise(words) if word == flag), "")
    if value == "-" and flag in {"-o", "--output"}:
        return f"{flag} writes to files, directories or s3://, not to standard output: name one."
    if value[:1] == "-" and value[1:2].isdigit():
        return f"{flag} cannot be negative, as {value} is."
    return f"{flag} needs a value."
