"""The registry of outputs: for each ending of a path, what writes such a file or directory.

This is the one place that goes by the ending. What a kind needs is imported when it is used.
"""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from types import MappingProxyType

import msgspec

from gossamer.model.errors import UsageError
from gossamer.outputs.contract import Output, OutputSpec


def _json_lines(spec: OutputSpec) -> Output:
    from gossamer.outputs.tables import LineTable  # noqa: PLC0415

    return LineTable(spec)


def _gzip(spec: OutputSpec) -> Output:
    from gossamer.outputs.tables import ConvertedTable, write_gzip  # noqa: PLC0415

    return ConvertedTable(spec, write_gzip)


def _zstd(spec: OutputSpec) -> Output:
    from gossamer.outputs.tables import ConvertedTable, write_zstd  # noqa: PLC0415

    return ConvertedTable(spec, write_zstd)


def _csv(spec: OutputSpec) -> Output:
    from gossamer.outputs.tables import ConvertedTable, write_csv  # noqa: PLC0415

    return ConvertedTable(spec, write_csv)


def _parquet(spec: OutputSpec) -> Output:
    from gossamer.outputs.parquet import write_parquet  # noqa: PLC0415
    from gossamer.outputs.tables import ConvertedTable  # noqa: PLC0415

    return ConvertedTable(spec, write_parquet)


def _archive(spec: OutputSpec) -> Output:
    from gossamer.outputs.warc import WarcOutput  # noqa: PLC0415

    return WarcOutput(spec)


def _markdown(spec: OutputSpec) -> Output:
    from gossamer.outputs.directory import DirectoryOutput  # noqa: PLC0415
    from gossamer.outputs.markdown import MarkdownForm  # noqa: PLC0415

    return DirectoryOutput(spec, MarkdownForm())


def _mirror(spec: OutputSpec) -> Output:
    from gossamer.outputs.directory import DirectoryOutput  # noqa: PLC0415
    from gossamer.outputs.mirror import MirrorForm  # noqa: PLC0415

    return DirectoryOutput(spec, MirrorForm())


class OutputKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of output."""

    make: Callable[[OutputSpec], Output]
    is_table: bool = False
    """Whether it has rows: of records, or of pages with `--fields`."""
    library: str | None = None
    """What it needs that is not installed with Gossamer."""
    extra: str = ""
    """The extra of Gossamer that installs it."""


OUTPUTS: Mapping[str, OutputKind] = MappingProxyType(
    {
        ".jsonl": OutputKind(make=_json_lines, is_table=True),
        ".jsonl.gz": OutputKind(make=_gzip, is_table=True),
        ".jsonl.zst": OutputKind(make=_zstd, is_table=True),
        ".csv": OutputKind(make=_csv, is_table=True),
        ".parquet": OutputKind(make=_parquet, is_table=True, library="pyarrow", extra="parquet"),
        ".warc.gz": OutputKind(make=_archive),
        ".md": OutputKind(make=_markdown),
        ".html": OutputKind(make=_mirror),
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
    output = kind_of_output(spec.target).make(spec)
    if spec.is_uploaded:
        from gossamer.outputs.s3 import UploadedOutput  # noqa: PLC0415

        return UploadedOutput(output, spec)
    return output
