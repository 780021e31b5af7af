"""One implementation of each check: who must call it, and that nobody has another."""

from __future__ import annotations

import re
from pathlib import Path

from tests.house.test_rooms import MODULES, ROOT

# Every reader of a JWT. A new one is added here, and calls the function.
JWT_READERS = {
    "identity_core/domain/client_assertion.py": "assertions of clients (RFC 7523)",
    "identity_core/domain/tokens.py": "access tokens (RFC 9068)",
    "identity_core/domain/wallets/possession.py": "key proofs of wallets (OpenID4VCI 1.0)",
    "plugins/securing_sd_jwt/identity_securing_sd_jwt/presented.py": "SD-JWTs and their key bindings (RFC 9901)",
}
# They open a token for one of the readers above.
OPENERS = {
    "identity_core/use_cases/auth/client_assertions.py",
    "identity_core/use_cases/auth/tokens.py",
}
# Every reader of a Data Integrity proof.
PROOF_READERS = {
    "identity_core/domain/credentials/presentation.py": "presentations of VCALM",
    "identity_core/domain/delegations/ibct.py": "proofs of holders under a delegation",
    "identity_core/domain/dids/log/entry.py": "entries of logs and approvals of witnesses",
    "plugins/securing_bbs2023/identity_securing_bbs2023/credentials.py": "credentials of bbs-2023",
}
# They read proofs of this service's own suites, whose members are fixed, or choose a reader by the suite.
OTHER_PROOFS = {
    "identity_core/domain/credentials/bound_credential.py",
    "identity_core/domain/credentials/verifiable_credential.py",
    "identity_core/use_cases/vcalm.py",
}
OPENS = re.compile(r"\b(?:CompactJws|Envelope)\.open\(")
READS_SUITE = re.compile(r"""(?:\.get\(|\[)["']cryptosuite["'][)\]]""")
READS_TIMES = re.compile(r"""claims(?:\.get\(|\[)["'](?:exp|nbf|iat)["']""")


def sources() -> dict[str, str]:
    return {str(Path(path).relative_to(ROOT)): path.read_text() for path in MODULES}


def test_every_reader_of_a_jwt_checks_its_claims_in_one_place() -> None:
    found = sources()
    assert [name for name in JWT_READERS if "check_claims(" not in found[name]] == []
    opening = {name for name, text in found.items() if OPENS.search(text)}
    assert opening - JWT_READERS.keys() - OPENERS == set()


def test_no_reader_reads_the_times_of_a_jwt_itself() -> None:
    assert [name for name, text in sources().items() if READS_TIMES.search(text)] == []


def test_every_reader_of_a_data_integrity_proof_checks_its_options_in_one_place() -> None:
    found = sources()
    assert [name for name in PROOF_READERS if "check_proof_options(" not in found[name]] == []
    reading = {name for name, text in found.items() if READS_SUITE.search(text)}
    assert reading - PROOF_READERS.keys() - OTHER_PROOFS == set()
