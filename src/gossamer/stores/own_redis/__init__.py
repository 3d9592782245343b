"""A Redis or Valkey that a crawl starts for itself (`--store redis:`), and stops at its end.

Its append-only file is in the crawl's directory (`folder`), and it listens on a Unix socket only.
`server` starts it under a `keeper`, which ends it when whoever started it is gone. `opening` has a
crawl worked on, read or joined there as in any other Redis (`stores.redis`).
"""
