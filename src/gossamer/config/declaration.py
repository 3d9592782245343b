"""Options as declared on a dataclass: their names, help texts and error messages."""

import ast
import inspect
from collections.abc import Mapping
from dataclasses import MISSING, fields
from enum import StrEnum
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from gossamer.config.request_values import MASK
from gossamer.config.values import BadValueError, HiddenValueError, OptionKind, quoted
from gossamer.model.errors import UsageError

PREFIX = "GOSSAMER_"
_FLAGS = {"seeds": "SEED", "seed-files": "--seeds"}
"""The flags that are not named as their options: seeds are arguments, or lines of files."""


class Group(StrEnum):
    """The groups of the help page, in their order."""

    SCOPE = "Scope"
    POLITENESS = "Politeness"
    REQUESTS = "Requests"
    LIMITS = "Limits"
    FRONTIER = "Frontier"
    STORAGE = "Storage"
    OUTPUT = "Output"
    ADVANCED = "Advanced"


class Option(msgspec.Struct, frozen=True):
    """One option, with its names in Python, TOML, environment and command line."""

    field: str
    """The attribute; its name ends with `_s` where the value is in seconds."""
    default: object
    kind: OptionKind[Any]
    group: Group
    alias: str | None
    """The short flag, as in `-v`."""
    secret: bool
    """Whether the value is kept out of every message."""
    owner: type

    @property
    def name(self) -> str:
        """The name in documentation and TOML: `max-pages`."""
        return self.field.removesuffix("_s").replace("_", "-")

    @property
    def flag(self) -> str:
        """The name on the command line: `--max-pages`."""
        if self.is_table:
            return self.name
        return _FLAGS.get(self.name, f"--{self.name}")

    @property
    def is_table(self) -> bool:
        """Whether it is a table, which only a TOML file or a Python program can give."""
        return isinstance(self.default, Mapping)

    @property
    def variable(self) -> str:
        """The name in the environment: `GOSSAMER_MAX_PAGES`."""
        return PREFIX + self.name.upper().replace("-", "_")

    @property
    def help(self) -> str:
        """The docstring of the field, on one line."""
        return " ".join(_field_docstrings(self.owner).get(self.field, "").split())

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
    """Return the options that the fields of a dataclass declare.

    Each is `Annotated[type, kind, group]`, perhaps with a short flag; `repr=False` makes a secret.
    """
    hints = get_type_hints(owner, include_extras=True)
    options = []
    for field in fields(owner):
        _, kind, group, *alias = get_args(hints[field.name])
        secret, short = not field.repr, alias[0] if alias else None
        factory = field.default_factory
        default = field.default if factory is MISSING else factory()
        options.append(Option(field.name, default, kind, group, short, secret, owner))
    return tuple(options)


@cache
def _field_docstrings(owner: type) -> dict[str, str]:
    # Python keeps no docstrings of fields, so they are read from the source on demand.
    try:
        source = Path(inspect.getfile(owner)).read_text(encoding="utf-8")
    except OSError:  # a frozen program has no source: no help texts
        return {}
    definition = next(
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name == owner.__name__
    )
    found = {}
    for before, after in pairwise(ast.iter_child_nodes(definition)):
        match before, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(docstring))),
            ):
                found[name] = docstring
    return found
