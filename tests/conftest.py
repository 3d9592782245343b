"""Fixtures and the table of requirements, for every test."""

import os
from pathlib import Path

import pytest

pytest_plugins = ["requirement_table"]

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def docs_site() -> Path:
    """Return a folder of over 500 real HTML pages, with an index.html."""
    given = os.environ.get("GOSSAMER_DOCS")
    site = Path(given) if given else ROOT / ".cache" / "docs" / "site"
    if (site / "index.html").is_file():
        return site
    reason = "no documentation site: run 'make test', or set GOSSAMER_DOCS to a folder of HTML"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
