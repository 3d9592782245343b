"""Unpack a real documentation site of over 1,000 pages into .cache/docs for tests and benchmarks.

The manual of PostgreSQL as Debian packages it: real HTML, one folder, no server needed. Nothing is
installed: the package is downloaded with apt and unpacked here. On a machine without apt set
GOSSAMER_DOCS to any folder of HTML pages with an index.html; without either, the tests that need
the site are skipped (and fail where CI is set).
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "docs"
SITE = CACHE / "site"
READY = CACHE / ".ready"
PACKAGES = ("postgresql-doc-15", "postgresql-doc-16", "postgresql-doc-17", "postgresql-doc-18")


def newest_available() -> str | None:
    """Return the first of PACKAGES that apt knows, looking again after an update as root."""
    for attempt in range(2):
        for name in PACKAGES:
            shown = subprocess.run(
                ["apt-cache", "show", "--no-all-versions", name], capture_output=True, check=False
            )
            if shown.returncode == 0 and shown.stdout.strip():
                return name
        if attempt == 0 and os.geteuid() == 0:
            subprocess.run(["apt-get", "update", "-qq"], check=False)
    return None


def unpack(package: str) -> None:
    """Download the package and move its HTML folder to SITE."""
    with tempfile.TemporaryDirectory() as folder:
        # The download runs as another user; it must be able to write here.
        Path(folder).chmod(0o777)
        subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, check=True)
        (archive,) = Path(folder).glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", str(archive), "unpacked"], cwd=folder, check=True)
        html = Path(folder) / "unpacked" / "usr" / "share" / "doc" / package / "html"
        shutil.rmtree(SITE, ignore_errors=True)
        SITE.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(html, SITE)


def main() -> int:
    """Make the site unless it is there; say plainly when it cannot be had."""
    if READY.exists():
        return 0
    CACHE.mkdir(parents=True, exist_ok=True)
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        print("no apt here: set GOSSAMER_DOCS to a folder of HTML pages to run every test")
    elif (package := newest_available()) is None:
        print(f"apt offers none of {', '.join(PACKAGES)}: try 'apt-get update', or GOSSAMER_DOCS")
    else:
        unpack(package)
        READY.touch()
        pages = sum(1 for _ in SITE.glob("*.html"))
        print(f"documentation site: {pages} pages of {package} in {SITE.relative_to(Path.cwd())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
