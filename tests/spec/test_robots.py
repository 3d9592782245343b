"""The published cases of robots.txt: those of RFC 9309 and of Google, who wrote it down."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gossamer.model import Url
from gossamer.policy.robots import parse_robots

TABLES = Path(__file__).parent / "data" / "robots"


class Case(NamedTuple):
    name: str
    body: bytes
    agent: str
    url: Url
    allowed: bool


def published() -> Iterator[Case]:
    for table in sorted(TABLES.glob("*.toml")):
        for file in tomllib.loads(table.read_text(encoding="utf-8"))["file"]:
            body = file["robots"].encode(file.get("encoding", "utf-8"))
            differs = file.get("differs", {})
            listed = {case: key for key in ("allowed", "denied") for case in file.get(key, ())}
            assert set(differs) <= set(listed), file["name"]
            for case, key in listed.items():
                agent, url = case.rsplit(" ", 1)
                allowed = (key == "allowed") != (case in differs)
                yield Case(f"{table.stem}: {file['name']}: {case}", body, agent, Url(url), allowed)


@pytest.mark.req("F4")
def test_published_case() -> None:
    cases = list(published())
    assert len(cases) > 400
    verdicts = [parse_robots(case.body, case.agent).judge(case.url) for case in cases]
    wrong = {
        case.name: verdict.reason
        for case, verdict in zip(cases, verdicts, strict=True)
        if verdict.allowed is not case.allowed
    }
    assert wrong == {}
