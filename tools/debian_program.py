"""Programs out of Debian packages, unpacked with their libraries: nothing is installed."""

import re
import shlex
import subprocess
from pathlib import Path
from shutil import which

from fetch_servers import EVERYWHERE, download, said


def find_program(name: str, package: str, cache: Path) -> Path | None:
    """Return the program: the one on PATH, else unpacked into the cache; None if it has none."""
    # A server may be where only root looks.
    found = which(name) or which(name, path="/usr/sbin:/usr/local/sbin")
    command = cache / "bin" / name
    if found is None and not command.is_file():
        try:
            unpack_program(name, package, cache)
        except (OSError, subprocess.CalledProcessError, ValueError) as error:
            print(f"{name} could not be fetched: {error}")
            return None
    return Path(found) if found else command


def unpack_program(name: str, package: str, cache: Path) -> None:
    """Unpack a package and the libraries that are not here, and write the command that runs it."""
    if which("apt-get") is None or which("dpkg-deb") is None:
        raise FileNotFoundError("no apt here")
    home = cache / "debian" / package
    wanted, unpacked = {package}, set[str]()
    while missing := wanted - unpacked:
        download(sorted(missing), home)
        unpacked |= missing
        for archive in home.glob("*.deb"):
            wanted |= {one for one in libraries_of(archive) if not is_installed(one)}
            subprocess.run(["dpkg-deb", "--extract", str(archive), str(home)], check=True)
            archive.unlink()
    program = next(path for path in home.glob(f"usr/*bin/{name}") if path.is_file())
    folders = {str(path.parent) for path in home.rglob("*.so*")}
    command = cache / "bin" / name
    command.parent.mkdir(parents=True, exist_ok=True)
    command.write_text(
        f"#!/bin/sh\nLD_LIBRARY_PATH={shlex.quote(':'.join(sorted(folders)))} "
        f'exec {shlex.quote(str(program))} "$@"\n',
        encoding="utf-8",
    )
    command.chmod(0o755)


def libraries_of(archive: Path) -> set[str]:
    """Return the packages of libraries that a package needs."""
    needs = said("dpkg-deb", "--field", str(archive), "Depends").split(",")
    first = {re.split(r"[ |(:]", one.strip(), maxsplit=1)[0] for one in needs}
    return {name for name in first if name.startswith("lib")} - EVERYWHERE


def is_installed(package: str) -> bool:
    """Tell whether the machine has the package."""
    asked = ["dpkg-query", "--show", "--showformat", "${db:Status-Status}", package]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    return answer.returncode == 0 and answer.stdout.startswith("installed")
