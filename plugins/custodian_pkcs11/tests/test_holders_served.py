"""A service whose issuers' keys are sealed and whose holders' secrets follow from a token: what it proves, and what it says
without the token's key."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from identity_custodian_pkcs11 import master
from identity_custodian_pkcs11.module import loaded
from pkcs11 import Attribute, ObjectClass

from tests import servers
from tests.attack.conftest import Target
from tests.attack.delegated.scene import People, Scene
from tests.fault.service_process import Running, service
from tests.softhsm import PIN, SoftHsm

AGE = {"attributeName": "age", "type": "gte", "value": 18}


@pytest.fixture
def environment(softhsm: SoftHsm, tmp_path: Path) -> Mapping[str, str]:
    return {
        "IDENTITY_CUSTODIAN_HOLDERS": "pkcs11",
        "IDENTITY_PLUGINS_PKCS11_MODULE": str(softhsm.module),
        "IDENTITY_PLUGINS_PKCS11_TOKEN": softhsm.new_token(),
        "IDENTITY_PLUGINS_PKCS11_PIN": PIN,
    }


def target(running: Running, folder: Path) -> Target:
    return Target(running.wire, running.stranger, folder, 1)


def doctor(environment: Mapping[str, str], folder: Path) -> list[dict[str, Any]]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
    done = servers.run("doctor", "--data-dir", folder, "--json", environment={**inherited, **environment})
    return [one for one in json.loads(done.stdout)["findings"] if one["check"] == "holders"]


def lose(environment: Mapping[str, str]) -> None:
    """The token is made anew: what holders' secrets follow from is gone."""
    module = loaded(Path(environment["IDENTITY_PLUGINS_PKCS11_MODULE"]))
    module.restart()
    (token,) = module.tokens(environment["IDENTITY_PLUGINS_PKCS11_TOKEN"])
    session = token.open(rw=True, user_pin=PIN)
    wanted = {Attribute.CLASS: ObjectClass.SECRET_KEY, Attribute.LABEL: master.LABEL}
    for one in list(session.get_objects(wanted)):
        one.destroy()
    session.close()


def test_secrets_follow_from_the_token_and_their_loss_is_told(environment: Mapping[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with service(folder, environment=environment) as running:
        people = People.create(target(running, folder))
        bound = people.issue(people.hana, suite=2)
        scene = Scene.create(people)
        answer = scene.ask(scene.body(credentialId=bound, predicate=AGE))
        assert answer.status == 201, answer.body
        sent = {"proof": answer.json["proof"]["proof"], "requires": ["holder"]}
        verdict = running.wire.call("POST", "/api/v1/zkp/proofs/verify", sent).json
        assert verdict["verified"], verdict["checks"]
        assert [one["state"] for one in doctor(environment, folder)] == ["ok"]
        lose(environment)
        refused = scene.ask(scene.body(credentialId=bound, predicate=AGE))
        assert refused.outcome == (503, "PLUGIN_UNAVAILABLE")
        assert "issue another" in refused.json["error"]["details"]["remedy"]
        # Another credential makes the token begin anew: what was bound before stays lost, and is told apart.
        fresh = people.issue(people.hana, suite=2)
        assert scene.ask(scene.body(credentialId=fresh, predicate=AGE)).status == 201
        again = scene.ask(scene.body(credentialId=bound, predicate=AGE))
        assert again.outcome == (503, "PLUGIN_UNAVAILABLE")
        assert "issue another" in again.json["error"]["details"]["remedy"]
        (told,) = doctor(environment, folder)
        assert told["state"] == "fail"
        assert bound in told["says"]
        assert fresh not in told["says"]
