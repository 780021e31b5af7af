"""Rows of suite 2 that the transaction of a credential writes: the tag of its holder, and whether its handle is listed.

They are written also while the extension of suite 2 is disabled, so that its lists miss no revocation when it is enabled again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from identity_core.database import Transaction
from identity_core.errors import Conflict

_SET_LISTED = "UPDATE gap_handles SET listed = :listed WHERE credential_id = :credential_id AND listed <> :listed"
_TOUCH_LIST = """
UPDATE gap_lists SET version = version + 1
WHERE id = (SELECT list_id FROM gap_handles WHERE credential_id = :credential_id)
"""
_TAG: Final = "SELECT tag FROM holder_tags WHERE issuer = :issuer AND holder = :holder ORDER BY number DESC LIMIT 1"
# For credentials without a recorded tag, the names of the secrets are compared; a wallet's secret has no name.
_OTHERS: Final = """
SELECT 1 FROM credentials WHERE issuer = :issuer AND holder = :holder
AND (holder_secret = '' OR holder_secret <> :holder_secret) LIMIT 1
"""
_PUT_TAG: Final = """
INSERT INTO holder_tags (issuer, tag, holder, number)
SELECT :issuer, :tag, :holder, coalesce(max(number), 0) + 1 FROM holder_tags WHERE issuer = :issuer AND holder = :holder
ON CONFLICT (issuer, tag) DO UPDATE SET number = excluded.number WHERE holder_tags.holder = excluded.holder
"""
_REPLACED: Final = (
    "Make sure that the holder replaced it, and revoke what is bound to it; then send newHolderSecret: true."
)
_HANDED_ON: Final = "It was handed on or stolen: issue nothing until the holder has replaced the secret."


def check_tag(transaction: Transaction, row: Mapping[str, object]) -> int:
    """Compare the holder's ``tag`` with the one that is recorded for the issuer, and record it. Return 1 if the secret differs from the
    previous one, otherwise 0.

    ``row``: a bound credential's columns. A ``tag`` of None is unknown. ``secret_replaced`` states that another secret is accepted.
    Raises ``Conflict``: for another secret that is not accepted, and for the tag of another holder."""
    found = transaction.execute(_TAG, row).fetchone()
    known = None if found is None else bytes(found[0])
    is_other = transaction.execute(_OTHERS, row).fetchone() if known is None else known != row["tag"]
    if is_other and not row["secret_replaced"]:
        raise Conflict("The holder has credentials of this issuer on another secret.", details={"remedy": _REPLACED})
    if row["tag"] not in (None, known) and not transaction.execute(_PUT_TAG, row).rowcount:
        raise Conflict("Another holder of this issuer has this secret.", details={"remedy": _HANDED_ON})
    return int(bool(is_other))


def set_listed(transaction: Transaction, credential_id: str, *, listed: bool) -> None:
    """Add the handle of a credential to its list or remove it. Do nothing if it has no handle, or already has the state."""
    parameters = {"credential_id": credential_id, "listed": int(listed)}
    if transaction.execute(_SET_LISTED, parameters).rowcount:
        transaction.execute(_TOUCH_LIST, {"credential_id": credential_id})
