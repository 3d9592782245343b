import io
import logging

import pytest

from gossamer.coordinator.processes.worker_channel import logging_to
from gossamer.display import Outlet
from gossamer.display.lines import PlainLines


class UnprintableLogError(Exception):
    def __str__(self) -> str:
        raise ValueError


@pytest.fixture
def error() -> io.StringIO:
    return io.StringIO()


@pytest.mark.req("D18")
def test_warnings_of_modules_and_libraries_reach_the_observer(error: io.StringIO) -> None:
    with logging_to(PlainLines(Outlet(error)).say):
        logging.getLogger("gossamer.modules").warning("module %s is slow", "save")
        logging.getLogger("somebody.else").error("it is %d", 7)
        logging.getLogger("gossamer.modules").info("not worth telling")
    assert error.getvalue().splitlines() == [
        "gossamer: warning: module save is slow",
        "gossamer: error: it is 7 (logger=somebody.else)",
    ]


def test_an_exception_is_written_in_one_line(error: io.StringIO) -> None:
    with logging_to(PlainLines(Outlet(error)).say):
        logging.getLogger("gossamer.x").error("failed", exc_info=KeyError("a\nb"))
        logging.getLogger("gossamer.x").error("failed", exc_info=UnprintableLogError())
    first, second = error.getvalue().splitlines()
    assert first == r"gossamer: error: failed: KeyError: 'a\nb'"
    assert "UnprintableLogError" in second


def test_a_record_whose_arguments_do_not_fit_is_written_all_the_same(error: io.StringIO) -> None:
    with logging_to(PlainLines(Outlet(error)).say):
        logging.getLogger("gossamer.x").warning("%d pages", "many")
    assert "%d pages ('many',)" in error.getvalue()


def test_afterwards_logging_is_as_it_was(error: io.StringIO) -> None:
    before = logging.getLogger().handlers[:]
    with logging_to(PlainLines(Outlet(error)).say):
        assert logging.getLogger().handlers != before
    assert logging.getLogger().handlers == before
