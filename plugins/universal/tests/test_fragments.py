"""Parts of documents of other methods, found by their fragment."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from identity_did_ids import foreign
from identity_universal import did_url

from identity_core.domain.dids.did import Did
from identity_core.errors import DidUrlNotFound
from tests.foreign_documents import ALLOWED, document_of, named

DID = Did.parse("did:web:a.example")
AT = datetime(2026, 1, 5, tzinfo=UTC)


@pytest.mark.parametrize("name", ALLOWED)
def test_each_part_of_a_foreign_document_is_found(name: str) -> None:
    """Also a method that stands in a relationship, and one with a relative id (DID Resolution §5.2)."""
    members = document_of(str(DID), ALLOWED[name])
    content = foreign.build_foreign_state(DID, members, AT).document.encoded
    for fragment, part in named(members).items():
        assert did_url.secondary_resource(DID, content, fragment) == part
    with pytest.raises(DidUrlNotFound):
        did_url.secondary_resource(DID, content, "absent")
