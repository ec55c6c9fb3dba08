"""The subcommands of NVIDIA's CDI hook program, and the release of the toolkit that brought the newer ones.

Source: NVIDIA's Container Toolkit, release notes of 1.17.5, 1.17.8 and 1.20.0, cmd/nvidia-cdi-hook; literal values.
"""

DATE = "2026-09-01"
PROGRAMS = frozenset(("nvidia-cdi-hook", "nvidia-ctk"))
SINCE = {
    "enable-cuda-compat": "1.17.5",
    "disable-device-node-modification": "1.17.8",
    "update-application-profile": "1.20.0",
}
KNOWN = frozenset(("create-symlinks", "update-ldcache", "chmod", *SINCE))
DEPRECATED = frozenset(("chmod",))
"""An old workaround for crun; it fails where the hook may not change the modes of the host's nodes."""
