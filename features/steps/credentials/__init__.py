"""Issuers say what holders are; verifiers check it."""

pytest_plugins = [
    "features.steps.credentials.issuing",
    "features.steps.credentials.reading",
    "features.steps.credentials.schemas",
    "features.steps.credentials.status",
    "features.steps.credentials.verifying",
]
