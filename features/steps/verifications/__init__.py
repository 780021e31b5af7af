"""Verifiers check proofs; holders and operators see what came of it."""

pytest_plugins = [
    "features.steps.verifications.answers",
    "features.steps.verifications.audit",
    "features.steps.verifications.history",
    "features.steps.verifications.stored_proofs",
    "features.steps.verifications.timeline",
    "features.steps.verifications.verifying",
]
