"""The outputs that are wished for, and whether they can be written: checked before a crawl."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import msgspec

from gossamer.config import CrawlOptions
from gossamer.config.options import DEFAULT_FIELDS
from gossamer.model.errors import UsageError
from gossamer.outputs.contract import OutputSpec
from gossamer.outputs.registry import check_library, kind_of_output
from gossamer.outputs.resumable import Stamp, key_of, read_state
from gossamer.stores.object_store import S3_SCHEME

WITHOUT_RECORDS = frozenset({"noop", "save"})
"""Built-in modules, which extract nothing."""


class OutputWishes(msgspec.Struct, frozen=True, kw_only=True):
    """What the outputs of a crawl are to be."""

    targets: tuple[str, ...]
    fields: tuple[str, ...] = ()
    """Those of a table of pages; none: records, or else pages with the usual fields."""
    csv_safe: bool = False
    warc_size: int = 1_000_000_000
    modules: tuple[str, ...] = ()
    is_of_records: bool = False
    """Whether tables are of records, also if none come: there is a module that extracts them."""
    crawl: str = ""

    @classmethod
    def of(
        cls,
        options: CrawlOptions,
        crawl: str,
        modules: Sequence[str],
        *,
        is_of_records: bool = False,
    ) -> Self:
        """Return the wishes of a crawl; relative paths are those of this process."""
        return cls(
            targets=tuple(map(absolute, options.output)),
            fields=options.fields,
            csv_safe=options.csv_safe,
            warc_size=options.warc_size,
            modules=tuple(modules),
            is_of_records=is_of_records and not options.fields,
            crawl=crawl,
        )

    @property
    def wants_rows(self) -> bool:
        """Whether there is a table, which may be one of pages."""
        return any(kind_of_output(target).is_table for target in self.targets)

    @property
    def row_fields(self) -> tuple[str, ...]:
        """The fields of a table of pages."""
        return self.fields or DEFAULT_FIELDS

    def specs(self, folder: Path) -> list[OutputSpec]:
        """Return what each output is to be; their states are in the folder."""
        extracting = [
            name for name in self.modules if name.partition(":")[0] not in WITHOUT_RECORDS
        ]
        return [
            OutputSpec(
                target=target,
                folder=folder,
                key=key_of(target),
                crawl=self.crawl,
                holds="records" if self.is_of_records else "pages",
                fields=self.row_fields,
                is_of_pages=bool(self.fields),
                names_modules=len(extracting) > 1,
                csv_safe=self.csv_safe,
                warc_size=self.warc_size,
            )
            for target in self.targets
        ]


def absolute(target: str) -> str:
    """Return the target as it is known everywhere."""
    if target.startswith(S3_SCHEME):
        return target.rstrip("/")
    path = Path(target).expanduser()
    return str(Path(os.path.abspath(path.parent)).resolve() / path.name)  # noqa: PTH100


def check_endings(targets: Sequence[str]) -> None:
    """Refuse outputs that cannot be what they are called, and two of one name."""
    seen = set()
    for target in targets:
        check_library(target)
        if absolute(target) in seen:
            raise UsageError(f"the output {target} is named twice: once is enough")
        seen.add(absolute(target))


def check_places(specs: Sequence[OutputSpec]) -> None:
    """Refuse outputs that cannot be written, or would replace what this crawl did not write.

    Nobody notes what an export with `--new` has written, so that it is not replaced either.
    """
    for spec in specs:
        if spec.is_uploaded:
            from gossamer.outputs.s3 import check_upload  # noqa: PLC0415 -- only where it is used

            check_upload(spec)
            continue
        for complaint in _complaints(spec):
            raise UsageError(complaint)


def _complaints(spec: OutputSpec) -> Iterator[str]:
    path, part = spec.path, spec.part
    if not path.parent.is_dir():
        yield f"there is no directory {path.parent} for the output {path.name}: make it first"
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        yield f"the directory {path.parent} cannot be written to: name another for {path.name}"
    for file in (path, part):
        if file.is_symlink():
            yield f"{file} is a symbolic link, which Gossamer does not follow: remove it"
    state = read_state(spec.folder, spec.key)
    leave = "move it away, or name another output"
    if path.exists() and (state is None or not state.is_placed):
        unknown = "this crawl has no note of writing it, and an export with --new leaves none"
        yield f"{path} is there and is left alone ({unknown}): {leave}"
    elif path.exists() and state and state.stamp and state.stamp != Stamp.of(path):
        yield f"{path} was changed since this crawl wrote it, and is left alone: {leave}"
    if state is None and part.exists():
        others = "another crawl is writing it, or was killed"
        yield f"{part} is there and is left alone ({others}): {leave}"
