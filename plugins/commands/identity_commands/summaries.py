"""The lines of ``identity --help`` about the commands, which are not imported for it."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {
    "completion": "Have the shell complete commands and options.",
    "demo": "Tell the whole story against an own server, step by step.",
    "login": "Keep where a service is and a credential for it, as a profile.",
    "use": "List the profiles; choose the one that commands ask with.",
    "logout": "Forget a profile and its credential.",
    "did": "Create, resolve, update, rotate, recover, deactivate; check logs.",
    "auth": "Sign challenges; get access tokens.",
    "credential": "Credentials: schemas, issue, sign, import, show, revoke, verify.",
    "status": "Lists of revoked handles as signed files: publish them, fetch one's gap.",
    "delegation": "Delegations: create, list, show, suspend, resume, revoke.",
    "proof": "Request proofs; verify them, with or without the service; get, revoke and import stored ones.",
    "challenge": "Challenges of verifiers, which a proof answers.",
    "ibct": "Issue, sign and check the tokens by which a holder lets an agent act.",
}
