"""Which encoding a page is in, by every source there is and against every lie."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turbohtml.detect import EncodingMatch, detect

from gossamer.content import charset
from gossamer.content.charset import GUESSED_BYTES, decode


def meta(label: str) -> bytes:
    return f"<meta charset={label}>".encode()


@pytest.mark.req("D9", "D19")
@pytest.mark.parametrize(
    ("body", "http_charset", "encoding"),
    [
        # A mark beats everything.
        (b"\xef\xbb\xbf" + meta("koi8-r"), "windows-1251", "utf-8"),
        (b"\xff\xfe<\0p\0>\0", "utf-8", "utf-16le"),
        (b"\xfe\xff\0<\0p\0>", None, "utf-16be"),
        # Then the header.
        (meta("koi8-r"), "windows-1251", "windows-1251"),
        (meta("utf-8"), "ISO-8859-1", "windows-1252"),
        # Then a declaration, in any of its forms.
        (meta("koi8-r"), None, "koi8-r"),
        (b'<META HTTP-EQUIV=content-type CONTENT="a; charset = koi8-r">', None, "koi8-r"),
        (b"<meta charset=bogus>" + meta("koi8-r"), None, "koi8-r"),
        (b"<!-- " + meta("koi8-r") + b" -->" + meta("big5"), None, "big5"),
        (b" " * 990 + meta("koi8-r"), None, "koi8-r"),
        (b"<?xml version='1.0' encoding='iso-8859-2'?>\xb1\xe9\xb1", None, "iso-8859-2"),
        (b"<?xml version='1.0' encoding='big5'?>" + meta("koi8-r"), None, "koi8-r"),
        (b"<?xml version='1.0' encoding='big5'?>" + meta("utf-8"), None, "utf-8"),
        (b"<?xml version='1.0' encoding='big5'?>" + meta("ascii"), None, "windows-1252"),
        (b"<?xml version='1.0' encoding='bogus'?>" + "é".encode(), None, "utf-8"),
        # Then what the bytes look like.
        ("été, Straße, Übung".encode(), None, "utf-8"),
        ("Привет, как дела, что нового?".encode("cp1251"), None, "windows-1251"),
        ("これは日本語の文章です。".encode("shift_jis"), None, "shift_jis"),
        (b"caf\xe9 cr\xe8me br\xfbl\xe9e", None, "windows-1252"),
        (b"plain", None, "windows-1252"),
        (b"", None, "windows-1252"),
    ],
)
def test_the_sources_are_asked_in_the_order_of_the_standard(
    body: bytes, http_charset: str | None, encoding: str
) -> None:
    assert decode(body, http_charset).encoding == encoding


@pytest.mark.req("D9")
@pytest.mark.parametrize(
    ("label", "encoding"),
    [
        ("utf8", "utf-8"),
        (" UTF-8\n", "utf-8"),
        ("unicode-1-1-utf-8", "utf-8"),
        ("latin1", "windows-1252"),
        ("us-ascii", "windows-1252"),
        ("iso-8859-9", "windows-1254"),
        ("tis-620", "windows-874"),
        ("gb2312", "gbk"),
        ("gb18030", "gb18030"),
        ("x-sjis", "shift_jis"),
        ("ks_c_5601-1987", "euc-kr"),
        ("big5-hkscs", "big5"),
        ("koi8-ru", "koi8-u"),
        ("utf-16", "utf-16le"),
        ("x-mac-cyrillic", "x-mac-cyrillic"),
    ],
)
def test_a_label_means_what_the_encoding_standard_says(label: str, encoding: str) -> None:
    assert decode(b"x", label).encoding == encoding


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    "label", ["utf-7", "utf-32", "no-such", "", "\0", "é", "\ud800", "x" * 10**6, "rot13"]
)
def test_a_label_that_means_nothing_leaves_it_to_the_next_source(label: str) -> None:
    assert decode(meta("koi8-r"), label).encoding == "koi8-r"
    declared = meta(label[:100].encode("ascii", "replace").decode())
    assert decode(declared + "é".encode()).encoding == "utf-8"


@pytest.mark.req("D9", "D19")
def test_a_declaration_in_ascii_cannot_mean_utf_16() -> None:
    assert decode(meta("utf-16le") + "é".encode()) == ("<meta charset=utf-16le>é", "utf-8")
    assert decode(b"<?xml version='1.0' encoding='utf-16'?>\xe9").encoding == "utf-8"


@pytest.mark.req("D19")
@pytest.mark.parametrize("label", ["hz-gb-2312", "iso-2022-kr", "iso-2022-cn"])
def test_encodings_that_hide_tags_show_nothing(label: str) -> None:
    # In these, harmless bytes can be markup; browsers show one replacement character instead.
    assert decode(b"~{<a href=x>", label) == ("\ufffd", "replacement")


@pytest.mark.req("D9")
@pytest.mark.parametrize(
    ("body", "label", "text"),
    [
        (b"\x80\x93", "iso-8859-1", "€“"),
        (b"\x81", "windows-1252", "\x81"),
        (b"\xa1\xa2", "euc-kr", "、"),
        (b"\x82\xa0", "shift_jis", "あ"),
        (b"\x81\x30\x81\x30", "gb18030", "\x80"),
        (b"a\0b\0", "utf-16", "ab"),
        ("\ufeffx".encode(), None, "x"),
    ],
)
def test_text_comes_out_as_in_browsers(body: bytes, label: str | None, text: str) -> None:
    assert decode(body, label).text == text


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    ("body", "label", "text"),
    [
        (b"a\xffb", "utf-8", "a\ufffdb"),
        (b"\xe2\x82", "utf-8", "\ufffd"),
        (b"\xed\xa0\x80", "utf-8", "\ufffd\ufffd\ufffd"),
        (b"\xc0\xafx", "utf-8", "\ufffd\ufffdx"),
        (b"\x00\xd8x\x00", "utf-16le", "\ufffdx"),
        (b"a\0b", "utf-16le", "a\ufffd"),
        (b"\xff<", "shift_jis", "\ufffd<"),
    ],
)
def test_malformed_bytes_become_replacement_characters(body: bytes, label: str, text: str) -> None:
    assert decode(body, label).text == text


@pytest.mark.req("D19")
@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=200)
    | st.builds(
        lambda label, rest: b"<meta charset=" + label + b">" + rest, st.binary(), st.binary()
    ),
    st.none() | st.text(max_size=20) | st.sampled_from(["utf-8", "utf-16", "gbk", "iso-2022-jp"]),
)
def test_every_body_decodes(body: bytes, http_charset: str | None) -> None:
    text, encoding = decode(body, http_charset)
    assert text.encode("utf-8", "strict") is not None
    assert encoding == encoding.lower() != ""


@pytest.mark.req("D9", "D19")
@pytest.mark.parametrize("shift", range(3))
@pytest.mark.parametrize("before", [0, 3 * GUESSED_BYTES])
def test_finding_11_a_guess_is_made_from_a_part_of_a_large_page(
    shift: int, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    guessed: list[int] = []

    def noted(body: bytes) -> EncodingMatch:
        guessed.append(len(body))
        return detect(body)

    monkeypatch.setattr(charset, "detect", noted)
    text = " " * (before + shift) + "漢字仮名交じり" * (GUESSED_BYTES // 10)
    body = text.encode()
    assert decode(body) == (text, "utf-8"), "a part may end within a character"
    lines = text.replace("り", "り\n")
    assert decode(lines.encode("shift_jis")) == (lines, "shift_jis")
    assert decode(meta("big5") + body).encoding == "big5"
    assert max(guessed) <= GUESSED_BYTES + 1024
