"""The input of tags, byte by byte: with another encoding the service would withhold every row of an installation.

Rows of the document index are in ``test_row_mac.py``; their states have forms with numbers (``test_index_forms.py``).
"""

from __future__ import annotations

from datetime import UTC, datetime

from identity_records.audit import ChainHead, KeyedHead, encode_cut

from identity_core.domain.callers import ApiKey
from identity_core.store.row_mac import key_octets


def test_a_key_that_an_earlier_version_tagged_stays_one() -> None:
    """A new member of a key is not put into this encoding; it needs a tag of another kind, and the old one accepted beside it."""
    key = ApiKey(
        "key_1",
        "shop",
        "ab" * 32,
        frozenset({"zkp:verify", "dids:create"}),
        frozenset({"did:x:2", "did:x:1"}),
        2.5,
        4,
        datetime(2026, 11, 22, tzinfo=UTC),
        expires_at=datetime(2026, 12, 22, tzinfo=UTC),
        lineage="key_0",
    )
    tagged = (
        f'["key_1", "shop", "{"ab" * 32}", ["dids:create", "zkp:verify"], ["did:x:1", "did:x:2"], 2.5, 4, '
        '1795305600000000, 1797897600000000, null, "key_0"]'
    )
    assert key_octets(key) == tagged.encode()


def test_a_head_and_a_cut_of_the_audit_log_stay_what_they_were() -> None:
    head = ChainHead(7, b"link")
    assert KeyedHead(head, 3).encode() == b"identity audit head v1\n7 3 link"
    assert encode_cut(head) == b"identity audit cut v1\n7 link"
