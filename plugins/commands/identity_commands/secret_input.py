"""Secrets of a command's user: from a file, the environment, standard input or a prompt, and never from its arguments, which
every user of the machine can read (``ps``) and which shells remember. Also a file of JSON that one command after another continues.
"""

from __future__ import annotations

import contextlib
import copy
import errno
import json
import os
import select
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource

from identity_codec import strict_json
from identity_core.cli.output import fail
from identity_core.files import MOST_OCTETS, durable_draft, open_regular, require_own, too_large

FROM_STANDARD_INPUT = "-"
PIPE_SECONDS: Final = 60.0
"""Timeout of a pipe. The program at the other end may prompt for a passphrase."""
Command = TypeVar("Command", bound=Callable[..., Any])


def read_private(path: Path, what: str) -> bytes:
    """Return the bytes of a file with secrets. A missing file, or one that others than its owner can read, ends the command."""
    try:
        # A pipe (`<(pass show …)`) belongs to the one who made it, whatever its mode says.
        if stat.S_ISFIFO(path.stat().st_mode):
            return read_pipe(path)
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                remedy = f"chmod 600 {path}; if they may have, replace what it holds"
                fail(f"others can read this {what}", str(path), remedy)
            require_own(path)
            return file.read()
    except FileNotFoundError:
        fail(f"there is no such {what}", str(path), "name the right file, or - for standard input", status=2)
    except OSError as error:
        fail(
            f"the {what} cannot be read: {error.strerror}", str(path), "name a file that is yours and that you can read"
        )


def read_pipe(path: Path, *, seconds: float = PIPE_SECONDS) -> bytes:
    """Return the text that is written to the pipe at ``path`` until it is closed.

    Raises ``OSError``: also when nothing was written for ``seconds``.
    """
    data, waiting = b"", select.poll()
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        waiting.register(descriptor, select.POLLIN)
        while waiting.poll(seconds * 1000):
            part = os.read(descriptor, MOST_OCTETS)
            data += part
            if len(data) > MOST_OCTETS:
                raise too_large(path)
            if not part:
                return data
    finally:
        os.close(descriptor)
    raise TimeoutError(errno.ETIMEDOUT, "no process writes to this pipe", str(path))


def typed_or_piped(what: str) -> str:
    """Return one line of standard input. On a terminal, prompt for it without echo."""
    if sys.stdin.isatty():
        return str(click.prompt(what, hide_input=True, err=True))
    return sys.stdin.readline().rstrip("\r\n")


def secret_option(name: str, variable: str, *, what: str, parameter: str | None = None) -> Callable[[Command], Command]:
    """Return an option whose argument is the place of a secret: a file, or ``-``. ``variable`` of the environment holds the secret
    itself."""

    def read(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
        if value is None:
            return None
        source = None if option.name is None else context.get_parameter_source(option.name)
        if source is not ParameterSource.ENVIRONMENT:
            value = _from_place(value, name, variable, what)
        if not (value and value.isascii() and value.isprintable()):
            # One copied from a page (`idk_…`), or cut off at a line's end, cannot travel in a header field.
            raise click.BadParameter(f"the {what} is printable ASCII: give the whole of it as it was shown")
        return value

    declarations = (name,) if parameter is None else (name, parameter)
    help_text = (
        f"File with the {what}; - prompts for it or reads standard input.  [env var: {variable}, the {what} itself]"
    )
    return click.option(*declarations, metavar="FILE", envvar=variable, callback=read, help=help_text)


def _from_place(place: str, name: str, variable: str, what: str) -> str:
    if place == FROM_STANDARD_INPUT:
        return typed_or_piped(what)
    path = Path(place)
    if not path.exists() and os.sep not in place:
        # It may be the secret: it must not be repeated either.
        remedy = f"put it into {variable} or into a file that only you can read, or give `{name} -` and type it"
        wrong = f"{name} takes a file or -, because everyone on this machine can read arguments"
        fail(wrong, "the options", remedy, status=2)
    return read_private(path, what).decode("utf-8", "replace").strip()


@contextlib.contextmanager
def private_record(path: Path, what: str, new: Mapping[str, Any], did: str) -> Iterator[dict[str, Any]]:
    """Yield the record at ``path``, or ``new`` if there is none. It is on disk again at the end, unless an error is raised.
    Concurrent commands run one after the other. A file of another form, or of another ``did``, ends the command: a record has the
    members of ``new``, and the DID."""
    from identity_core.database.files import FileLock

    with contextlib.closing(FileLock(path.with_name(f".{path.name}.lock"))) as lock:
        lock.acquire()
        record = copy.deepcopy({"did": did, **new})
        if path.exists():
            record = read_record(path, what, new, did)
        yield record
        with durable_draft(path, (json.dumps(record, indent=2) + "\n").encode()) as draft:
            draft.replace(path)


def read_record(path: Path, what: str, new: Mapping[str, Any], did: str | None = None) -> dict[str, Any]:
    """Return the record at ``path``, as ``private_record`` has it. A missing one ends the command too. Without a ``did`` it may be
    of any DID."""
    new = {"did": did or "", **new}
    try:
        value = strict_json.loads(read_private(path, what))
    except strict_json.JsonRefused as refused:
        fail(f"the {what} cannot be read: {refused}", str(path), "bring it back from your copy")
    if not isinstance(value, dict) or value.keys() != new.keys():
        fail(f"the file is not a {what}", str(path), f"name the {what}, or a file that is not there yet")
    if any(type(value[name]) is not type(new[name]) for name in new):
        fail(f"the {what} has a member of another type", str(path), "bring it back from your copy")
    if did is not None and value["did"] != did:
        fail(f"the {what} is another DID's", str(path), "name the file of this DID")
    return value
