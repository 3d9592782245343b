"""The copying of a crawl from one kind of store to another, to move it or to check it."""
