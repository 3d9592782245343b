"""Modules: what is done with a page once it is there.

`contract` says what a module is. `loading` finds one by name, dotted name or file, and checks that
it is one. A `ModuleRunner` opens the modules of a crawl, brings every page to each of
them (on the event loop or in a `thread` of the module's own) and counts how that went; whatever a
module does, the crawl goes on. The modules that come with Gossamer are `noop`, `save` and `stats`.
"""

from gossamer.modules.contract import Module, ModuleContext, ModuleLike
from gossamer.modules.hooks import FinishedUrl, FollowedLink
from gossamer.modules.loading import MODULES, as_module, load_module, load_modules
from gossamer.modules.module_stats import ModuleReport
from gossamer.modules.noop import Noop
from gossamer.modules.page_directory import PageDirectory
from gossamer.modules.runner import TIME_LIMIT_S, ModuleRunner
from gossamer.modules.save import Save
from gossamer.modules.stats import Stats

__all__ = [
    "MODULES",
    "TIME_LIMIT_S",
    "FinishedUrl",
    "FollowedLink",
    "Module",
    "ModuleContext",
    "ModuleLike",
    "ModuleReport",
    "ModuleRunner",
    "Noop",
    "PageDirectory",
    "Save",
    "Stats",
    "as_module",
    "load_module",
    "load_modules",
]
