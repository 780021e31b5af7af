"""The one bounded cache."""

from __future__ import annotations

import threading

from identity_core.cache import BoundedCache


def test_it_gives_what_was_put() -> None:
    cache = BoundedCache[str, int](2)
    assert cache.get("a") is None
    assert cache.store("a", 1) == 1
    assert (cache.get("a"), "a" in cache, "b" in cache, len(cache.values())) == (1, True, False, 1)


def test_the_oldest_makes_room() -> None:
    cache = BoundedCache[str, int](2)
    for number, name in enumerate("abc"):
        cache.store(name, number)
    assert [cache.get(name) for name in "abc"] == [None, 1, 2]
    assert len(cache.values()) == 2


def test_reinserted_item_is_newest() -> None:
    cache = BoundedCache[str, int](2)
    cache.store("a", 0)
    cache.store("b", 1)
    cache.store("a", 2)
    cache.store("c", 3)
    assert [cache.get(name) for name in "abc"] == [2, None, 3]


def test_reading_makes_nothing_younger() -> None:
    cache = BoundedCache[str, int](2)
    cache.store("a", 0)
    cache.store("b", 1)
    cache.get("a")
    cache.store("c", 2)
    assert "a" not in cache


def test_forgetting() -> None:
    cache = BoundedCache[str, int](3)
    for number, name in enumerate("abc"):
        cache.store(name, number)
    assert cache.forget("b") == 1
    assert cache.forget("b") is None
    assert cache.get("b") is None
    cache.clear()
    assert len(cache.values()) == 0
    assert cache.get("a") is None
    cache.store("d", 4)
    assert cache.get("d") == 4


def test_threads_do_not_disturb_each_other() -> None:
    cache = BoundedCache[int, int](3)
    failures: list[BaseException] = []

    def work(start: int) -> None:
        try:
            for number in range(start, start + 5_000):
                cache.store(number % 17, number)
                cache.forget((number + 5) % 17)
                cache.get(number % 7)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(cache.values()) <= 3
