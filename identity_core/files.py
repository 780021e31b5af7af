"""Files that an operator names: policies, keys, secrets, settings. A file is opened without blocking. A named pipe
without a writer would block a start or a read-only command for ever, and a device has no end.

``install_command`` finds the folders of a checkout.

Settings choose the code that runs, and keys choose who is trusted. So ``require_own`` refuses a file that another
user can write (CWE-427, CWE-732).
"""

from __future__ import annotations

import contextlib
import errno
import grp
import json
import os
import pwd
import secrets
import shlex
import stat
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import unquote, urlsplit

MOST_OCTETS: Final = 4 * 1024 * 1024
"""A larger size than any such file needs."""


def open_regular(path: Path) -> BinaryIO:
    """Open the regular file at ``path`` (or the target of a link) for reading.

    Raises ``OSError``: also for a pipe, a device or a socket, and for a file of more than ``MOST_OCTETS``.
    """
    # Its type is checked before it is opened, because opening some devices has an effect.
    _require_regular(path, path.stat())
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb")  # noqa: SIM115
    try:
        # The file may have been replaced between the two checks.
        _require_regular(path, os.fstat(file.fileno()))
    except OSError:
        file.close()
        raise
    return file


def read_regular(path: Path) -> bytes:
    """Return the bytes of the file. Raises ``OSError``: as ``open_regular``."""
    with open_regular(path) as file:
        data = file.read(MOST_OCTETS + 1)
    if len(data) > MOST_OCTETS:
        raise too_large(path)
    return data


def require_own(path: Path, *, is_named: bool = True) -> None:
    """Raise ``PermissionError`` if another user can write the file or folder at ``path``. ``path`` may be a link.

    The owner must be this user or root. With ``is_named`` root may also use files of another user, because it
    administers the service of that user; it may not use what lies in a working directory. A sticky folder counts as
    writable, because any user may own its files. On a read-only mount mode and owner are not checked: they are the
    responsibility of the mount, such as a container's host.
    """
    status, me = path.stat(), os.geteuid()
    # The reader of the file refuses a pipe or a device.
    is_kept = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    if not is_kept or os.statvfs(path).f_flag & os.ST_RDONLY:
        return
    mode, owner = stat.S_IMODE(status.st_mode), status.st_uid
    if owner not in (0, me) and not (is_named and me == 0):
        raise PermissionError(errno.EPERM, f"it belongs to user {owner}", str(path))
    if mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _is_own_group(status.st_gid)):
        raise PermissionError(errno.EPERM, f"other users can write it (mode {mode:04o})", str(path))


def _is_own_group(group: int) -> bool:
    """Return whether a group has no other member. That is true of root's group. It is also true of a group of this
    user that has the user's name, or no name, as in a container."""
    if group == 0 or group not in (os.getegid(), *os.getgroups()):
        return group == 0
    try:
        known, user = grp.getgrgid(group), pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return True
    return known.gr_name == user and set(known.gr_mem) <= {user}


def _require_regular(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is a pipe, a device or a socket, and no file", str(path))
    if status.st_size > MOST_OCTETS:
        raise too_large(path)


def too_large(path: Path) -> OSError:
    """Return the error of a file at ``path`` that has more than ``MOST_OCTETS``."""
    return OSError(errno.EFBIG, f"it has more than {MOST_OCTETS // 2**20} MiB", str(path))


@contextlib.contextmanager
def new_draft(path: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Create a file beside ``path`` (mode 0600), and yield its path and the open file. The caller fills it, calls
    ``settle`` and renames it, all inside the context. Afterwards the folder is on disk, and no temporary file is
    left."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        # The operator did not choose the name of the temporary file, so the error names ``path``.
        error.filename = os.fspath(path)
        raise
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield draft, file
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)


@contextlib.contextmanager
def durable_draft(path: Path, data: bytes) -> Iterator[Path]:
    """Create a file beside ``path`` (mode 0600) with these bytes on disk. The caller renames it with ``replace`` or
    ``hardlink_to``, inside the context. Afterwards the folder is on disk, and no temporary file is left."""
    with new_draft(path) as (draft, file):
        file.write(data)
        settle(file)
        yield draft


def settle(file: BinaryIO) -> None:
    """Return when the content of ``file`` is on disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Return when the names in a folder are on disk."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def install_command(requirement: str) -> str:
    """Return the command that installs a distribution of this project with an extra, such as
    ``identity-service[redis]``.

    If the kernel runs in a checkout, or was installed from one, the command installs from there, because no index has
    the other distributions.
    """
    root, (name, bracket, extra) = Path(__file__).parents[1], requirement.partition("[")
    with contextlib.suppress(PackageNotFoundError, KeyError):
        url = urlsplit(json.loads(distribution("identity-kernel").read_text("direct_url.json") or "{}")["url"])
        root = Path(unquote(url.path)) if url.scheme == "file" else root
    short = name.removeprefix("identity-").replace("-", "_")
    folder = next((one for one in (f"packages/identity_{short}", f"plugins/{short}") if (root / one).is_dir()), None)
    if folder is None:
        return f"pip install {shlex.quote(requirement)}"
    wanted = shlex.quote(f"./{folder}{bracket}{extra}")
    return f"cd {shlex.quote(str(root))} && pip install {wanted} . ./packages/*/ ./plugins/*/"
