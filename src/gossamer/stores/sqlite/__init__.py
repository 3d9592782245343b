"""The rows of a crawl in a SQLite file of the crawl's directory: the default."""
