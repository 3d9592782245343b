import pytest

from gossamer.download.deadlines import DRAIN_TIMEOUT_S, TransferProgress, overdue, tick_s
from gossamer.download.options import FetchOptions
from gossamer.model import Cause

OPTIONS = FetchOptions(first_byte_timeout_s=10, silence_timeout_s=5)


@pytest.mark.req("D8", "D19")
@pytest.mark.parametrize(
    ("progress", "now", "expected"),
    [
        # libcurl watches over connecting.
        (TransferProgress(), 1e9, None),
        (TransferProgress(connected=100), 110, None),
        (TransferProgress(connected=100), 110.1, Cause.FIRST_BYTE_TIMEOUT),
        (TransferProgress(connected=100, last_byte=109), 114, None),
        (TransferProgress(connected=100, last_byte=109), 114.1, Cause.SILENCE_TIMEOUT),
        # The first byte came late; that is forgiven.
        (TransferProgress(connected=100, last_byte=200), 201, None),
        # What is thrown away gets less time, however busily it comes.
        (
            TransferProgress(connected=100, last_byte=109, useless_since=109),
            109 + DRAIN_TIMEOUT_S,
            None,
        ),
        (
            TransferProgress(connected=100, last_byte=110.2, useless_since=109),
            110.2,
            Cause.TOTAL_TIMEOUT,
        ),
        # What drips is given two silences, and then a hundred bytes a second are enough.
        (TransferProgress(connected=100, first_byte=105, last_byte=115, received=1), 115, None),
        (
            TransferProgress(connected=100, first_byte=105, last_byte=116, received=1_099),
            116,
            Cause.TOO_SLOW,
        ),
        (TransferProgress(connected=100, first_byte=105, last_byte=116, received=1_100), 116, None),
        # The time for all of it does not go on while it is us whom the server waits for.
        (TransferProgress(started=99, connected=100, last_byte=130), 129, None),
        (TransferProgress(started=99, connected=100, last_byte=130), 130, Cause.TOTAL_TIMEOUT),
        (TransferProgress(started=99, connected=100, last_byte=130, paused_at=120), 999, None),
        (TransferProgress(started=99, connected=100, last_byte=130, paused_s=5), 130, None),
    ],
)
def test_deadlines(progress: TransferProgress, now: float, expected: Cause | None) -> None:
    assert overdue(progress, OPTIONS, now) is expected


@pytest.mark.parametrize("timeout_s", [0.1, 1, 60])
def test_a_deadline_is_noticed_soon_after(timeout_s: float) -> None:
    options = FetchOptions(first_byte_timeout_s=timeout_s, silence_timeout_s=2 * timeout_s)
    assert tick_s(options) <= timeout_s / 8
    assert tick_s(options) <= DRAIN_TIMEOUT_S / 8
