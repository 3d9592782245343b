"""Pages whose bodies have expired, in outputs of each kind."""

import pytest
from tests.unit.outputs.conftest import MakeSpec

from gossamer.outputs.registry import make_output
from gossamer.stores.url_record import Result


@pytest.mark.parametrize("name", ["a.jsonl", "a.html", "a.warc.gz"])
def test_they_are_left_out_and_counted_also_over_a_restart(make_spec: MakeSpec, name: str) -> None:
    def write(number: int) -> None:
        output.write(Result(number=number, url_id=number, page_id=number, settled_at=0.0), None)

    output = make_output(spec := make_spec(name))
    output.rewind(None)
    write(1)
    position = output.flush()
    assert output.finish(()).note == "1 page left out, whose bodies have expired"
    output = make_output(spec)
    output.rewind(position)
    write(2)
    assert output.finish(()).note == "2 pages left out, whose bodies have expired"
