"""The scripts hold what they need, and nothing that they do not."""

import asyncio
import re
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from gossamer.stores.redis.keys import NAMES, key, prefix
from gossamer.stores.redis.scripts import script

if TYPE_CHECKING:
    from tests.unit.stores.redis.store.conftest import Stage

LUA = files("gossamer.stores.redis") / "lua"
STEPS = sorted(
    path.name.removesuffix(".lua")
    for path in LUA.iterdir()
    if path.name.endswith(".lua") and path.read_text().startswith("-- needs:")
)


def test_there_is_a_step_for_every_method() -> None:
    assert {"add_seeds", "candidates", "prioritise", "route", "join", "lease", "renew"} <= set(
        STEPS
    )
    assert {"claim", "settle", "release", "acquire_slot", "release_slot", "reap"} <= set(STEPS)


@pytest.mark.parametrize("step", STEPS)
def test_a_step_is_understood_by_the_server(stage: "Stage", step: str) -> None:
    async def story() -> object:
        async with stage.client() as client:
            return await client.script_load(script(step).source)

    assert asyncio.run(story()) == script(step).sha.decode()


@pytest.mark.parametrize("step", STEPS)
def test_every_function_is_defined_before_it_is_called(step: str) -> None:
    source = script(step).source.decode()
    defined: set[str] = set()
    for line in source.splitlines():
        match = re.match(r"function F\.(\w+)", line)
        if match:
            defined.add(match[1])
    assert set(re.findall(r"F\.(\w+)\(", source)) <= defined
    assert "const." not in source
    assert not re.search(r"\bK\.", source)


def test_a_small_step_is_small() -> None:
    assert script("join").source.count(b"function F.") < script("settle").source.count(b"F.") / 4


def test_a_file_that_is_no_step_is_not_taken_for_one() -> None:
    with pytest.raises(ValueError, match="does not say what it needs"):
        script("base")


def test_key_names_are_all_different() -> None:
    assert len(set(NAMES.values())) == len(NAMES)
    assert prefix("x") == "gossamer:{x}:"
    assert key("x", "urls") == "gossamer:{x}:urls"
