import resource

import pytest

from gossamer.download.multi import connections_to_keep


@pytest.mark.parametrize(
    ("connections", "open_files", "kept"),
    [
        (100, 1024, 500),
        (100, 256, 128),
        (200, 256, 200),
        (1000, 20_000, 1000),
        (1, resource.RLIM_INFINITY, 500),
    ],
)
def test_as_many_connections_are_kept_as_the_system_has_files_for(
    connections: int, open_files: int, kept: int
) -> None:
    assert connections_to_keep(connections, open_files) == kept
