"""A Redis Cluster of its own for tests: slots are moved, and masters die."""

from collections.abc import Iterator
from contextlib import contextmanager

from redis import Redis
from redis.crc import key_slot
from redis_servers import LOOPBACK, RedisServer, StartServer, wait_until

SLOTS = 16_384
NODE_TIMEOUT_MS = 1000
SETTINGS = (
    "cluster-enabled yes",
    f"cluster-node-timeout {NODE_TIMEOUT_MS}",
    "repl-diskless-sync-delay 0",
)
PORTS = ("port", "cluster-port")
"""By default the bus has the port 10,000 above the other, which may be none."""


class ClusterNode:
    """One server of the cluster."""

    def __init__(self, start: StartServer) -> None:
        self.server: RedisServer = start(*SETTINGS, ports=PORTS)
        self.id = self.tell("MYID")

    @property
    def url(self) -> str:
        """The address at which it is asked about the cluster."""
        return self.server.tcp_url

    @contextmanager
    def client(self) -> Iterator[Redis]:
        """Return a client whose answers are text as far as they are."""
        path = str(self.server.socket)
        with Redis(
            unix_socket_path=path, decode_responses=True, encoding_errors="replace"
        ) as client:
            yield client

    def tell(self, *words: str | int) -> str:
        """Give it a command about the cluster."""
        with self.client() as client:
            return str(client.execute_command("CLUSTER", *words))  # type: ignore[no-untyped-call]

    def meet(self, other: "ClusterNode") -> None:
        """Bring two nodes together."""
        self.tell("MEET", LOOPBACK, other.server.port, other.server.ports["cluster-port"])

    def knows(self, count: int) -> bool:
        """Tell whether it says that the cluster is whole and has so many nodes."""
        about = self.tell("INFO")
        return "cluster_state:ok" in about and f"cluster_known_nodes:{count}\r" in about

    def leads(self) -> bool:
        """Tell whether it is a master."""
        with self.client() as client:
            return bool(client.info("replication")["role"] == "master")

    def holds(self, slot: int) -> bool:
        """Tell whether there is any key of a slot here."""
        return int(self.tell("COUNTKEYSINSLOT", slot)) > 0


class Cluster:
    """Masters that have the slots among them, and a replica for each if that is wanted."""

    def __init__(self, start: StartServer, masters: int, *, replicated: bool = False) -> None:
        self.masters = [ClusterNode(start) for _ in range(masters)]
        self.replicas = [ClusterNode(start) for _ in self.masters] if replicated else []
        everybody = [*self.masters, *self.replicas]
        for place, node in enumerate(everybody):
            if place < masters:
                last = SLOTS * (place + 1) // masters - 1
                node.tell("ADDSLOTSRANGE", SLOTS * place // masters, last)
            node.tell("SET-CONFIG-EPOCH", place + 1)
            for other in everybody[:place]:
                node.meet(other)
        wait_until(lambda: all(node.knows(len(everybody)) for node in everybody))
        for master, replica in zip(self.masters, self.replicas, strict=False):
            replica.tell("REPLICATE", master.id)
        for replica in self.replicas:
            replica.server.await_link()

    def home_of(self, key: str) -> ClusterNode:
        """Return the master that has the slot of a key, if no slots were moved."""
        slot, count = key_slot(key.encode()), len(self.masters)
        return next(
            node for place, node in enumerate(self.masters) if slot < SLOTS * (place + 1) // count
        )

    def owner_of(self, key: str) -> ClusterNode:
        """Return the master that has the keys of the same slot."""
        (owner,) = [node for node in self.masters if node.holds(key_slot(key.encode()))]
        return owner

    def move(self, key: str, target: ClusterNode) -> None:
        """Move the slot of a key to another node, as `redis-cli --cluster reshard` does."""
        source, slot = self.owner_of(key), key_slot(key.encode())
        target.tell("SETSLOT", slot, "IMPORTING", source.id)
        source.tell("SETSLOT", slot, "MIGRATING", target.id)
        with Redis(unix_socket_path=str(source.server.socket)) as client:
            while names := client.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 20):
                client.migrate(LOOPBACK, target.server.port, names, 0, 5000)
        for node in (target, source, *self.masters):
            node.tell("SETSLOT", slot, "NODE", target.id)
