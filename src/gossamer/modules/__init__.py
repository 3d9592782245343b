"""Modules: what is done with a page once it is there.

`contract` says what a module is. `loading` makes one of a name, a dotted name or a file, and checks
that it is one. A `ModuleRunner` opens the modules of a crawl, brings every page to each of them (on
the event loop or in a thread of the module's own) and counts how that went; whatever a module does,
the crawl goes on. The modules that come with Gossamer are `noop` and `save`.
"""
