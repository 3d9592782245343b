"""A Redis or Valkey that a crawl starts for itself (`--store redis:`), and stops at its end.

Its append-only file is in the crawl's directory (`folder`). `opening` starts it, and has a crawl
worked on, read or joined there as in any other Redis (`stores.redis`).
"""
