"""The registry of outputs: for each ending of a path, what writes such a file or directory.

This is the one place that goes by the ending. What a kind needs is imported when it is used.
"""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

import msgspec

from gossamer.model.errors import UsageError
from gossamer.outputs.contract import Output, OutputSpec


class OutputKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of output."""

    factory: str
    """`module:function` that makes the output, given an `OutputSpec`."""
    is_table: bool = False
    """Whether it has rows: of records, or of pages with `--fields`."""
    library: str | None = None
    """What it needs that is not installed with Gossamer."""
    extra: str = ""
    """The extra of Gossamer that installs it."""


_TABLES = "gossamer.outputs.tables"

OUTPUTS: Mapping[str, OutputKind] = MappingProxyType(
    {
        ".jsonl": OutputKind(factory=f"{_TABLES}:json_lines", is_table=True),
        ".jsonl.gz": OutputKind(factory=f"{_TABLES}:gzip_json_lines", is_table=True),
        ".jsonl.zst": OutputKind(factory=f"{_TABLES}:zstd_json_lines", is_table=True),
        ".csv": OutputKind(factory=f"{_TABLES}:comma_separated", is_table=True),
        ".parquet": OutputKind(
            factory=f"{_TABLES}:parquet", is_table=True, library="pyarrow", extra="parquet"
        ),
        ".warc.gz": OutputKind(factory="gossamer.outputs.warc:WarcOutput"),
        ".md": OutputKind(factory="gossamer.outputs.markdown:markdown"),
        ".html": OutputKind(factory="gossamer.outputs.mirror:mirror"),
    }
)
"""By ending; of several that fit, the longest counts."""


def kind_of_output(target: str) -> OutputKind:
    """Return the kind of output that a path names; a `UsageError` if its ending is not known."""
    fitting = [ending for ending in OUTPUTS if target.lower().rstrip("/").endswith(ending)]
    if not fitting:
        raise UsageError(
            f"the ending of the output {target} names no format: use one of {', '.join(OUTPUTS)}"
        )
    return OUTPUTS[max(fitting, key=len)]


def check_library(target: str) -> None:
    """Refuse an output whose library is not installed."""
    kind = kind_of_output(target)
    if kind.library is not None and find_spec(kind.library) is None:
        raise UsageError(
            f"the output {target} needs {kind.library}, which is not installed: run "
            f"pip install 'gossamer[{kind.extra}]'"
        )


def make_output(spec: OutputSpec) -> Output:
    """Make an output; nothing is written before it is rewound."""
    module, _, name = kind_of_output(spec.target).factory.partition(":")
    factory: Any = getattr(import_module(module), name)
    output: Output = factory(spec)
    if spec.is_uploaded:
        from gossamer.outputs.s3 import UploadedOutput  # noqa: PLC0415 -- as the factories

        return UploadedOutput(output, spec)
    return output
