"""A thread that makes a module's calls one after another, watched from the event loop.

A call that does not come back cannot be ended from outside; it can only be left alone. The thread
is a daemon, so that it does not keep the process from ending either.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue

from gossamer.modules.calls import MISSED, End, Ended, make_call


class Job:
    """A call that was asked for, and the future that waits for its end."""

    __slots__ = ("arguments", "ended", "function", "limit_s", "started")

    def __init__(
        self,
        function: Callable[..., object],
        arguments: tuple[object, ...],
        limit_s: float | None,
        ended: asyncio.Future[Ended],
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.limit_s = limit_s
        self.ended = ended
        self.started: float | None = None
        """Set by the thread when the call begins."""


class CallThread:
    """Makes calls in the order in which they were asked for, in one thread from first to last.

    When a call exceeds its time limit it ends as TIMED_OUT; what waits behind it, and what is asked
    for until it returns after all, ends as MISSED.
    """

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._inbox: SimpleQueue[Job | None] = SimpleQueue()
        self._finished: deque[tuple[Job, Ended]] = deque()
        self._waking = False
        self._jobs: deque[Job] = deque()
        """What has not ended yet, in order; the first one is in progress or about to be."""
        self._alarm: asyncio.TimerHandle | None = None
        self._stuck: Job | None = None
        # The thread touches `_inbox`, `_finished` and `_waking` only; the rest is the loop's.
        threading.Thread(target=self._work, name=f"gossamer module {name}", daemon=True).start()

    def begin(
        self, function: Callable[..., object], arguments: tuple[object, ...], limit_s: float | None
    ) -> asyncio.Future[Ended]:
        """Ask for a call; the future tells how it ended and never raises."""
        ended: asyncio.Future[Ended] = self._loop.create_future()
        if self._stuck is not None:
            ended.set_result(MISSED)
            return ended
        job = Job(function, arguments, limit_s, ended)
        self._jobs.append(job)
        self._inbox.put(job)
        if self._alarm is None and limit_s is not None:
            self._alarm = self._loop.call_later(limit_s, self._check)
        return ended

    def stop(self) -> None:
        """Let the thread end when it has nothing more to do."""
        self._inbox.put(None)
        if self._alarm is not None:
            self._alarm.cancel()

    def _work(self) -> None:
        """Make the calls (the thread's own life)."""
        while (job := self._inbox.get()) is not None:
            if job.ended.cancelled():
                ended = MISSED
            else:
                job.started = time.monotonic()
                ended = self._make(job)
            self._finished.append((job, ended))
            # One wake-up serves all calls that end before the loop gets round to it. Nothing is
            # forgotten: this appends before it looks, `_collect` clears before it looks.
            if not self._waking:
                self._waking = True
                try:
                    self._loop.call_soon_threadsafe(self._collect)
                except RuntimeError:
                    return  # The loop is closed: the crawl ended while the call was stuck.

    @staticmethod
    def _make(job: Job) -> Ended:
        try:
            return make_call(job.function, job.arguments)
        except KeyboardInterrupt as error:
            # The user's Ctrl-C only ever reaches the main thread: this one is the module's own.
            return Ended(End.RAISED, error=error)

    def _collect(self) -> None:
        """Hand the ended calls to those who wait for them."""
        self._waking = False
        while self._finished:
            job, ended = self._finished.popleft()
            self._jobs.popleft()
            if job is self._stuck:
                self._stuck = None
            self._end(job, ended)

    def _check(self) -> None:
        """Give up a call that has exceeded its limit, or look again when it would have."""
        self._alarm = None
        self._collect()
        job = self._jobs[0] if self._jobs else None
        if job is None or job.limit_s is None:
            return
        spent_s = time.monotonic() - job.started if job.started is not None else 0.0
        if spent_s < job.limit_s:
            self._alarm = self._loop.call_later(job.limit_s - spent_s, self._check)
            return
        self._stuck = job
        self._end(job, Ended(End.TIMED_OUT, spent_s))
        self._drop_waiting()
        self._alarm = self._loop.call_later(job.limit_s, self._check)

    def _drop_waiting(self) -> None:
        """Take back what the thread has not begun; if it just began one, that one goes on."""
        dropped = []
        while True:
            try:
                job = self._inbox.get_nowait()
            except Empty:
                break
            if job is not None:
                dropped.append(job)
        for job in dropped:
            self._jobs.pop()  # They are the last ones, in the same order.
            self._end(job, MISSED)

    @staticmethod
    def _end(job: Job, ended: Ended) -> None:
        if not job.ended.done():
            job.ended.set_result(ended)
