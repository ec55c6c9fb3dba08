"""`ctk cdi diff` and `ctk cdi refresh` on a host with real device nodes: what differs is told, only then written."""

import os
import stat
from pathlib import Path

import pytest
import yaml

from ctk.change.lock import lock
from ctk.cli.app import App
from ctk.cli.cdi_generate import make_spec
from ctk.cli.cdi_refresh import LOCK, Compared, write_unless_moved
from ctk.errors import BusyFault
from tests.driver_tree import VERSION, DriverTree, make_plain_driver
from tests.test_json_contract import assert_valid
from tests.unit.cli.scene import Answer, ctk

pytestmark = [pytest.mark.real, pytest.mark.long]

FILE = "/var/run/cdi/nvidia.yaml"
BY_HAND = "/etc/cdi/nvidia.yaml"
INFORMATION = "Model: \t\t NVIDIA A100\nGPU UUID: \t GPU-0\nBus Location: \t {address}\nDevice Minor: \t {minor}\n"


class Machine:
    """A host below a folder whose nodes are there, as the kernel's own files tell of them."""

    def __init__(self, folder: Path) -> None:
        self.tree = make_plain_driver(DriverTree(folder))
        self.folder = folder
        self.tree.put("/proc/modules", "nvidia_uvm 1540096 0 - Live 0x0\nnvidia 54566912 2 nvidia_uvm, Live 0x0\n")
        self.tree.put("/proc/devices", "Character devices:\n195 nvidia\n508 nvidia-uvm\n")
        self.tree.put(
            "/proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {VERSION}  Release\n"
        )
        self.add_gpu("0000:1b:00.0", 0)
        self.make_nodes()

    def add_gpu(self, address: str, minor: int) -> None:
        folder = f"/proc/driver/nvidia/gpus/{address}"
        self.tree.put(f"{folder}/information", INFORMATION.format(address=address, minor=minor))

    def make_nodes(self) -> None:
        for row in self.tree.rows:
            place = self.folder / row["path"].lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists():
                os.mknod(place, 0o666 | stat.S_IFCHR, os.makedev(row["major"], row["minor"]))
                place.chmod(0o666)

    def path(self, name: str) -> Path:
        return self.folder / name.lstrip("/")

    def ctk(self, *arguments: str) -> Answer:
        return ctk("--root", str(self.folder), *arguments)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "host")


def test_refresh_writes_once_and_then_nothing(machine: Machine) -> None:
    answer = machine.ctk("cdi", "refresh")
    assert answer.code == 0, answer.err
    file = machine.path(FILE)
    assert file.stat().st_mode & 0o777 == 0o644
    assert [device["name"] for device in yaml.safe_load(file.read_text())["devices"]] == ["0", "GPU-0", "all"]
    before = file.stat()
    again = machine.ctk("cdi", "refresh")
    assert (again.code, again.out) == (0, f"{machine.path(FILE)}: says what would be written now.\n")
    assert file.stat() == before


def test_refresh_makes_what_generate_makes(machine: Machine) -> None:
    machine.ctk("cdi", "refresh")
    assert machine.path(FILE).read_text() == machine.ctk("cdi", "generate").out


def test_a_file_that_differs_in_spelling_alone_is_left(machine: Machine) -> None:
    machine.ctk("cdi", "refresh")
    file = machine.path(FILE)
    file.write_text("# by hand\n" + file.read_text())
    text = file.read_text()
    assert machine.ctk("cdi", "refresh").code == 0
    assert file.read_text() == text
    assert machine.ctk("cdi", "diff").code == 0


def test_another_driver_is_told_and_taken_up(machine: Machine) -> None:
    """Field case F65: the files of the old driver are gone."""
    machine.ctk("cdi", "refresh")
    file = machine.path(FILE)
    file.write_text(file.read_text().replace(VERSION, "535.100.01"))
    told = machine.ctk("cdi", "diff")
    assert told.code == 1
    assert "  - every device: mount /usr/lib/x86_64-linux-gnu/libcuda.so.535.100.01" in told.out
    assert f"  + every device: mount /usr/lib/x86_64-linux-gnu/libcuda.so.{VERSION}" in told.out
    assert machine.ctk("cdi", "refresh").code == 0
    assert "535.100.01" not in file.read_text()


def test_a_gpu_more_is_one_difference_by_name(machine: Machine) -> None:
    machine.ctk("cdi", "refresh")
    machine.tree.node("nvidia1", 195, 1)
    machine.add_gpu("0000:1c:00.0", 1)
    machine.make_nodes()
    rows = machine.ctk("cdi", "diff", "--json").json()["data"]["differences"]
    assert {"where": "1", "what": "device", "before": "", "after": "1", "change": "added"} in rows
    machine.ctk("cdi", "refresh")
    answer = machine.ctk("cdi", "refresh", "--no-all-device")
    assert f"{machine.path(FILE)}: 1 difference.\n" in answer.out


@pytest.mark.parametrize(("option", "code"), [("--check", 1), ("--dry-run", 0)])
def test_looking_writes_nothing(option: str, code: int, machine: Machine) -> None:
    answer = machine.ctk("cdi", "refresh", option)
    assert answer.code == code
    assert answer.out == f"{machine.path(FILE)}: there is no such file.\nNothing was written.\n"
    assert not machine.path(FILE).exists()


@pytest.mark.parametrize("text", ["x: [", "cdiVersion: 0.3.0\nkind: nvidia.com/gpu\ndevices: []\n", ""])
def test_a_file_that_no_engine_loads_is_replaced(text: str, machine: Machine) -> None:
    file = machine.tree.put(FILE, text)
    assert machine.ctk("cdi", "diff").code == 1
    assert machine.ctk("cdi", "refresh").code == 0
    assert yaml.safe_load(file.read_text())["kind"] == "nvidia.com/gpu"


def test_without_a_driver_the_old_file_stays(machine: Machine) -> None:
    """Field case F79: the refresh service runs before the module is loaded."""
    machine.ctk("cdi", "refresh")
    text = machine.path(FILE).read_text()
    machine.path("/proc/modules").write_text("")
    for place in sorted(machine.path("/proc/driver").rglob("*"), reverse=True):
        place.rmdir() if place.is_dir() else place.unlink()
    answer = machine.ctk("cdi", "refresh")
    assert answer.code == 4
    assert len(answer.errors()) == 1
    assert f"{machine.path(FILE)} stays as it is" in answer.err
    assert machine.path(FILE).read_text() == text


def test_a_run_that_looked_too_early_takes_nothing_back(machine: Machine) -> None:
    """Two services run it at boot: what the first one saw is not true any more when its turn to write comes."""
    app = App()
    app.root, app.command = str(machine.folder), "cdi refresh"
    host = app.host()
    values = {"mode": "auto"}

    def compare() -> Compared:
        generated, warnings = make_spec(app, host, values)
        return Compared("", generated, (), "there is no such file", is_missing=True, warnings=warnings)

    early = compare()
    machine.tree.node("nvidia1", 195, 1)
    machine.add_gpu("0000:1c:00.0", 1)
    machine.make_nodes()
    assert machine.ctk("cdi", "refresh").code == 0
    written = machine.path(FILE).read_text()
    late, is_written = write_unless_moved(host, FILE, early, compare)
    assert is_written
    assert [device.name for device in late.generated.spec.devices if len(device.name) == 1] == ["0", "1"]
    assert "/dev/nvidia1" in written
    assert machine.path(FILE).read_text() == written


def test_one_run_writes_at_a_time(machine: Machine) -> None:
    app = App()
    app.root, app.command = str(machine.folder), "cdi refresh"
    host = app.host()
    generated, _ = make_spec(app, host, {"mode": "auto"})
    compared = Compared("", generated, (), "there is no such file", is_missing=True)
    command = ("ctk", "cdi", "refresh")
    with (
        lock(str(machine.path("/var/lib/ctk")), LOCK, command=command),
        pytest.raises(BusyFault, match=r"ctk cdi refresh, since .* holds its lock"),
    ):
        write_unless_moved(host, FILE, compared, lambda: compared, wait_seconds=0)
    assert not machine.path(FILE).exists()
    assert machine.ctk("cdi", "refresh").code == 0


def test_a_state_folder_that_cannot_be_made_stops_nothing(machine: Machine) -> None:
    machine.tree.put("/var/lib", "a file")
    assert machine.ctk("cdi", "refresh").code == 0
    assert machine.path(FILE).exists()


def test_mig_devices_keep_their_names_while_nvml_does_not_answer(machine: Machine) -> None:
    """The library of this host ends its process; the spec is from a time when it answered."""
    capabilities = "/proc/driver/nvidia/capabilities/gpu0/mig/gi1"
    machine.tree.put(f"{capabilities}/access", "DeviceFileMinor: 12\n")
    machine.tree.put(f"{capabilities}/ci0/access", "DeviceFileMinor: 13\n")
    machine.tree.put("/proc/driver/nvidia-caps/mig-minors", "gpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\n")
    for minor in (12, 13):
        machine.tree.node(f"nvidia-caps/nvidia-cap{minor}", 235, minor)
    machine.make_nodes()
    assert machine.ctk("cdi", "refresh").code == 0
    file = machine.path(FILE)
    file.write_text(file.read_text().replace("name: 0:0", "name: MIG-5f7c"))
    text = file.read_text()
    assert "MIG-5f7c" in text
    answer = machine.ctk("cdi", "refresh")
    assert (answer.code, file.read_text()) == (3, text)
    assert "its MIG devices would lose their UUIDs" in answer.err
    assert machine.ctk("cdi", "refresh", "--check").code == 1
    assert machine.ctk("cdi", "refresh", "--force=without-nvml").code == 0
    assert "MIG-5f7c" not in file.read_text()


def test_diff_takes_the_file_that_is_there(machine: Machine) -> None:
    assert machine.ctk("cdi", "diff", "--json").json()["data"]["file"] == str(machine.path(FILE))
    machine.ctk("cdi", "generate", f"--output={BY_HAND}")
    data = machine.ctk("cdi", "diff", "--json").json()["data"]
    assert (data["file"], data["current"], data["exists"]) == (str(machine.path(BY_HAND)), True, True)


def test_options_of_generate_are_heeded(machine: Machine) -> None:
    assert machine.ctk("cdi", "refresh", "--output=/etc/cdi/gpu.json", "--device-name-strategy=type-index").code == 0
    text = machine.path("/etc/cdi/gpu.json").read_text()
    assert text.startswith("{")
    assert '"gpu0"' in text
    assert machine.ctk("cdi", "diff", "/etc/cdi/gpu.json").code == 1
    assert machine.ctk("cdi", "diff", "/etc/cdi/gpu.json", "--device-name-strategy=type-index").code == 0


def test_options_of_generate_may_be_variables(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVIDIA_CTK_CDI_GENERATE_CAPABILITIES", "utility")
    monkeypatch.setenv("NVIDIA_CTK_CDI_GENERATE_MAX_CDI_VERSION", "0.5.0")
    machine.ctk("cdi", "refresh")
    assert "libcuda.so" not in machine.path(FILE).read_text()
    assert "libnvidia-ml.so" in machine.path(FILE).read_text()


def test_units_take_no_options_of_generate(machine: Machine) -> None:
    answer = machine.ctk("cdi", "refresh", "--install-units", "--mode=nvml")
    assert answer.code == 2
    assert "--mode does not go with the units" in answer.err
    assert machine.ctk("cdi", "refresh", "--install-units", "--remove-units").code == 2
    assert machine.ctk("cdi", "refresh", "--install-units", "--dry-run").code == 0


def test_a_gpu_that_is_left_out_is_named(machine: Machine) -> None:
    machine.tree.node("nvidia1", 195, 1)
    machine.add_gpu("0000:1c:00.0", 1)
    answer = machine.ctk("cdi", "refresh")
    assert answer.code == 0
    assert any("/dev/nvidia1" in line for line in answer.warnings())


def test_long_differences_are_cut_to_a_screen(machine: Machine) -> None:
    machine.ctk("cdi", "refresh")
    file = machine.path(FILE)
    document = yaml.safe_load(file.read_text())
    document["containerEdits"]["env"] += [f"A{index}=b" for index in range(40)]
    file.write_text(yaml.safe_dump(document))
    short = machine.ctk("cdi", "diff").out.splitlines()
    assert short[-1] == "… and 20 more; -v shows them."
    assert len(machine.ctk("cdi", "diff", "-v").out.splitlines()) == 41


def test_documents_hold_to_their_schema(machine: Machine) -> None:
    spec = str(machine.path(BY_HAND))
    commands = [
        ("generate",),
        ("generate", f"--output={BY_HAND}"),
        ("refresh", "--check"),
        ("refresh",),
        ("diff",),
        ("diff", "--device-name-strategy=type-index", BY_HAND),
        ("transform", "root", f"--input={spec}", "--to=/host"),
        ("transform", "root", f"--input={spec}", f"--output={spec}"),
    ]
    for command in commands:
        document = machine.ctk("cdi", *command, "--json").json()
        assert document["status"] in ("ok", "negative"), document
        assert_valid(document)
