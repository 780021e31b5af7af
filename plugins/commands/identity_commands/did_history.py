"""``identity did history``: the versions of a DID, one per line, or a graph with added and removed keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click

from identity_commands.options import all_of
from identity_commands.remote import page, page_options, session, url_option
from identity_commands.terminal import on_one_line, show_table, working
from identity_core.cli.output import Command, Text, prints_json, show
from identity_core.domain.dids.state import KEY_EXPIRED

_MARKS: Final = {"create": "o", "recovered": "@", "deactivated": "x"}
_ADDED: Final = re.compile(r"keyAdded (#\S+)")
_ENDED: Final = re.compile(rf"(?:keyRemoved|{KEY_EXPIRED}) (#\S+)")
_COLUMNS: Final[Mapping[str, Text]] = {
    "VERSION": "{versionId}",
    "EFFECTIVE": "{effectiveAt}",
    "OPERATION": "{operation}",
    "CHANGES": lambda row: "; ".join(row["changes"]),
}


def _line(item: dict[str, Any]) -> str:
    return f"{item['versionId']:>4}  {item['effectiveAt']}  {item['operation']:<12} {'; '.join(item['changes'])}"


@click.command(name="history", cls=Command)
@click.argument("did")
@all_of(*page_options)
@click.option("--graph", is_flag=True, help="Draw all versions, the newest first, with a lane for each key.")
@url_option
def history(did: str, limit: int, cursor: str | None, graph: bool, url: str) -> None:
    """List the versions of a DID, oldest first.

    With --graph the first lane is the DID: o created, * changed, @ recovered, x deactivated. Each other lane is a
    key: o added, | in the document, x removed.
    """
    if graph and cursor is not None:
        raise click.UsageError("--graph draws all versions: leave --cursor out.")
    with session(url) as opened, working("reading the history"):
        if graph:
            items = list(opened.whole_history(did))
            answer: Any = {"did": did, "total": len(items), "items": items, "nextCursor": None}
        else:
            answer = opened.history(did, limit=limit, cursor=cursor)
    shown = answer if prints_json() else on_one_line(answer)
    if graph:
        show(shown, text=lambda body: "\n".join(drawn(body["items"])))
    else:
        show_table(shown, text=page(_line), columns=_COLUMNS)


def drawn(items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the picture of ``items`` (listDidHistory, oldest first): a row for each version, newest first, then the
    keys by lane."""
    lanes: list[str] = []
    alive: set[str] = set()
    rows = []
    for item in items:
        changes = "\n".join(item["changes"])
        added, ended = _ADDED.findall(changes), {*_ENDED.findall(changes)}
        lanes += [key for key in added if key not in lanes]
        marks = ["o" if key in added else "x" if key in ended else "|" if key in alive else " " for key in lanes]
        alive = (alive | {*added}) - ended
        others = [one for one in item["changes"] if not _ADDED.fullmatch(one) and not _ENDED.fullmatch(one)]
        rows.append((item, marks, "; ".join(others)))
    for item, marks, says in reversed(rows):
        keys = " ".join(marks).ljust(max(2 * len(lanes) - 1, 0))
        mark = _MARKS.get(item["operation"], "*")
        yield f"{item['versionId']:>4}  {mark}  {keys}  {item['effectiveAt']}  {item['operation']:<12} {says}".rstrip()
    yield from (f"{' ' * 9}{'  ' * lane}{key}" for lane, key in enumerate(lanes))
