"""The deployment files say what they promise, and every command in them is one that there is."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from gossamer.cli.main import make_app
from gossamer.config import load

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
Tree = dict[str, Any]

OURS = ("crawl", "frontier", "worker")
GRACE_S = 60


def understood(words: list[str]) -> None:
    """Parse a command line as `gossamer` does; raises if it makes no sense."""
    make_app().parse_args(words, exit_on_error=False, print_error=False)


@pytest.mark.parametrize("file", sorted(DEPLOY.rglob("*.yaml")), ids=lambda file: file.name)
def test_every_yaml_file_is_whole(file: Path) -> None:
    assert all(yaml.safe_load_all(file.read_text(encoding="utf-8")))


def test_no_manifest_names_a_namespace_and_none_is_forgotten(manifests: list[Tree]) -> None:
    assert all(one["apiVersion"] and one["kind"] and one["metadata"]["name"] for one in manifests)
    assert [one for one in manifests if "namespace" in one["metadata"]] == []
    (kustomization,) = [one for one in manifests if one["kind"] == "Kustomization"]
    files = {file.name for file in (DEPLOY / "kubernetes").glob("*.yaml")}
    # The seeds are added by hand, when everything else runs.
    assert set(kustomization["resources"]) == files - {"kustomization.yaml", "crawl.yaml"}


@pytest.mark.parametrize("role", OURS)
def test_the_commands_of_compose_are_understood(compose: Tree, role: str) -> None:
    service = compose["services"][role]
    understood(service["command"])
    assert service["command"][0] == role
    if role != "crawl":
        kind, program, *words = service["healthcheck"]["test"]
        assert (kind, program) == ("CMD", "gossamer")
        understood(words)


@pytest.mark.parametrize("role", OURS)
def test_the_commands_of_kubernetes_are_understood(pods: dict[str, Tree], role: str) -> None:
    (container,) = pods[f"gossamer-{role}"]["containers"]
    assert "command" not in container, "the image's entry point is gossamer"
    understood(container["args"])
    assert container["args"][0] == role
    for probe in ("readinessProbe", "livenessProbe"):
        if role != "crawl":
            program, *words = container[probe]["exec"]["command"]
            assert program == "gossamer"
            understood(words)


@pytest.mark.parametrize("page", [DEPLOY / "README.md", ROOT / "docs" / "deployment.md"])
def test_the_commands_of_the_pages_are_understood(page: Path) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0] == "gossamer":
                understood(words[1:])


def test_all_work_on_the_same_crawl(pods: dict[str, Tree]) -> None:
    text = json.dumps([pods[f"gossamer-{role}"] for role in OURS])
    assert set(re.findall(r'"--name", "([^"]*)"', text)) == {"example"}


def test_the_variables_are_options(compose: Tree, pods: dict[str, Tree]) -> None:
    for role in OURS:
        given = compose["services"][role]["environment"]
        load({}, {name: text or "" for name, text in given.items()})
        pod = pods[f"gossamer-{role}"]
        (container,) = pod["containers"]
        texts = {one["name"]: one.get("value", "0123abcd") for one in container["env"]}
        secret = texts["REDIS_PASSWORD"]
        load({}, {name: text.replace("$(REDIS_PASSWORD)", secret) for name, text in texts.items()})
        assert pod["enableServiceLinks"] is False, "GOSSAMER_REDIS_PORT is no option"


def test_nobody_is_root_or_can_become_it(compose: Tree, pods: dict[str, Tree]) -> None:
    for service in compose["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    for pod in pods.values():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


def test_the_working_directory_can_be_written_to(
    compose: Tree, pods: dict[str, Tree], dockerfile: list[tuple[str, str]]
) -> None:
    assert dict(dockerfile)["WORKDIR"] == "/data"
    writable = {"/data", "/tmp"}  # noqa: S108 -- those of the containers
    for role in OURS:
        service, pod = compose["services"][role], pods[f"gossamer-{role}"]
        assert {*service["tmpfs"], *service["volumes"]} == writable
        (container,) = pod["containers"]
        assert {one["mountPath"] for one in container["volumeMounts"]} == writable


def test_who_is_started_again_and_again_is_scaled_down_by_name(manifests: list[Tree]) -> None:
    page = (DEPLOY / "README.md").read_text(encoding="utf-8")
    (scaled,) = re.findall("kubectl scale deployment (.*) --replicas 0", page)
    deployments = {one["metadata"]["name"] for one in manifests if one["kind"] == "Deployment"}
    assert set(scaled.split()) == deployments
    (job,) = [one["metadata"]["name"] for one in manifests if one["kind"] == "Job"]
    assert f"job/{job}\n" in page
    again = "-f deploy/kubernetes/crawl.yaml"
    assert re.search(f"kubectl delete .*{again}\nkubectl apply {again}", page)


def test_there_is_time_to_finish(compose: Tree, pods: dict[str, Tree]) -> None:
    assert {one["stop_grace_period"] for one in compose["services"].values()} == {f"{GRACE_S}s"}
    assert {one["terminationGracePeriodSeconds"] for one in pods.values()} == {GRACE_S}


def test_a_frontier_stands_by(manifests: list[Tree]) -> None:
    replicas = {
        one["metadata"]["name"]: one["spec"]["replicas"]
        for one in manifests
        if one["kind"] in {"Deployment", "StatefulSet"}
    }
    assert replicas["gossamer-frontier"] == 2
    assert replicas["gossamer-redis"] == 1
    assert replicas["gossamer-worker"] > 1


def test_no_password_is_written_down(pods: dict[str, Tree]) -> None:
    assert "REDIS_PASSWORD:?" in (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    reference = {"secretKeyRef": {"name": "gossamer-redis", "key": "password"}}
    for pod in pods.values():
        (container,) = pod["containers"]
        sources = {one["name"]: one.get("valueFrom") for one in container["env"]}
        assert sources["REDIS_PASSWORD"] == reference
    assert '"kind": "Secret"' not in json.dumps(pods)


def test_the_store_is_reached_from_inside_only(compose: Tree, manifests: list[Tree]) -> None:
    redis = compose["services"]["redis"]
    assert "ports" not in redis
    assert redis["networks"] == ["store"]
    assert compose["networks"]["store"] == {"internal": True}
    assert [one["kind"] for one in manifests].count("NetworkPolicy") == 1


def test_the_image_runs_gossamer_as_an_ordinary_user(dockerfile: list[tuple[str, str]]) -> None:
    last_stage = max(place for place, (word, _) in enumerate(dockerfile) if word == "FROM")
    final = dict(dockerfile[last_stage:])
    assert json.loads(final["ENTRYPOINT"]) == ["gossamer"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", final["USER"])
    assert final["STOPSIGNAL"] == "SIGTERM"
    understood(json.loads(final["CMD"]))


def test_the_image_is_built_from_files_that_reach_it(dockerfile: list[tuple[str, str]]) -> None:
    ignoring = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    sent = {line[1:] for line in ignoring if line.startswith("!")}
    copied = {
        name
        for word, words in dockerfile
        if word == "COPY" and not words.startswith("--from")
        for name in words.split()[:-1]
    }
    assert ignoring[0] == "*"
    assert copied == sent
    assert [name for name in copied if not (ROOT / name).exists()] == []
