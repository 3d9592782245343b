import asyncio
import threading

from gossamer.modules.calls import CallStatus, CallThread


def test_a_call_that_comes_back_after_the_loop_is_gone_harms_nobody() -> None:
    may_go, back = threading.Event(), threading.Event()

    def block() -> None:
        may_go.wait()

    async def leave_it_stuck() -> threading.Thread:
        before = set(threading.enumerate())
        thread = CallThread("x", asyncio.get_running_loop())
        [worker] = set(threading.enumerate()) - before
        assert (await thread.begin(block, (), 0.01)).status is CallStatus.TIMED_OUT
        assert (await thread.begin(back.set, (), 0.01)).status is CallStatus.MISSED
        thread.stop()
        return worker

    worker = asyncio.run(leave_it_stuck())
    assert worker.daemon
    may_go.set()
    worker.join()
    assert not back.is_set()


def test_the_thread_ends_when_it_is_told_to() -> None:
    async def use_it() -> threading.Thread:
        thread = CallThread("x", asyncio.get_running_loop())
        worker: list[threading.Thread] = []
        result = await thread.begin(lambda: worker.append(threading.current_thread()), (), None)
        assert result.status is CallStatus.RETURNED
        thread.stop()
        return worker[0]

    asyncio.run(use_it()).join()
