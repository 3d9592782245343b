"""A primary, its replica, and Sentinels that promote it, for tests: real ones, and quick."""

from redis_servers import LOOPBACK, RedisServer, StartServer, wait_until

SERVICE = "crawls"
DOWN_AFTER_MS = 500
SERVER = ("appendonly yes", "appendfsync everysec", "repl-diskless-sync-delay 0")
TCP = ("port",)


class WatchedPair:
    """A primary and its replica, watched by three Sentinels."""

    def __init__(self, start: StartServer) -> None:
        self.primary: RedisServer = start(*SERVER, ports=TCP)
        follows = f"replicaof {LOOPBACK} {self.primary.port}"
        self.replica: RedisServer = start(*SERVER, follows, ports=TCP)
        watch = (
            f"sentinel monitor {SERVICE} {LOOPBACK} {self.primary.port} 2",
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}",
            f"sentinel failover-timeout {SERVICE} 3000",
        )
        self.sentinels = [start(*watch, ports=TCP, arguments=["--sentinel"]) for _ in range(3)]

    @property
    def url(self) -> str:
        """The address that names the Sentinels."""
        places = ",".join(f"{LOOPBACK}:{one.port}" for one in self.sentinels)
        return f"redis+sentinel://{places}/{SERVICE}"

    def await_watch(self) -> None:
        """Wait until the Sentinels know the replica and each other."""
        self.replica.await_link()
        wait_until(lambda: all(_knows_all(one) for one in self.sentinels))


def _knows_all(sentinel: RedisServer) -> bool:
    with sentinel.client as client:
        state = client.sentinel_master(SERVICE)
    return bool(state["num-slaves"] == 1 and state["num-other-sentinels"] == 2)
