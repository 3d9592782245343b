import json
from collections.abc import Callable
from itertools import permutations

import msgspec

from gossamer.model import Headers, Page
from gossamer.outputs.contract import Output, OutputSpec
from gossamer.outputs.registry import make_output

HEADERS = {"depth": "9", "id": "8", "url": '"depth":7'}
ROW = {
    "id": 12,
    "url": "http://a.test/",
    "depth": 1,
    "headers": HEADERS,
    "links": ["http://a.test/depth"],
}


def test_fields_are_in_the_order_in_which_they_were_asked_for(
    make_page: Callable[..., Page],
    make_spec: Callable[..., OutputSpec],
    put: Callable[[Output, Page], None],
) -> None:
    """Also if what is nested, with names of its own, comes before number and depth."""
    page = make_page("http://a.test/", number=12, links=["http://a.test/depth"])
    page = msgspec.structs.replace(page, headers=Headers(tuple(HEADERS.items())))
    for number, fields in enumerate(permutations(ROW)):
        spec = msgspec.structs.replace(make_spec(f"{number}.jsonl"), fields=fields)
        output = make_output(spec)
        output.rewind(None)
        put(output, page)
        output.finish([-1] * 12 + [1])  # it has come nearer since
        found = json.loads(spec.path.read_bytes())
        assert [*found.items()] == [(name, ROW[name]) for name in fields]
