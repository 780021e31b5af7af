"""Writes the examples of this extension: tokens of Hana's DID and of an API key that acts for it, and the keys that verify them.

python -m plugins.oauth.openapi.write_examples            writes examples.yaml
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from identity_oauth.domain import tokens as token
from identity_oauth.domain.tokens import AccessToken
from identity_oauth.use_cases.token_keys import VerificationKey

from identity_codec import ed25519, multibase
from identity_core.domain.callers import scope_text
from identity_core.domain.dids import keys
from identity_core.domain.dids.keys import Key
from openapi.did_examples import Telling
from openapi.story import ORIGIN, START, Json, Story, dice
from openapi.write_examples import write

COMMAND: Final = "plugins.oauth.openapi.write_examples"


def tokens(story: Story, primary: Key) -> Json:
    """A token of the DID, which its ``primary`` key signed for, and one of an API key that acts for it; the keys that verify them."""
    random = dice("tokens")
    signer, following = keys.generate("Ed25519", random), keys.generate("Ed25519", random)
    known = [VerificationKey.of_multikey(each.public) for each in (signer, following)]
    client, at = "key:key_3q2-7wAAAAAAAAAA", START + timedelta(days=1)

    def issue(subject: str, client: str, key: str, scopes: frozenset[str] | None, identifier: str) -> Json:
        said = AccessToken(subject, client, key, scopes, identifier, at, at + timedelta(minutes=10))
        text = said.signing_input(ORIGIN, known[0].kid)
        signature = ed25519.sign(signer.secret_raw, text.encode())
        issued = f"{text}.{multibase.base64url_encode(signature)}"
        answer: Json = {"access_token": issued, "token_type": "Bearer", "expires_in": 600}
        return answer if scopes is None else answer | {"scope": scope_text(scopes)}

    first, second = (multibase.base64url_encode(random(16)) for _ in range(2))
    sealed = token.seal_key(random(32), random(32).hex(), second, random=random)
    scope = frozenset({"dids:operate", "zkp:prove"})
    wish = {"grant_type": "client_credentials", "scope": scope_text(scope), "subject": story.did}
    own = issue(story.did, story.did, primary.public, None, first)
    acting = issue(story.did, client, sealed, scope, second)
    return {
        "issueToken": {
            "request": {"forMyself": {}, "forADid": wish},
            "200": {"forMyself": own, "forADid": acting},
        },
        "getJwks": {"200": {"currentAndNext": {"keys": [dict(key.jwk) for key in known]}}},
    }


def tell() -> Json:
    """Return operationId → examples."""
    telling = Telling()
    telling.tell()
    return tokens(telling.story, telling.primary)


if __name__ == "__main__":
    write("oauth", tell(), COMMAND)
