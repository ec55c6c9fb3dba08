"""The host's state of the moment, from small trees and, once, from the machine the test runs on."""

from pathlib import Path

from ctk.facts import Unknown
from ctk.facts.conditions import StuckProcess
from ctk.facts.driver import DriverPackage
from ctk.host.conditions import collect_conditions, parse_denials, parse_state
from ctk.host.driver_packages import collect_packages, parse_dpkg_status, parse_rpm_list
from ctk.host.local import LocalHost
from tests.unit.host.trees import Link, plant

DENIAL = (
    'type=AVC msg=audit(1): avc:  denied  { read write } for  pid=9 comm="nvidia-smi" name="nvidiactl" '
    "scontext=system_u:system_r:container_t:s0 tcontext=system_u:object_r:xserver_misc_device_t:s0 tclass=chr_file"
)
STATUS = """Package: nvidia-driver-570
Status: install ok installed
Version: 570.144-0ubuntu1

Package: nvidia-driver-535
Status: deinstall ok config-files
Version: 535.1

Package: nvidia-container-toolkit
Status: install ok installed
Version: 1.17.4-1
"""


def stat_files(pid: int, name: str, state: str) -> dict[str, str]:
    return {f"/proc/{pid}/stat": f"{pid} ({name}) {state} 1 1\n", f"/proc/{pid}/wchan": "0"}


def test_only_processes_of_the_driver_count(tmp_path: Path) -> None:
    files = {
        **stat_files(1, "init", "S"),
        **stat_files(7, "nvidia-smi", "D"),
        **stat_files(8, "jbd2/sda1 (x)", "D"),
        **stat_files(9, "python", "D"),
        "/proc/7/wchan": "nv_open",
        "/proc/9/fd/5": Link("/dev/nvidia0"),
        "/proc/9/fd/6": Link("/tmp/x"),
    }
    assert collect_conditions(plant(tmp_path, files)).stuck == (
        StuckProcess(7, "nvidia-smi", "nv_open", False),
        StuckProcess(9, "python", "", True),
    )
    assert parse_state("8 (a) b) R 1") == ("a) b", "R")
    assert parse_state("") == ("", "")


def test_selinux_and_its_denials(tmp_path: Path) -> None:
    files = {
        "/sys/fs/selinux/enforce": "1",
        "/sys/fs/selinux/booleans/container_use_devices": "0 1",
        "/var/log/audit/audit.log": f"type=OTHER\n{DENIAL}\n",
    }
    conditions = collect_conditions(plant(tmp_path, files))
    assert (conditions.selinux, conditions.selinux_devices, conditions.denials) == ("enforcing", False, (DENIAL,))
    assert conditions.file_systems == Unknown("only a running host tells")
    assert len(parse_denials(f"{DENIAL}\n" * 9)) == 5


def test_host_without_any_of_it(tmp_path: Path) -> None:
    conditions = collect_conditions(plant(tmp_path, {"/x": ""}))
    assert (conditions.stuck, conditions.selinux, conditions.denials) == (Unknown("no /proc"), None, None)


def test_disks_of_the_running_host() -> None:
    systems = collect_conditions(LocalHost()).file_systems
    assert isinstance(systems, tuple)
    assert systems[0].path == "/"
    assert systems[0].size_bytes >= systems[0].free_bytes >= 0


def test_packages_of_both_managers(tmp_path: Path) -> None:
    host = plant(tmp_path / "debian", {"/var/lib/dpkg/status": STATUS})
    assert collect_packages(host) == (DriverPackage("nvidia-driver-570", "570.144-0ubuntu1", "/var/lib/dpkg/status"),)
    assert parse_dpkg_status("") == ()
    assert collect_packages(plant(tmp_path / "rpm", {"/var/lib/rpm/rpmdb.sqlite": ""})) == Unknown("not run: --root")
    assert collect_packages(plant(tmp_path / "none", {"/x": ""})) == ()
    assert parse_rpm_list("kmod-nvidia-open-dkms 570.144\nbash 5\n\n") == (
        DriverPackage("kmod-nvidia-open-dkms", "570.144", "rpm"),
    )


def test_a_tree_has_no_labels_of_its_host(tmp_path: Path) -> None:
    assert collect_conditions(plant(tmp_path, {"/dev/nvidiactl": ""})).device_label is None
