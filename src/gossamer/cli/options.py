"""The options of a crawl as command-line flags."""

import inspect
from collections.abc import Callable, Collection
from typing import Annotated, TypeVar

import cyclopts

from gossamer.config import OPTIONS, RETIRED, Group, Option

Command = TypeVar("Command", bound=Callable[..., object])


def with_options(command: Command, unchangeable: Collection[str] = ()) -> Command:
    """Give a command with `**given` one flag for each option of a crawl.

    A command that goes on with a crawl has options that cannot change: they are not in its help,
    and the command says what is wrong with them. The others are stored, so they have no defaults.
    Only the flags that were given are passed, so that `load` can distinguish them from defaults.
    """
    own = [
        parameter
        for parameter in inspect.signature(command).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    flags = [
        _flag(option, show=option.name not in unchangeable, show_default=not unchangeable)
        for option in OPTIONS
        if option.name != "seeds" and not option.is_table
    ]
    retired = [_retired(name) for name in RETIRED]
    vars(command)["__signature__"] = inspect.Signature([*own, *flags, *retired])
    return command


def _retired(name: str) -> inspect.Parameter:
    """Return a flag that help does not show, so that `load` can say what took its place."""
    hidden = cyclopts.Parameter(name=f"--{name}", show=False)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str, hidden]
    )


def _flag(option: Option, *, show: bool, show_default: bool) -> inspect.Parameter:
    is_switch = isinstance(option.default, bool)
    is_list = isinstance(option.default, tuple)
    given = bool if is_switch else tuple[str, ...] if is_list else str
    default = option.show(option.default)
    details = cyclopts.Parameter(
        name=[option.flag, option.alias] if option.alias else option.flag,
        group=cyclopts.Group(option.group, sort_key=list(Group).index(option.group)),
        help=option.help,
        metavar=option.kind.metavar,
        negative=f"--no-{option.name}" if is_switch else "",
        allow_leading_hyphen="|-" in option.kind.metavar,
        show=show,
        show_default=show_default and default not in {"none", "false"} and default,
    )
    return inspect.Parameter(
        option.name.replace("-", "_"),
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[given, details],
    )
