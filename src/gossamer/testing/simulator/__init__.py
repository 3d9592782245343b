"""A simulated web of any size that misbehaves on demand, the same wherever its numbers are.

    web = SimulatedWeb(hosts=50, faults={"maze": 0.1, "gzip-bomb": 0})
    with web.serve() as served:
        ...crawl served.home() with served.dns as the name table...

Hosts have sizes by a power law, latencies, languages, charsets, redirects, near duplicates, robots
and sitemaps. `FAULTS` has the faults by name. Nothing is stored: hosts and pages are functions of
the seed.
"""

from gossamer.testing.simulator.fault import Fault, FaultRequest
from gossamer.testing.simulator.web import FAMILIES, FAULTS, ServedWeb, SimulatedWeb

__all__ = ["FAMILIES", "FAULTS", "Fault", "FaultRequest", "ServedWeb", "SimulatedWeb"]
