"""Random configurations of containerd and CRI-O as people write them: several files, comments, any spelling."""

from typing import NamedTuple

from hypothesis import strategies as st

from ctk.engines.base import Layer

MAIN = "/etc/containerd/config.toml"
FOLDER = "/etc/containerd/conf.d"
DROP_IN = f"{FOLDER}/99-nvidia.toml"
CRIO_MAIN = "/etc/crio/crio.conf"
CRIO_FOLDER = "/etc/crio/crio.conf.d"
CRIO_DROP_IN = f"{CRIO_FOLDER}/99-nvidia.toml"
NAMES = ("runc", "crun", "kata", "nvidia", "nvidia-cdi", "my.odd name")
PLUGINS = {
    1: "cri",
    2: "io.containerd.grpc.v1.cri",
    3: "io.containerd.cri.v1.runtime",
    4: "io.containerd.cri.v1.runtime",
}
COMMENTS = ("# site", "# [fake]", "#x = 1", "  # indented", "")
CHOICES = st.sampled_from


class Files(NamedTuple):
    """One host's files in load order, and the main file's config version."""

    layers: tuple[Layer, ...]
    version: int


class _Hand:
    """How one person writes."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.quote = draw(CHOICES(("'", '"')))
        self.step = draw(CHOICES(("", "  ", "\t")))
        self.parted = draw(st.booleans())
        self.lines: list[str] = []

    def flip(self) -> bool:
        return self.draw(st.booleans())

    def name(self, key: str) -> str:
        plain = all(character.isalnum() or character in "-_" for character in key)
        return key if plain and not (key == "cri" and self.flip()) else f"{self.quote}{key}{self.quote}"

    def path(self, *keys: str) -> str:
        return ".".join(map(self.name, keys))

    def comment(self) -> None:
        if self.draw(CHOICES((True, False, False))):
            self.lines.append(self.draw(CHOICES(COMMENTS)))

    def key(self, key: str, value: str, depth: int) -> None:
        self.comment()
        behind = self.draw(CHOICES(("", "", " # why")))
        self.lines.append(f"{self.step * depth}{key}{self.draw(CHOICES((' = ', '=')))}{value}{behind}")

    def table(self, keys: tuple[str, ...], members: dict[str, str], depth: int) -> None:
        if self.parted and self.lines:
            self.lines.append("")
        self.comment()
        self.lines.append(f"{self.step * depth}[{self.path(*keys)}]{self.draw(CHOICES(('', '', ' # table')))}")
        for key, value in members.items():
            self.key(key, value, depth + 1)

    def some(self, members: dict[str, tuple[str, ...]]) -> dict[str, str]:
        return {key: self.draw(CHOICES(values)) for key, values in members.items() if self.flip()}

    def text(self) -> str:
        newline = self.draw(CHOICES(("\n", "\n", "\r\n")))
        end = self.draw(CHOICES((newline, newline, "")))
        return newline.join(self.lines) + end


def _runtime_keys(hand: _Hand) -> tuple[dict[str, str], dict[str, str]]:
    keys = {
        "runtime_type": ('"io.containerd.runc.v2"', '"io.containerd.runc.v2"', '"io.containerd.kata.v2"'),
        "pod_annotations": ('["a/*"]', "[]"),
        "privileged_without_host_devices": ("true", "false"),
    }
    options = {"SystemdCgroup": ("true", "false"), "Root": ('"/run/x"',), "BinaryName": ('"/old"', "'/usr/bin/crun'")}
    return hand.some(keys), hand.some(options)


def _runtime(hand: _Hand, path: tuple[str, ...], depth: int) -> None:
    members, options = _runtime_keys(hand)
    form = hand.draw(CHOICES(("header", "header", "inline options", "options only")))
    if form == "inline options" and options:
        inside = ", ".join(f"{key} = {value}" for key, value in options.items())
        hand.table(path, {**members, "options": f"{{ {inside} }}"}, depth)
        return
    if form != "options only" or not options:
        hand.table(path, members, depth)
    if options:
        hand.table((*path, "options"), options, depth + 1)


def _cri(hand: _Hand, version: int) -> None:
    plugin = ("plugins", PLUGINS[version])
    section = hand.some(
        {"sandbox_image": ('"a/pause:1"',), "enable_selinux": ("true", "false"), "enable_cdi": ("true", "false")}
    )
    if section:
        hand.table(plugin, section, 1)
    default = hand.some({"default_runtime_name": tuple(f'"{name}"' for name in NAMES), "snapshotter": ("'native'",)})
    if default or hand.flip():
        hand.table((*plugin, "containerd"), default, 2)
    if hand.flip():
        hand.table((*plugin, "containerd", "runtimes"), {}, 3)
    for name in hand.draw(st.lists(CHOICES(NAMES), unique=True, max_size=3)):
        _runtime(hand, (*plugin, "containerd", "runtimes", name), 4)
    if hand.flip():
        hand.table((*plugin, "registry"), {"config_path": '"/etc/certs.d"'}, 2)


def _containerd_text(draw: st.DrawFn, version: int, imports: str | None) -> str:
    hand = _Hand(draw)
    hand.comment()
    if version > 1 or hand.flip():
        hand.key("version", str(version), 0)
    if imports is not None:
        hand.key("imports", imports, 0)
    if hand.flip():
        hand.key("oom_score", "-999", 0)
    if hand.draw(CHOICES((True, True, False))):
        _cri(hand, version)
    if hand.flip():
        hand.table(("debug",), {"level": '"info"'}, 0)
    hand.comment()
    return hand.text()


@st.composite
def containerd_files(draw: st.DrawFn) -> Files:
    """A main file, and up to two drop-ins of the same version that it imports, or does not."""
    version = draw(CHOICES((1, 2, 2, 3, 3, 4)))
    imports = draw(
        CHOICES((None, "[]", '["conf.d/*.toml"]', f'["{FOLDER}/*.toml"]', '["/etc/containerd/site/*.toml"]'))
    )
    layers = [Layer(MAIN, _containerd_text(draw, version, imports))]
    names = draw(st.lists(CHOICES(("10-site.toml", "99-zz.toml")), unique=True, max_size=2))
    layers += [Layer(f"{FOLDER}/{name}", _containerd_text(draw, version, None)) for name in sorted(names)]
    return Files((*layers, Layer(DROP_IN, None)), version)


def _crio_text(draw: st.DrawFn) -> str:
    hand = _Hand(draw)
    hand.comment()
    default = hand.some({"default_runtime": tuple(f'"{name}"' for name in NAMES), "log_level": ("'info'",)})
    if default:
        hand.table(("crio", "runtime"), default, 0)
    for name in hand.draw(st.lists(CHOICES(NAMES), unique=True, max_size=3)):
        members = hand.some(
            {
                "runtime_path": ('"/usr/bin/x"', '"/usr/bin/nvidia-container-runtime"'),
                "runtime_type": ('"oci"', '""', '"vm"'),
                "monitor_path": ('"/usr/bin/conmon"', '"/usr/libexec/crio/conmon"'),
                "allowed_annotations": ('["a"]', "[]"),
            }
        )
        hand.table(("crio", "runtime", "runtimes", name), members, 1)
    if hand.flip():
        hand.table(("crio", "image"), {"pause_image": '"a:1"'}, 0)
    hand.comment()
    return hand.text()


@st.composite
def crio_files(draw: st.DrawFn) -> Files:
    """crio.conf and up to three drop-ins, ours among them or not."""
    layers = [Layer(CRIO_MAIN, _crio_text(draw) if draw(st.booleans()) else None)]
    names = draw(st.lists(CHOICES(("10-crio.conf", "20-site.conf", "99-nvidia.toml", "99-zz.conf")), unique=True))
    texts = {f"{CRIO_FOLDER}/{name}": _crio_text(draw) for name in names}
    for path in sorted({*texts, CRIO_DROP_IN}):
        layers.append(Layer(path, texts.get(path)))
    return Files(tuple(layers), 0)
