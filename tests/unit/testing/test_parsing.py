from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.testing.server import parse_request

names = st.from_regex(r"[A-Za-z0-9.-]{1,20}", fullmatch=True)
targets = st.from_regex(r"/[!-~]{0,50}", fullmatch=True)


@given(st.binary(max_size=300))
@example(b"GET / HTTP/1.1\r\nhost:")
@example(b"GET / HTTP/1.1\r\n\xff\r\nHost:\xff:::")
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_or_refused(head: bytes) -> None:
    parse_request(head)
    parse_request(b"GET / HTTP/1.1\r\nHost: a\r\n" + head)


@given(names, targets, st.sampled_from(["Host", "HOST", "host"]), st.sampled_from(["", ":81"]))
@settings(max_examples=200, deadline=None)
def test_a_well_formed_request_is_understood(host: str, target: str, name: str, port: str) -> None:
    header = f"X-Host: no\r\n{name}:  {host}{port} \r\nAccept: */*"
    request = parse_request(f"GET {target} HTTP/1.1\r\n{header}".encode())
    assert request is not None
    assert (request.method, request.path, request.host) == ("GET", target, host.lower())
    assert request.header == header.encode()
    assert not request.closes
