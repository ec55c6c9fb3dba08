"""Finds NVIDIA's daemons on small hosts that are folders."""

from pathlib import Path

import pytest

from ctk.facts import Unknown
from ctk.facts.services import FABRIC_MANAGER, IMEX, MPS, CudaToolkit, FabricLogLine, Service, Services
from ctk.host.services import (
    collect_services,
    parse_cuda_version,
    parse_fabric_log,
    parse_imex_daemon,
    parse_imex_domain,
)
from tests.unit.host.trees import Link, Program, plant

UNIT = "/usr/lib/systemd/system/nvidia-fabricmanager.service"
STAT = "cpu 1\nbtime 1714550400\n"
START = " 0" * 18 + " 4000 "


def running(pid: int, *argv: str, cgroup: str = "0::/system.slice/x.service\n") -> dict[str, str]:
    name = argv[0].rpartition("/")[2]
    return {
        f"/proc/{pid}/comm": name[:15] + "\n",
        f"/proc/{pid}/cmdline": "\0".join(argv) + "\0",
        f"/proc/{pid}/stat": f"{pid} ({name[:15]}) S{START}0",
        f"/proc/{pid}/status": "Uid:\t0\t0\t0\t0\n",
        f"/proc/{pid}/cgroup": cgroup,
    }


def look(tmp_path: Path, *files: dict[str, str]) -> Services:
    everything = {"/proc/stat": STAT, **running(1, "/sbin/init", cgroup="0::/init.scope\n")}
    for more in files:
        everything.update(more)
    return collect_services(plant(tmp_path, everything))


def find(services: Services, name: str) -> Service:
    found = services.find(name)
    assert found is not None
    return found


def test_running_daemon_with_its_unit(tmp_path: Path) -> None:
    files = {
        UNIT: "[Service]\nExecStart=/usr/bin/nv-fabricmanager\n",
        "/etc/systemd/system/multi-user.target.wants/nvidia-fabricmanager.service": Link(UNIT),
        "/usr/bin/nv-fabricmanager": Program("#!/bin/sh\n"),
    }
    service = find(look(tmp_path, files, running(700, "/usr/bin/nv-fabricmanager", "-c", "x.cfg")), FABRIC_MANAGER)
    assert (service.unit, service.enabled, service.masked) == ("nvidia-fabricmanager.service", True, False)
    assert (service.running, service.pid, service.in_container) == (True, 700, False)
    assert service.binary == "/usr/bin/nv-fabricmanager"
    assert service.version == Unknown("not run: --root")
    assert service.restarts == Unknown("not run: --root")
    assert isinstance(service.running_since, str)


def test_daemon_in_a_driver_container_runs_too(tmp_path: Path) -> None:
    inside = "0::/kubepods.slice/cri-containerd-" + "ab" * 32 + ".scope\n"
    services = look(tmp_path, running(900, "nv-fabricmanager", "-c", "x.cfg", cgroup=inside))
    service = find(services, FABRIC_MANAGER)
    assert (service.running, service.in_container, service.unit, service.binary) == (True, True, None, None)


def test_what_is_not_there_is_absent_and_not_unknown(tmp_path: Path) -> None:
    services = look(tmp_path)
    for service in services.services:
        assert (service.unit, service.enabled, service.masked, service.running) == (None, False, False, False)
        assert service.binary is None
    assert (services.fabric_log, services.imex_nodes, services.imex_by_kubernetes) == (None, None, False)
    assert services.cuda_toolkits == ()


def test_masked_unit_is_not_in_force(tmp_path: Path) -> None:
    files = {UNIT: "[Service]\n", "/etc/systemd/system/nvidia-fabricmanager.service": Link("/dev/null")}
    assert find(look(tmp_path, files), FABRIC_MANAGER).masked is True


def test_server_of_mps_is_not_its_control_daemon(tmp_path: Path) -> None:
    assert find(look(tmp_path, running(5, "nvidia-cuda-mps-server")), MPS).running is False
    assert find(look(tmp_path, running(6, "nvidia-cuda-mps-control", "-d")), MPS).running is True


def test_host_without_proc_is_unknown(tmp_path: Path) -> None:
    services = collect_services(plant(tmp_path, {"/etc/hostname": "x\n"}))
    assert find(services, IMEX).running == Unknown("no /proc")


def test_fabric_log_is_where_its_configuration_says(tmp_path: Path) -> None:
    files = {
        "/usr/share/nvidia/nvswitch/fabricmanager.cfg": "# x\nLOG_LEVEL=4\nLOG_FILE_NAME=/var/log/fm.log\n",
        "/var/log/fm.log": "[Jul 09 2024 18:14:07] [ERROR] [tid 1] detected NVSwitch fatal error 20034 on fid 0\n",
    }
    services = look(tmp_path, files)
    assert services.fabric_log_path == "/var/log/fm.log"
    text = "[Jul 09 2024 18:14:07] [ERROR] [tid 1] detected NVSwitch fatal error 20034 on fid 0"
    assert services.fabric_log == (FabricLogLine(text, "2024-07-09T18:14:07Z"),)


def test_empty_log_name_means_the_journal(tmp_path: Path) -> None:
    services = look(tmp_path, {"/usr/share/nvidia/nvswitch/fabricmanager.cfg": "LOG_FILE_NAME=\n"})
    assert (services.fabric_log_path, services.fabric_log) == (None, None)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("[Jul 09 2024 18:14:07] [INFO] [tid 1] Successfully configured all the available NVSwitches\n", []),
        ("detected number of NVSwitches don't match with any supported system topology\n", [None]),
        ("[Feb 31 2024 18:14:07] fatal error occurred\n[Feb  1 2024 08:14:07] fatal error occurred\n", [None, 1]),
    ],
)
def test_only_trouble_is_kept_of_the_log(text: str, times: list[object]) -> None:
    assert [line.at is not None for line in parse_fabric_log(text)] == [time is not None for time in times]


def test_imex_addresses_are_counted_and_not_kept(tmp_path: Path) -> None:
    services = look(
        tmp_path, {"/etc/nvidia-imex/nodes_config.cfg": "# nodes\n10.0.0.1\n\n10.0.0.2\n10.0.0.1 # twice\n"}
    )
    assert (services.imex_nodes, services.imex_duplicates) == (3, 1)
    assert "10.0.0" not in repr(services)


def test_cuda_toolkits_are_folders_with_a_compiler_or_a_version(tmp_path: Path) -> None:
    files = {
        "/usr/local/cuda-12.4/version.json": '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}}',
        "/usr/local/cuda-11.8/bin/nvcc": Program("#!/bin/sh\n"),
        "/usr/local/cuda-13.0/compat/libcuda.so.580.95.05": "",
        "/usr/local/cuda": Link("cuda-12.4"),
    }
    toolkits = look(tmp_path, files).cuda_toolkits
    assert toolkits == (CudaToolkit("/usr/local/cuda-11.8", None), CudaToolkit("/usr/local/cuda-12.4", "12.4.1"))


@pytest.mark.parametrize("text", ["", "[]", '{"cuda": 5}', '{"cuda": {"version": 5}}', '{"cudart": {}}'])
def test_strange_version_file_names_no_version(text: str) -> None:
    assert parse_cuda_version(text) is None


def test_imex_is_asked_only_while_it_runs(tmp_path: Path) -> None:
    tool: dict[str, str] = {"/usr/bin/nvidia-imex-ctl": Program("#!/bin/sh\n")}
    assert look(tmp_path, tool).imex_domain is None
    services = look(tmp_path, tool, running(800, "/usr/bin/nvidia-imex", "-c", "/etc/nvidia-imex/config.cfg"))
    assert services.imex_domain == services.imex_daemon == Unknown("not run: --root")


def test_imex_without_its_tool_is_not_known(tmp_path: Path) -> None:
    assert look(tmp_path, running(800, "/usr/bin/nvidia-imex")).imex_domain == Unknown("no nvidia-imex-ctl")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('{"nodes": {"0": {"status": "READY"}}, "status": "up"}', "UP"),
        ('{"nodes": {"0": {"status": "UNAVAILABLE"}}, "status": "DEGRADED"}', "DEGRADED"),
        ('{"nodes": {"0": {"status": "READY"}}}', None),
        ("Failed to read node configuration file", None),
        ("", None),
    ],
)
def test_status_of_the_domain_is_not_that_of_a_node(text: str, status: str | None) -> None:
    assert parse_imex_domain(text) == (status or Unknown("nvidia-imex-ctl told no status"))


def test_state_of_the_daemon_is_one_word() -> None:
    assert parse_imex_daemon("READY\n") == "READY"
    assert parse_imex_daemon("Failed to connect") == Unknown("nvidia-imex-ctl told no state")


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ({"/run/nvidia-persistenced/socket": ""}, "/run/nvidia-persistenced/socket"),
        (
            {"/var/run": Link("/run"), "/run/nvidia-persistenced/socket": ""},
            "/run/nvidia-persistenced/socket",
        ),
        ({"/var/run/nvidia-persistenced/socket": ""}, "/var/run/nvidia-persistenced/socket"),
        ({}, None),
    ],
)
def test_where_the_persistence_daemon_listens(tmp_path: Path, files: dict[str, str], path: str | None) -> None:
    assert look(tmp_path, files).persistence_socket == path
