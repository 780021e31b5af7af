"""The requirements of a verifier for an answer of resolveDid: the place of the version in the transparency log, and
that witnesses had seen it soon after it was made::

    place = require_place(session.resolve(did), cosigned_within=timedelta(minutes=10))

The answer is the service's word for both. The proof of it is a file of `identity ledger prove`, which `identity ledger verify --policy`
holds to the keys of the log and of its witnesses.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from identity_codec import times


class PlaceUnknown(Exception):
    """The answer does not meet the demands. The text is one line."""


class LogPlace(Struct, frozen=True):
    """``index`` is the place of the entry in the log, from 0; a log of ``tree_size`` entries holds it, of which a quorum of the
    witnesses had cosigned a checkpoint at ``cosigned_at`` (None: not known)."""

    index: int
    tree_size: int
    cosigned_at: datetime | None


def require_place(resolution: Mapping[str, Any], *, cosigned_within: timedelta | None = None) -> LogPlace:
    """Return the place of the version that ``resolution``, an answer of resolveDid, shows.

    With ``cosigned_within`` witnesses have cosigned it, and not longer than that before or after the time that the version gives for
    itself: one that is dated back, or ahead, has no cosignature of its time. Raises ``PlaceUnknown``.
    """
    try:
        metadata = resolution["didDocumentMetadata"]
        said = metadata.get("ledger")
        if said is None:
            raise PlaceUnknown("the version stands in no ledger, or is not written yet")
        index, size, at = said["index"], said["treeSize"], said.get("cosignedAt")
        place = LogPlace(index, size, None if at is None else times.parse(at))
        # A first version of W3C's form has no time of its own but that of its creation.
        made = times.parse(metadata.get("updated") or metadata["created"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PlaceUnknown("the answer is not a resolution of a DID") from error
    if type(index) is not int or type(size) is not int or not 0 <= index < size:
        raise PlaceUnknown("the place in the ledger is malformed")
    if cosigned_within is None:
        return place
    if place.cosigned_at is None:
        raise PlaceUnknown("no quorum of witnesses has cosigned the version")
    if abs(place.cosigned_at - made) > cosigned_within:
        apart = abs(place.cosigned_at - made) // timedelta(seconds=1)
        raise PlaceUnknown(f"the version and its first cosignature are {apart} seconds apart")
    return place
