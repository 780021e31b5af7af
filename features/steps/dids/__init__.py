"""Holders and their DIDs."""

pytest_plugins = [
    "features.steps.dids.changing",
    "features.steps.dids.creating",
    "features.steps.dids.recounting",
    "features.steps.dids.recovering",
    "features.steps.dids.resolving",
    "features.steps.dids.trespassing",
]

UNKNOWN = "did:ids:QmUnknownUnknownUnknownUnknownUnknownUnknownUn"
