"""An issuer's back office: defines a schema, issues, finds, suspends and revokes credentials.

python examples/run.py issuer_back_office
"""

from __future__ import annotations

import os
from urllib.parse import quote

from plain_http import Json, Service

PERSON: Json = {
    "attributes": [
        {"name": "age", "type": "integer", "minimum": 0, "maximum": 150},
        {"name": "country", "type": "string"},
    ]
}


class BackOffice:
    """The credentials of one issuer."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.issuer_did = service.create_issuer()
        self.schema_id = service.call("POST", "/credential-schemas", PERSON)["id"]

    def issue(self, holder_did: str, **attributes: object) -> str:
        """Issue a credential and return its id."""
        parties = {"issuerDid": self.issuer_did, "holderDid": holder_did, "schemaId": self.schema_id}
        issued = self.service.call("POST", "/credentials", parties | {"attributes": attributes})
        credential_id: str = issued["id"]
        return credential_id

    def set_status(self, credential_id: str, purpose: str, value: bool) -> None:
        """Suspend (``suspension``), resume, or revoke (``revocation``) a credential. A revocation is final."""
        path = f"/credentials/{quote(credential_id, safe='')}/status"
        self.service.call("POST", path, {"purpose": purpose, "value": value})

    def list(self, status: str) -> list[str]:
        """Return the ids of the credentials with this status, from every page."""
        found: list[str] = []
        cursor = ""
        while True:
            query = f"?issuerDid={quote(self.issuer_did)}&status={status}{cursor}"
            page = self.service.call("GET", f"/credentials{query}")
            found += [one["id"] for one in page["items"]]
            if not page.get("nextCursor"):
                return found
            cursor = f"&cursor={quote(page['nextCursor'])}"


def main() -> None:
    """Issue three credentials, suspend one and revoke another."""
    service = Service(os.environ["IDENTITY_URL"], os.environ["IDENTITY_API_KEY"])
    office = BackOffice(service)
    holder = service.create_did()
    first, second, third = (office.issue(holder.did, age=age, country="CH") for age in (17, 24, 61))
    office.set_status(first, "revocation", True)
    office.set_status(second, "suspension", True)
    office.set_status(second, "suspension", False)
    office.set_status(third, "suspension", True)
    for status in ("active", "suspended", "revoked"):
        print(status, *office.list(status))


if __name__ == "__main__":
    main()
