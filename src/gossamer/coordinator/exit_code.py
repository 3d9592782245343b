"""How a crawl ended, as an exit code."""

from collections.abc import Iterable

from gossamer.coordinator.seeds import SeedReport
from gossamer.errors import ExitCode
from gossamer.modules import ModuleReport


def exit_code(ended_by: str, seeds: SeedReport, modules: Iterable[ModuleReport]) -> ExitCode:
    """Return the exit code of a crawl: of several reasons, the one that explains the others."""
    if ended_by == "interrupted":
        return ExitCode.INTERRUPTED
    if seeds.none_fetched:
        return ExitCode.NO_SEED
    if any(module.failure for module in modules):
        return ExitCode.MODULE_FAILED
    return ExitCode.DONE
