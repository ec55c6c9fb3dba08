"""Which file a device comes from: the later folder wins, one folder's contradiction leaves nobody (F70, F74)."""

from ctk.cdi.registry import Registry, build_registry, qualified_names, real_folders
from ctk.facts import Unknown
from ctk.facts.cdi import WARNING, Cdi, CdiFile, CdiFolder, SpecFault
from ctk.facts.cdi_spec import CdiSpec, SpecDevice, SpecEdits

STATIC, DYNAMIC = CdiFolder("/etc/cdi", "/etc/cdi"), CdiFolder("/var/run/cdi", "/run/cdi")


def make_file(
    path: str, *names: str, folder: str = "/etc/cdi", kind: str = "nvidia.com/gpu", env: str = "A=1"
) -> CdiFile:
    devices = tuple(SpecDevice(name, SpecEdits(env=(env,))) for name in names)
    return CdiFile(path, folder, CdiSpec("0.5.0", kind, devices))


def registry_of(*files: CdiFile, folders: tuple[CdiFolder, ...] = (STATIC, DYNAMIC)) -> Registry:
    return build_registry(Cdi(folders, files))


def rows(registry: Registry) -> list[tuple[str, str | None, tuple[str, ...]]]:
    return [
        (device.name, device.winner.path if device.winner else None, tuple(file.path for file in device.shadowed))
        for device in registry.devices
    ]


OLD = make_file("/etc/cdi/nvidia.yaml", "0", "1")
NEW = make_file("/var/run/cdi/nvidia.yaml", "0", folder="/run/cdi", env="A=2")


def test_the_later_folder_wins_and_the_other_file_is_named() -> None:
    found = registry_of(OLD, NEW)
    assert rows(found) == [
        ("nvidia.com/gpu=0", NEW.path, (OLD.path,)),
        ("nvidia.com/gpu=1", OLD.path, ()),
    ]
    device = found.find("nvidia.com/gpu=0")
    assert device is not None
    assert [edits.env for edits in device.edits] == [(), ("A=2",)]


def test_the_order_of_the_folders_decides_and_not_that_of_the_files() -> None:
    found = registry_of(NEW, OLD, folders=(DYNAMIC, STATIC))
    assert rows(found)[0] == ("nvidia.com/gpu=0", OLD.path, (NEW.path,))


def test_two_files_of_one_folder_leave_the_device_to_nobody() -> None:
    other = make_file("/etc/cdi/other.yaml", "0")
    found = registry_of(OLD, other)
    device = found.find("nvidia.com/gpu=0")
    assert device is not None
    assert device.winner is None
    assert device.conflict == (OLD, other)
    assert device.edits == ()
    assert rows(found)[1] == ("nvidia.com/gpu=1", OLD.path, ())


def test_a_contradiction_counts_even_below_a_folder_that_has_the_device() -> None:
    device = registry_of(OLD, make_file("/etc/cdi/other.yaml", "0"), NEW).find("nvidia.com/gpu=0")
    assert device is not None
    assert device.winner is None


def test_two_names_of_one_place_are_one_folder_of_the_later_rank() -> None:
    again = CdiFolder("/run/cdi", "/run/cdi")
    assert real_folders(Cdi((again, STATIC, DYNAMIC))) == ("/etc/cdi", "/run/cdi")
    assert rows(registry_of(OLD, NEW, folders=(again, STATIC, DYNAMIC)))[0] == (
        "nvidia.com/gpu=0",
        NEW.path,
        (OLD.path,),
    )


def test_only_the_chosen_folders_count() -> None:
    cdi = Cdi((STATIC, DYNAMIC), (OLD, NEW))
    assert rows(build_registry(cdi, ("/var/run/cdi", "/nowhere"))) == [("nvidia.com/gpu=0", NEW.path, ())]
    assert build_registry(cdi, ()).devices == ()


def test_a_refused_file_hides_no_other() -> None:
    broken = CdiFile("/run/cdi/x.yaml", "/run/cdi", None, (SpecFault("it is no YAML"),))
    unreadable = CdiFile("/run/cdi/y.yaml", "/run/cdi", Unknown("permission denied"))
    found = registry_of(OLD, broken, unreadable)
    assert len(found.devices) == 2
    assert found.broken == (broken, unreadable)


def test_a_file_that_only_surprises_is_loaded() -> None:
    file = OLD._replace(faults=(SpecFault("odd", level=WARNING),))
    assert len(registry_of(file).devices) == 2


def test_names_are_in_the_order_of_bytes() -> None:
    found = registry_of(make_file("/etc/cdi/a.yaml", "b", "B", "10", "9"))
    assert [device.name.partition("=")[2] for device in found.devices] == ["10", "9", "B", "b"]


def test_folders_that_are_not_there_or_not_seen_hold_nothing() -> None:
    folders = (CdiFolder("/etc/cdi", None), CdiFolder("/var/run/cdi", Unknown("permission denied")))
    assert build_registry(Cdi(folders)).devices == ()
    assert build_registry(Cdi(Unknown("no"), Unknown("no"))).devices == ()


def test_a_one_letter_kind_is_as_good_as_another() -> None:
    spec = CdiSpec("0.5.0", "x/y", (SpecDevice("z", SpecEdits(env=("A=1",))),))
    assert qualified_names(spec) == ("x/y=z",)
    assert rows(registry_of(CdiFile("/etc/cdi/x.yaml", "/etc/cdi", spec))) == [("x/y=z", "/etc/cdi/x.yaml", ())]
