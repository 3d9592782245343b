"""Rows that last: a protocol, SQLite and Redis that keep to it, and one reader over them."""
