"""The options of a crawl as command-line flags."""

import inspect
from collections.abc import Callable
from typing import Annotated, TypeVar

import cyclopts

from gossamer.config import OPTIONS, Group, Option

Command = TypeVar("Command", bound=Callable[..., object])


def with_options(command: Command) -> Command:
    """Give a command with `**given` one flag for each option of a crawl.

    Only the flags that were given are passed, so that `load` can distinguish them from defaults.
    """
    own = [
        parameter
        for parameter in inspect.signature(command).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    flags = [_flag(option) for option in OPTIONS if option.name != "seeds"]
    vars(command)["__signature__"] = inspect.Signature([*own, *flags])
    return command


def _flag(option: Option) -> inspect.Parameter:
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
        show_default=False if default in {"none", "false"} else default,
    )
    return inspect.Parameter(
        option.name.replace("-", "_"),
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[given, details],
    )
