"""What people and programs may know of a crawl, whichever store keeps it.

`crawls` opens and lists crawls and their URLs. `status` and `explain` are functions over the reader
of an open crawl. `verify` goes by the tables of a crawl in a file: those of the file itself, or a
copy of a crawl in a shared store (`redis_copy`).
"""
