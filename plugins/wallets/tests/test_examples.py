"""The examples of the document are answers of this code."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from identity_wallets.domain.grants import Stage, WalletGrants
from identity_wallets.handlers import credential_offer
from identity_wallets.use_cases.offer import WalletOffer

from identity_codec.structs import plain
from openapi.story import ORIGIN, START, dice
from openapi.write_credential_examples import CredentialTelling

WRITTEN = yaml.safe_load((Path(__file__).parents[1] / "openapi" / "examples.yaml").read_text("utf-8"))


@pytest.mark.parametrize(("name", "with_code"), [("plain", False), ("withCode", True)])
def test_offer_of_the_examples_is_that_of_the_code(name: str, with_code: bool) -> None:
    credential = CredentialTelling().issued().credential
    grants = WalletGrants(bytes(32), dice("offer"))
    grant = grants.offer(credential.id, START, with_transaction_code=with_code)
    made = WalletOffer(grant, credential.schema.id, grants.seal(Stage.CODE, grant))
    shown = plain(credential_offer(made, ORIGIN)) | {"expiresAt": "2026-01-05T09:10:00Z"}
    assert WRITTEN["createCredentialOffer"]["201"][name] == shown
