"""How the last process of a crawl whose rules are in Lua was seen or has ended."""

AT_WORK, IN_ORDER = 2, 1
"""How the last process was seen or has ended; in Lua `const.AT_WORK` and `const.IN_ORDER`."""
