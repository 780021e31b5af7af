"""``wire.pyi``: the types that ``identity_core.wire`` makes of the document, written out for type checkers and for readers."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from msgspec import NODEFAULT, Struct, UnsetType, structs

HEADER: Final = '''"""GENERATED from openapi/ by `python -m openapi.build`: what {module} makes of the document. Do not edit."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType
'''
TYPES: Final = """
from identity_codec.structs import Types

TYPES: Types
"""


def write_stub(module: str, named: Mapping[str, Any], head: str = TYPES) -> str:
    """Return the stub of ``module``, its types in the order of their names."""
    aliases = [f"{name} = {annotation(made)}\n" for name, made in sorted(named.items()) if not _is_struct(made)]
    records = ["\n".join(_record(made)) for _, made in sorted(named.items()) if _is_struct(made)]
    return "\n".join([HEADER.format(module=module) + head, "".join(aliases), *records])


def annotation(kind: Any) -> str:
    """A type as its annotation, without the limits."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return annotation(arguments[0])
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(annotation(each) for each in arguments))
    if origin is Literal:
        return f"Literal[{', '.join(repr(value).replace(chr(39), chr(34)) for value in arguments)}]"
    if origin is not None:
        return f"{origin.__name__}[{', '.join('...' if each is ... else annotation(each) for each in arguments)}]"
    return "None" if kind is types.NoneType else str(getattr(kind, "__name__", kind))


def _record(made: type[Struct]) -> Iterator[str]:
    yield f"class {made.__name__}(Struct, frozen=True, kw_only=True):"
    for field in structs.fields(made):
        kind = annotation(field.type)
        if field.default is NODEFAULT:
            yield f"    {field.name}: {kind}"
        else:
            default = "UNSET" if isinstance(field.default, UnsetType) else repr(field.default).replace("'", '"')
            yield f"    {field.name}: {kind} = {default}"
    yield ""


def _is_struct(made: Any) -> bool:
    return isinstance(made, type) and issubclass(made, Struct)
