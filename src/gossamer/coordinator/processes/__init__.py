"""The processes of a crawl: the launcher and its workers, and the roles of a shared crawl.

Nothing is imported here: the launcher is started before anything else is loaded.
"""
