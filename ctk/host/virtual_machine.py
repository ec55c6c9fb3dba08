"""Whether the host is a virtual machine, and which of its GPUs are shares of another's; it asks no hypervisor."""

from ctk.facts import Unknown
from ctk.facts.platform import Vgpu
from ctk.host import Host
from ctk.host.reading import ABSENT, try_read_text, unknown_from

DMI = "/sys/class/dmi/id"
DMI_FILES = ("product_name", "sys_vendor", "board_vendor", "bios_vendor")
DMI_NAMES = (
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("KubeVirt", "kvm"),
    ("Amazon EC2", "amazon"),
    ("QEMU", "kvm"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "virtualbox"),
    ("VirtualBox", "virtualbox"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Hyper-V", "hyperv"),
    ("Apple Virtualization", "apple"),
    ("Google Compute Engine", "google"),
    ("Nutanix", "nutanix"),
)
"""How the names in the firmware's tables begin: systemd, src/basic/virt.c."""
MICROSOFT = ("Microsoft Corporation", "Virtual Machine")
OTHER = "some hypervisor"
PROCESSOR_FLAG = "hypervisor"


def collect_hypervisor(host: Host) -> str | None | Unknown:
    """The processor's flag decides, where there is one; the firmware's tables give the name. None: bare metal."""
    if try_read_text(host, "/sys/hypervisor/type") == "xen\n" and not _is_control_domain(host):
        return "xen"
    name = parse_dmi([try_read_text(host, f"{DMI}/{file}") for file in DMI_FILES])
    flag = _has_flag(host)
    if isinstance(flag, bool):
        return (name if isinstance(name, str) else OTHER) if flag else None
    return name


def _is_control_domain(host: Host) -> bool:
    """Xen's own Linux has the devices themselves."""
    text = try_read_text(host, "/proc/xen/capabilities")
    return isinstance(text, str) and "control_d" in text


def parse_dmi(values: list[str | None | Unknown]) -> str | None | Unknown:
    """The hypervisor that the firmware names; Unknown when none of the values could be read."""
    texts = [value.strip() for value in values if isinstance(value, str)]
    if set(MICROSOFT) <= set(texts):
        return "hyperv"
    for text in texts:
        for start, name in DMI_NAMES:
            if text.startswith(start):
                return name
    reason = next((value for value in values if isinstance(value, Unknown)), None)
    return reason if reason is not None and not texts else None


def _has_flag(host: Host) -> bool | None:
    """Of x86 processors; None: they have no such flag, or it cannot be read."""
    try:
        head = host.read_head("/proc/cpuinfo", 8192)
    except OSError:
        return None
    lines = (line.partition(b":") for line in head.splitlines())
    flags = next((value for name, _, value in lines if name.strip() == b"flags"), None)
    return None if flags is None else PROCESSOR_FLAG.encode() in flags.split()


def collect_vgpus(host: Host, folders: dict[str, str]) -> tuple[Vgpu, ...] | Unknown:
    """folders: of the GPUs in sysfs, by address."""
    found = []
    for address, folder in folders.items():
        try:
            vgpu = _read_vgpu(host, address, folder)
        except ABSENT:
            continue
        except ValueError as error:
            return Unknown(str(error))
        except OSError as error:
            return unknown_from(error)
        found += [vgpu] if vgpu is not None else []
    return tuple(found)


def _read_vgpu(host: Host, address: str, folder: str) -> Vgpu | None:
    from ctk.formats.vgpu_capability import parse_vgpu_capability

    told = parse_vgpu_capability(host.read_bytes(f"{folder}/config"))
    return None if told is None else Vgpu(address, told.version, told.branch)


def collect_maps_users(host: Host) -> bool | None | Unknown:
    """Whether user 0 here is user 0 of the machine (user_namespaces(7))."""
    text = try_read_text(host, "/proc/self/uid_map" if host.is_live else "/proc/1/uid_map")
    if not isinstance(text, str):
        return text
    return text.split() != ["0", "0", "4294967295"]
