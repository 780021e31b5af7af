"""in_threads: a pool of its own, bounded, that a hung call cannot keep alive."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import subprocess
import sys
import threading

import pytest

from identity_core.errors import LedgerUnavailable, Overloaded, PluginUnavailable
from identity_core.plugin import in_threads
from identity_core.ports.key_store import KeyStore


class Store:
    """A synchronous store."""

    source = "vault"

    def __init__(self) -> None:
        self.ran_on: list[str] = []
        self.release = threading.Event()
        self.closed = False

    @property
    def size(self) -> int:
        return 3

    def find(self, digest: str) -> str:
        """Finds."""
        self.ran_on.append(threading.current_thread().name)
        return digest

    def hang(self) -> None:
        self.ran_on.append(threading.current_thread().name)
        self.release.wait(120)

    def fail(self, error: BaseException) -> None:
        raise error

    def close(self) -> None:
        self.closed = True


def test_methods_become_coroutines_and_attributes_stay() -> None:
    store = Store()
    wrapped = in_threads(store, workers=2)

    async def scenario() -> None:
        assert await wrapped.find("a") == "a"
        assert wrapped.size == 3
        assert wrapped.source == "vault"
        await wrapped.close()

    asyncio.run(scenario())
    assert isinstance(wrapped, KeyStore)
    assert inspect.iscoroutinefunction(wrapped.find)
    assert list(inspect.signature(wrapped.find).parameters) == ["digest"]
    assert all(name.startswith("plugin-Store-") for name in store.ran_on)
    assert store.closed


def test_async_function_is_refused() -> None:
    class Mixed:
        async def find(self, digest: str) -> None: ...

    with pytest.raises(TypeError, match="coroutine already"):
        in_threads(Mixed(), workers=1)


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("y")])
def test_exceptions_arrive(error: Exception) -> None:
    wrapped = in_threads(Store(), workers=1)
    with pytest.raises(type(error)):
        asyncio.run(wrapped.fail(error))


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), StopIteration(), asyncio.CancelledError()])
def test_exit_or_cancel_of_plugin_is_failure(error: BaseException) -> None:
    wrapped = in_threads(Store(), workers=1)
    with pytest.raises(RuntimeError, match=f"raised {type(error).__name__}"):
        asyncio.run(wrapped.fail(error))


def test_hung_calls_take_at_most_all_workers() -> None:
    store = Store()
    wrapped = in_threads(store, workers=2)

    async def scenario() -> None:
        async def hang_for_a_moment() -> None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.005):
                    await wrapped.hang()

        async with asyncio.timeout(60):
            while len(store.ran_on) < 2:
                await hang_for_a_moment()
        for _ in range(20):
            await hang_for_a_moment()
        assert len(store.ran_on) == 2, "a call whose caller went away before it began never begins"
        store.release.set()
        assert await wrapped.find("a") == "a"
        assert len(set(store.ran_on)) == 2
        await wrapped.close()

    asyncio.run(scenario())
    assert len(store.ran_on) == 3


def test_a_full_queue_pushes_back() -> None:
    store = Store()
    wrapped = in_threads(store, workers=1)

    async def scenario() -> None:
        tasks = [asyncio.create_task(wrapped.hang()) for _ in range(1)]
        async with asyncio.timeout(60):
            while not store.ran_on:
                await asyncio.sleep(0.001)
        tasks += [asyncio.create_task(wrapped.find("a")) for _ in range(64)]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await wrapped.find("b")
        store.release.set()
        await asyncio.gather(*tasks)
        assert await wrapped.find("b") == "b"
        await wrapped.close()

    asyncio.run(scenario())


def test_many_calls_from_many_tasks_all_come_back() -> None:
    wrapped = in_threads(Store(), workers=4)

    async def scenario() -> None:
        for _ in range(10):
            answers = await asyncio.gather(*(wrapped.find(str(n)) for n in range(100)))
            assert answers == [str(n) for n in range(100)]
        await wrapped.close()

    asyncio.run(scenario())


def test_threads_end_after_close() -> None:
    class Brief(Store):
        """Its name is its threads' name."""

    wrapped = in_threads(Brief(), workers=3)

    async def scenario() -> None:
        await asyncio.gather(*(wrapped.find("a") for _ in range(10)))
        await wrapped.close()
        await wrapped.close()
        with pytest.raises(PluginUnavailable, match="closed"):
            await wrapped.find("a")

    asyncio.run(scenario())
    ours = [thread for thread in threading.enumerate() if thread.name.startswith("plugin-Brief")]
    for thread in ours:
        thread.join(60)
    assert not any(thread.is_alive() for thread in ours)


def test_a_hung_call_does_not_keep_the_process_alive() -> None:
    program = """
import asyncio, time
from identity_core.plugin import in_threads
class Hung:
    def find(self): time.sleep(600)
async def main():
    try:
        async with asyncio.timeout(0.05):
            await in_threads(Hung(), workers=1).find()
    except TimeoutError:
        print("gone")
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "gone\n"


class Ledger:
    """The methods of a ledger, synchronous."""

    def append(self, did: str, entry: bytes, *, expected_version: int) -> None: ...

    def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> None: ...

    def log_size(self, did: str) -> None: ...

    def entries_after(self, sequence: int, limit: int) -> None: ...

    def head(self) -> None: ...


def test_a_ledger_that_was_closed_is_away_as_ledgers_are() -> None:
    async def scenario() -> None:
        wrapped = in_threads(Ledger(), workers=1)
        await wrapped.head()
        await wrapped.close()  # type: ignore[attr-defined]
        with pytest.raises(LedgerUnavailable):
            await wrapped.head()

    asyncio.run(scenario())
