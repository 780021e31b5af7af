"""The library without the service, and the rules without the HTTP client."""

from __future__ import annotations

import subprocess
import sys

import pytest

import identity_client

LIBRARY = """
import importlib, pkgutil, sys
sys.modules["identity_core"] = None
import identity_client
for module in pkgutil.iter_modules(identity_client.__path__, "identity_client."):
    importlib.import_module(module.name)
for names in identity_client._NAMES.values():
    assert all(hasattr(identity_client, name) for name in names)
loaded = {name.partition(".")[0] for name in sys.modules if name.startswith("identity_")}
assert loaded == {"identity_client", "identity_codec", "identity_core"}, loaded
"""
RULES = """
import sys
from identity_client import AsyncClient, Client, Expectation, Session, Signer, hash_body, sign_token, verify
from identity_client import action, capability, challenge, data_integrity, did, ibct, possession, status_list
assert {"httpx", "asyncio", "ssl"}.isdisjoint(sys.modules), "the client's import takes less than 0.15 s of CPU time"
"""


@pytest.mark.parametrize("program", [LIBRARY, RULES], ids=["library", "rules"])
def test_library_is_imported_without_other_packages(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Verifier"):
        _ = identity_client.Verifier  # type: ignore[attr-defined]
