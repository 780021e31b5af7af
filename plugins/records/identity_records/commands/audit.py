"""``identity audit``: check and copy the audit log, of this installation or of a running service.

The chain shows an edited, removed or swapped line. The log's own head shows a rewritten log or a removed end. Only the service's
keys can make it, so that check needs the data directory. A restore of the whole database is found only with a head that was stored
elsewhere: ``--head FILE`` compares with it, and then stores the new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson
from identity_commands.options import NAME_A_SOURCE, opened_part
from identity_commands.profiles import signed_in
from identity_commands.remote import api_key_option, named_service_option, session

from identity_core.cli.options import FILE, Whole, of_installation
from identity_core.cli.output import fail, failing, prints_json, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.settings import Settings
from identity_records.audit import ChainedLine, ChainHead, KeyedHead
from identity_records.chain import ChainBroken, check_kept, check_reached, follow, follow_export

if TYPE_CHECKING:
    from identity_records.audit import AuditLines

PAGE = 1_000
END_UNCHECKED = "that the end was not cut off and the log not written anew: the keys of the installation tell"
Lines = Iterator[ChainedLine]

_service = named_service_option("URL of a running service to query with --api-key, in place of the local database.")


@click.group(name="audit", cls=OpenGroup)
def command() -> None:
    """Verify and export the audit log."""


@command.command()
@click.option("--file", type=click.File("rb"), help="File that `identity audit export` wrote; - is standard input.")
@click.option("--head", type=FILE, help="Head of the last verification: compared, then replaced.")
@_service
@api_key_option
@of_installation
def verify(settings: Settings, file: Any, head: Path | None, url: str | None, api_key: str | None) -> None:
    """Verify the chain from the first stored line to the last. The exit code is 1 if the chain is broken.

    Lines that retention removed are not reported: the log records the number and the hash of the last removed line.
    With the data directory, the end is compared with the head that only the service's keys can make. `unchecked`
    lists what was not verified.
    """
    known = None if head is None else _remembered(head)
    kept: KeyedHead | None = None
    cut = ChainHead()
    try:
        if file is not None or url is not None:
            unchecked = [END_UNCHECKED]
            source = _read(settings, url, api_key, 0) if file is None else contextlib.nullcontext(_exported(file))
            with source as lines:
                cut, reached = follow_export(lines, known=known)
        else:
            cut, reached, kept, unchecked = _verified_here(settings, known)
        unchecked += _before(cut, known)
        check_reached(reached, known)
    except ChainBroken as error:
        where = getattr(file, "name", None) or url or str(settings.data_dir)
        fail(f"the audit log is not what was written: {error}", where, "keep it as it is and find out who had access")
    if head is not None:
        head.write_text(json.dumps({"sequence": reached.sequence, "link": reached.link.hex()}) + "\n")
    body = {
        "valid": True,
        "lines": reached.sequence,
        "head": reached.link.hex(),
        "cutThrough": cut.sequence,
        "compared": known is not None and known.sequence >= cut.sequence,
        "keyedFrom": None if kept is None else kept.keyed_from,
        "unchecked": unchecked,
    }
    show(body, text=_text)


@command.command()
@of_installation
def rekey(settings: Settings) -> None:
    """Accept the present log after `verify` reported an invalid head and you know the cause.

    The lines that it contains now stay. Later verifications report them as not verified.
    """
    with _open_log(settings) as (runner, (log, is_keyed)):
        if not is_keyed:
            what = "the keys of this installation are not at hand"
            fail(what, str(settings.data_dir), "run it where the service runs")
        keyed_from = runner.run(log.key_from_here())
    show({"keyedFrom": keyed_from}, text="keyed from line {keyedFrom} on")


@command.command()
@click.option("--after", type=Whole(min=0), default=0, help="Export only lines with a greater number.")
@click.option("--output", "-o", type=click.File("wb"), default="-", help="File to write; - is standard output.")
@_service
@api_key_option
@of_installation
def export(settings: Settings, after: int, output: Any, url: str | None, api_key: str | None) -> None:
    """Write the lines as JSON lines with `sequence`, `line` (exactly as it was hashed) and `link`. With --json they
    are one array.
    """
    where, remedy = url or str(settings.data_dir), "check that the URL is that of the service"
    with _read(settings, url, api_key, after) as lines, failing((ChainBroken,), where, remedy):
        items = ({"sequence": one.sequence, "line": one.line.decode(), "link": one.link.hex()} for one in lines)
        if prints_json():
            output.write(orjson.dumps([*items], option=orjson.OPT_INDENT_2) + b"\n")
        else:
            output.writelines(orjson.dumps(item) + b"\n" for item in items)


def _before(cut: ChainHead, known: ChainHead | None) -> list[str]:
    """Return the part of a remembered head that a cut leaves unchecked. Raises ``ChainBroken``."""
    if known is None or known.sequence > cut.sequence or cut == ChainHead():
        return []
    if known.sequence == cut.sequence and known != cut:
        raise ChainBroken(f"line {cut.sequence} is another than the one that was remembered: the log was written anew")
    return [] if known == cut else [f"the remembered head: line {known.sequence} went when it was past its time"]


def _verified_here(
    settings: Settings, known: ChainHead | None
) -> tuple[ChainHead, ChainHead, KeyedHead | None, list[str]]:
    """Return the cut of the log, the head at the end of the chain, the stored head, and what could not be checked. Raises
    ``ChainBroken``."""
    with _open_log(settings) as (runner, (log, is_keyed)):
        # First the head: a running service writes on.
        kept = runner.run(log.head()) if is_keyed else None
        cut = runner.run(log.cut())
        lines = _stored(runner, log, cut.sequence)
        if kept is None:
            cut, reached = follow_export(lines, known=known)
        else:
            reached = follow(cut, itertools.islice(lines, kept.head.sequence - cut.sequence), known=known)
            check_kept(reached, kept)
            beyond = list(lines)
            now = runner.run(log.head())
            reached = follow(reached, beyond, known=known)
            if beyond and (now is None or now.head.sequence < beyond[0].sequence):
                raise ChainBroken(f"line {beyond[0].sequence} was not written by this service")
    if not is_keyed:
        return cut, reached, None, [END_UNCHECKED]
    if kept is None:
        raise ChainBroken(
            "its head is not one that the keys of this installation made, so its end may have been cut off"
        )
    if kept.keyed_from > cut.sequence + 1:
        first, last = cut.sequence + 1, kept.keyed_from - 1
        return cut, reached, kept, [f"lines {first} to {last} were found when keying began, and are chained only"]
    return cut, reached, kept, []


@contextlib.contextmanager
def _read(settings: Settings, url: str | None, api_key: str | None, after: int) -> Iterator[Lines]:
    """Yield the lines of the service at ``url``, else of the installation."""
    if url is None:
        with _open_log(settings) as (runner, (log, _)):
            yield _stored(runner, log, after)
    else:
        with session(url, **signed_in(url, api_key)) as opened:
            ask = functools.partial(opened.call, "GET", "/audit")
            yield _pages(lambda last: list(map(_line, ask(query={"after": last, "limit": PAGE})["items"])), after)


def _open_log(settings: Settings) -> contextlib.AbstractContextManager[tuple[asyncio.Runner, tuple[AuditLines, bool]]]:
    """Return the audit log of the installation, and the loop that it is opened in."""
    from identity_records.local_log import audit_log

    return opened_part(settings, audit_log, remedy=NAME_A_SOURCE)


def _stored(runner: asyncio.Runner, log: AuditLines, after: int) -> Lines:
    return _pages(lambda last: runner.run(log.chain(after=last, limit=PAGE)), after)


def _pages(page_behind: Callable[[int], Sequence[ChainedLine]], after: int) -> Lines:
    """Yield the lines after the number ``after``. Raises ``ChainBroken``: when a page does not advance, which would never end."""
    while page := page_behind(after):
        yield from page
        if page[-1].sequence <= after:
            raise ChainBroken(f"line {page[-1].sequence} is behind line {after}")
        after = page[-1].sequence


def _exported(file: Any) -> Lines:
    for number, line in enumerate(file, 1):
        try:
            one = _line(orjson.loads(line))
        except (ValueError, ChainBroken) as error:
            raise ChainBroken(f"line {number} of the file is not one of an export") from error
        yield one


def _line(item: Any) -> ChainedLine:
    """Return the line of an item of an export. Raises ``ChainBroken``."""
    match item:
        case {"sequence": int(sequence), "line": str(line), "link": str(link)}:
            with contextlib.suppress(ValueError):
                return ChainedLine(sequence, line.encode(), bytes.fromhex(link))
    raise ChainBroken("an item is not one of an export")


def _remembered(path: Path) -> ChainHead | None:
    """Return the head of an earlier check; None if there was none."""
    try:
        value = json.loads(path.read_text())
        return ChainHead(int(value["sequence"]), bytes.fromhex(value["link"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        fail(f"the file is not a head of an audit log: {error}", str(path), "name the one that --head wrote", status=2)


def _text(body: dict[str, Any]) -> str:
    first = body["keyedFrom"]
    keyed = "" if first is None else f"; its end is the one that was written, keyed from line {first}"
    compared = "; follows the remembered head" if body["compared"] else ""
    unchecked = [f"not checked: {one}" for one in body["unchecked"]]
    cut = f", of which {body['cutThrough']} went when they were past their time" if body["cutThrough"] else ""
    return "\n".join([f"valid, {body['lines']} lines{cut}{keyed}{compared}", f"head {body['head']}", *unchecked])
