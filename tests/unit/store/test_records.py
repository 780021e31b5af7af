"""Records go into rows and come out as they were, by the annotations of their fields alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import orjson
import pytest

from identity_codec.strict_json import JsonValue
from identity_codec.values import replace
from identity_core.domain.dids.did import Did
from identity_core.store.records import MOST_KEPT_OCTETS, Table

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
DID = Did.parse("did:web:hana.example")


class Colour(StrEnum):
    RED = "red-ish"


@dataclass(frozen=True, slots=True)
class Inner:
    at: datetime
    by: str | None


@dataclass(frozen=True, slots=True)
class Thing:
    id: str
    did: Did
    colour: Colour | None
    number: int
    holds: bool
    data: bytes
    at: datetime | None
    names: tuple[str, ...] | None
    inner: Inner | None
    some_dids: tuple[Did, ...]
    any_value: Mapping[str, JsonValue] | None
    counted: int = 0


TABLE = Table(
    "things",
    Thing,
    extra=("owner",),
    omit=("counted",),
    spread={"inner": ("inner_at", "inner_by")},
    document=("more", ("id", "did", "colour", "number", "holds", "data", "at", "names")),
)
FULL = Thing(
    "a", DID, Colour.RED, 7, True, b"\0\1", NOW, ("x", "y"), Inner(NOW, None), (DID, DID), {"a": [1, None]}, counted=3
)
BARE = replace(FULL, id="b", colour=None, at=None, names=None, inner=None, some_dids=(), any_value=None, holds=False)


@pytest.mark.parametrize("thing", [FULL, BARE])
def test_written_record_is_read(thing: Thing) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE things (owner, {TABLE.columns})")
        database.execute(TABLE.insert, TABLE.write(thing, owner="hana"))
        assert database.execute("SELECT owner FROM things").fetchone() == ("hana",)
        row = database.execute(TABLE.select).fetchone()
        assert TABLE.read(row, counted=3) == thing


def test_a_field_that_came_later_has_its_default() -> None:
    @dataclass(frozen=True, slots=True)
    class Earlier:
        id: str
        kept: str

    @dataclass(frozen=True, slots=True)
    class Later(Earlier):
        regions: tuple[str, ...] | None = None

    before, now = (Table("things", kind, document=("more", ("id",))) for kind in (Earlier, Later))
    row = before.write(Earlier("a", "b"))
    assert now.read([row[name] for name in now.columns.split(", ")]) == Later("a", "b", None)


def test_parameters_by_place_are_those_by_name() -> None:
    for thing in (FULL, BARE):
        named = TABLE.write(thing, owner="hana")
        columns = TABLE.insert.partition("(")[2].partition(")")[0].split(", ")
        assert TABLE.row(thing, "hana") == [named[column] for column in columns]
    assert TABLE.insert_by_place.count("?") == len(columns)


def test_a_document_that_is_remembered_is_that_of_its_octets() -> None:
    columns = TABLE.columns.split(", ")
    rows = [TABLE.write(replace(FULL, any_value={"text": "x" * size})) for size in (1, MOST_KEPT_OCTETS, 2, 1)]
    read = [TABLE.read([row[column] for column in columns], counted=3) for row in rows]
    assert [len(one.any_value["text"]) for one in read if one.any_value] == [1, MOST_KEPT_OCTETS, 2, 1]


def test_values_have_the_forms_of_columns() -> None:
    written = TABLE.write(FULL)
    assert written["colour"] == "red-ish"
    assert type(written["colour"]) is str
    assert (written["holds"], written["at"]) == (1, 1767323045678901)
    assert orjson.loads(written["names"]) == ["x", "y"]  # type: ignore[arg-type]
    assert orjson.loads(written["more"]) == {"someDids": [str(DID)] * 2, "anyValue": {"a": [1, None]}}  # type: ignore[arg-type]
    bare = TABLE.write(BARE)
    assert {name for name, value in bare.items() if value is None} == {"colour", "at", "names", "inner_at", "inner_by"}


def test_a_selection_may_show_something_else() -> None:
    table = Table("inners", Inner, shown={"by": "upper(i.by)"}, alias="i")
    assert table.select == "SELECT i.at, upper(i.by) FROM inners AS i"
