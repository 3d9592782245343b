"""Options as declared on a dataclass: their names, help texts and error messages."""

import inspect
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, get_args, get_type_hints

import msgspec

from gossamer.config.request_values import MASK
from gossamer.config.values import BadValueError, HiddenValueError, OptionKind, quoted
from gossamer.model.errors import UsageError

PREFIX = "GOSSAMER_"
_FLAGS = {"seeds": "SEED", "seed-files": "--seeds"}
"""The flags that are not named as their options: seeds are arguments, or lines of files."""
_HELP = re.compile(r"^(\w+): (.*(?:\n .*)*)", re.MULTILINE)


class Option(msgspec.Struct, frozen=True):
    """One option, with its names in Python, TOML, environment and command line."""

    field: str
    """The attribute; its name ends with `_s` where the value is in seconds."""
    default: object
    kind: OptionKind[Any]
    group: str
    """The group of the help page that lists it."""
    help: str
    alias: str | None
    """The short flag, as in `-v`."""
    secret: bool
    """Whether the value is kept out of every message."""

    @property
    def name(self) -> str:
        """The name in documentation and TOML: `max-pages`."""
        return self.field.removesuffix("_s").replace("_", "-")

    @property
    def flag(self) -> str:
        """The name on the command line: `--max-pages`."""
        return self.name if self.is_table else _FLAGS.get(self.name, f"--{self.name}")

    @property
    def is_table(self) -> bool:
        """Whether it is a table, which only a TOML file or a Python program can give."""
        return isinstance(self.default, Mapping)

    @property
    def variable(self) -> str:
        """The name in the environment: `GOSSAMER_MAX_PAGES`."""
        return PREFIX + self.name.upper().replace("-", "_")

    def show(self, value: object) -> str:
        """Return the value as it is written; a secret is masked."""
        return MASK if self.secret and value is not None else self.kind.show(value)

    def take(self, value: object, origin: str = "") -> object:
        """Return the checked value, or raise `UsageError` that names its origin."""
        try:
            return self.kind.take(value)
        except BadValueError as error:
            # For a list or a table, the error already names the item.
            is_named = isinstance(value, list | tuple | Mapping)
            hidden = self.secret or is_named or isinstance(error, HiddenValueError)
            what = self.name if hidden else f"{self.name} {quoted(value)}"
            where = f" ({origin})" if origin not in {"", self.name} else ""
            raise UsageError(f"{what}{where} {error}") from error


def declared_options(owner: type) -> tuple[Option, ...]:
    """Return the options that the fields of a dataclass and of its bases declare, base by base.

    Each is `Annotated[type, kind]`, perhaps with a short flag; `repr=False` makes a secret. A base
    `LimitsOptions` is the group `Limits`, and the docstring of a class has lines `field: help`.
    """
    hints = get_type_hints(owner, include_extras=True)
    declared = {field.name: field for field in fields(owner)}
    options = []
    for group in owner.__bases__ if owner.__bases__ != (object,) else (owner,):
        texts = dict(_HELP.findall(inspect.cleandoc(group.__doc__ or "")))
        for name in group.__annotations__:
            field = declared[name]
            _, kind, *alias = get_args(hints[name])
            factory = field.default_factory
            option = Option(
                field=name,
                default=field.default if factory is MISSING else factory(),
                kind=kind,
                group=group.__name__.removesuffix("Options"),
                help=" ".join(texts.get(name, "").split()),
                alias=alias[0] if alias else None,
                secret=not field.repr,
            )
            options.append(option)
    return tuple(options)
