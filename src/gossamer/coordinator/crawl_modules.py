"""The modules of a crawl: which of them run in this process, and which in its workers."""

from collections.abc import Sequence

import msgspec

from gossamer.coordinator.coordinate import LedCrawl
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.processes.worker_config import MODULES_NOTE
from gossamer.modules.contract import Hooks, Module, ModuleContext
from gossamer.modules.module_stats import ModuleReport
from gossamer.modules.remote import ServedModules
from gossamer.modules.runner import ModuleRunner


class CrawlModules:
    """The modules of one crawl."""

    def __init__(
        self, plan: Plan, modules: Sequence[Module], *, all_here: bool, time_limit_s: float
    ) -> None:
        """Prepare; `all_here`: the workers are tasks of this process."""
        self._plan = plan
        self._all = modules
        here = [module for module in modules if module.in_coordinator or all_here]
        self.in_workers = [module for module in modules if module not in here]
        self.runner = ModuleRunner(here, time_limit_s=time_limit_s)
        """Those of this process."""
        self.has_any_here = bool(here)
        self._elsewhere = ModuleRunner(self.in_workers)

    @property
    def served(self) -> ServedModules | None:
        """Those of this process as worker processes reach them; None: there are none."""
        return ServedModules(self.runner) if self.has_any_here else None

    @property
    def hooks_here(self) -> Hooks | None:
        """The hooks of those of this process; None: there are none."""
        return self.runner.hooks if self.has_any_here else None

    @property
    def follows_depths(self) -> bool:
        """Whether a module wants to know of shorter paths."""
        return any(module.depth_changed for module in self._all)

    async def open(self, crawl: LedCrawl, *, has_begun: bool) -> None:
        """Let the modules begin; workers elsewhere are told which hooks those of this process have.

        Others may be at work in the same directory if the crawl has begun.
        """
        context = await self._context(crawl, may_have_company=has_begun)
        await self._elsewhere.prepare(context)
        await self.runner.prepare(context)
        await self.runner.open(context)
        if crawl.queues is not None and self.has_any_here:
            await crawl.frontier.put_note(MODULES_NOTE, msgspec.json.encode(self.runner.hooks))

    async def conclude(self, crawl: LedCrawl, *, is_over: bool) -> None:
        """Let the modules finish their results, where all workers have ended."""
        context = await self._context(crawl, may_have_company=not is_over)
        await self._elsewhere.conclude(context)
        await self.runner.conclude(context)

    def report(self, in_workers: Sequence[ModuleReport]) -> list[ModuleReport]:
        """Return the reports in the order of the modules, of those that see something or failed."""
        reports = {report.name: report for report in (*in_workers, *self.runner.report())}
        return [
            reports[module.name]
            for module in self._all
            if module.name in reports
            and (module.page or module.finished or reports[module.name].errors)
        ]

    async def _context(self, crawl: LedCrawl, *, may_have_company: bool) -> ModuleContext:
        numbering = await crawl.frontier.numbering()
        return ModuleContext(
            directory=self._plan.directory,
            crawl=self._plan.name,
            identity=crawl.identity,
            worker=0,
            resumed_from=numbering.last_page,
            gaps=numbering.gaps,
            shared=may_have_company and self._plan.options.store.is_shared,
        )
