import pytest

from gossamer.urls.normalise import encode_query


@pytest.mark.req("C9", "D19")
@pytest.mark.parametrize(
    ("href", "encoding", "expected"),
    [
        ("/п?п=п#п", "windows-1251", "/п?%EF=%EF#п"),
        ("?ไทย", "windows-874", "?%E4%B7%C2"),
        ("?ש", "iso-8859-8-i", "?%F9"),
        ("?П", "x-mac-cyrillic", "?%8F"),
        ("?①", "shift_jis", "?%87%40"),
        ("?똠", "euc-kr", "?%8Cc"),
        ("?ソ", "shift_jis", "?%83%5C"),
        ("?a=1&b=é%20+", "latin-1", "?a=1&b=%E9%20+"),
        # A letter that the encoding lacks is sent as a character reference.
        ("?п", "latin-1", "?%26%231087%3B"),
        ("x#y?é", "latin-1", "x#y?é"),
    ],
)
def test_letters_of_the_query_are_escaped_in_the_encoding_of_the_page(
    href: str, encoding: str, expected: str
) -> None:
    assert encode_query(href, encoding) == expected


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    "encoding", ["utf-8", "UTF_8", "utf-16le", "utf-7", "no-such", "", "\0", "rot13", "undefined"]
)
def test_other_encodings_leave_the_link_to_utf8(encoding: str) -> None:
    assert encode_query("/é?é", encoding) == "/é?é"


@pytest.mark.req("D19")
def test_a_lone_surrogate_does_not_raise() -> None:
    assert "é" not in encode_query("?é\ud800", "latin-1")
