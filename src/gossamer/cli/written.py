"""What is said of an output when it is finished."""

from gossamer.coordinator.observer import Observer
from gossamer.observe.figures import counted, size
from gossamer.outputs.contract import OutputReport


def tell_output(observer: Observer, output: OutputReport) -> None:
    """Say where an output is, and what it holds."""
    note = f"; {output.note}" if output.note else ""
    extent = f"{counted(output.items, output.unit)}, {size(output.bytes)}{note}"
    observer.say("info", f"{output.target}: {extent}")
