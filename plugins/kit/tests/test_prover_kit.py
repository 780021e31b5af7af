"""The prover kit must fail provers that are broken on purpose, each where its fault lies."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from itertools import product

import pytest
from _pytest.outcomes import Failed, Skipped
from identity_kit.conformance.prover import ProverConformance, statement
from identity_kit.conformance.prover_cases import BbsIssuer, context

from identity_codec import jcs, strict_json
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.values import replace
from identity_core.domain.proofs.predicate import check_satisfied, normalise
from identity_core.domain.proofs.proof import public_signals
from identity_core.errors import PredicateNotSatisfied, ProofInvalid
from tests.transparent_prover import TransparentProver


class TestTransparentProver(ProverConformance):
    @pytest.fixture
    def prover(self):
        return TransparentProver()


def rewritten(made, change):
    """The proof with its body changed and everything else left as it is."""
    body = strict_json.loads(base64url_decode(made.proof))
    change(body)
    return replace(made, proof=base64url_encode(jcs.canonicalize(body)))


class Loose(TransparentProver):
    """Takes bodies with a member ``extra``; what it does with it is its fault."""

    def _extra(self, statement, witness):
        raise NotImplementedError

    def prove(self, statement, witness, *, context):
        made = super().prove(statement, witness, context=context)
        return rewritten(made, lambda body: body.update(extra=self._extra(statement, witness)))

    def _strip(self, text):
        body = strict_json.loads(base64url_decode(text))
        extra = body.pop("extra")
        if base64url_encode(jcs.canonicalize({**body, "extra": extra})) != text:
            raise ProofInvalid
        return base64url_encode(jcs.canonicalize(body)), extra

    def _read(self, text):
        try:
            return super()._read(self._strip(text)[0])
        except (ValueError, KeyError, AttributeError, TypeError):
            raise ProofInvalid from None

    def verify(self, statement, proof, *, context, now):
        try:
            stripped, _ = self._strip(proof.proof)
        except (ValueError, KeyError, AttributeError, TypeError):
            raise ProofInvalid from None
        inner = TransparentProver(self._key)
        inner.verify(statement, replace(proof, proof=stripped), context=context, now=now)


class LeaksTheWitness(Loose):
    def _extra(self, statement, witness):
        return base64url_encode(repr(sorted(witness.attributes.items())).encode())


class LeaksTheScalar(Loose):
    def _extra(self, statement, witness):
        value = statement.schema.attribute("balance").read(witness.attributes["balance"])
        return base64url_encode(b"...." + value.scalar.to_bytes(32, "big"))


class ShowsTheSignature(Loose):
    def _extra(self, statement, witness):
        return base64url_encode(witness.signature)


class MarksItsHolder(Loose):
    def _extra(self, statement, witness):
        return base64url_encode(TransparentProver(b"mark")._mac(statement, context(), witness.signature))


class TellsBySize(Loose):
    def _extra(self, statement, witness):
        return "." * (abs(witness.attributes["balance"]) % 97)


class AcceptsAFlippedBit(Loose):
    def _extra(self, statement, witness):
        return "A" * 500


class IgnoresTheContext(TransparentProver):
    def verify(self, statement, proof, *, context, now):
        said = self.read(proof.proof).context
        signals = public_signals(self.suite, statement, said)
        super().verify(statement, replace(proof, public_signals=signals), context=said, now=now)


class IgnoresTheAgent(TransparentProver):
    def _body(self, statement, context):
        return super()._body(statement, replace(context, agent=None))

    def verify(self, statement, proof, *, context, now):
        super().verify(statement, proof, context=replace(context, agent=None), now=now)


class IgnoresTheClock(TransparentProver):
    def verify(self, statement, proof, *, context, now):
        super().verify(statement, proof, context=context, now=context.issued_at)


class LinksToAnotherAttribute(TransparentProver):
    """The proof does not say which attribute its bound is about."""

    def verify(self, statement, proof, *, context, now):
        said = self.read(proof.proof)
        pairs = zip(said.predicates, statement.predicates, strict=False)
        if len(said.predicates) != len(statement.predicates) or any(
            (mine.type, mine.value) != (yours.type, yours.value) for mine, yours in pairs
        ):
            raise ProofInvalid
        of = replace(statement, predicates=said.predicates)
        signals = public_signals(self.suite, of, context)
        super().verify(of, replace(proof, public_signals=signals), context=context, now=now)


class TakesTheStatementFromTheProof(TransparentProver):
    def verify(self, statement, proof, *, context, now):
        of = self.read(proof.proof).statement(statement.issuer.public_key)
        super().verify(
            of, replace(proof, public_signals=public_signals(self.suite, of, context)), context=context, now=now
        )


class TakesAnyKey(TransparentProver):
    def _mac(self, statement, context, salt):
        issuer = replace(statement.issuer, public_key=b"")
        return super()._mac(replace(statement, issuer=issuer), context, salt)


class ProvesWhatIsFalse(TransparentProver):
    def _check(self, statement, witness):
        normalise(statement.schema, statement.predicates)


class TrustsTheWitness(TransparentProver):
    def _check(self, statement, witness):
        goals = normalise(statement.schema, statement.predicates)
        check_satisfied(goals, statement.schema.messages(witness.attributes))


class SaysWhy(TransparentProver):
    def _check(self, statement, witness):
        try:
            super()._check(statement, witness)
        except PredicateNotSatisfied:
            raise PredicateNotSatisfied(details={"value": str(witness.attributes["balance"])}) from None


class LogsTheValue(TransparentProver):
    def _check(self, statement, witness):
        logging.getLogger("broken").warning("proving about %s", witness.attributes["balance"])
        super()._check(statement, witness)


class ForgetsTheSignals(TransparentProver):
    def verify(self, statement, proof, *, context, now):
        signals = public_signals(self.suite, statement, context)
        super().verify(statement, replace(proof, public_signals=signals), context=context, now=now)


class FailsOnJunk(TransparentProver):
    def read(self, proof):
        strict_json.loads(base64url_decode(proof))
        return super().read(proof)


class RepeatsItself(TransparentProver):
    """One proof for a statement and context, so that anyone who sees it twice knows the holder."""

    def prove(self, statement, witness, *, context):
        made = super().prove(statement, witness, context=context)

        def fix(body):
            salt = bytes(16)
            body.update(salt=base64url_encode(salt), mac=base64url_encode(self._mac(statement, context, salt)))

        return rewritten(made, fix)


BROKEN: dict[type[TransparentProver], set[str]] = {
    LeaksTheWitness: {"test_a_proof_tells_no_value"},
    LeaksTheScalar: {"test_a_proof_tells_no_value"},
    ShowsTheSignature: {"test_a_proof_tells_no_value"},
    MarksItsHolder: {"test_proofs_cannot_be_linked"},
    TellsBySize: {"test_proofs_cannot_be_linked"},
    AcceptsAFlippedBit: {"test_flipped_bits"},
    IgnoresTheContext: {"test_another_context"},
    IgnoresTheAgent: {"test_another_context"},
    IgnoresTheClock: {"test_time"},
    LinksToAnotherAttribute: {"test_another_statement"},
    TakesTheStatementFromTheProof: {"test_another_statement"},
    TakesAnyKey: {"test_another_issuer_or_schema"},
    ProvesWhatIsFalse: {"test_false_statement_is_refused"},
    TrustsTheWitness: {"test_a_witness_that_was_not_signed"},
    SaysWhy: {"test_false_statement_is_refused"},
    LogsTheValue: {"test_a_proof_tells_no_value"},
    ForgetsTheSignals: {"test_flipped_signals"},
    FailsOnJunk: {"test_junk"},
    RepeatsItself: {"test_proofs_cannot_be_linked"},
}


def failures(make: Callable[[], TransparentProver], caplog: pytest.LogCaptureFixture) -> set[str]:
    """The kit's tests that fail this prover."""
    kit, issuer = ProverConformance(), BbsIssuer()
    asked = statement(issuer.key, ("balance", "gte", 5), ("country", "set_member", ["DE", "JP"]))
    failed = set()
    for name, test in inspect.getmembers(kit, inspect.ismethod):
        if not name.startswith("test_"):
            continue
        for arguments in _parameters(test):
            prover = make()
            values = {"prover": prover, "issuer": issuer, "asked": asked, "caplog": caplog, **arguments}
            caplog.clear()
            try:
                if "proof" in inspect.signature(test).parameters:
                    values["proof"] = kit.proof.__wrapped__(kit, prover, issuer, asked)
                test(**{key: values[key] for key in inspect.signature(test).parameters})
            except Skipped:
                continue
            except (Exception, Failed):
                failed.add(name)
    return failed


def _parameters(test):
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    rows = [[(mark.args[0], value) for value in mark.args[1]] for mark in marks]
    return [dict(row) for row in product(*rows)]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_the_kit_fails_it(broken, caplog):
    assert BROKEN[broken] <= failures(broken, caplog)


def test_the_kit_passes_the_sound_one(caplog):
    assert failures(TransparentProver, caplog) == set()
