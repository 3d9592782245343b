"""What is stored of the options, the command that goes on, and modules named from elsewhere."""

from pathlib import Path

import msgspec
import pytest

from gossamer.config import CrawlOptions, load
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.resume import (
    Origin,
    command_to_continue,
    module_changes,
    pack_options,
    read_options,
)
from gossamer.model import Snapshot
from gossamer.model.errors import CrawlError
from gossamer.modules.plugins import absolute_name

SEED = "http://a.test/"
STORE = "redis://me:hush@db.test"


def snapshot(pages: int, size: int) -> Snapshot:
    return Snapshot(
        waiting=1, in_progress=0, finished=0, pages=pages, visits=pages, bytes=0,
        received=size, outcomes={}, hosts=1, elapsed_s=1.0, pages_per_s=1.0, ended_by=None,
        max_pages=1, max_bytes=1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "ended_by", "command"),
    [
        ({}, "interrupted", "gossamer resume a.test"),
        ({"dir": "my crawl"}, "interrupted", "gossamer resume 'my crawl'"),
        ({"dir": "-x"}, "interrupted", "gossamer resume ./-x"),
        ({"max-pages": "50"}, "max-pages", "gossamer resume a.test --max-pages 100"),
        ({"max-pages": "5"}, "max-pages", "gossamer resume a.test --max-pages 80"),
        ({"max-bytes": "3MB"}, "max-bytes", "gossamer resume a.test --max-bytes 6MB"),
        ({"store": "sqlite:x.db"}, "interrupted", "gossamer resume --store sqlite:x.db"),
        (
            {"store": STORE, "insecure-store": True, "name": "n"},
            "interrupted",
            "gossamer resume --name n --insecure-store"
            "  # with GOSSAMER_STORE set to redis://me:***@db.test",
        ),
        (
            {"store": "redis://db.test", "insecure-store": True, "name": "n"},
            "interrupted",
            "gossamer resume --store redis://db.test --name n --insecure-store",
        ),
        ({}, "complete", None),
        ({"store": "memory:"}, "max-pages", None),
    ],
)
def test_the_command(given: dict[str, object], ended_by: str, command: str | None) -> None:
    plan = Plan(load({"seeds": (SEED,), **given}, {}).options)
    assert command_to_continue(plan, ended_by, {}, snapshot(40, 1_000_000)) == command


def test_a_store_of_the_environment_is_not_repeated() -> None:
    environment = {"GOSSAMER_STORE": STORE}
    plan = Plan(load({"seeds": (SEED,)}, environment).options)
    command = command_to_continue(plan, "interrupted", environment)
    assert command == "gossamer resume --name a.test"


@pytest.mark.parametrize(
    ("spec", "absolute"),
    [
        ("save", "save"),
        ("package.mod:see", "package.mod:see"),
        ("./mine.py:see", "/there/mine.py:see"),
        ("../my.python/x.py:A.b", "/my.python/x.py:A.b"),
        ("mine.py:see:path=a.py", "/there/mine.py:see:path=a.py"),
        ("/abs/x.py:see", "/abs/x.py:see"),
    ],
)
def test_a_file_is_found_from_anywhere(spec: str, absolute: str) -> None:
    assert absolute_name(spec, Path("/there")) == absolute


def test_a_module_is_the_same_wherever_it_is_named_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    origin = Origin(machine="m", folder="/there", directory="/there/d")
    before, now = ["noop", "./one.py:a", "save"], ["/there/one.py:a", "./one.py:a"]
    new, missing = module_changes(before, now, origin, "gossamer replay d --module {}".format)
    assert new.startswith("module ./one.py:a was not part of this crawl")
    assert "'gossamer replay d --module ./one.py:a'" in new
    assert missing.startswith("module save was part of this crawl and is left out")


def test_stored_options_of_another_version_fall_back_to_defaults() -> None:
    """A reader ignores what it does not know, and takes the default of what is missing."""
    note = msgspec.json.encode({"seeds": ["http://a.test/"], "depth": 3, "unheard-of": 1})
    assert read_options(note, "here") == CrawlOptions(seeds=("http://a.test/",), depth=3)
    assert read_options(None, "here") is None


def test_a_crawl_without_workers_of_its_own_can_be_read_wherever_its_store_is() -> None:
    options = load({"seeds": ["http://a.test/"], "workers": "0", "store": "redis://x"}, {}).options
    stored = read_options(pack_options(options), "here")
    assert stored is not None
    assert stored.seeds == ("http://a.test/",)


@pytest.mark.parametrize("note", [b"{", b'{"seeds": ["http://a.test/"], "depth": -1}'])
def test_damaged_options_are_told_with_their_place(note: bytes) -> None:
    with pytest.raises(CrawlError, match="the options in here are damaged"):
        read_options(note, "here")
