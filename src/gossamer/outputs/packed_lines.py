"""Lines of JSON in a compressed file."""

import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import zstandard

from gossamer.outputs.contract import OutputSpec

LEVEL = 6


def write_gzip(_: OutputSpec, rows: Callable[[], Iterator[bytes]], path: Path) -> None:
    """Write the rows, compressed with gzip."""
    with path.open("wb") as file:
        with gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as packed:
            packed.writelines(row + b"\n" for row in rows())
        _keep(file.fileno(), file.flush)


def write_zstd(_: OutputSpec, rows: Callable[[], Iterator[bytes]], path: Path) -> None:
    """Write the rows, compressed with Zstandard."""
    with path.open("wb") as file:
        with zstandard.ZstdCompressor(level=LEVEL).stream_writer(file, closefd=False) as packed:
            for row in rows():
                packed.write(row + b"\n")
        _keep(file.fileno(), file.flush)


def _keep(descriptor: int, flush: Callable[[], None]) -> None:
    flush()
    os.fsync(descriptor)
