import pycurl
import pytest

from gossamer.download.curl_errors import CurlFailure, cause_of
from gossamer.model import Cause


@pytest.mark.req("D8")
def test_a_timeout_is_told_by_its_phase() -> None:
    failure = CurlFailure(pycurl.E_OPERATION_TIMEDOUT, "timed out")
    assert cause_of(failure, connected=False) is Cause.CONNECT_TIMEOUT
    # libcurl has sent the request on a kept connection before, which was closed.
    assert cause_of(failure, connected=True) is Cause.CONNECT_TIMEOUT


def test_broken_chunks_are_told_from_a_broken_connection() -> None:
    lost = CurlFailure(pycurl.E_RECV_ERROR, "Recv failure: Connection reset by peer")
    chunks = CurlFailure(pycurl.E_RECV_ERROR, "Malformed encoding found in chunked-encoding")
    assert cause_of(lost, connected=True) is Cause.CONNECTION_LOST
    assert cause_of(chunks, connected=True) is Cause.BAD_HTTP


@pytest.mark.parametrize("code", range(-1, 120))
def test_every_code_has_a_cause(code: int) -> None:
    assert cause_of(CurlFailure(code, ""), connected=True) in Cause
