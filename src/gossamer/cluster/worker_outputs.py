"""The outputs of a command that has joined a shared crawl: the results that its workers settle."""

import secrets
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Self

import msgspec

from gossamer.cluster.crawl_outputs import CrawlOutputs
from gossamer.cluster.launcher import Launcher
from gossamer.cluster.membership import Membership
from gossamer.cluster.output_handle import OutputHandle
from gossamer.cluster.output_process import OutputOrder
from gossamer.errors import CrawlError, UsageError
from gossamer.modules import Module
from gossamer.outputs.contract import OutputReport, OutputSpec
from gossamer.outputs.lock import OutputLock
from gossamer.outputs.parts import PART_NOTE, PartNote, read_part
from gossamer.outputs.state import OutputState, StateFile, state_folder
from gossamer.outputs.targets import OutputWishes, check_places
from gossamer.stores.ownership import CrawlOwner, ResultDirectory
from gossamer.stores.redis.notes import CrawlNotes


class WorkerOutputs:
    """What the workers of one command write of their own.

    They have a part before they settle anything, and find it again when the command is started
    again.
    """

    def __init__(
        self,
        member: Membership,
        wishes: OutputWishes,
        note: PartNote,
        show: Callable[[OutputReport], None],
    ) -> None:
        """Prepare; `show` is told at the end what each output holds."""
        assert wishes.part
        self.part = wishes.part
        self._member = member
        self._wishes = wishes
        self._note = note
        self._show = show
        self._handle: OutputHandle | None = None
        self._outputs: CrawlOutputs | None = None

    @classmethod
    async def prepare(
        cls, member: Membership, modules: Sequence[Module], show: Callable[[OutputReport], None]
    ) -> Self:
        """Check the outputs, and take a part of the crawl for them, or the one they have."""
        plan = member.plan
        wishes = OutputWishes.of(
            plan.options,
            plan.name,
            [one.name for one in modules],
            is_of_records=any(one.extracts for one in modules),
        )
        folder = state_folder(plan.directory).absolute()
        specs = wishes.specs(folder)
        check_places(specs, of_worker=True)
        ResultDirectory(plan.directory, CrawlOwner(member.identity, plan.name)).mark()
        folder.mkdir(exist_ok=True)
        with _locked(specs):
            part, note = await _take_part(member.notes, specs)
        return cls(member, msgspec.structs.replace(wishes, part=part), note, show)

    @asynccontextmanager
    async def open(
        self, launcher: Launcher, say: Callable[[str], None], on_failure: Callable[[], None]
    ) -> AsyncIterator[None]:
        """Write them meanwhile."""
        plan = self._member.plan
        order = OutputOrder.of(plan, self._wishes, plan.options.store)
        self._handle = OutputHandle(launcher, order, say)
        self._outputs = CrawlOutputs(self._handle, self._drop, on_failure)
        try:
            yield
        finally:
            await self._outputs.close()

    async def finish(self) -> None:
        """Complete them, or raise why that cannot be done."""
        assert self._outputs is not None
        assert self._handle is not None
        written = await self._outputs.finish(self.tell)
        await self.tell(self._handle.number, finished=True)
        for one in written:
            self._show(one)

    async def _drop(self, number: int) -> None:
        await self.tell(number)
        await self._member.store.drop_rows(number, self.part)

    async def tell(self, number: int, *, finished: bool = False) -> None:
        """Note in the store how far the part is; rows may still be dropped when it is finished.

        A server that fails over may have lost the note, and given the number to another worker.
        """
        finished = finished or self._note.finished
        self._note = msgspec.structs.replace(
            self._note, written=number, finished=finished, signs=self._note.signs + 1
        )
        store, name = self._member.store, f"{PART_NOTE}{self.part}"
        there = read_part(self.part, await store.note(name))
        if there is not None and there.token != self._note.token:
            raise CrawlError(
                f"part {self.part} of the crawl is another worker's by now: the server has lost "
                "its last data; run the same command again, which writes a part of its own"
            )
        await store.put_note(name, msgspec.json.encode(self._note))


@contextmanager
def _locked(specs: Sequence[OutputSpec]) -> Iterator[None]:
    """Wait until nobody writes the outputs: another worker with the same ones is refused."""
    with ExitStack() as stack:
        for spec in specs:
            lock = OutputLock(spec)
            stack.callback(lock.let_go)
            lock.take()
        yield


async def _take_part(notes: CrawlNotes, specs: Sequence[OutputSpec]) -> tuple[int, PartNote]:
    """Return the part that these outputs have, or a new one; its states are durable then."""
    files = [StateFile(spec.folder, spec.key) for spec in specs]
    states = [
        file.read() or OutputState(target=spec.target)
        for file, spec in zip(files, specs, strict=True)
    ]
    known = {(state.part, state.token) for state in states if state.part}
    if len(known) > 1:
        names = ", ".join(state.target for state in states if state.part)
        raise UsageError(
            f"{names} are parts of different workers: name those that one of them has written"
        )
    targets = tuple(spec.target for spec in specs)
    note = PartNote(token=secrets.token_hex(8), machine=socket.gethostname(), targets=targets)
    for part, token in known:
        there = read_part(part, await notes.get(f"{PART_NOTE}{part}"))
        if there is not None and there.token == token:
            note = msgspec.structs.replace(there, targets=targets, finished=False)
            await notes.put(f"{PART_NOTE}{part}", msgspec.json.encode(note))
            break
    else:
        part = await _next_part(notes, note)
    for file, state in zip(files, states, strict=True):
        marks = state.marks if state.token == note.token else ()  # else it has those of another
        file.write(msgspec.structs.replace(state, part=part, token=note.token, marks=marks))
    return part, note


async def _next_part(notes: CrawlNotes, note: PartNote) -> int:
    number = 1
    while not await notes.put_new(f"{PART_NOTE}{number}", msgspec.json.encode(note)):
        number += 1
    return number
