"""Segments of bodies: what is read back, what a crash leaves, and when they go."""

import asyncio
import math
from pathlib import Path

import pytest

from gossamer.download.body import CodingError
from gossamer.model.errors import CrawlError
from gossamer.stores.bodies import (
    BODIES_NAME,
    ENDING,
    INDEX_ENDING,
    BodyPlace,
    BodyReader,
    BodyReference,
    ContentPacker,
    SegmentReader,
    read_content,
)
from gossamer.stores.body_writer import (
    SEGMENT_BYTES,
    SLACK_S,
    SegmentUpkeep,
    SegmentWriter,
    WriterRules,
    read_index,
)

MINE, OTHER = "a" * 32, "b" * 32
BODIES = [f"the body {number} ".encode() * 50 for number in range(6)]


def write(folder: Path, times: list[float], rules: WriterRules) -> list[bytes]:
    """Write one body at each time; return the references."""

    async def run() -> list[bytes]:
        writer, pack = SegmentWriter(folder, rules), ContentPacker().pack
        stored = [
            writer.append(pack(BODIES[number]), number, at, bytes(16))
            for number, at in enumerate(times)
        ]
        await writer.close()
        return stored

    return asyncio.run(run())


def rules(keep_s: float = math.inf, segment_bytes: int = SEGMENT_BYTES) -> WriterRules:
    return WriterRules(identity=MINE, keep_s=keep_s, segment_bytes=segment_bytes)


def bodies_at(folder: Path, stored: list[bytes]) -> list[bytes]:
    reader = SegmentReader(BodyPlace(str(folder)))
    return [read_content(reader.read(one)).body() for one in stored]


def names(folder: Path, ending: str = ENDING) -> list[str]:
    return sorted(one.stem for one in folder.glob(f"*{ending}"))


def test_a_full_segment_is_followed_by_another(tmp_path: Path) -> None:
    stored = write(tmp_path, [0.0] * 6, rules(segment_bytes=150))
    assert bodies_at(tmp_path, stored) == BODIES
    assert len(names(tmp_path)) > 1
    assert names(tmp_path) == names(tmp_path, INDEX_ENDING)
    assert all(len(one) < 60 for one in stored)
    for segment in tmp_path.glob(f"*{ENDING}"):
        index = read_index(segment.with_suffix(INDEX_ENDING).read_bytes())
        assert index is not None
        assert index.end == segment.stat().st_size


def test_a_body_is_read_wherever_it_is(tmp_path: Path) -> None:
    (stored,) = write(tmp_path, [0.0], rules())
    inline = ContentPacker().pack(b"in the store")

    async def note(name: str) -> bytes | None:
        assert name == BODIES_NAME
        return BodyPlace(str(tmp_path)).pack()

    async def read() -> list[bytes]:
        reader = BodyReader(note)
        return [read_content(await reader.read(one)).body() for one in (stored, inline)]

    assert asyncio.run(read()) == [BODIES[0], b"in the store"]


def test_what_does_not_lead_to_its_body_is_damage(tmp_path: Path) -> None:
    stored = write(tmp_path, [0.0, 0.0], rules())
    first = BodyReference.unpack(stored[0])
    assert first is not None
    wrong = [
        BodyReference(first.segment, first.offset + 1, first.length, first.checksum),
        BodyReference(first.segment, first.offset, first.length + 1, first.checksum),
        BodyReference(first.segment, first.offset, first.length, first.checksum ^ 1),
        BodyReference(first.segment, 10**9, first.length, first.checksum),
        BodyReference("1-aaaaaaaaaaaa-1", first.offset, first.length, first.checksum),
        BodyReference("../segment", first.offset, first.length, first.checksum),
    ]
    for one in [*(reference.pack() for reference in wrong), stored[0][:9]]:
        with pytest.raises(CodingError):
            SegmentReader(BodyPlace(str(tmp_path))).read(one)


def test_who_dies_leaves_a_segment_that_others_finish_without_its_torn_end(tmp_path: Path) -> None:
    stored = write(tmp_path, [0.0, 1.0], rules())
    (segment,) = tmp_path.glob(f"*{ENDING}")
    segment.with_suffix(INDEX_ENDING).unlink()
    last = BodyReference.unpack(stored[1])
    assert last is not None
    whole = segment.stat().st_size
    with segment.open("ab") as file:
        file.write(segment.read_bytes()[last.offset : -3])
    SegmentUpkeep(BodyPlace(str(tmp_path)), tmp_path, MINE).finish_left()
    index = read_index(segment.with_suffix(INDEX_ENDING).read_bytes())
    assert index is not None
    assert (index.end, index.newest) == (whole, 1.0)
    assert bodies_at(tmp_path, stored) == BODIES[:2]


def test_a_segment_that_is_written_is_not_finished_by_others(tmp_path: Path) -> None:
    async def run() -> tuple[list[str], list[str]]:
        writer = SegmentWriter(tmp_path, rules())
        writer.append(b"one", 1, 0.0, bytes(16))
        SegmentUpkeep(BodyPlace(str(tmp_path)), tmp_path, MINE).finish_left()
        before = names(tmp_path, INDEX_ENDING)
        await writer.close()
        return before, names(tmp_path, INDEX_ENDING)

    before, after = asyncio.run(run())
    assert (before, after) == ([], names(tmp_path))


def test_a_segment_goes_when_the_last_of_its_pages_has_expired(tmp_path: Path) -> None:
    keep_s = 100.0
    stored = write(tmp_path, [0.0, 60.0, 130.0, 150.0], rules(keep_s=keep_s))
    assert len(names(tmp_path)) == 2, "pages that expire long after each other are apart"
    other = WriterRules(identity=OTHER, keep_s=keep_s)
    write(tmp_path, [0.0], other)
    upkeep = SegmentUpkeep(BodyPlace(str(tmp_path)), tmp_path, MINE)
    upkeep.expire(60.0 + keep_s + SLACK_S - 1, keep_s)
    assert len(names(tmp_path)) == 3
    upkeep.expire(60.0 + keep_s + SLACK_S, keep_s)
    assert len(names(tmp_path)) == len(names(tmp_path, INDEX_ENDING)) == 2
    assert bodies_at(tmp_path, stored[2:]) == BODIES[2:4]
    upkeep.expire(10.0**9, math.inf)
    assert len(names(tmp_path)) == 2
    upkeep.expire(10.0**9, keep_s)
    assert len(names(tmp_path)) == 1, "another crawl's is left alone"


def test_nothing_is_appended_behind_a_torn_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        writer = SegmentWriter(tmp_path, rules())
        first = writer.append(b"one", 1, 0.0, bytes(16))
        with monkeypatch.context() as broken:
            broken.setattr("os.writev", lambda _file, parts: len(parts[0]) - 1)
            with pytest.raises(CrawlError, match="make room there"):
                writer.append(b"two", 2, 0.0, bytes(16))
        with pytest.raises(CrawlError, match="make room there"):
            writer.append(b"three", 3, 0.0, bytes(16))
        await writer.close()
        assert SegmentReader(BodyPlace(str(tmp_path))).read(first) == b"one"

    asyncio.run(run())
