import asyncio
import resource

import pytest
import uvloop

from gossamer.download.connections import Multi, connections_to_keep


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


def test_a_timer_that_is_due_already_may_be_followed_by_another() -> None:
    """uvloop gives no timer for it, but a handle that has no time."""

    async def story() -> None:
        multi = Multi(1)
        multi._due = asyncio.get_running_loop().time() - 1
        multi._set_timer()
        multi._on_timer(1)
        multi.close()

    uvloop.run(story())
