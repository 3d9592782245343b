"""The copying of a shared crawl into tables, to check it, and its deletion."""
