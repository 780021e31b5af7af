"""Rows as records: the annotation of a field of a Struct or dataclass determines the form of its column.

Text, integers and bytes are stored unchanged; a time as microseconds since 1970, UTC; a Boolean as 0 or 1; an enumeration as its value; a
class with ``parse`` (DIDs, grants) as its text; a tuple, a mapping or a record as JSON with names in camelCase. None is NULL. A
record may be spread over several columns instead, and several fields may share one JSON column. Guarded statements and searches are
written by hand; ``Repository`` runs them.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import orjson
from msgspec import Struct

from identity_codec.times import micros, moment
from identity_codec.values import field_names, is_record
from identity_core.database import Database, Dialect

DOCUMENTS_KEPT: Final = 256
MOST_KEPT_OCTETS: Final = 4_096
"""The limits of the cache of decoded JSON columns of a table: their number, and the bytes of one."""

R = TypeVar("R")
Convert = Callable[[Any], Any]


def _same(value: Any) -> Any:
    return value


class Form(Struct, frozen=True):
    """The stored form of values of one type. Neither function receives None."""

    write: Convert = _same
    read: Convert = _same


_PLAIN: Final[Mapping[Any, Form]] = {bytes: Form(read=bytes), bool: Form(int, bool), datetime: Form(micros, moment)}


def _form(annotation: Any) -> Form:
    """Return the form of a separate column."""
    known = _PLAIN.get(annotation) or _text_form(annotation)
    if known is not None:
        return known
    if get_origin(annotation) in (None, Literal) and not is_record(annotation):
        return Form()
    return _in_json(_json_form(annotation))


def _in_json(inside: Form) -> Form:
    return Form(lambda value: orjson.dumps(inside.write(value)), lambda data: inside.read(orjson.loads(bytes(data))))


def _text_form(annotation: Any) -> Form | None:
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return Form(attrgetter("value"), annotation)
    if hasattr(annotation, "parse"):
        return Form(str, annotation.parse)
    return None


def _json_form(annotation: Any) -> Form:
    """Return the form of a JSON value."""
    known = _text_form(annotation)
    if known is not None:
        return known
    if get_origin(annotation) is tuple:
        item = _json_form(get_args(annotation)[0])
        read = tuple if item.read is _same else lambda values: tuple(map(item.read, values))
        return Form(lambda values: [*map(item.write, values)], read)
    if is_record(annotation):
        return _object_form(annotation, field_names(annotation), annotation)
    return Form(dict) if get_origin(annotation) is Mapping else Form()


def _object_form(record: Any, names: Collection[str], make: Callable[..., Any]) -> Form:
    """Return the form of some fields of a record as a JSON object."""
    hints = get_type_hints(record)
    forms = [(name, _camel(name), _json_form(_bare(hints[name]))) for name in names]

    def write(value: Any) -> Any:
        return {key: _applied(form.write, getattr(value, name)) for name, key, form in forms}

    def read(value: Any) -> Any:
        # An object that was written before a field existed has the field's default.
        return make(**{name: _applied(form.read, value[key]) for name, key, form in forms if key in value})

    return Form(write, read)


def _applied(convert: Convert, value: Any) -> Any:
    return value if value is None or convert is _same else convert(value)


def _bare(annotation: Any) -> Any:
    """Return the annotation without ``| None``."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation
    (only,) = (one for one in get_args(annotation) if one is not type(None))
    return only


def _camel(name: str) -> str:
    first, *more = name.split("_")
    return first + "".join(map(str.capitalize, more))


class Table(Generic[R]):
    """The columns of the table ``name`` for the fields of ``record``, each by the field's name.

    ``extra``: additional columns, which are arguments of ``write``. ``omit``: fields without a column, which are arguments of ``read``.
    ``spread``: the columns of a field that is a record, in the order of its fields, all NULL for None. ``document``: a JSON column for
    every field but those that are named with it, which have separate columns. ``shown``: the expression that is selected instead of a
    column. ``alias``: the table's name in selections.
    """

    def __init__(
        self,
        name: str,
        record: type[R],
        *,
        extra: Collection[str] = (),
        omit: Collection[str] = (),
        spread: Mapping[str, Collection[str]] | None = None,
        document: tuple[str, Collection[str]] | None = None,
        shown: Mapping[str, str] | None = None,
        alias: str = "",
    ) -> None:
        hints = {field: _bare(hint) for field, hint in get_type_hints(record).items()}
        spread, shown = spread or {}, shown or {}
        self._record = record
        self._document, searched = document or ("", hints)
        named = field_names(record)
        inside = [name for name in named if name not in {*omit, *spread, *searched}]
        own = [name for name in named if name not in {*omit, *spread, *inside}]
        # attrgetter of one name gives no tuple.
        self._values = attrgetter(*own) if len(own) > 1 else lambda record: [getattr(record, name) for name in own]
        self._spread = [_Spread(field, tuple(columns), hints[field]) for field, columns in spread.items()]
        forms = {name: _form(hints[name]) for name in own}
        self._written = [(place, form.write) for place, form in enumerate(forms.values()) if form.write is not _same]
        for each in self._spread:
            forms |= zip(each.columns, each.forms, strict=True)
        self._inside = _object_form(record, inside, dict) if document else Form()
        if document:
            forms[self._document] = Form(read=_remembered(_in_json(self._inside).read))
        self._read = [(column, form.read) for column, form in forms.items() if form.read is not _same]
        self._names = [*forms]
        dot = f"{alias}." if alias else ""
        self.columns = ", ".join(shown.get(column, f"{dot}{column}") for column in self._names)
        # Names of tables and columns are constants of this package.
        names = [*extra, *self._names]
        into = f"INSERT INTO {name} ({', '.join(names)}) VALUES"
        self.insert = f"{into} (:{', :'.join(names)})"
        self.insert_by_place = f"{into} ({', '.join('?' * len(names))})"
        self.select = f"SELECT {self.columns} FROM {name}{alias and f' AS {alias}'}"  # noqa: S608

    def write(self, record: R, **extra: object) -> dict[str, object]:
        """Return the parameters of ``insert``."""
        return dict(zip(self._names, self.row(record), strict=True)) | extra

    def row(self, record: R, *extra: object) -> list[object]:
        """Return the parameters of ``insert_by_place``, with ``extra`` in the order of their declaration."""
        values = [*self._values(record)]
        for place, write in self._written:
            if values[place] is not None:
                values[place] = write(values[place])
        for each in self._spread:
            values += each.row(record)
        if self._document:
            values.append(orjson.dumps(self._inside.write(record)))
        return [*extra, *values]

    def read(self, row: Any, **omitted: object) -> R:
        """Return the record of a row that was selected as ``columns``."""
        found = dict(zip(self._names, row, strict=True))
        for column, read in self._read:
            value = found[column]
            if value is not None:
                found[column] = read(value)
        for each in self._spread:
            parts = [found.pop(column) for column in each.columns]
            found[each.field] = None if parts[0] is None else each.kind(*parts)
        if self._document:
            found |= found.pop(self._document)
        return self._record(**found, **omitted)


def _remembered(read: Convert) -> Convert:
    """Return ``read`` with a cache of its results by their bytes, because a delegation is read at each of its uses."""
    known = lru_cache(maxsize=DOCUMENTS_KEPT)(read)
    return lambda data: (known if len(data) <= MOST_KEPT_OCTETS else read)(bytes(data))


class _Spread:
    """The columns of a field that is a record of ``kind``, and the forms of its fields."""

    def __init__(self, field: str, columns: tuple[str, ...], kind: Any) -> None:
        hints = get_type_hints(kind)
        self.field, self.columns, self.kind = field, columns, kind
        self.forms = [_form(_bare(hints[name])) for name in field_names(kind)]
        self._parts = [(name, form.write) for name, form in zip(field_names(kind), self.forms, strict=True)]
        self._nothing = [None for _ in columns]

    def row(self, record: Any) -> list[Any]:
        """Return the values of the columns."""
        whole = getattr(record, self.field)
        return (
            self._nothing if whole is None else [_applied(write, getattr(whole, name)) for name, write in self._parts]
        )


_OF_FIRST: Final[Mapping[Dialect, str]] = {
    "sqlite": "rowid IN (SELECT rowid FROM {table} WHERE {which} LIMIT :limit)",
    "postgresql": "{place} = ANY (ARRAY(SELECT {place} FROM {table} WHERE {which} LIMIT :limit FOR UPDATE OF {table}{busy}))",
}


def of_first(table: str, which: str, *, waits: bool = False) -> Mapping[Dialect, str]:
    """Return the condition of the first ``:limit`` rows, in the order at the end of ``which``. Rows are found by their physical place: by
    keys, a wrong plan of the server would read the whole table. Rows that another process is changing are skipped. If the statement
    ``waits``, rows are found by ``id`` instead, because a changed row moves to another place, which the statement would not see."""
    place, busy = ("id", "") if waits else ("ctid", " SKIP LOCKED")
    named = {"table": table, "which": which, "place": place, "busy": busy}
    return {dialect: condition.format(**named) for dialect, condition in _OF_FIRST.items()}


def delete_first(table: str, which: str) -> Mapping[Dialect, str]:
    """Return the statement that deletes the rows of ``of_first``."""
    return {dialect: f"DELETE FROM {table} WHERE {first}" for dialect, first in of_first(table, which).items()}  # noqa: S608


class Repository:
    """The base class of ports on the tables of the store, with methods that run a single statement."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def _rows(self, sql: str, parameters: Mapping[str, object]) -> list[Any]:
        """Return the committed rows that the statement selects."""
        return await self._database.read(lambda transaction: transaction.execute(sql, parameters).fetchall())

    async def _change(
        self, sql: str, parameters: Mapping[str, object], *, durable: bool = True, heavy: bool = False
    ) -> int:
        """Run the statement and return the number of affected rows."""
        return await self._database.write(
            lambda writing: writing.execute(sql, parameters).rowcount, durable=durable, heavy=heavy
        )

    async def _forget(self, delete: Mapping[Dialect, str], parameters: Mapping[str, object]) -> int:
        """Delete by a statement of ``delete_first`` and return the number of rows. Not durable; for background work only."""
        return await self._change(delete[self._database.dialect], parameters, durable=False, heavy=True)


END: Final = "g"
"""A text that sorts after every id."""


def row_id(at: datetime, random: Callable[[int], bytes]) -> str:
    """Return a new id for a row of that time."""
    return f"{micros(at):016x}{random(8).hex()}"


def first_at(at: datetime | None) -> str:
    """Return the lowest id of that time; without a time, the lowest id."""
    return "" if at is None else f"{max(0, micros(at)):016x}"


def bounds(since: datetime | None, until: datetime | None, before: str | None) -> tuple[str, str]:
    """Return the half-open interval of ids for a page of rows."""
    last = END if until is None else first_at(until)
    return first_at(since), last if before is None else min(last, before)
