"""The deployment files, read."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
SETTINGS = {"REDIS_PASSWORD": "0123abcd", "SEEDS": "https://example.com/"}
"""What the operator must set."""

Tree = dict[str, Any]


@pytest.fixture(scope="session")
def compose() -> Tree:
    """Return the Compose file with its variables filled in as Compose does."""
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    tree: Tree = yaml.safe_load(re.sub(r"\$\{(\w+)(?::([-?])([^}]*))?\}", _filled_in, text))
    return tree


def _filled_in(match: re.Match[str]) -> str:
    name, kind, words = match.groups()
    if kind == "?":
        assert words, f"{name} is needed, and nobody says why"
        return SETTINGS[name]
    assert kind == "-", f"{name} has no default"
    return SETTINGS.get(name, words)


@pytest.fixture(scope="session")
def manifests() -> list[Tree]:
    return list(_manifests())


def _manifests() -> Iterator[Tree]:
    for file in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        yield from yaml.safe_load_all(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def pods(manifests: list[Tree]) -> dict[str, Tree]:
    """Return the pods by the names of what makes them."""
    return {
        one["metadata"]["name"]: one["spec"]["template"]["spec"]
        for one in manifests
        if "template" in one.get("spec", {})
    }


@pytest.fixture(scope="session")
def dockerfile() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, comments left out and lines joined."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in joined.splitlines()]
