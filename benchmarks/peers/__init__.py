"""Gossamer beside other crawlers: one run, one machine, same sites, same work."""
