"""What holds for a run of whatever tests."""

from __future__ import annotations

import functools
import gc
import os
import ssl
import sys
import tomllib
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import certifi
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# isort: off
import tests.entry_points
import tests.new_stores  # noqa: F401
# isort: on

# The duration of an example depends on the load of the machine.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
if "IDENTITY_ROUNDS" not in os.environ:
    # Each process would parse every module of the project for constants, for 8 s. Long rounds do it.
    providers.is_local_module_file = lambda path: False

_read = functools.cache(ssl.create_default_context)


def _trusting(purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH, **whom: Any) -> ssl.SSLContext:
    """Return the default context of httpx, read once for a process: reading takes 20 ms, and no test changes it."""
    if purpose is ssl.Purpose.SERVER_AUTH and whom == {"cafile": certifi.where()}:
        return _read(**whom)
    return _read.__wrapped__(purpose, **whom)


ssl.create_default_context = _trusting


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, which would take a third of the time: the objects stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


_RECURSION_LIMIT = sys.getrecursionlimit()


def pytest_runtest_teardown() -> None:
    """Restore the recursion limit, which mypy and py_ecc raise: deeply nested JSON would end the process of a later test."""
    sys.setrecursionlimit(_RECURSION_LIMIT)


# A run of more cases than a part of the tests has is one of the whole: without-blst has 22,000.
WHOLE_RUN = 24_000

# Known answers: a backend of the curve must give each of them.
KNOWN_ANSWERS = (
    "tests/vectors/",
    "/test_hashing.py",
    "/test_choice.py",
    "/test_parity.py",
    "/test_presentation_parity.py",
)


NIGHTLY = tuple(
    case
    for group in tomllib.loads((Path(__file__).parent / "tests" / "nightly.toml").read_text())["group"]
    for case in group["cases"]
)


def _nightly_start(nodeid: str) -> str:
    """Return the text of ``tests/nightly.toml`` with which a node id begins; empty for none."""
    if not nodeid.startswith(NIGHTLY):
        return ""
    return next(start for start in NIGHTLY if nodeid.startswith(start))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests on py_ecc, the reference backend, and those of ``tests/nightly.toml``. Unless ``-m`` selects them, run the known
    answers and one test in 20, and none of the mark ``nightly``."""
    matched: set[str] = set()
    for item in items:
        if start := _nightly_start(item.nodeid):
            item.add_marker("nightly")
            item.add_marker("listed")
            matched.add(start)
    files = {item.nodeid.partition("::")[0] for item in items}
    unknown = {start for start in NIGHTLY if start.partition("::")[0] in files} - matched
    nightly = sum(item.get_closest_marker("nightly") is not None for item in items)
    # A run that selects by marks may have other rounds, and so other cases.
    if len(items) > WHOLE_RUN and not config.option.markexpr:
        if unknown:
            raise pytest.UsageError(f"tests/nightly.toml: no case begins with {sorted(unknown)}")
        if nightly > len(items) // 20:
            raise pytest.UsageError(f"{nightly} of {len(items)} cases are nightly, at most one in 20 may be")
    selected: list[pytest.Item] = []
    deselected: list[pytest.Item] = []
    for item in items:
        callspec = getattr(item, "callspec", None)
        if item.get_closest_marker("nightly") is not None and not config.option.markexpr:
            deselected.append(item)
            continue
        if callspec is None or "py_ecc" not in callspec.params.values():
            selected.append(item)
            continue
        item.add_marker(pytest.mark.reference)
        known = any(name in item.nodeid for name in KNOWN_ANSWERS)
        sampled = zlib.crc32(item.nodeid.encode()) % 20 == 0
        (selected if known or sampled or config.option.markexpr else deselected).append(item)
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = selected
