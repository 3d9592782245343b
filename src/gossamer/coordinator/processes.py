"""The workers of a crawl as processes of this machine: what they are told, and what they find."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec

from gossamer.cluster.launcher import Launcher
from gossamer.cluster.worker_client import WorkerServices
from gossamer.cluster.worker_config import WorkerConfig, config_for
from gossamer.cluster.worker_pool import Autoscale, PoolPlan, WorkerPool
from gossamer.coordinator.observer import Observer
from gossamer.coordinator.opening import LedCrawl
from gossamer.model import NameTable
from gossamer.modules import Module, ModuleRunner
from gossamer.modules.remote import ServedModules
from gossamer.plan import Plan


class ProcessSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl that worker processes are to work on."""

    plan: Plan
    opened: LedCrawl
    clock: Callable[[], float]
    observer: Observer
    runner: ModuleRunner | None
    """The modules of this process, opened; None if it has none."""
    modules: Sequence[Module]
    """Those that run in the workers."""
    dns: NameTable | None = None

    @property
    def follows_depths(self) -> bool:
        """Whether a module wants to know of shorter paths."""
        here = self.runner is not None and self.runner.hooks.depths
        return here or any(one.depth_changed for one in self.modules)


@asynccontextmanager
async def open_processes(
    setting: ProcessSetting, launcher: Launcher, on_settled: Callable[[], None]
) -> AsyncIterator[WorkerPool]:
    """Open the workforce of a crawl."""
    options, opened = setting.plan.options, setting.opened
    plan = PoolPlan(
        order=await _order(setting),
        staffing=Autoscale.of(options.workers, options.connections),
        connections=options.connections,
        new_worker=opened.new_worker,
    )
    services = WorkerServices(
        listener=setting.observer,
        clock=setting.clock,
        store=opened.frontier,
        outlives=opened.queues is not None,
        follows_depths=setting.follows_depths,
        modules=None if setting.runner is None else ServedModules(setting.runner),
        lock=opened.worker_lock,
        max_body_bytes=options.max_body_bytes,
    )
    yield WorkerPool(launcher, opened.frontier, plan, services, on_settled)


async def _order(setting: ProcessSetting) -> WorkerConfig:
    numbering = await setting.opened.frontier.numbering()
    order = config_for(
        setting.plan,
        setting.modules,
        setting.clock,
        store=setting.opened.address,
        coordinator_hooks=None if setting.runner is None else setting.runner.hooks,
        wants_events=setting.observer.wants_events,
    )
    return msgspec.structs.replace(
        order,
        identity=setting.opened.identity,
        resumed_from=numbering.last_page,
        gaps=numbering.gaps,
        dns=None if setting.dns is None else dict(setting.dns),
    )
