"""The lines of ``identity --help`` about the commands, which are not imported for it."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {
    "status-list": "Credentials and proofs | Publish and fetch revocation lists.",
    "completion": "Account | Set up the shell's completion of commands and options.",
    "demo": "Start | Run the whole story against a service of its own, step by step.",
    "login": "Account | Store a service's URL and a credential for it, as a profile.",
    "use": "Account | List the profiles, or choose the one that commands use.",
    "logout": "Account | Delete a profile and its credential.",
    "did": "Identifiers | Create, resolve, update, rotate, recover and deactivate DIDs; verify logs.",
    "auth": "Account | Sign challenges; get access tokens.",
    "credential": "Credentials and proofs | Register schemas; issue, sign, import, show, revoke and verify credentials.",
    "status": "Start | Show version, readiness and extensions of a service.",
    "delegation": "Credentials and proofs | Create, list, show, suspend, resume and revoke delegations.",
    "proof": "Credentials and proofs | Request, verify, show, revoke and import proofs.",
    "challenge": "Credentials and proofs | Make a challenge of a verifier, which a proof answers.",
    "ibct": "Credentials and proofs | Issue, sign and check the tokens by which a holder lets an agent act.",
}
