"""How a crawl ended, as an exit code, from what came of its seeds and modules."""

import pytest

from gossamer.coordinator.summary import FailedSeed, SeedReport, Summary
from gossamer.model import Outcome, Snapshot, Url
from gossamer.model.errors import ExitCode
from gossamer.modules.module_stats import ModuleReport

LAST = Snapshot(
    waiting=0,
    in_progress=0,
    finished=1,
    pages=1,
    visits=1,
    bytes=1,
    outcomes={},
    hosts=1,
    elapsed_s=1.0,
    pages_per_s=1.0,
    ended_by=None,
    max_pages=1,
    max_bytes=1,
)
FAILED = FailedSeed(url=Url("http://a.test/"), outcome=Outcome.GONE, reason="it is gone")
NONE = SeedReport(failed=[FAILED])
SOME = SeedReport(failed=[FAILED], fetched=1)
FAILING = ModuleReport(name="failing", errors=3, failed_pages=3)


@pytest.mark.parametrize(
    ("ended_by", "seeds", "module", "code"),
    [
        ("complete", SOME, ModuleReport(name="good", pages=1), ExitCode.DONE),
        ("max-pages", SOME, ModuleReport(name="idle"), ExitCode.DONE),
        ("complete", NONE, ModuleReport(name="idle"), ExitCode.NO_SEED),
        ("max-bytes", NONE, ModuleReport(name="idle"), ExitCode.NO_SEED),
        ("interrupted", NONE, FAILING, ExitCode.INTERRUPTED),
        ("interrupted", SeedReport(waiting=1), FAILING, ExitCode.INTERRUPTED),
        ("complete", SOME, FAILING, ExitCode.MODULE_FAILED),
        (
            "complete",
            SOME,
            ModuleReport(name="some", pages=1, errors=9, failed_pages=9),
            ExitCode.DONE,
        ),
        (
            "max-pages",
            SOME,
            ModuleReport(
                name="stuck", pages=9, timed_out=1, failed_pages=1, bad_end="was given up"
            ),
            ExitCode.MODULE_FAILED,
        ),
    ],
)
def test_the_code_says_what_came_of_the_crawl(
    ended_by: str, seeds: SeedReport, module: ModuleReport, code: ExitCode
) -> None:
    summary = Summary(snapshot=LAST, ended_by=ended_by, directory="", seeds=seeds, modules=[module])
    assert summary.exit_code is code
