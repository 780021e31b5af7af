"""A full writer's queue is 503 at every write of every repository, and never a fault of ours.

The repositories are found, not listed, and their arguments are made from the types that they are declared with: what is added later
is tried too. That every place which writes was reached is compared with the source.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import sys
import typing
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any

import pytest
from identity_bound_credentials.domain import gap_shards, status_gaps
from identity_bound_credentials.domain.gap_shards import Manifest
from identity_bound_credentials.domain.status_gaps import StatusEpoch
from identity_kit.conformance.prover_cases import SCHEMA
from identity_records import audit
from identity_records.audit import ChainHead, audit_of

import identity_core.store
from identity_codec.values import field_names, is_record
from identity_core.database import Transaction
from identity_core.domain.activity import EventRecord
from identity_core.domain.callers import ApiKey
from identity_core.domain.credentials.credential_schema import CredentialSchema
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.dids.did import Did
from identity_core.errors import IdentityError, Overloaded
from identity_core.ports.repositories import IndexedVersion
from identity_core.store import Store
from tests.events import EVENT, AuditRow, event_of, insert_rows, open_store
from tests.unit.store.test_documents import START, version

FOLDER = Path(identity_core.store.__file__).parent
HELPER = "Repository._change"
CHALLENGE = "didauth:v1 https://id.example did:ids:hana - - AAAA 2026-01-01T00:00:00Z"
EPOCH = StatusEpoch("did:ids:ivo", "did:ids:ivo#status", "A" * 22, 1, 86_400)
MADE: dict[Any, Callable[[], Any]] = {
    str: lambda: CHALLENGE,
    int: lambda: 1,
    bool: lambda: True,
    bytes: lambda: bytes(32),
    datetime: lambda: START,
    Any: lambda: None,
    EventRecord: lambda: EVENT,
    Did: lambda: Did.parse("did:ids:hana"),
    Schema: lambda: SCHEMA,
    CredentialSchema: lambda: CredentialSchema(SCHEMA),
    IndexedVersion: lambda: version("hana", 1, 1),
    Manifest: lambda: gap_shards.publish(EPOCH, 1, status_gaps.chain(()), [bytes(80)])[0],
}


def simplest_value(kind: Any) -> Any:
    """A value of a type; where several will do, the simplest."""
    if kind in MADE:
        return MADE[kind]()
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return inner[0]
    if origin is None and isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    if is_record(kind):
        return kind(
            **{
                name: simplest_value(hint)
                for name, hint in typing.get_type_hints(kind).items()
                if name in field_names(kind)
            }
        )
    if NoneType in inner:
        return None
    if origin is not None and issubclass(origin, Mapping):
        return {}
    if origin is Callable or origin is typing.get_origin(Callable[..., Any]):
        return bytes if inner[0] == [int] else lambda *_: True
    if origin is tuple and ... not in inner:
        return tuple(map(simplest_value, inner))
    if origin in (tuple, frozenset, list) or (origin is not None and hasattr(origin, "__iter__")):
        return () if inner[0] is IndexedVersion else (simplest_value(inner[0]),)
    return simplest_value(inner[0])


def methods(store: Store) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public method of every repository but those that are a part of another's job."""
    repositories = {name: one for name, one in vars(store).items() if name != "database"}
    for name, repository in {**repositories, "audit": audit_of(store)}.items():
        for each, method in inspect.getmembers(repository, inspect.ismethod):
            if not each.startswith("_") and Transaction not in typing.get_type_hints(method).values():
                yield f"{name}.{each}", method


def writers() -> set[str]:
    """The functions of the store that hand a job or a statement to the writer, by the source: method or function within a method."""
    found = set()
    for path in (*FOLDER.glob("*.py"), Path(audit.__file__)):
        for kind in ast.walk(ast.parse(path.read_text())):
            if isinstance(kind, ast.ClassDef):
                for method in kind.body:
                    calls = (ast.unparse(call.func) for call in ast.walk(method) if isinstance(call, ast.Call))
                    if {"self._database.write", "self._change"}.intersection(calls):
                        found.add(f"{kind.name}.{method.name}")  # type: ignore[attr-defined]
    return found - {HELPER}


async def outcome(method: Callable[..., Any]) -> str:
    hints = typing.get_type_hints(method)
    hints.pop("return")
    required = inspect.signature(method).parameters
    arguments = {
        name: simplest_value(hint) for name, hint in hints.items() if required[name].default is inspect.Parameter.empty
    }
    try:
        answer = method(**arguments)
        if isinstance(answer, Awaitable):
            await answer
    except Overloaded:
        return "overloaded"
    except IdentityError as error:
        return error.code
    # What is not a refusal would be 500.
    except Exception as error:
        return repr(error)
    return "done"


def test_every_write_of_every_repository(tmp_path: Path, url: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        store = open_store(tmp_path, url)
        # A row that the cursor has not seen yet.
        await store.documents.record([version("hana", 1, 1)])
        # And a finding that is not written yet.
        store.quarantine.suspect("did:ids:ivo", "entry")
        # And a key with a tag too many.
        for _ in range(2):
            await store.api_key_tags.announce(simplest_value(ApiKey), START)
        # And a line of the audit log that was cut off and is still there.
        await audit_of(store).key_from_here()
        await store.database.write(lambda transaction: insert_rows(store, transaction, (simplest_value(AuditRow),)))
        sql = "SELECT sequence, link FROM audit_lines"
        first = await store.database.read(lambda transaction: transaction.execute(sql).fetchone())
        assert await audit_of(store).cut_through(
            ChainHead(first[0], bytes(first[1])), event_of(simplest_value(AuditRow))
        )
        reached: set[str] = set()
        write = store.database.write

        def spy(job: Any, **options: Any) -> Any:
            frame = sys._getframe(1)
            if frame.f_code.co_qualname == HELPER:
                assert frame.f_back is not None
                frame = frame.f_back
            reached.add(".".join(frame.f_code.co_qualname.split(".")[:2]))
            return write(job, **options)

        monkeypatch.setattr(store.database, "write", spy)
        monkeypatch.setattr(store.database._queue, "queue_limit", 0)
        found = {name: await outcome(method) for name, method in methods(store)}
        assert {name: said for name, said in found.items() if said not in ("done", "overloaded")} == {}
        assert reached == writers()
        assert len(reached) > 25
        assert list(found.values()).count("overloaded") >= len(reached)
        await store.close()

    asyncio.run(story())
