"""Gauges of the process and of the disk, as the operating system reports them when they are read."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client import Gauge as PrometheusGauge

from identity_core.extension.declaration import Gauge

PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


def build_info(registry: CollectorRegistry, version: str, python: str) -> None:
    """Add ``identity_build_info``: 1, with the versions as labels."""
    meaning = "1, with the versions of the service and of Python."
    info = PrometheusGauge(
        "identity_build_info", meaning, ["version", "python"], registry=registry, multiprocess_mode="livemax"
    )
    info.labels(version, python).set(1)


def process_gauges() -> Iterator[Gauge]:
    """Yield the gauges of this process."""
    started = time.time()
    yield Gauge("processes", "livesum", "Server processes.", lambda: 1)
    yield Gauge("process_start_time_seconds", "livemin", "When the oldest began, in Unix time.", lambda: started)
    yield Gauge("process_cpu_seconds", "counter", "CPU time of the server processes.", time.process_time)
    yield Gauge("process_resident_memory_bytes", "livesum", "Their memory, without that of provers.", _resident)
    yield Gauge("process_open_fds", "livemax", "Open files and connections of the one that has most.", _open_files)
    yield Gauge("process_max_fds", "livemin", "How many a process may have.", _most_files)


def _resident() -> float:
    return int(Path("/proc/self/statm").read_bytes().split()[1]) * PAGE_BYTES


def _open_files() -> float:
    return len(os.listdir("/proc/self/fd"))


def _most_files() -> float:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def disk_gauges(folder: Path) -> Iterator[Gauge]:
    """Yield the gauges of the file system of the data directory."""
    yield Gauge("data_size_bytes", "livemax", "The file system of the data directory.", lambda: _disk_bytes(folder, 0))
    yield Gauge("data_free_bytes", "livemin", "What is free of it for the service.", lambda: _disk_bytes(folder, 1))


def _disk_bytes(folder: Path, which: int) -> float:
    found = os.statvfs(folder)
    return (found.f_blocks, found.f_bavail)[which] * found.f_frsize
