"""Packages of engines and toolkit, and whether the toolkit's files are as they were installed."""

import hashlib
from pathlib import Path

from ctk.facts import Unknown
from ctk.facts.packages import CHANGED, MISSING, Package, PackageFile, Packages
from ctk.host.driver_packages import DPKG_STATUS
from ctk.host.packages import (
    CHUNK_BYTES,
    DPKG_INFO,
    OTHER_PACKAGES,
    RPM_FORMAT,
    TOOLKIT_PACKAGES,
    collect_packages,
    parse_rpm_query,
)
from tests.conftest import AsNobody
from tests.fake_host import FakeHost
from tests.unit.host.trees import Link, Program, plant

HOOK = "/usr/bin/nvidia-container-runtime-hook"
TOOLKIT = "nvidia-container-toolkit"
CONTENT = "#!/bin/sh\n"


def stanza(name: str, version: str, status: str = "install ok installed") -> str:
    return f"Package: {name}\nStatus: {status}\nVersion: {version}\nDescription: words\n Package: inside a text\n\n"


def sums(*paths: str, content: str = CONTENT) -> str:
    digest = hashlib.md5(content.encode(), usedforsecurity=False).hexdigest()
    return "".join(f"{digest}  {path.lstrip('/')}\n" for path in paths)


def collect(tmp_path: Path, files: dict[str, str]) -> Packages:
    found = collect_packages(plant(tmp_path, {DPKG_STATUS: stanza(TOOLKIT, "1.17.8-1"), **files}))
    assert isinstance(found, Packages)
    return found


def test_installed_packages_of_interest_are_kept(tmp_path: Path) -> None:
    status = (
        stanza("bash", "5.2-1")
        + stanza("docker-ce", "5:27.5.1-1")
        + stanza("runc", "1.1.5-1", "deinstall ok config-files")
        + stanza(TOOLKIT, "1.17.8-1")
        + stanza(TOOLKIT, "1.17.8-1")
        + stanza("nvidia-docker2-tools", "1")
    )
    found = collect(tmp_path, {DPKG_STATUS: status})
    assert found.packages == (Package("docker-ce", "5:27.5.1-1"), Package(TOOLKIT, "1.17.8-1"))
    assert found.faults == ()
    assert found.find("podman", TOOLKIT) == Package(TOOLKIT, "1.17.8-1")


def test_a_long_status_file_is_read_in_parts(tmp_path: Path) -> None:
    """One stanza of interest lies across the border of two parts, one is the last."""
    filler = stanza("filler", "1.0-1" + "x" * 5000)
    status = filler * (CHUNK_BYTES // len(filler))
    assert len(status) < CHUNK_BYTES < len(status) + len(filler)
    status += stanza("containerd", "1" * (CHUNK_BYTES - len(status) + 100)) + filler * 3
    status += stanza("crun", "1.8.1-1").rstrip("\n")
    found = collect(tmp_path, {DPKG_STATUS: status})
    assert [package.name for package in found.packages] == ["containerd", "crun"]


def test_a_missing_and_a_changed_program_are_told(tmp_path: Path) -> None:
    found = collect(
        tmp_path,
        {
            f"{DPKG_INFO}/{TOOLKIT}.md5sums": sums(HOOK, "/usr/bin/other", "/usr/share/doc/x/copyright"),
            "/usr/bin/other": Program("#!/bin/sh\necho other\n"),
        },
    )
    assert found.faults == (
        PackageFile(TOOLKIT, HOOK, MISSING),
        PackageFile(TOOLKIT, "/usr/bin/other", CHANGED),
    )


def test_a_list_of_an_architecture_counts_too(tmp_path: Path) -> None:
    found = collect(tmp_path, {f"{DPKG_INFO}/{TOOLKIT}:amd64.md5sums": sums(HOOK)})
    assert found.faults == (PackageFile(TOOLKIT, HOOK, MISSING),)


def test_whole_files_links_and_diverted_ones_are_no_fault(tmp_path: Path) -> None:
    found = collect(
        tmp_path,
        {
            f"{DPKG_INFO}/{TOOLKIT}.md5sums": sums(HOOK, "/usr/bin/link", "/usr/bin/moved"),
            HOOK: Program(CONTENT),
            "/usr/bin/link": Link("nowhere"),
            "/usr/bin/moved": Program("another\n"),
            "/var/lib/dpkg/diversions": "/usr/bin/moved\n/usr/bin/moved.distrib\nsite\n",
        },
    )
    assert found.faults == ()


def test_a_host_without_a_package_manager(tmp_path: Path) -> None:
    assert collect_packages(plant(tmp_path, {})) is None


def test_a_closed_status_file_is_unknown(tmp_path: Path, as_nobody: AsNobody) -> None:
    host = plant(tmp_path, {DPKG_STATUS: stanza(TOOLKIT, "1-1")})
    (tmp_path / "var/lib/dpkg").chmod(0)
    assert as_nobody(collect_packages, host) == Unknown("permission denied")


def test_the_rpm_database_of_another_root_stays_closed(tmp_path: Path) -> None:
    assert collect_packages(plant(tmp_path, {"/var/lib/rpm/rpmdb.sqlite": ""})) == Unknown("not run: --root")


RPM_ANSWER = f"""@{TOOLKIT} 1.18.0-1 1714550425
{hashlib.sha256(CONTENT.encode()).hexdigest()} {HOOK}
0000000000000000000000000000000000000000000000000000000000000000 /usr/bin/nvidia-container-toolkit
{hashlib.sha256(b"x").hexdigest()} /usr/share/licenses/x/LICENSE
package {TOOLKIT}-base is not installed
@docker-ce 3:27.5.1-1.el9 1714550425
{hashlib.sha256(b"x").hexdigest()} /usr/bin/dockerd
"""


def test_rpm_is_asked_once(tmp_path: Path) -> None:
    plant(tmp_path, {"/usr/lib/sysimage/rpm/rpmdb.sqlite": "", HOOK: Program("#!/bin/sh\necho changed\n")})

    argv = ["rpm", "-q", "--queryformat", RPM_FORMAT, *TOOLKIT_PACKAGES, *OTHER_PACKAGES]
    host = FakeHost(str(tmp_path), {"command": [{"argv": argv, "stdout": RPM_ANSWER, "returncode": 2}]})
    found = collect_packages(host)
    assert isinstance(found, Packages)
    assert found.packages == (Package("docker-ce", "3:27.5.1-1.el9"), Package(TOOLKIT, "1.18.0-1"))
    assert found.faults == (
        PackageFile(TOOLKIT, HOOK, CHANGED),
        PackageFile(TOOLKIT, "/usr/bin/nvidia-container-toolkit", MISSING),
    )


def test_lines_of_rpm_that_say_nothing_are_passed_over() -> None:
    assert parse_rpm_query("@x\n\nabc\n@a b c d\n") == ((), ())
