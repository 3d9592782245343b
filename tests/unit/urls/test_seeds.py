import pytest

from gossamer.model.errors import UsageError
from gossamer.urls import parse_seed


@pytest.mark.req("C2", "D1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://example.org", "http://example.org/"),
        ("  HTTPS://Example.org/a b \n", "https://example.org/a%20b"),
        ("http://bücher.example/#top", "http://xn--bcher-kva.example/"),
    ],
)
def test_a_seed_is_returned_in_normal_form(text: str, expected: str) -> None:
    assert parse_seed(text) == expected


@pytest.mark.req("C2", "D1")
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "'' is empty"),
        (" \t", "is empty"),
        ("example.org/x", "has no scheme; did you mean 'http://example.org/x'"),
        ("localhost:8080", "has no scheme; did you mean 'http://localhost:8080'"),
        ("example.org:8080/x", "has no scheme; did you mean 'http://example.org:8080/x'"),
        ("//example.org/", "has no scheme; did you mean 'http://example.org/'"),
        ("not a url", "is not a URL"),
        ("ftp://example.org/", "has the scheme 'ftp', but only http and https can be crawled"),
        ("mailto:a@example.org", "has the scheme 'mailto'"),
        ("javascript:alert(1)", "has the scheme 'javascript'"),
        ("file:///etc/passwd", "has the scheme 'file'"),
        ("http://", "has no host name"),
        ("HTTPS:///?q", "has no host name"),
        ("http://example.org:99999/", "check its host name and port"),
        ("http://exa mple.org/", "check its host name and port"),
        ("http://a..b/", "check its host name and port"),
        ("http://example.org/" + "x" * 9000, "is too long: it has 9019 characters"),
    ],
)
def test_a_bad_seed_is_answered_with_what_is_wrong(text: str, complaint: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_seed(text)
    message = str(raised.value)
    assert message.startswith("the seed URL '")
    assert complaint in message


@pytest.mark.req("D19")
@pytest.mark.parametrize("text", ["\x1b[31m://x", "ftp\r\n://x", "x\ud800", "\x00" * 1_000_000])
def test_the_complaint_is_safe_to_print(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_seed(text)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 400


def test_the_complaint_names_the_role_of_the_url() -> None:
    with pytest.raises(UsageError, match=r"^the prefix 'x y' is not a URL"):
        parse_seed("x y", "prefix")


@pytest.mark.req("D1")
@pytest.mark.parametrize(
    "text",
    [
        "http://user:s3cret@example.org/x",
        "https:user:s3cret@example.org",
        "//user:s3cret@example.org/",
        "user:s3cret@example.org",
        "1user:s3cret@example.org",
        "ftp://user:s3cret@example.org/",
        "http://user:s3cret@exa mple.org/",
        "htps://user:pass@s3cret@example.org/",
        "ftp://user:pa//@s3cret@example.org/",
    ],
)
def test_a_password_is_refused_and_never_shown(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_seed(text)
    assert "s3cret" not in str(raised.value)


def test_credentials_are_answered_with_what_to_write_instead() -> None:
    words = (
        "has a user name or a password in it, which is never sent: write http://a.test/x instead"
    )
    with pytest.raises(UsageError, match=words):
        parse_seed("http://me:s3cret@a.test/x")
    assert parse_seed("http://a.test/@me?to=a@b") == "http://a.test/@me?to=a@b"
