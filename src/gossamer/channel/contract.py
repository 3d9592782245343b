"""A contract: the methods of a protocol class as messages, typed by their annotations."""

import inspect
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, cast, get_type_hints

import msgspec

T = TypeVar("T")

Decode = Callable[[bytes | memoryview], Any]


class Caller(Protocol):
    """Whoever carries calls to the other end."""

    async def call(self, method: "Method", arguments: msgspec.Struct) -> Any:  # noqa: ANN401
        """Make a call, and return its result or raise its error."""


class Method(msgspec.Struct, frozen=True, eq=False):
    """One method of a contract."""

    name: str
    arguments: type[msgspec.Struct]
    """The record of its arguments, in their order."""
    read_arguments: Decode
    read_result: Decode


class Contract(Generic[T]):
    """The methods of a protocol class, which two processes know alike.

    Arguments and results are checked against the annotations when they arrive: what does not fit
    never reaches the object that is served.
    """

    def __init__(self, protocol: type[Any]) -> None:
        self.name = protocol.__name__
        functions = inspect.getmembers(protocol, inspect.isfunction)
        self.methods = {
            name: _method(name, function)
            for name, function in functions
            if not name.startswith("_")
        }

    def proxy(self, caller: Caller) -> T:
        """Return an object whose methods are carried out at the other end."""
        return cast("T", _Proxy(self.methods, caller))


class _Proxy:
    """Stands for an object at the other end."""

    def __init__(self, methods: dict[str, Method], caller: Caller) -> None:
        for name, method in methods.items():
            setattr(self, name, _remote(method, caller))


def _remote(method: Method, caller: Caller) -> Callable[..., Any]:
    call, record = caller.call, method.arguments

    async def remote(*arguments: object, **named: object) -> object:
        return await call(method, record(*arguments, **named))

    return remote


def _method(name: str, function: Callable[..., Any]) -> Method:
    hints = get_type_hints(function)
    result = hints.pop("return")
    parameters = list(inspect.signature(function).parameters.values())[1:]
    fields = [
        (parameter.name, hints[parameter.name])
        if parameter.default is parameter.empty
        else (parameter.name, hints[parameter.name], parameter.default)
        for parameter in parameters
    ]
    arguments = msgspec.defstruct(f"{name}_arguments", fields, array_like=True, frozen=True)
    return Method(
        name,
        arguments,
        msgspec.msgpack.Decoder(arguments).decode,
        msgspec.msgpack.Decoder(result).decode,
    )
