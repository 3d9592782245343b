"""Faults of markup: pages that cost their parser more than their bytes."""

from functools import cache

from gossamer.testing.replies import Reply
from gossamer.testing.simulator.fault import END, Fault, always, ended, linked, linking, typed

_BASES = '<base href="/fault/"><base href="javascript:1"><base href="http://nobody.invalid/">'


@cache
def _nested() -> Reply:
    return Reply(body="<div>" * 100_000 + linking(END))


@cache
def _reopened() -> Reply:
    return Reply(body="<b a=1 c=2>" * 400 + "<p>x" * 20_000 + linking(END))


@cache
def _attributes() -> Reply:
    return Reply(body=f"<p {' '.join(f'a{number}=1' for number in range(100_000))}>" + linking(END))


@cache
def _many_links() -> Reply:
    return Reply(body=linking(*(f"/p{number}.html?n={number}" for number in range(100_000))))


@cache
def _long_base() -> Reply:
    base = f'<base href="/{"b" * 7_900}/">'
    return Reply(body=linking(*map(str, range(9_000)), head=base))


MARKUP = (
    Fault(
        "nested-tags",
        "nests a hundred thousand tags",
        ended(_nested),
    ),
    Fault(
        "tags-reopened",
        "never closes its formatting",
        ended(_reopened),
    ),
    Fault(
        "attributes-many",
        "has a tag of 100,000 attributes",
        ended(_attributes),
    ),
    Fault(
        "attribute-open",
        "never closes an attribute",
        always(typed('<a href="/fault/end>' + "x" * 99_999)),
    ),
    Fault("bases-many", "has several bases", ended(lambda: linked("end", head=_BASES))),
    Fault("links-many", "has a hundred thousand links", lambda _: _many_links()),
    Fault("base-long", "has a long base and thousands of short links", lambda _: _long_base()),
)
