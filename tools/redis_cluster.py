"""A Redis Cluster of its own for tests: slots are moved, and masters die."""

from collections.abc import Iterator
from contextlib import contextmanager

from redis import Redis
from redis.crc import key_slot
from redis_servers import LOOPBACK, RedisServer, StartServer, free_port, wait_until

SLOTS = 16_384
NODE_TIMEOUT_MS = 1000


def slot_of(crawl: str, partition: int | str) -> int:
    """Return the slot of all keys of a partition."""
    return key_slot(f"{{{crawl}:{partition}}}".encode())


class Node:
    """One server of the cluster."""

    def __init__(self, start: StartServer) -> None:
        self.bus_port = free_port()  # by default too high for some ports
        settings = ["--cluster-enabled", "yes", "--cluster-port", str(self.bus_port)]
        settings += ["--cluster-node-timeout", str(NODE_TIMEOUT_MS)]
        settings += ["--repl-diskless-sync-delay", "0"]
        self.server: RedisServer = start(*settings)
        self.id = self.tell("MYID")

    @contextmanager
    def client(self) -> Iterator[Redis]:
        """Return a client whose answers are text as far as they are."""
        port = self.server.port
        with Redis(port=port, decode_responses=True, encoding_errors="replace") as client:
            yield client

    def tell(self, *words: str | int) -> str:
        """Give it a command about the cluster."""
        with self.client() as client:
            return str(client.execute_command("CLUSTER", *words))  # type: ignore[no-untyped-call]

    def meet(self, other: "Node") -> None:
        """Bring two nodes together."""
        self.tell("MEET", LOOPBACK, other.server.port, other.bus_port)

    def knows(self, count: int) -> bool:
        """Tell whether it says that the cluster is whole and has so many nodes."""
        about = self.tell("INFO")
        return "cluster_state:ok" in about and f"cluster_known_nodes:{count}\r" in about

    def leads(self) -> bool:
        """Tell whether it is a master."""
        with self.client() as client:
            return bool(client.info("replication")["role"] == "master")

    def names(self, crawl: str) -> set[str]:
        """Return which partitions of a crawl lie here."""
        with self.client() as client:
            found = client.scan_iter(match=f"gossamer:{{{crawl}:*", count=1000)
            return {name.partition(":{")[2].partition("}")[0].rpartition(":")[2] for name in found}


class Cluster:
    """Masters that have the slots among them, and a replica for each if that is wanted."""

    def __init__(self, start: StartServer, masters: int, *, replicated: bool = False) -> None:
        self.masters = [Node(start) for _ in range(masters)]
        self.replicas = [Node(start) for _ in self.masters] if replicated else []
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

    def home_of(self, crawl: str, partition: int | str) -> Node:
        """Return the master that will have a partition, if no slots are moved."""
        slot, count = slot_of(crawl, partition), len(self.masters)
        return next(
            node for place, node in enumerate(self.masters) if slot < SLOTS * (place + 1) // count
        )

    def owner_of(self, crawl: str, partition: int | str) -> Node:
        """Return the master that has a partition."""
        return next(node for node in self.masters if str(partition) in node.names(crawl))

    def move(self, crawl: str, partition: int | str, target: Node) -> None:
        """Move the slot of a partition to another node, as `redis-cli --cluster reshard` does."""
        source = self.owner_of(crawl, partition)
        slot = slot_of(crawl, partition)
        target.tell("SETSLOT", slot, "IMPORTING", source.id)
        source.tell("SETSLOT", slot, "MIGRATING", target.id)
        with Redis(port=source.server.port) as client:
            while names := client.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 20):
                client.migrate(LOOPBACK, target.server.port, names, 0, 5000)
        for node in (target, source, *self.masters):
            node.tell("SETSLOT", slot, "NODE", target.id)
