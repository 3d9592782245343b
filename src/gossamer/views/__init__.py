"""What people and programs may know of a crawl, whichever store keeps it.

`stored_crawl` opens a crawl to read it. `status`, `pages` and `explain` are functions over its
reader. `verify` goes by the tables of a crawl in a file (`crawl_tables`): those of the file itself,
or a copy of a crawl in a shared store.
"""
