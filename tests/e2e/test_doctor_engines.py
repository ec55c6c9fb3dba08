"""ctk doctor beside real, running engines: what they have not taken up yet, and what keeps them from starting again."""

import json
import signal
import time
from collections.abc import Callable
from typing import Any

from ctk.engines.docker_reading import MEMBERS, MERGED_MEMBERS

from .daemons import RunningContainerd, RunningDockerd
from .engines import Engine
from .scenario import Scenario

MakeScenario = Callable[[Engine | None], Scenario]
DAEMON_JSON = "/etc/docker/daemon.json"
RUNTIMES = {"runtimes": {"nvidia": {"path": "/usr/bin/nvidia-container-runtime"}}}
TABLE = 'plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia'
TOOL = "#!/bin/sh\necho 1.17.4\n"


def judge(scenario: Scenario, *checks: str) -> dict[str, dict[str, Any]]:
    """What the doctor says of the system's engine, by check."""
    for name in ("nvidia-container-runtime", "nvidia-container-runtime-hook"):  # a trace, so that engines are judged
        path = scenario.write(f"/usr/local/bin/{name}", TOOL)
        path.chmod(0o755)
    data = scenario.ctk_json("doctor", "--no-nvml", f"--only={','.join(checks)}")["data"]
    assert isinstance(data, dict)
    return {finding["id"]: finding for finding in data["findings"] if finding["subject"] in ("docker", "containerd")}


def test_a_runtime_that_dockerd_has_not_taken_up(dockerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(dockerd)
    scenario.write(DAEMON_JSON, "{}\n")
    check = "runtime.docker.restart-needed"
    with RunningDockerd(scenario.host) as daemon:
        assert judge(scenario, check)[check]["status"] == "pass"
        scenario.write(DAEMON_JSON, json.dumps(RUNTIMES))
        pending = judge(scenario, check)[check]
        assert (pending["status"], pending["message"]) == (
            "fail",
            f"{DAEMON_JSON} is not in force, a reload is pending: runtimes",
        )
        daemon.send(signal.SIGHUP)
        time.sleep(0.5)
        assert judge(scenario, check)[check]["status"] == "pass"


def test_a_file_that_the_running_dockerd_would_not_start_with(dockerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(dockerd)
    scenario.write(DAEMON_JSON, "{}\n")
    with RunningDockerd(scenario.host):
        scenario.write(DAEMON_JSON, '{\n  "debug": true,\n}\n')
        found = judge(scenario, "runtime.docker.config-parse", "runtime.docker.running")
    assert found["runtime.docker.config-parse"]["status"] == "fail"
    assert found["runtime.docker.config-parse"]["evidence"][0]["source"] == f"{DAEMON_JSON} line 2, column 16"
    assert found["runtime.docker.running"]["status"] == "pass"


def test_a_drop_in_that_the_running_containerd_does_not_import(containerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(containerd)
    scenario.write("/etc/containerd/config.toml", 'version = 2\nimports = ["/etc/containerd/other/*.toml"]\n')
    entry = f'version = 2\n[{TABLE}]\nruntime_type = "io.containerd.runc.v2"\n'
    scenario.write("/etc/containerd/conf.d/99-nvidia.toml", entry)
    with RunningContainerd(scenario.host):
        found = judge(scenario, "runtime.containerd.*")
    assert found["runtime.containerd.imports"]["status"] == "fail"
    assert found["runtime.containerd.running"]["status"] == "pass"
    assert {one["status"] for one in found.values()} <= {"fail", "pass", "info", "skip", "unknown"}


SAMPLES: dict[str, tuple[str, object]] = {
    "add-runtime": ("a=/b", {"b": {"path": "/c"}}),
    "authorization-plugin": ("x", ["y"]),
    "cdi-spec-dir": ("/a", ["/b"]),
    "default-ulimit": ("nofile=1:2", {"nproc": {"Name": "nproc", "Soft": 1, "Hard": 2}}),
    "dns-opt": ("a", ["b"]),
    "exec-opt": ("a=b", ["c=d"]),
    "feature": ("cdi=true", {"cdi": True}),
    "host": ("unix:///a", ["unix:///b"]),
    "insecure-registry": ("a", ["b"]),
    "label": ("a=b", ["c=d"]),
    "log-opt": ("a=b", {"c": "d"}),
    "registry-mirror": ("https://a", ["https://b"]),
    "storage-opt": ("a=b", ["c=d"]),
}


def test_flags_and_members_clash_as_our_table_says(dockerd: Engine, make_scenario: MakeScenario) -> None:
    """By dockerd --validate, from 23 on; a release that does not know a flag has no word on it."""
    assert set(SAMPLES) == set(MEMBERS)
    scenario = make_scenario(dockerd)
    if "--validate" not in scenario.host.run(["dockerd", "--help"]).stdout:
        return
    clashes = set()
    for flag, (value, member) in SAMPLES.items():
        scenario.write("/srv/x.json", json.dumps({MEMBERS[flag]: member}))
        done = scenario.host.run(["dockerd", "--validate", "--config-file=/srv/x.json", f"--{flag}={value}"])
        said = done.stdout + done.stderr
        if "both as a flag and in the configuration file" in said or "unknown flag" in said:
            clashes.add(flag)
    assert clashes == {flag for flag, member in MEMBERS.items() if member not in MERGED_MEMBERS}
