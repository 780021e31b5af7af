"""The requests and answers of this extension's part of the document as types. ``wire.pyi`` lists them."""

from __future__ import annotations

from importlib import resources

import orjson

from identity_core.wire import TYPES

DOCUMENT = resources.files("identity_consents").joinpath("document.json").read_bytes()
TYPES.add(orjson.loads(DOCUMENT))
globals().update(TYPES.named)
