"""A host as others see it: to be shown, and to be saved."""

from gossamer.frontier.hosts import Host
from gossamer.stores.contract import HostView
from gossamer.stores.shelf import HostRecord


def host_view(host: Host, now: float) -> HostView:
    """Return the host as it is shown to people."""
    return HostView(
        host=host.key,
        waiting=host.waiting,
        in_work=host.in_work,
        pages=host.pages,
        failures=host.failed,
        next_in_s=host.next_start - now,
        mean_ms=host.mean_s * 1000,
    )


def host_record(host: Host) -> HostRecord:
    """Return what of the host outlasts the process."""
    return HostRecord(
        key=host.key,
        domain=host.domain.name,
        delay_s=host.delay_s,
        next_start=host.next_start,
        failures=host.failures,
    )
