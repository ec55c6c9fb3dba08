"""INSTALLATIONS: where each kind of installed engine keeps its things, and how its config may be treated; pure data."""

from ctk.record import Record

MAIN, DROP_IN, TEMPLATE, GENERATED = "main", "drop-in", "template", "generated"

GO_TEMPLATE_BASE = '{{ template "base" . }}'
"""The line of a k3s or RKE2 template that stands for the whole built-in template. Since the releases of September
2023 (v1.24.17, v1.25.13, v1.26.8, v1.27.5, v1.28.1), https://docs.k3s.io/advanced#base-template."""

K0S_MARKER = "# k0s_managed=true"
"""A line of /etc/k0s/containerd.toml: k0s rewrites that file and merges its drop-in folder by itself. A missing file
counts as managed. https://docs.k0sproject.io/stable/runtime/#k0s-managed-dynamic-runtime-configuration (k0s 1.27.1)."""


class Installation(Record):
    """One kind of installation. Paths are the host's; in user rows they start with $XDG_CONFIG_HOME or the like.

    markers: any that exists means installed. binaries: names are looked up in the usual folders, paths are taken as
    they are; the first that exists counts. units: the first that exists counts; they name the daemon's own unit, or
    the one that starts it. config: the main file unless a flag names another. templates: what the config is generated
    from, the first that exists counts, else the first. arguments_file: a file of daemon flags that the unit's wrapper
    script reads. used_by: who always uses it. treatment is main (edit the config or its drop-in as usual), drop-in
    (only the drop-in folder), template (edit the template), generated (the owner makes the file at every start).
    """

    engine: str
    name: str
    binaries: tuple[str, ...]
    units: tuple[str, ...]
    config: str
    socket: str
    markers: tuple[str, ...] = ()
    drop_in_directory: str | None = None
    templates: tuple[str, ...] = ()
    treatment: str = MAIN
    arguments_file: str | None = None
    variables: tuple[tuple[str, str], ...] = ()  # what ${...} in the arguments file stands for
    per_user: bool = False
    used_by: tuple[str, ...] = ()


# k3s writes config.toml at every start, from config-v3.toml.tmpl if there is one (containerd 2), else from
# config.toml.tmpl (containerd 1.x, and still read by later releases), else from its built-in template. It looks for
# nvidia-container-runtime itself at every start. https://docs.k3s.io/advanced#configuring-containerd
_K3S = "/var/lib/rancher/k3s/agent/etc/containerd"
# RKE2 embeds the k3s agent and shares its socket. https://docs.rke2.io/advanced#configuring-containerd
_RKE2 = "/var/lib/rancher/rke2/agent/etc/containerd"
# microk8s' wrapper replaces ${SNAP}, ${SNAP_DATA}, ${SNAPSHOTTER} and ${RUNTIME} in the template with sed and writes
# containerd.toml beside it at every start; flags are in args/containerd. https://microk8s.io/docs/configuring-services
_MICROK8S = "/var/snap/microk8s/current"

INSTALLATIONS: tuple[Installation, ...] = (
    # https://docs.docker.com/engine/daemon/#configuration-file
    Installation(
        engine="docker",
        name="system",
        binaries=("dockerd",),
        units=("docker.service",),
        config="/etc/docker/daemon.json",
        socket="/var/run/docker.sock",
    ),
    # The snap's dockerd sees $SNAP_DATA/config/daemon.json only; https://github.com/canonical/docker-snap
    Installation(
        engine="docker",
        name="snap",
        markers=("/var/snap/docker/current", "/snap/docker/current"),
        binaries=("/snap/docker/current/bin/dockerd",),
        units=("snap.docker.dockerd.service",),
        config="/var/snap/docker/current/config/daemon.json",
        socket="/var/run/docker.sock",
    ),
    # https://docs.docker.com/engine/security/rootless/tips/ (unit, socket, configuration folder)
    Installation(
        engine="docker",
        name="rootless",
        markers=("$XDG_CONFIG_HOME/docker/daemon.json",),
        binaries=("$HOME/bin/dockerd", "dockerd"),
        units=("docker.service",),
        config="$XDG_CONFIG_HOME/docker/daemon.json",
        socket="$XDG_RUNTIME_DIR/docker.sock",
        per_user=True,
    ),
    # https://github.com/containerd/containerd/blob/main/docs/man/containerd-config.toml.5.md; containerd imports no
    # folder by itself before 2.2, conf.d is the custom of packages and of NVIDIA's toolkit.
    Installation(
        engine="containerd",
        name="system",
        binaries=("containerd",),
        units=("containerd.service",),
        config="/etc/containerd/config.toml",
        socket="/run/containerd/containerd.sock",
        drop_in_directory="/etc/containerd/conf.d",
    ),
    Installation(
        engine="containerd",
        name="k3s",
        markers=(_K3S,),
        binaries=("/var/lib/rancher/k3s/data/current/bin/containerd",),
        units=("k3s.service", "k3s-agent.service"),
        config=f"{_K3S}/config.toml",
        socket="/run/k3s/containerd/containerd.sock",
        templates=(f"{_K3S}/config-v3.toml.tmpl", f"{_K3S}/config.toml.tmpl"),
        treatment=GENERATED,
        used_by=("k3s",),
    ),
    Installation(
        engine="containerd",
        name="rke2",
        markers=(_RKE2,),
        binaries=("/var/lib/rancher/rke2/bin/containerd", "/var/lib/rancher/rke2/data/current/bin/containerd"),
        units=("rke2-server.service", "rke2-agent.service"),
        config=f"{_RKE2}/config.toml",
        socket="/run/k3s/containerd/containerd.sock",
        templates=(f"{_RKE2}/config-v3.toml.tmpl", f"{_RKE2}/config.toml.tmpl"),
        treatment=GENERATED,
        used_by=("rke2",),
    ),
    Installation(
        engine="containerd",
        name="microk8s",
        markers=(f"{_MICROK8S}/args/containerd-template.toml",),
        binaries=("/snap/microk8s/current/bin/containerd",),
        units=("snap.microk8s.daemon-containerd.service",),
        config=f"{_MICROK8S}/args/containerd.toml",
        socket="/var/snap/microk8s/common/run/containerd.sock",
        templates=(f"{_MICROK8S}/args/containerd-template.toml",),
        treatment=TEMPLATE,
        arguments_file=f"{_MICROK8S}/args/containerd",
        variables=(
            ("SNAP", "/snap/microk8s/current"),
            ("SNAP_DATA", _MICROK8S),
            ("SNAP_COMMON", "/var/snap/microk8s/common"),
        ),
        used_by=("microk8s",),
    ),
    # https://docs.k0sproject.io/stable/runtime/
    Installation(
        engine="containerd",
        name="k0s",
        markers=("/etc/k0s/containerd.toml", "/var/lib/k0s/bin/containerd"),
        binaries=("/var/lib/k0s/bin/containerd",),
        units=("k0sworker.service", "k0scontroller.service"),
        config="/etc/k0s/containerd.toml",
        socket="/run/k0s/containerd.sock",
        drop_in_directory="/etc/k0s/containerd.d",
        treatment=DROP_IN,
        used_by=("k0s",),
    ),
    # A dockerd that finds no containerd at the system's socket starts one of its own and writes its configuration.
    # https://docs.docker.com/reference/cli/dockerd/ (--containerd)
    Installation(
        engine="containerd",
        name="docker",
        markers=("/var/run/docker/containerd/containerd.toml",),
        binaries=(),
        units=(),
        config="/var/run/docker/containerd/containerd.toml",
        socket="/var/run/docker/containerd/containerd.sock",
        treatment=GENERATED,
        used_by=("docker",),
    ),
    Installation(
        engine="containerd",
        name="docker-snap",
        markers=("/run/snap.docker/containerd/containerd.toml",),
        binaries=("/snap/docker/current/bin/containerd",),
        units=(),
        config="/run/snap.docker/containerd/containerd.toml",
        socket="/run/snap.docker/containerd/containerd.sock",
        treatment=GENERATED,
        used_by=("docker",),
    ),
    # https://github.com/containerd/nerdctl/blob/main/docs/rootless.md; the socket is inside the user's mount namespace.
    Installation(
        engine="containerd",
        name="rootless",
        markers=("$XDG_CONFIG_HOME/containerd/config.toml",),
        binaries=("$HOME/bin/containerd", "$HOME/.local/bin/containerd", "containerd"),
        units=("containerd.service",),
        config="$XDG_CONFIG_HOME/containerd/config.toml",
        socket="/run/containerd/containerd.sock",
        drop_in_directory="$XDG_CONFIG_HOME/containerd/conf.d",
        per_user=True,
    ),
    # https://github.com/cri-o/cri-o/blob/main/docs/crio.8.md
    Installation(
        engine="crio",
        name="system",
        binaries=("crio",),
        units=("crio.service", "cri-o.service"),
        config="/etc/crio/crio.conf",
        socket="/var/run/crio/crio.sock",
        drop_in_directory="/etc/crio/crio.conf.d",
    ),
    # Podman has no daemon; the unit is the API service. https://docs.podman.io, containers.conf(5)
    Installation(
        engine="podman",
        name="system",
        binaries=("podman",),
        units=("podman.service",),
        config="/etc/containers/containers.conf",
        socket="/run/podman/podman.sock",
        drop_in_directory="/etc/containers/containers.conf.d",
    ),
)


class Daemon(Record):
    """How an engine's daemon is called and told where things are.

    aliases: short flag to long name. config, config_directory, socket: long names of flags. environment: the variable
    that stands for a flag that is not given. switches: short flags without a value. clusters: short flags may be
    written together with each other and with their value (pflag); else one dash means the same as two (Go's flag).
    """

    engine: str
    process: str
    aliases: tuple[tuple[str, str], ...]
    config: str
    config_directory: str = ""
    socket: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    switches: str = ""
    clusters: bool = False


DAEMONS: tuple[Daemon, ...] = (
    # https://docs.docker.com/reference/cli/dockerd/
    Daemon(
        engine="docker",
        process="dockerd",
        aliases=(
            ("H", "host"),
            ("D", "debug"),
            ("b", "bridge"),
            ("G", "group"),
            ("g", "data-root"),
            ("l", "log-level"),
            ("p", "pidfile"),
            ("s", "storage-driver"),
        ),
        config="config-file",
        socket="host",
        switches="D",
        clusters=True,
    ),
    # `containerd --help`
    Daemon(
        engine="containerd",
        process="containerd",
        aliases=(("c", "config"), ("a", "address"), ("l", "log-level")),
        config="config",
        socket="address",
    ),
    # crio.8: -c, -d and their variables
    Daemon(
        engine="crio",
        process="crio",
        aliases=(("c", "config"), ("d", "config-dir"), ("l", "log-level"), ("r", "root"), ("s", "storage-driver")),
        config="config",
        config_directory="config-dir",
        socket="listen",
        environment=(("config", "CONTAINER_CONFIG"), ("config-dir", "CONTAINER_CONFIG_DIR")),
    ),
    # podman-system-service.1: the API service takes its socket as an argument; CONTAINERS_CONF replaces all files
    Daemon(engine="podman", process="podman", aliases=(), config="", environment=(("", "CONTAINERS_CONF"),)),
)


def get_installation(engine: str, name: str) -> Installation:
    """The row of one kind; KeyError when there is none."""
    for row in INSTALLATIONS:
        if (row.engine, row.name) == (engine, name):
            return row
    raise KeyError((engine, name))


def get_daemon(engine: str) -> Daemon:
    """How the engine's daemon is called; KeyError for an unknown engine."""
    for daemon in DAEMONS:
        if daemon.engine == engine:
            return daemon
    raise KeyError(engine)
