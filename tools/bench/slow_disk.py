"""A disk whose every fsync takes longer: a library that gcc makes and the loader puts before libc.

``with slow_disk(3.0, folder) as environment``: processes with that environment, and theirs, wait 3 ms more at each ``fsync`` and
``fdatasync``. It is what a cloud volume costs, on a machine whose disk answers from a cache.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_as_long_as_a_disk(void) {
    const char *text = getenv("BENCH_SYNC_MICROSECONDS");
    long microseconds = text ? atol(text) : 0;
    struct timespec pause = {microseconds / 1000000, (microseconds % 1000000) * 1000};
    if (microseconds > 0) nanosleep(&pause, NULL);
}

int fsync(int file) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    wait_as_long_as_a_disk();
    return real(file);
}

int fdatasync(int file) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    wait_as_long_as_a_disk();
    return real(file);
}
"""


def slow_disk(milliseconds: float, folder: Path) -> Mapping[str, str]:
    """The environment for processes whose disk is slower by so many milliseconds. Raises ``FileNotFoundError`` without gcc."""
    source, library = folder / "slow_disk.c", folder / "slow_disk.so"
    source.write_text(SOURCE)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", str(library), str(source), "-ldl"], check=True)
    return os.environ | {
        "LD_PRELOAD": str(library),
        "BENCH_SYNC_MICROSECONDS": str(int(milliseconds * 1000)),
    }
