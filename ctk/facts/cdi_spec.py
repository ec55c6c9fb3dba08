"""A CDI spec as values, in the names of the CDI specification (SPEC.md 1.1.0, "CDI JSON Specification"); no I/O.

A field that is None, or an empty tuple, is absent from the file. Annotations and environment keep their order.
"""

from ctk.record import Record


class SpecDeviceNode(Record):
    """One node below containerEdits.deviceNodes. path is the container's; host_path None: the same on the host."""

    path: str
    host_path: str | None = None
    type: str | None = None
    major: int | None = None
    minor: int | None = None
    file_mode: int | None = None  # the permission bits as a number, as the file holds them (decimal)
    permissions: str | None = None
    uid: int | None = None
    gid: int | None = None

    @property
    def source(self) -> str:
        """Where the node is on the host."""
        return self.host_path or self.path


class SpecMount(Record):
    """One mount. type is only there from specification 0.4.0 on."""

    host_path: str
    container_path: str
    options: tuple[str, ...] = ()
    type: str | None = None


class SpecHook(Record):
    """One OCI hook. name is a stage: prestart, createRuntime, createContainer, startContainer, poststart, poststop."""

    name: str
    path: str
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    timeout_seconds: int | None = None


class SpecNetDevice(Record):
    """A network interface that is moved into the container (from 1.1.0 on)."""

    host_interface_name: str
    name: str


class SpecIntelRdt(Record):
    """Intel's resource director settings (from 0.7.0 on; schemata and enable_monitoring from 1.1.0 on)."""

    clos_id: str | None = None
    l3_cache_schema: str | None = None
    mem_bw_schema: str | None = None
    enable_cmt: bool | None = None
    enable_mbm: bool | None = None
    schemata: tuple[str, ...] = ()
    enable_monitoring: bool | None = None


class SpecEdits(Record):
    """What is done to a container: for one device, or for every device of the spec."""

    env: tuple[str, ...] = ()
    device_nodes: tuple[SpecDeviceNode, ...] = ()
    net_devices: tuple[SpecNetDevice, ...] = ()
    mounts: tuple[SpecMount, ...] = ()
    hooks: tuple[SpecHook, ...] = ()
    additional_gids: tuple[int, ...] = ()
    intel_rdt: SpecIntelRdt | None = None

    @property
    def is_empty(self) -> bool:
        """Nothing at all is done; the specification forbids a device like that."""
        return self == SpecEdits()


class SpecAnnotation(Record):
    """One annotation of a spec or a device (from 0.6.0 on)."""

    key: str
    value: str


class SpecDevice(Record):
    """One device of a spec."""

    name: str
    edits: SpecEdits
    annotations: tuple[SpecAnnotation, ...] = ()


class CdiSpec(Record):
    """A whole spec. kind is vendor/class; a device's qualified name is kind=name."""

    version: str
    kind: str
    devices: tuple[SpecDevice, ...]
    edits: SpecEdits = SpecEdits()
    annotations: tuple[SpecAnnotation, ...] = ()

    @property
    def all_edits(self) -> tuple[SpecEdits, ...]:
        """The common edits first, then each device's, in order."""
        return (self.edits, *(device.edits for device in self.devices))
