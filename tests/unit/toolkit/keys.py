"""What the tests know of every setting: words that are taken, words that are not, and the files they are tried on."""

from pathlib import Path
from typing import NamedTuple

CORPUS = Path(__file__).parents[2] / "corpus" / "toolkit"
FILES = ("default.toml", "hand-edited.toml", "hand-edited-crlf.toml", "old-release.toml")


def corpus(name: str) -> str:
    return (CORPUS / name).read_bytes().decode()


class Row(NamedTuple):
    """A word for --set, the value it must become, and words that must be refused (None = the key alone)."""

    word: str
    value: object
    refused: tuple[str | None, ...]


def boolean(word: str = "true") -> Row:
    return Row(word, word == "true", ("yes", "", "2", "on"))


def text(word: str, *refused: str) -> Row:
    return Row(word, word, (None, *refused))


def items(word: str, *refused: str) -> Row:
    return Row(word, word.split(":"), (None, *refused))


CLI = "nvidia-container-cli"
RUNTIME = "nvidia-container-runtime"
KEYS = {
    "accept-nvidia-visible-devices-as-volume-mounts": boolean(),
    "accept-nvidia-visible-devices-envvar-when-unprivileged": boolean("false"),
    "disable-require": boolean(),
    "supported-driver-capabilities": text("compute,utility,video", "bogus", "compute,", "", "compute;utility"),
    "swarm-resource": text("A,B # c"),
    f"{CLI}.debug": text("/var/log/a # b.log", "relative.log"),
    f"{CLI}.environment": items("A=1,2 # z:B=", "A", "=1", "A=1:"),
    f"{CLI}.ldcache": text("/etc/other.cache", "other.cache"),
    f"{CLI}.ldconfig": text("@/usr/sbin/ldconfig", "/sbin/ldconfig", "@ldconfig", "", "@"),
    f"{CLI}.load-kmods": boolean("false"),
    f"{CLI}.no-cgroups": boolean(),
    f"{CLI}.no-pivot": boolean(),
    f"{CLI}.path": text("/opt/bin/nvidia-container-cli", "bin/nvidia-container-cli"),
    f"{CLI}.root": text("/run/nvidia/driver", "run/nvidia"),
    f"{CLI}.user": text("root:video", "a:b:c", "root:", "ro ot"),
    f"{RUNTIME}.debug": text("/dev/stderr", "stderr"),
    f"{RUNTIME}.log-level": text("debug", "loud", "", "DEBUG"),
    f"{RUNTIME}.mode": text("cdi", "bogus", "", "CDI", "nvml"),
    f"{RUNTIME}.runtimes": items("crun:/usr/bin/runc", "", "runc:"),
    f"{RUNTIME}.modes.cdi.annotation-prefixes": items("cdi.k8s.io/:site/", "a::b"),
    f"{RUNTIME}.modes.cdi.default-kind": text("management.nvidia.com/gpu", "gpu", "a/b/c", "/gpu", "nvidia.com/"),
    f"{RUNTIME}.modes.cdi.spec-dirs": items("/etc/cdi:/opt/cdi", "", "cdi"),
    f"{RUNTIME}.modes.csv.compat-container-root": text("/usr/local/cuda/compat", "compat"),
    f"{RUNTIME}.modes.csv.mount-spec-path": text("/etc/mounts.d", "mounts.d", ""),
    f"{RUNTIME}.modes.jit-cdi.nvcdi-disable-hooks": items("update-ldcache:chmod", "a::b"),
    f"{RUNTIME}.modes.jit-cdi.nvcdi-feature-flags": items("a:b", "a::b"),
    f"{RUNTIME}.modes.legacy.cuda-compat-mode": text("mount", "xx", ""),
    f"{RUNTIME}-hook.path": text("/usr/bin/hook", "bin/hook"),
    f"{RUNTIME}-hook.skip-mode-detection": boolean(),
    "nvidia-ctk.path": text("/usr/bin/nvidia-ctk", "bin/nvidia-ctk"),
    "features.allow-cuda-compat-libs-from-container": boolean(),
    "features.allow-ldconfig-from-container": boolean(),
    "features.allow-unknown-oci-spec-fields": boolean(),
    "features.disable-cuda-compat-lib-hook": boolean(),
    "features.disable-imex-channel-creation": boolean(),
    "features.ignore-imex-channel-requests": boolean(),
    "features.no-additional-gids-for-device-nodes": boolean(),
}


def assignment(key: str, word: str | None) -> str:
    return key if word is None else f"{key}={word}"
