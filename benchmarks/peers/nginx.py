"""An nginx that serves one site on loopback and notes what was asked for.

One process, no compression, files sent by the kernel. It answers for the hosts of the synthetic web
to whoever takes it for a proxy: to a proxy a client names the host in the first line of a request.
"""

import getpass
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple, Self

from benchmarks.peers.places import CACHE
from benchmarks.peers.sites import CrawledSite
from debian_program import find_program

CONFIGURATION = """
daemon off; {user} pid {home}/pid; error_log {home}/errors; worker_processes 1;
worker_rlimit_nofile 4096;
events {{ worker_connections 1024; }}
http {{
  types {{ text/html html; text/css css; application/javascript js; image/svg+xml svg;
           image/png png; text/plain txt py; }}
  default_type {default_type};
  log_format asked "$host$request_uri $status $msec";
  access_log {home}/log asked buffer=64k flush=100ms;
  gzip off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/fcgi;
  uwsgi_temp_path {home}/uwsgi; scgi_temp_path {home}/scgi;
  server {{
    listen 127.0.0.1:{port};
    root "{root}";
    location / {{ try_files {files} =404; }}
  }}
}}
"""
END = "/-everything-before-this-is-in-the-log-"
PATIENCE_S = 10


class LoggedRequest(NamedTuple):
    """A request that was answered."""

    page: str
    """Host and target."""
    status: int
    at: float

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read a line of the log."""
        page, status, at = line.rsplit(" ", 2)
        return cls(page, int(status), float(at))


class SiteServer:
    """A running nginx, as the benchmark sees it."""

    def __init__(self, site: CrawledSite, port: int, log: Path) -> None:
        self.site = site
        self.authority = f"127.0.0.1:{port}"
        self.proxy = f"http://{self.authority}"
        self._log = log
        self._read = 0
        self._ends = 0

    @property
    def seed(self) -> str:
        """The URL where everybody starts."""
        graph = self.site.graph
        return f"{self.proxy}/index.html" if graph is None else graph.seed_url

    def requests(self) -> list[LoggedRequest]:
        """Return the requests since the last call."""
        self._ends += 1
        end = f"{END}{self._ends}"
        connection = HTTPConnection(self.authority)
        connection.request("GET", end)
        connection.getresponse().close()
        connection.close()
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
            if any(end in line for line in lines[-50:]):
                new, self._read = lines[self._read :], len(lines)
                return [LoggedRequest.parse(line) for line in new if END not in line]
            time.sleep(0.02)
        raise RuntimeError("nginx writes no log")


@contextmanager
def serve(site: CrawledSite) -> Iterator[SiteServer]:
    """Serve the site inside the `with` statement."""
    program = find_program("nginx", "nginx", CACHE)
    if program is None:
        raise SystemExit("no nginx, and none can be fetched: install it")
    with tempfile.TemporaryDirectory(prefix="gossamer-nginx-") as name:
        home, port = Path(name), _free_port()
        conf = home / "conf"
        conf.write_text(_configuration(site, home, port), encoding="utf-8")
        command = [str(program), "-c", str(conf), "-p", name, "-e", str(home / "errors")]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            try:
                _wait_for(port, process)
                yield SiteServer(site, port, home / "log")
            finally:
                process.terminate()


def _configuration(site: CrawledSite, home: Path, port: int) -> str:
    if site.has_many_hosts:
        root, files = f"{site.folder}/$host", "$uri$is_args$args ${uri}index.html"
    else:
        root, files = str(site.folder), "$uri"
    return CONFIGURATION.format(
        # As root it would give itself to a user who may not read the site.
        user=f"user {getpass.getuser()};" if os.geteuid() == 0 else "",
        home=home,
        default_type="text/html" if site.has_many_hosts else "application/octet-stream",
        port=port,
        root=root,
        files=files,
    )


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.02)
        else:
            return
    raise RuntimeError("nginx does not start")
