"""A thread for other people's code: it makes the calls of one module or scorer in their order.

A call that does not return cannot be ended from outside; we can only stop waiting for it. The
thread is a daemon, so that it does not keep the process from ending either.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

import msgspec

from gossamer.plugins.calls import MISSED, CallResult, CallStatus, make_call, set_result


class Job(msgspec.Struct, eq=False):
    """A call to be made, and the future that gets its result."""

    function: Callable[..., object]
    arguments: tuple[object, ...]
    limit_s: float | None
    result: asyncio.Future[CallResult]
    started: float | None = None
    """Set by the thread when the call begins."""


class CallThread:
    """Makes calls in one thread, in the order in which they were asked for.

    A call that exceeds its time limit is TIMED_OUT; those behind it, and new ones until it returns
    after all, are MISSED.
    """

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._inbox: SimpleQueue[Job | None] = SimpleQueue()
        self._finished: deque[tuple[Job, CallResult]] = deque()
        self._waking = False
        self._jobs: deque[Job] = deque()
        """What has no result yet, in order; the first one is in progress or about to be."""
        self._timer: asyncio.TimerHandle | None = None
        self._stuck: Job | None = None
        # The thread touches `_inbox`, `_finished` and `_waking` only; the rest is the loop's.
        threading.Thread(target=self._work, name=f"gossamer {name}", daemon=True).start()

    def begin(
        self, function: Callable[..., object], arguments: tuple[object, ...], limit_s: float | None
    ) -> asyncio.Future[CallResult]:
        """Ask for a call; the future never raises."""
        result: asyncio.Future[CallResult] = self._loop.create_future()
        if self._stuck is not None:
            result.set_result(MISSED)
            return result
        job = Job(function, arguments, limit_s, result)
        self._jobs.append(job)
        self._inbox.put(job)
        if self._timer is None and limit_s is not None:
            self._timer = self._loop.call_later(limit_s, self._check)
        return result

    @property
    def is_stuck(self) -> bool:
        """Whether a call has exceeded its time and not returned."""
        return self._stuck is not None

    def stop(self) -> None:
        """Let the thread end when it has nothing more to do."""
        self._inbox.put(None)
        if self._timer is not None:
            self._timer.cancel()

    def _work(self) -> None:
        """Make the calls; this is what the thread runs."""
        while (job := self._inbox.get()) is not None:
            result = MISSED
            if not job.result.cancelled():
                job.started = time.monotonic()
                try:
                    result = make_call(job.function, job.arguments)
                except KeyboardInterrupt as error:
                    # The user's Ctrl-C only ever reaches the main thread: this is its own.
                    result = CallResult(CallStatus.RAISED, error=error)
            self._finished.append((job, result))
            # One wake-up serves all calls that end before the loop gets round to it. Nothing is
            # forgotten: we append before we read the flag, `_collect` clears it before it reads.
            if not self._waking:
                self._waking = True
                try:
                    self._loop.call_soon_threadsafe(self._collect)
                except RuntimeError:
                    return  # The loop is closed: the crawl ended while the call was stuck.

    def _collect(self) -> None:
        """Pass the results on to those who wait for them."""
        self._waking = False
        while self._finished:
            job, result = self._finished.popleft()
            self._jobs.popleft()
            if job is self._stuck:
                self._stuck = None
            set_result(job.result, result)

    def _check(self) -> None:
        """Give up a call that has exceeded its limit, or check again when it would have."""
        self._timer = None
        self._collect()
        job = self._jobs[0] if self._jobs else None
        if job is None or job.limit_s is None:
            return
        spent_s = time.monotonic() - job.started if job.started is not None else 0.0
        if spent_s < job.limit_s:
            self._timer = self._loop.call_later(job.limit_s - spent_s, self._check)
            return
        self._stuck = job
        set_result(job.result, CallResult(CallStatus.TIMED_OUT, spent_s))
        self._drop_waiting()
        self._timer = self._loop.call_later(job.limit_s, self._check)

    def _drop_waiting(self) -> None:
        """Take back what the thread has not begun; if it just began one, that one goes on."""
        dropped = []
        with suppress(Empty):
            while True:
                dropped.append(self._inbox.get_nowait())
        for job in filter(None, dropped):
            self._jobs.pop()  # They are the last ones, in the same order.
            set_result(job.result, MISSED)
