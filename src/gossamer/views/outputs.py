"""The outputs of a stored crawl: where they are, and how far."""

from pathlib import Path

import msgspec

from gossamer.coordinator.outputs import own_state_folder
from gossamer.outputs.contract import OutputSpec
from gossamer.outputs.state import OutputState, key_of, read_states
from gossamer.stores.reading import CrawlReader


class OutputStatus(msgspec.Struct, frozen=True, kw_only=True):
    """An output that a crawl has written, or is writing."""

    target: str
    """Where it is: a path or an address."""
    finished: bool
    """Whether it is complete under its name; if not, its name has `.part` at the end."""
    written: int
    """Up to which result it is written for good."""
    results: int
    """The number of the last result of the crawl."""


async def output_statuses(reader: CrawlReader) -> list[OutputStatus]:
    """Return the outputs of a crawl whose directory is on this machine, those of exports too."""
    folder = await own_state_folder(reader)
    if folder is None:
        return []
    results = await reader.last_result()
    return [
        OutputStatus(
            target=one.target,
            finished=_is_finished(one, folder),
            written=one.written,
            results=max(results, one.written),  # the states may be newer than what we read
        )
        for one in read_states(folder)
    ]


def _is_finished(state: OutputState, folder: Path) -> bool:
    """Tell whether it has its name. A directory has no stamp; it is renamed while it goes on."""
    spec = OutputSpec(target=state.target, folder=folder, key=key_of(state.target))
    return state.is_placed and (state.stamp is not None or spec.path.is_dir())
