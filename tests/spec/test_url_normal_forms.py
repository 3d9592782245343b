"""The URL standard and RFC 3986 as a table: `[text, base or null, normal form or null]`.

The cases were written for Gossamer, after https://url.spec.whatwg.org/ and RFC 3986 section 5.4.
A lone string in the table is the heading of the cases after it.
"""

import json
from pathlib import Path

import pytest

from gossamer.urls import normalise, resolve

Case = tuple[str, str | None, str | None]


def _cases() -> list[Case]:
    table = Path(__file__).with_name("data") / "urls" / "normal_forms.json"
    rows = json.loads(table.read_text(encoding="ascii"))
    return [(row[0], row[1], row[2]) for row in rows if isinstance(row, list)]


@pytest.mark.req("C8", "C9", "D13")
def test_url_has_the_normal_form_of_the_standard() -> None:
    found = [
        (text, base, normalise(text) if base is None else resolve(text, base))
        for text, base, _ in _cases()
    ]
    assert found == _cases()


@pytest.mark.req("C8")
def test_every_normal_form_of_the_table_is_its_own_normal_form() -> None:
    forms = [expected for _, _, expected in _cases() if expected is not None]
    assert len(forms) > 100
    assert [normalise(form) for form in forms] == forms
