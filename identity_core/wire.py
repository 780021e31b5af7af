"""The requests and answers of the document as types, made when this module is imported (see
``identity_codec.structs``).

``wire.pyi`` declares them for type checkers and for readers; ``python -m openapi.build`` generates it.
"""

from __future__ import annotations

from importlib import resources

import orjson

from identity_codec.structs import Types

TYPES = Types(orjson.loads(resources.files("identity_core").joinpath("api", "identity.json").read_bytes()))
globals().update(TYPES.named)
