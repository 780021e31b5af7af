"""Which format verifies what a VCALM client sends, and what becomes of what it tells."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from identity_vcalm.verify import CredentialFindings, VerifyVcalmCredential
from identity_verification.domain.checks import CheckCode, wrong

from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.errors import InvalidCredential, PluginUnavailable, ProofInvalid
from identity_core.ports.credentials import CopyStatus, UnknownCopyStatus
from identity_core.ports.securing import Disclosed, KeyBinding, Secured, SecuredHead

NOW = datetime(2026, 1, 5, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
VC = "https://www.w3.org/ns/credentials/v2"
ENVELOPED = {"type": "EnvelopedVerifiableCredential", "id": "data:application/toy+text,abc,def"}


class ToyText:
    name = "toy+text"

    def __init__(self, head: SecuredHead, claims: dict[str, Any]) -> None:
        self.head, self.claims, self.asked = head, claims, list[tuple[Secured, str]]()
        self.error: Exception | None = None
        self.read_head = head
        self.warnings: tuple[str, ...] = ()

    async def read(self, secured: Secured) -> SecuredHead:
        return self.read_head

    async def verify(self, secured: Secured, public_key: str, *, binding: KeyBinding | None = None) -> Disclosed:
        self.asked.append((secured, public_key))
        if self.error is not None:
            raise self.error
        return Disclosed(self.head, self.claims, warnings=self.warnings)


class Keys:
    """The issuer's document, which has one key."""

    async def multikey(self, method_id: str, now: datetime) -> Any:
        known = method_id == "did:web:issuer.example#k"
        return "zKey" if known else wrong("issuerKey", CheckCode.ISSUER_KEY_UNKNOWN)


class Statuses:
    """A list whose third credential is revoked, as the extension of wallets knows one."""

    async def __call__(self, claims: Mapping[str, Any]) -> CredentialStatus | None:
        if "status" not in claims:
            return None
        place = claims["status"]["status_list"]
        if "uri" not in place:
            raise ValueError("its status names no place of a list")
        return (CredentialStatus.ACTIVE, CredentialStatus.SUSPENDED, CredentialStatus.REVOKED)[place["idx"]]


class Clock:
    def now(self) -> datetime:
        return NOW


def toy(method: str = "did:web:issuer.example#k", **said: Any) -> ToyText:
    claims = said.pop("claims", {"name": "Hana"})
    return ToyText(SecuredHead("did:web:issuer.example", method, **said), claims)


def verify(
    securing: ToyText,
    credential: Any = ENVELOPED,
    *,
    needs_status: bool = True,
    copy_status: CopyStatus = Statuses(),  # noqa: B008
) -> CredentialFindings:
    formats: Any = {securing.name: securing}
    verify = VerifyVcalmCredential(formats, Keys(), None, copy_status, Clock())  # type: ignore[arg-type]
    return asyncio.run(verify.findings(credential, needs_status=needs_status))


def kinds(findings: CredentialFindings) -> list[str]:
    assert not findings.verified
    return [problem.title for problem in findings.problems]


def test_an_envelope_is_opened_by_its_media_type() -> None:
    securing = toy(valid_from=NOW - HOUR, valid_until=NOW + HOUR)
    findings = verify(securing)
    assert findings.verified
    assert securing.asked == [("abc,def", "zKey")]
    assert (findings.claims, findings.valid_from, findings.valid_until) == ({"name": "Hana"}, True, True)


@pytest.mark.parametrize(
    "envelope",
    [
        ENVELOPED | {"id": "data:application/other,abc"},
        ENVELOPED | {"id": "data:application/toy+text"},
        ENVELOPED | {"id": "data:text/toy+text,abc"},
        ENVELOPED | {"id": 7},
        {"id": ENVELOPED["id"]},
        ENVELOPED | {"type": ["VerifiableCredential"]},
    ],
)
def test_no_other_envelope_is_opened(envelope: Any) -> None:
    securing = toy()
    assert kinds(verify(securing, envelope)) == ["PROOF_VERIFICATION_ERROR"]
    assert securing.asked == []


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"valid_from": NOW + HOUR}, "RANGE_ERROR"),
        ({"valid_until": NOW}, "RANGE_ERROR"),
        ({"claims": {"credentialStatus": {"id": "https://x.example/1"}}}, "STATUS_RETRIEVAL_ERROR"),
        ({"claims": {"status": {"status_list": {"idx": 1}}}}, "STATUS_RETRIEVAL_ERROR"),
        ({"method": "did:web:issuer.example#other"}, "INVALID_VERIFICATION_METHOD"),
    ],
)
def test_a_good_proof_is_not_all(said: dict[str, Any], problem: str) -> None:
    assert kinds(verify(toy(**said))) == [problem]


def test_the_status_of_a_copy_is_unknown_without_wallets() -> None:
    """A service that does not look it up does not call the credential valid."""
    claims = {"status": {"status_list": {"idx": 0, "uri": "https://id.example/openid/status/" + "A" * 22}}}
    assert kinds(verify(toy(claims=claims), copy_status=UnknownCopyStatus())) == ["STATUS_RETRIEVAL_ERROR"]
    assert verify(toy(), copy_status=UnknownCopyStatus()).verified


@pytest.mark.parametrize("needs_status", [True, False])
def test_the_status_of_a_copy_of_here_is_looked_up(needs_status: bool) -> None:
    def claimed(place: int) -> CredentialFindings:
        listed = {"idx": place, "uri": "https://id.example/openid/status/" + "A" * 22}
        return verify(toy(claims={"status": {"status_list": listed}}), needs_status=needs_status)

    good = claimed(0)
    assert (good.verified, good.statuses) == (True, [True])
    for place in (1, 2):
        assert kinds(claimed(place)) == ["STATUS_VERIFICATION_ERROR"]
        assert claimed(place).statuses == [False]


def test_status_for_verifier_is_warning() -> None:
    claims = {"credentialStatus": [{"id": "https://x.example/1"}, {"id": "https://x.example/2"}]}
    findings = verify(toy(claims=claims), needs_status=False)
    assert findings.verified
    assert [one.title for one in findings.warnings] == ["STATUS_RETRIEVAL_ERROR"]
    assert findings.statuses == [False, False]
    ended = verify(toy(claims=claims, valid_until=NOW), needs_status=False)
    assert kinds(ended) == ["RANGE_ERROR"]
    assert verify(toy(), needs_status=False).warnings == []


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (InvalidCredential(details={"reason": "why"}), "PARSING_ERROR"),
        (ProofInvalid(details={"reason": "why"}), "PROOF_VERIFICATION_ERROR"),
    ],
)
def test_a_refusal_of_the_format_is_a_problem(error: Exception, problem: str) -> None:
    securing = toy()
    securing.error = error
    findings = verify(securing)
    assert kinds(findings) == [problem]
    assert findings.problems[0].detail == "why"


def test_a_format_that_cannot_be_asked_tells_nothing() -> None:
    securing = toy()
    securing.error = PluginUnavailable()
    with pytest.raises(PluginUnavailable):
        verify(securing)


def test_validity_is_that_of_the_verified_statements() -> None:
    """Before verification a format reads the holder's JSON, which may hide the end of the credential."""
    securing = toy(valid_until=NOW - HOUR)
    securing.read_head = SecuredHead("did:web:issuer.example", "did:web:issuer.example#k")
    assert kinds(verify(securing)) == ["RANGE_ERROR"]


def test_warning_of_a_format_is_passed_on() -> None:
    securing = toy()
    securing.warnings = ("a term was replaced",)
    findings = verify(securing)
    assert findings.verified
    assert [(one.title, one.detail) for one in findings.warnings] == [("MALFORMED_VALUE_ERROR", "a term was replaced")]


def test_only_verified_proof_of_a_set_is_shown() -> None:
    """The proofs of a set are independent (VC Data Integrity 1.0, "Proof Sets"). Only one of them was verified here."""
    own, other = {"cryptosuite": "toy+text", "proofValue": "z1"}, {"cryptosuite": "eddsa-rdfc-2022", "proofValue": "z2"}
    alone = verify(toy(), {"name": "Hana", "proof": own})
    assert (alone.shown, alone.warnings) == ({"name": "Hana", "proof": own}, [])
    for proofs in ([own, other], [other, own], [own, "no object"]):
        findings = verify(toy(), {"name": "Hana", "proof": proofs})
        assert findings.verified
        assert findings.shown == {"name": "Hana", "proof": own}
        assert [(one.title, one.detail) for one in findings.warnings] == [
            ("PROOF_VERIFICATION_ERROR", "unverified proofs are left out: 1")
        ]


@pytest.mark.parametrize(
    "added",
    [
        {"role": "administrator"},
        {"proof": {"cryptosuite": "toy+text"}},
        {"credentialSubject": {"id": "did:web:eve.example"}},
        {"type": ["EnvelopedVerifiableCredential", "AdministratorCredential"]},
        {"@context": [VC, {"id": "https://eve.example/terms#subject"}]},
    ],
)
def test_unsigned_member_of_an_envelope_is_refused(added: dict[str, Any]) -> None:
    securing = toy()
    assert kinds(verify(securing, ENVELOPED | added)) == ["PARSING_ERROR"]
    assert securing.asked == []


def test_envelope_of_the_data_model_is_accepted() -> None:
    assert verify(toy(), ENVELOPED | {"@context": VC}).verified
    assert verify(toy(), ENVELOPED | {"@context": [VC], "type": ["EnvelopedVerifiableCredential"]}).verified
