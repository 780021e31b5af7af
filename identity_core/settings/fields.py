"""Conversion of settings to typed fields: one dataclass per table, checked field by field.

The rules are the same for the core's tables and for a plugin's. A field's annotation is its type (``bool``, ``int``,
``float``, ``str``, ``Path``, ``Literal``, ``tuple[T, ...]``, a nested dataclass, or one of them ``| None``). A field
without a default is required. ``__post_init__`` may raise ``ValueError`` for rules that span fields.
"""

from __future__ import annotations

import dataclasses
import json
import re
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from identity_codec.values import Hidden

T = TypeVar("T")


class StartError(Exception):
    """An error that stops the startup. The text is complete: the command line prints it as it is, without a
    traceback. An error with a known place and remedy has them as well."""

    def __init__(self, what: str, where: str = "", fix: str = "") -> None:
        super().__init__(f"{what}\n  where: {where}\n  fix:   {fix}" if where else what)
        self.what = what
        self.where = where
        self.fix = fix


class SettingsError(StartError):
    """A wrong configuration, always with its place and remedy. It never contains a secret's value."""


class Origin(Struct, frozen=True):
    """The source of a value. ``place`` is ``identity.toml:3``, ``IDENTITY_SERVER_PORT``, ``--port``, or empty for a
    default."""

    kind: Literal["default", "file", "environment", "command line"]
    place: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.place}" if self.place else self.kind


DEFAULT = Origin("default")

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", Path: "a path"}
_TRUTH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def setting(
    default: Any,
    help: str,
    *,
    least: float | None = None,
    most: float | None = None,
    pattern: str | None = None,
    check: Callable[[Any], object] | None = None,
    secret: bool = False,
    example: str | None = None,
) -> Any:
    """Return a dataclass field with its limits.

    ``check``: raises ``ValueError`` with a reason. ``secret``: the value is hidden in ``repr``, in error messages and
    in ``identity config show``. ``example``: the value that the remedy proposes, in TOML.
    ``default``: may be ``dataclasses.MISSING``; then the key is required.
    """
    limits = {"help": help, "least": least, "most": most, "pattern": pattern, "check": check, "secret": secret}
    return dataclasses.field(default=default, repr=not secret, metadata={**limits, "example": example})


class Given(Hidden, Struct, frozen=True):
    """A value of a setting. ``is_text`` marks one from the environment, which must still be parsed to its type."""

    value: object
    origin: Origin
    is_text: bool = False


class _Unfit(Exception):
    """The value does not fit its type; the text describes valid values."""


def is_table(kind: object) -> bool:
    """Return whether a field of this type is a separate table."""
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def public_fields(table: type[Any]) -> list[tuple[dataclasses.Field[Any], Any]]:
    """Return the fields that can be set, with their types."""
    hints = get_type_hints(table)
    return [(f, hints[f.name]) for f in dataclasses.fields(table) if f.init and not f.metadata.get("internal")]


def keys_of(table: type[Any], at: str) -> list[str]:
    """Return the dotted keys of a table and its inner tables."""
    keys: list[str] = []
    for one, kind in public_fields(table):
        key = f"{at}.{one.name}" if at else one.name
        keys += keys_of(kind, key) if is_table(kind) else [key]
    return keys


def build(
    table: type[T],
    given: Mapping[str, Given],
    at: str,
    origins: dict[str, Origin] | None = None,
    found: list[SettingsError] | None = None,
) -> T:
    """Return the table at the dotted key ``at``, made from values by their dotted keys.

    Keys that the table does not have are ignored: the caller knows all tables and refuses unknown keys.
    ``found``: gets all errors, and an invalid value keeps its default. The table must have a default for every key.
    Raises ``SettingsError``: without ``found``, for the first error.
    """
    values: dict[str, Any] = {}
    last: Origin | None = None
    before = 0 if found is None else len(found)
    for field, kind in public_fields(table):
        key = f"{at}.{field.name}" if at else field.name
        if is_table(kind):
            values[field.name] = build(kind, given, key, origins, found)
        elif key in given:
            last = given[key].origin
            try:
                values[field.name] = _fitted(field, kind, given[key], key)
            except SettingsError as error:
                if found is None:
                    raise
                found.append(error)
                continue
            if origins is not None:
                origins[key] = last
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise SettingsError(
                f"{key} must be set.", places_of(key), f"Set it, for example: {example(field, kind, None, key)}"
            )
    try:
        return table(**values)
    except ValueError as error:
        where = str(last) if last is not None else "defaults"
        refusal = SettingsError(f"[{at or 'settings'}] is not valid: {error}.", where, f"Change the keys of [{at}].")
        if found is None:
            raise refusal from error
        # If one of its values was left out already, that may be the only error.
        if len(found) == before:
            found.append(refusal)
        return table()


def convert(kind: Any, given: Given) -> Any:
    """Return ``given`` as a value of the type ``kind``. Raises ``_Unfit``: when it does not fit."""
    value = given.value
    if get_origin(kind) in (Union, types.UnionType):
        (kind,) = (one for one in get_args(kind) if one is not type(None))
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise _Unfit("one of " + ", ".join(map(str, get_args(kind))))
        return value
    if get_origin(kind) is tuple:
        return _listed(get_args(kind)[0], given)
    if given.is_text:
        return _read(kind, str(value))
    if kind is float and type(value) is int:
        return float(value)
    if kind is Path and isinstance(value, str | Path) and str(value) and "\0" not in str(value):
        return Path(value).expanduser()
    # bool is a subclass of int, so the exact type is compared.
    if type(value) is not kind:
        raise _Unfit(_WORDS.get(kind, kind.__name__))
    return value


def _listed(member: Any, given: Given) -> tuple[Any, ...]:
    value = given.value
    if given.is_text:
        value = [part.strip() for part in str(value).split(",") if part.strip()]
    if not isinstance(value, list | tuple):
        raise _Unfit("a list")
    return tuple(convert(member, Given(one, given.origin, given.is_text)) for one in value)


def _read(kind: Any, text: str) -> Any:
    if kind is bool:
        if text.lower() not in _TRUTH:
            raise _Unfit(_WORDS[bool])
        return _TRUTH[text.lower()]
    if kind is Path and "\0" not in text:
        return Path(text).expanduser()
    if kind is str:
        return text
    shape = r"[+-]?[0-9]{1,18}" if kind is int else r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?"
    if re.fullmatch(shape, text, re.ASCII) is None:
        raise _Unfit(_WORDS.get(kind, "another type"))
    return kind(text)


def _fitted(field: dataclasses.Field[Any], kind: Any, given: Given, key: str) -> Any:
    meta = field.metadata
    try:
        value = convert(kind, given)
        for one in value if isinstance(value, tuple) else (value,):
            _check(meta, one)
        return value
    except _Unfit as unfit:
        shown = "" if meta.get("secret") else f", not {_quoted(given.value)}"
        what = f"{key} must be {unfit}{shown}."
    except ValueError as error:
        what = f"{key} is not valid: {error}."
    proposal = example(field, kind, given, key)
    raise SettingsError(what, f"{given.origin} ({key})", f"Write for example: {proposal}")


def _check(meta: Mapping[str, Any], value: Any) -> None:
    least, most = meta.get("least"), meta.get("most")
    if (least is not None and not value >= least) or (most is not None and not value <= most):
        raise _Unfit(f"from {least:g} to {most:g}" if most is not None else f"{least:g} or more")
    pattern = meta.get("pattern")
    if pattern is not None and re.fullmatch(pattern, value, re.ASCII) is None:
        raise _Unfit(f"of the form {pattern}")
    if meta.get("check") is not None:
        meta["check"](value)


def _quoted(value: object) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 80 else text[:77] + "…"


def example(field: dataclasses.Field[Any], kind: Any, given: Given | None, key: str) -> str:
    """Return a line that sets the field correctly, in the syntax of the place where it was set."""
    value = field.metadata.get("example")
    if value is None:
        value = as_toml(field.default if field.default not in (dataclasses.MISSING, None, ()) else _sample(kind))
    if given is not None and given.origin.kind == "environment":
        return f"{_variable_of(given.origin, key)}={value.strip('[]').replace(chr(34), '')}"
    if given is not None and given.origin.kind == "command line":
        return f"{given.origin.place} {value.strip(chr(34))}"
    return f"{key.rpartition('.')[2]} = {value}"


def _variable_of(origin: Origin, key: str) -> str:
    """Return the variable that set the value. A variable that names a file must not contain the value."""
    own = variable(key)
    return own if origin.place.startswith(own) else origin.place.removesuffix("_FILE")


def _sample(kind: Any) -> object:
    members = get_args(kind)
    if get_origin(kind) in (Union, types.UnionType):
        return _sample(next(one for one in members if one is not type(None)))
    if get_origin(kind) is Literal:
        return members[0]
    if get_origin(kind) is tuple:
        return (_sample(members[0]),)
    return {bool: True, int: 1, float: 1.0}.get(kind, "…")


def as_toml(value: object) -> str:
    """Return a value in the syntax of a settings file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return str(value) if isinstance(value, int | float) else json.dumps(str(value), ensure_ascii=False)


def variable(key: str) -> str:
    """Return the environment variable of a dotted key: ``server.port`` is ``IDENTITY_SERVER_PORT``."""
    return "IDENTITY_" + re.sub(r"[.-]", "_", key).upper()


def places_of(key: str) -> str:
    """Return the places where a setting with its default can be set."""
    return f"{key} in the settings file, or the environment variable {variable(key)}"
