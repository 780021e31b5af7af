"""Metrics that are read and not counted: what the process, the writer, the log, the disk and the keys say when they are asked.

A ``Reading`` is a gauge or a counter of Prometheus that follows a function. Of several server processes each has its own, and its
``mode`` says what one number of all of them means (prometheus-client's ``multiprocess_mode``).
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Gauge

from identity_core.api.metrics import FollowedCounter
from identity_core.values import value_class

PAGE_OCTETS: Final = os.sysconf("SC_PAGE_SIZE")

Mode = Literal["counter", "livesum", "livemax", "livemin"]


@value_class
class Reading:
    """A metric without labels. ``name`` is as Prometheus has it, without ``identity_``, a counter's without ``_total``."""

    name: str
    mode: Mode
    meaning: str
    read: Callable[[], float]


class Readings:
    """The metrics of ``readings``."""

    def __init__(self, registry: CollectorRegistry, readings: Iterable[Reading]) -> None:
        self._copies = [_copy_of(registry, each) for each in readings]

    def copy(self) -> None:
        """Brings the metrics of this process up to date."""
        for copy in self._copies:
            copy()


def _copy_of(registry: CollectorRegistry, one: Reading) -> Callable[[], None]:
    if one.mode == "counter":
        counter = FollowedCounter(one.name, one.meaning, registry)
        return lambda: counter.follow(one.read())
    gauge = Gauge(f"identity_{one.name}", one.meaning, registry=registry, multiprocess_mode=one.mode)
    return lambda: gauge.set(one.read())


def build_info(registry: CollectorRegistry, version: str, python: str) -> None:
    """``identity_build_info``: 1, with the versions as labels."""
    meaning = "1, with the versions of the service and of Python."
    info = Gauge("identity_build_info", meaning, ["version", "python"], registry=registry, multiprocess_mode="livemax")
    info.labels(version, python).set(1)


def of_process() -> Iterable[Reading]:
    """What the system says of this process."""
    started = time.time()
    yield Reading("processes", "livesum", "Server processes.", lambda: 1)
    yield Reading("process_start_time_seconds", "livemin", "When the oldest began, in Unix time.", lambda: started)
    yield Reading("process_cpu_seconds", "counter", "CPU time of the server processes.", time.process_time)
    yield Reading("process_resident_memory_bytes", "livesum", "Their memory, without that of provers.", _resident)
    yield Reading("process_open_fds", "livemax", "Open files and connections of the one that has most.", _open_files)
    yield Reading("process_max_fds", "livemin", "How many a process may have.", _most_files)


def _resident() -> float:
    return int(Path("/proc/self/statm").read_bytes().split()[1]) * PAGE_OCTETS


def _open_files() -> float:
    return len(os.listdir("/proc/self/fd"))


def _most_files() -> float:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def of_disk(folder: Path) -> Iterable[Reading]:
    """How full the file system of the data directory is."""
    yield Reading("data_size_bytes", "livemax", "The file system of the data directory.", lambda: _octets(folder, 0))
    yield Reading("data_free_bytes", "livemin", "What is free of it for the service.", lambda: _octets(folder, 1))


def _octets(folder: Path, which: int) -> float:
    found = os.statvfs(folder)
    return (found.f_blocks, found.f_bavail)[which] * found.f_frsize
