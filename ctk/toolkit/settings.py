"""SETTINGS: every key of the toolkit's config.toml, one row each; all else about a key is derived from its row.

Keys, types and defaults are those of NVIDIA Container Toolkit 1.20 (api/config/v1), as its own `config default` shows.
"""

from ctk.record import Record

STRING, BOOLEAN, LIST = "string", "boolean", "list"

MODES = ("auto", "legacy", "csv", "cdi", "jit-cdi")
LOG_LEVELS = ("trace", "debug", "info", "warning", "warn", "error", "fatal", "panic")
COMPAT_MODES = ("ldconfig", "mount", "disabled", "hook")
CAPABILITIES = ("compat32", "compute", "display", "graphics", "ngx", "utility", "video")

Value = str | bool | list[str]


class Setting(Record):
    """One key.

    default None: absent unless set. shown: the value that the default document shows behind a `#`, None if the
    document shows the key as set (or, with default None, not at all). allowed: the only values, empty = any.
    check: the name of the rule a value must pass (ctk.toolkit.values). security: what a wrong value opens.
    """

    key: str
    kind: str
    default: Value | None
    meaning: str
    shown: Value | None = None
    allowed: tuple[str, ...] = ()
    check: str = ""
    security: str = ""

    @property
    def path(self) -> tuple[str, ...]:
        """The key as a path of tables."""
        return tuple(self.key.split("."))


CLI = "nvidia-container-cli"
RUNTIME = "nvidia-container-runtime"
HOOK = "nvidia-container-runtime-hook"

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "accept-nvidia-visible-devices-as-volume-mounts",
        BOOLEAN,
        False,
        "Take the list of GPUs from volume mounts below /var/run/nvidia-container-devices.",
        shown=False,
    ),
    Setting(
        "accept-nvidia-visible-devices-envvar-when-unprivileged",
        BOOLEAN,
        True,
        "Let unprivileged containers ask for GPUs with NVIDIA_VISIBLE_DEVICES.",
        shown=True,
        security="true lets any image or pod take GPUs by an environment variable, past the device plugin",
    ),
    Setting("disable-require", BOOLEAN, False, "Ignore the NVIDIA_REQUIRE_* conditions of images."),
    Setting(
        "supported-driver-capabilities",
        STRING,
        ",".join(CAPABILITIES),
        "The driver capabilities containers may ask for, separated by commas; all = every one.",
        check="capabilities",
    ),
    Setting(
        "swarm-resource",
        STRING,
        "",
        "Environment variables, separated by commas, that replace NVIDIA_VISIBLE_DEVICES where they are set.",
        shown="DOCKER_RESOURCE_GPU",
    ),
    Setting(
        f"{CLI}.debug",
        STRING,
        "",
        "The log file of nvidia-container-cli; empty = none.",
        shown="/var/log/nvidia-container-toolkit.log",
        check="absolute-or-empty",
    ),
    Setting(
        f"{CLI}.environment",
        LIST,
        [],
        "Extra environment for nvidia-container-cli, as NAME=VALUE.",
        check="environment",
    ),
    Setting(
        f"{CLI}.ldcache",
        STRING,
        "",
        "The host's cache of libraries, below the driver root; empty = /etc/ld.so.cache.",
        shown="/etc/ld.so.cache",
        check="ldcache",
    ),
    Setting(
        f"{CLI}.ldconfig",
        STRING,
        "@/sbin/ldconfig",
        "The ldconfig that fills a container's library cache; @ in front: the host's own.",
        check="ldconfig",
        security="without the @ in front, a program of the image runs with the rights of the host (CVE-2024-0136, "
        "CVE-2024-0137)",
    ),
    Setting(f"{CLI}.load-kmods", BOOLEAN, True, "Load NVIDIA's kernel modules before a container starts."),
    Setting(
        f"{CLI}.no-cgroups",
        BOOLEAN,
        False,
        "Leave the device rules of cgroups alone, as rootless engines need.",
        shown=False,
        security="true gives no container a rule for its GPUs: what it can open is left to the engine",
    ),
    Setting(f"{CLI}.no-pivot", BOOLEAN, None, "Do not change the root when libraries are looked up (for a ramdisk)."),
    Setting(
        f"{CLI}.path",
        STRING,
        "",
        "The program nvidia-container-cli; empty = looked up in PATH.",
        shown="/usr/bin/nvidia-container-cli",
        check="program-or-empty",
    ),
    Setting(
        f"{CLI}.root",
        STRING,
        "",
        "The driver root: the folder below which the driver is installed; empty = /.",
        shown="/run/nvidia/driver",
        check="driver-root",
    ),
    Setting(
        f"{CLI}.user",
        STRING,
        "",
        "The user and group, as USER:GROUP, that nvidia-container-cli looks at the driver with; empty = as it is.",
        shown="root:video",
        check="user",
    ),
    Setting(
        f"{RUNTIME}.debug",
        STRING,
        "/dev/null",
        "The log file of nvidia-container-runtime.",
        shown="/var/log/nvidia-container-runtime.log",
        check="absolute-or-empty",
    ),
    Setting(f"{RUNTIME}.log-level", STRING, "info", "How much nvidia-container-runtime logs.", allowed=LOG_LEVELS),
    Setting(
        f"{RUNTIME}.mode",
        STRING,
        "auto",
        "How GPUs get into containers: by the hook (legacy), mount files (csv), CDI specs (cdi, jit-cdi), or auto.",
        allowed=MODES,
    ),
    Setting(
        f"{RUNTIME}.runtimes",
        LIST,
        ["runc", "crun"],
        "The low-level runtimes, names or paths; the first that is found starts the containers.",
        check="runtimes",
    ),
    Setting(
        f"{RUNTIME}.modes.cdi.annotation-prefixes",
        LIST,
        ["cdi.k8s.io/"],
        "The beginnings of the annotations that name CDI devices.",
        check="not-empty-items",
    ),
    Setting(
        f"{RUNTIME}.modes.cdi.default-kind",
        STRING,
        "nvidia.com/gpu",
        "The CDI kind, vendor/class, that stands before a device that names none.",
        check="kind",
    ),
    Setting(
        f"{RUNTIME}.modes.cdi.spec-dirs",
        LIST,
        ["/etc/cdi", "/var/run/cdi"],
        "The folders with CDI specs; a later one wins.",
        check="folders",
    ),
    Setting(
        f"{RUNTIME}.modes.csv.compat-container-root",
        STRING,
        None,
        "Where a container's CUDA compatibility libraries are on Jetson.",
        check="absolute-or-empty",
    ),
    Setting(
        f"{RUNTIME}.modes.csv.mount-spec-path",
        STRING,
        "/etc/nvidia-container-runtime/host-files-for-container.d",
        "The folder with the csv files of Jetson's driver.",
        check="absolute",
    ),
    Setting(
        f"{RUNTIME}.modes.jit-cdi.nvcdi-disable-hooks",
        LIST,
        None,
        "The hooks that jit-cdi leaves out of the specs it makes.",
        check="not-empty-items",
    ),
    Setting(
        f"{RUNTIME}.modes.jit-cdi.nvcdi-feature-flags",
        LIST,
        None,
        "The feature flags of the specs that jit-cdi makes.",
        check="not-empty-items",
    ),
    Setting(
        f"{RUNTIME}.modes.legacy.cuda-compat-mode",
        STRING,
        "ldconfig",
        "How an image's newer CUDA libraries come before the host's.",
        allowed=COMPAT_MODES,
    ),
    Setting(f"{HOOK}.path", STRING, HOOK, "The hook's program, a name in PATH or a path.", check="program-or-empty"),
    Setting(
        f"{HOOK}.skip-mode-detection",
        BOOLEAN,
        False,
        "Let the hook work whatever the mode is; needed where an engine calls it itself.",
    ),
    Setting(
        "nvidia-ctk.path",
        STRING,
        "nvidia-ctk",
        "The program nvidia-ctk, which CDI hooks call.",
        check="program-or-empty",
    ),
    Setting(
        "features.allow-cuda-compat-libs-from-container",
        BOOLEAN,
        None,
        "Let an image's CUDA compatibility libraries be mounted over the host's.",
        security="true runs code of the image in the place of the driver's libraries",
    ),
    Setting(
        "features.allow-ldconfig-from-container",
        BOOLEAN,
        None,
        "Let ldconfig of the image be run (nvidia-container-cli.ldconfig without @).",
        security="true lets a program of the image run with the rights of the host (CVE-2024-0136, CVE-2024-0137)",
    ),
    Setting(
        "features.allow-unknown-oci-spec-fields",
        BOOLEAN,
        None,
        "Start containers whose config.json has fields that the runtime does not know; they are dropped.",
    ),
    Setting(
        "features.disable-cuda-compat-lib-hook",
        BOOLEAN,
        None,
        "Leave out the hook that puts an image's CUDA compatibility libraries first.",
    ),
    Setting(
        "features.disable-imex-channel-creation",
        BOOLEAN,
        None,
        "Do not create the device nodes of IMEX channels.",
    ),
    Setting(
        "features.ignore-imex-channel-requests",
        BOOLEAN,
        None,
        "Ignore containers that ask for IMEX channels.",
    ),
    Setting(
        "features.no-additional-gids-for-device-nodes",
        BOOLEAN,
        None,
        "Give containers no extra groups for group-owned device nodes.",
    ),
)


def find_setting(key: str) -> Setting | None:
    """The row of a key, None if there is none."""
    return next((setting for setting in SETTINGS if setting.key == key), None)


def nearest_key(key: str) -> str | None:
    """The known key most like an unknown one, None if none is near.

    A sibling with a like name; else the only key of that name; else a key that is alike as a whole.
    """
    from difflib import get_close_matches

    table, _, name = key.rpartition(".")
    siblings = {setting.path[-1]: setting.key for setting in SETTINGS if setting.key.rpartition(".")[0] == table}
    near = get_close_matches(name, siblings, n=1, cutoff=0.6)
    near = near or [sibling for sibling in siblings if name.endswith(f"-{sibling}")]
    if near:
        return siblings[near[0]]
    same = [setting.key for setting in SETTINGS if setting.path[-1] == name]
    if len(same) == 1:
        return same[0]
    whole = get_close_matches(key, [setting.key for setting in SETTINGS], n=1, cutoff=0.85)
    return whole[0] if whole and not siblings else None
