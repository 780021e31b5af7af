"""A change of a schema that the code does not follow is an error of types.

Every member of every type of ``identity_core.wire`` is given another name in a copy of the stub, and mypy reads the handlers, the use
cases, the rules and what joins them with that copy: it has to report each member by the name that the code still uses. Of a record
whose own member was renamed mypy knows nothing any more, so a member that was not reported is renamed once more alone with those like
it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api")

ROOT = Path(__file__).resolve().parents[2]
STUB = ROOT / "identity_core" / "wire.pyi"
# Each package that reads requests or makes answers is named: mypy reports nothing of a module that it only follows into a folder of
# ``sys.path``, and a process of pytest-xdist has the checkout there.
READ = (
    *("identity_core/api", "identity_core/domain", "identity_core/use_cases", "identity_core/bootstrap"),
    # Members of the kernel's schemas that only this extension fulfils.
    "plugins/bound_credentials/identity_bound_credentials/use_cases",
)

REPORTS = (
    re.compile(r'"(?P<record>\w+)"(?: of "[^"]+")? has no attribute "(?P<member>\w+)"'),
    re.compile(r'Unexpected keyword argument "(?P<member>\w+)" for "(?P<record>\w+)"'),
)

# JSON that is signed, hashed or stored as it is has one form, which the rules of the domain read and write: a type beside it would
# be a second one. What is shown of it is checked against the type while the service runs (``identity_codec.structs.convert``).
ONE_FORM = {
    "IBCT": "the holder signs its bytes; identity_client/capability.py reads them",
    "HolderProof": "the holder signs the request; domain/delegations/delegation.py reads it",
    "StatusListCredential": "the service signs its bytes; domain/credentials/status_list.py writes them",
    "StatusList": "a part of StatusListCredential",
    "StatusListProof": "a part of StatusListCredential",
    "Service": "a part of the DID document, whose bytes are hashed; domain/dids/document.py",
    "VerificationMethod": "a part of the DID document",
    "UpdateDidRequest": "the author signs it, and strict evidence keeps it; domain/dids/requests.py reads it",
    "UpdateOperation": "a part of UpdateDidRequest",
    "WitnessListToSet": "a part of UpdateDidRequest",
    "ServiceInput": "a part of UpdateDidRequest",
    "CredentialAttribute": "stored as it is; domain/credentials/credential_schema.py",
    "CredentialStatusEntry": "compared with the credential's; domain/credentials/status_list.py",
}


def members() -> Iterator[tuple[str, str]]:
    """Record and member, of each that the stub has."""
    record = ""
    for line in STUB.read_text("utf-8").splitlines():
        if found := re.match(r"class (\w+)\(", line):
            record = found[1]
        elif found := re.match(r"    (\w+): ", line):
            yield record, found[1]


def renamed(names: set[tuple[str, str]]) -> str:
    """The stub, in which these members have other names."""
    lines, record = [], ""
    for line in STUB.read_text("utf-8").splitlines():
        if found := re.match(r"class (\w+)\(", line):
            record = found[1]
        elif (found := re.match(r"    (\w+): ", line)) and (record, found[1]) in names:
            line = f"    {found[1]}_renamed: {line[found.end() :]}"
        lines.append(line)
    return "\n".join(lines)


def reported(names: set[tuple[str, str]], folder: Path) -> set[tuple[str, str]]:
    """Those of these members of which mypy says that they are not there when they are renamed."""
    shadow = folder / "wire.pyi"
    shadow.write_text(renamed(names), encoding="utf-8")
    options = ["--config-file", f"{ROOT}/pyproject.toml", "--cache-dir", f"{folder}/cache", "--no-error-summary"]
    said, refused, _ = api.run([*options, "--shadow-file", str(STUB), str(shadow), *(f"{ROOT}/{one}" for one in READ)])
    assert not refused
    found = (report.search(line) for line in said.splitlines() for report in REPORTS)
    return {(each["record"], each["member"]) for each in found if each is not None} & names


def test_a_member_that_changes_is_an_error_of_types(
    types: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    shutil.copytree(types / "cache", tmp_path / "cache")
    unseen = set(members())
    while any(record not in ONE_FORM for record, _ in unseen) and (seen := reported(unseen, tmp_path)):
        unseen -= seen
    assert {each for each in unseen if each[0] not in ONE_FORM} == set()
    assert {record for record, _ in unseen} == ONE_FORM.keys(), "an exception that is none any more"
