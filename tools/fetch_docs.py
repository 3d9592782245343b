"""Unpack a real documentation site of over 1,000 pages into .cache/docs for tests and benchmarks.

The manual of PostgreSQL as Debian packages it: real HTML, one folder, no server needed. Nothing is
installed: the package is downloaded with apt and unpacked here. On a machine without apt set
GOSSAMER_DOCS to any folder of HTML pages with an index.html; without either, the tests that need
the site are skipped (and fail where CI is set).

With --manuals, other manuals are unpacked beside it, for measuring how near duplicates are
recognised: generated pages with much in common, and one manual in two versions.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "docs"
SITE = CACHE / "site"
READY = CACHE / ".ready"
PACKAGES = ("postgresql-doc-15", "postgresql-doc-16", "postgresql-doc-17", "postgresql-doc-18")
MANUALS = (
    "apache2-doc",
    "libglibmm-2.4-doc",
    "libglibmm-2.68-doc",
    "openjdk-17-doc",
    "python-django-doc",
    "rust-doc",
    "sqlite3-doc",
)
UNSEEN = (
    "cmake-doc",
    "ghc-doc",
    "ikiwiki",
    "libcommons-math3-java-doc",
    "libeigen3-doc",
    "llvm-14-doc",
    "maxima-doc",
    "octave-doc",
)
"""Manuals on which nothing was ever tuned."""


def newest_available() -> str | None:
    """Return the first of PACKAGES that apt knows, looking again after an update as root."""
    for attempt in range(2):
        for name in PACKAGES:
            if is_available(name):
                return name
        if attempt == 0 and os.geteuid() == 0:
            subprocess.run(["apt-get", "update", "-qq"], check=False)
    return None


def is_available(package: str) -> bool:
    """Tell whether apt knows the package."""
    shown = subprocess.run(
        ["apt-cache", "show", "--no-all-versions", package], capture_output=True, check=False
    )
    return shown.returncode == 0 and bool(shown.stdout.strip())


@contextmanager
def unpacked(package: str) -> Iterator[Path]:
    """Download the package and give the folder of its documents, for a while."""
    with tempfile.TemporaryDirectory() as folder:
        # The download runs as another user; it must be able to write here.
        Path(folder).chmod(0o777)
        subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, check=True)
        (archive,) = Path(folder).glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", str(archive), "unpacked"], cwd=folder, check=True)
        yield Path(folder) / "unpacked" / "usr" / "share" / "doc"


def unpack(package: str) -> None:
    """Download the package and copy its HTML folder to SITE."""
    with unpacked(package) as documents:
        shutil.rmtree(SITE, ignore_errors=True)
        SITE.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(documents / package / "html", SITE)


def unpack_manual(package: str) -> None:
    """Download the package and copy its HTML pages into a folder of its name."""
    with unpacked(package) as documents:
        # What was begun and not finished is not taken for the whole.
        partial = CACHE / f".{package}"
        shutil.rmtree(partial, ignore_errors=True)
        for page in documents.rglob("*.html"):
            if page.is_file() and not page.is_symlink():
                target = partial / page.relative_to(documents)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(page, target)
        partial.rename(CACHE / package)


def fetch_manuals() -> None:
    """Unpack those of MANUALS and UNSEEN that are missing and can be had."""
    for package in (*MANUALS, *UNSEEN):
        if (CACHE / package).exists():
            continue
        if is_available(package):
            unpack_manual(package)
            print(f"{package}: {sum(1 for _ in (CACHE / package).rglob('*.html')):,} pages")
        else:
            print(f"{package}: apt does not offer it, so it is left out")


def main() -> int:
    """Make the site unless it is there; say plainly when it cannot be had."""
    wants_manuals = "--manuals" in sys.argv[1:]
    if READY.exists() and not wants_manuals:
        READY.touch()
        return 0
    CACHE.mkdir(parents=True, exist_ok=True)
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        print("no apt here: set GOSSAMER_DOCS to a folder of HTML pages to run every test")
    elif wants_manuals:
        fetch_manuals()
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
