"""An object store that speaks S3, for tests: a process of its own, with its objects in a folder."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fetch_servers import find_s3_server

BUCKET = "archive"
KEYS = {
    "AWS_ACCESS_KEY_ID": "S3RVER",
    "AWS_SECRET_ACCESS_KEY": "S3RVER",
    "AWS_REGION": "us-east-1",
}


@contextmanager
def s3_server(folder: Path) -> Iterator[dict[str, str]]:
    """Run a server with one bucket; give the variables by which it is reached."""
    command = find_s3_server()
    if command is None:
        reason = "no s3rver here: run 'make test', which fetches it where there is npm"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    folder.mkdir()
    options = ["--address", "127.0.0.1", "--port", "0", "--directory", str(folder)]
    with (
        folder.with_suffix(".log").open("wb") as log,
        subprocess.Popen(
            [*command, *options, "--configure-bucket", BUCKET], stdout=subprocess.PIPE, stderr=log
        ) as process,
    ):
        assert process.stdout is not None
        try:
            said = (re.search(rb"listening on .*:(\d+)", line) for line in process.stdout)
            told = next(filter(None, said))
            yield {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{int(told[1])}"}
        finally:
            process.kill()
