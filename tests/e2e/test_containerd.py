"""ctk and real containerd 1.6, 1.7 and 2: configure, start, run a pod through the entry, take it back, start again."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from .cri import Condition, CriClient, CriError
from .daemons import CRI_RUNTIME, CRI_SERVICE, RunningContainerd, dump_config
from .engines import CONTAINERD_GENERATIONS, Engine, need_engine
from .life_cycle import (
    HELLO,
    KeyPath,
    configure,
    differences,
    flatten,
    read_corpus,
    run_runtime,
    snapshot_times,
    unconfigure,
)
from .scenario import Scenario

MakeScenario = Callable[[Engine | None], Scenario]

CONFIG = "/etc/containerd/config.toml"
FOLDER = "/etc/containerd"
RUNTIME = "/usr/bin/nvidia-container-runtime"

# Which corpus files an engine takes as they are: 2 refuses a byte order mark and ignores version 1; 1.7 refuses 3.
# In a version 2 file without a runtimes table, 2 does not see a snapshotter; with the table it does (measured on 2.1).
REFUSED_BY_TWO = ("v2-bom.toml",)
WOKEN_BY_A_TABLE = ("v2-proxy-plugins.toml",)
WITHOUT_CRI = ("v1-docker-package.toml", "v2-cri-disabled.toml")
PATTERNS = {"1.6": ("v1-*.toml", "v2-*.toml"), "1.7": ("v1-*.toml", "v2-*.toml"), "2": ("v2-*.toml", "v3-*.toml")}

CDI_SPEC = {
    "cdiVersion": "0.5.0",
    "kind": "vendor.example.com/device",
    "devices": [{"name": "one", "containerEdits": {"env": ["CTK_CDI=injected"]}}],
}


def _corpus_cases() -> Sequence[object]:
    cases = []
    for generation in CONTAINERD_GENERATIONS:
        for path in (path for pattern in PATTERNS[generation] for path in read_corpus("containerd", pattern)):
            if path.name in WITHOUT_CRI or (generation == "2" and path.name in REFUSED_BY_TWO + WOKEN_BY_A_TABLE):
                continue
            cases.append(pytest.param(generation, path, id=f"{generation}-{path.stem}"))
    return cases


def _find_cri(dump: dict[str, object]) -> dict[str, object]:
    """The CRI plugin's table that holds runtimes, in either version's place."""
    plugins = dump["plugins"]
    assert isinstance(plugins, dict)
    found = plugins.get(CRI_RUNTIME) or plugins[CRI_SERVICE]
    assert isinstance(found, dict)
    return found


def _foreign(changes: dict[KeyPath, tuple[object, object]]) -> dict[KeyPath, tuple[object, object]]:
    """What differs outside the keys that are ctk's: the nvidia entry, and the list of files that were loaded.

    A file without a runtimes table also gets runc, and 1.7 then fills in sandbox_mode when it starts, no longer
    when it prints.
    """
    allowed = ("runtimes", "runc", "sandbox_mode")
    return {
        key: values
        for key, values in changes.items()
        if key != ("imports",) and key[-4:-1] != ("runtimes", "nvidia", "options") and "nvidia" not in key
        if not (key[-3:] == allowed and values == ("podsandbox", None))
    }


def _has_systemd_cgroup(dump: dict[str, object]) -> bool:
    """Whether the default runtime's containers get their cgroups from systemd."""
    containerd = _find_cri(dump)["containerd"]
    assert isinstance(containerd, dict)
    default = containerd["runtimes"][containerd["default_runtime_name"]]
    return bool(default.get("options", {}).get("SystemdCgroup"))


def _run_life_cycle(scenario: Scenario, folder: str = FOLDER, flags: tuple[str, ...] = (), *options: str) -> None:
    """The whole way, from the files as they are and back to them."""
    files, before = scenario.read_tree(folder), dump_config(scenario.host, flags)
    report = configure(scenario, "containerd", *options)
    assert report.method == "config-dump"
    assert report.actions
    after = dump_config(scenario.host, flags)
    assert _foreign(differences(before, after)) == {}
    assert ("nvidia", "options", "BinaryName") in {key[-3:] for key in flatten(after)}

    times = snapshot_times(scenario, folder)
    assert configure(scenario, "containerd", *options).actions == {}
    assert snapshot_times(scenario, folder) == times

    with RunningContainerd(scenario.host, flags) as daemon:
        assert daemon.cri_state() == "ok", daemon.log_tail()
        assert [row.status for row in _conditions(daemon) if row.kind == "RuntimeReady"] == [True]
        daemon.load_image(scenario.busybox)
        result = daemon.run_pod("nvidia", HELLO)
    assert (result.exit_code, result.output) == (7, "hello from 0\n")
    assert len(scenario.runtime.creates) == 2  # the pod's sandbox and its container
    expected = _has_systemd_cgroup(before)
    assert all(("--systemd-cgroup" in call) == expected for call in scenario.runtime.creates)

    unconfigure(scenario, "containerd", *options)
    assert scenario.read_tree(folder) == files
    with RunningContainerd(scenario.host, flags) as daemon:
        assert daemon.cri_state() == "ok", daemon.log_tail()
        with pytest.raises(CriError, match='no runtime for "nvidia" is configured'):
            daemon.run_pod("nvidia", HELLO)


def _conditions(daemon: RunningContainerd) -> list[Condition]:
    with CriClient(daemon.socket) as client:
        return client.ask_conditions()


def test_a_host_without_a_file(containerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(containerd)
    _run_life_cycle(scenario)
    assert not scenario.host.path(CONFIG).exists()


def test_the_engines_own_default_configuration(containerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(containerd)
    scenario.write(CONFIG, scenario.host.run(["containerd", "config", "default"]).stdout)
    _run_life_cycle(scenario)


def test_the_packages_configuration(containerd: Engine, make_scenario: MakeScenario) -> None:
    packaged = Path(containerd.root) / "etc/containerd/config.toml"
    if not packaged.exists():
        packaged = read_corpus("containerd", "v2-debian-package.toml")[0]
    scenario = make_scenario(containerd)
    scenario.write(CONFIG, packaged.read_bytes())
    _run_life_cycle(scenario)


@pytest.mark.parametrize(("generation", "path"), _corpus_cases())
def test_a_file_as_people_have_it(generation: str, path: Path, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(need_engine("containerd", generation))
    scenario.write(CONFIG, path.read_bytes())
    _run_life_cycle(scenario)


def test_a_file_elsewhere_named_by_a_flag(containerd: Engine, make_scenario: MakeScenario, tmp_path: Path) -> None:
    scenario = make_scenario(containerd)
    wrapper = "/opt/site/bin/gpu-runtime"
    scenario.write(wrapper, scenario.runtime.binary.read_bytes()).chmod(0o755)
    scenario.write("/opt/site/containerd.toml", read_corpus("containerd", "v2-kubeadm.toml")[0].read_bytes())
    flags = ("--config", "/opt/site/containerd.toml")
    files = scenario.read_tree("/opt/site")
    options = (*flags, "--executable-path", "/usr/bin/containerd", "--runtime-path", wrapper)
    before = dump_config(scenario.host, flags)
    configure(scenario, "containerd", *options)
    assert _foreign(differences(before, dump_config(scenario.host, flags))) == {}
    with RunningContainerd(scenario.host, flags) as daemon:
        daemon.load_image(scenario.busybox)
        assert daemon.run_pod("nvidia", HELLO).exit_code == 7
    assert len(scenario.runtime.creates) == 2
    assert scenario.read_tree(FOLDER) == {}
    unconfigure(scenario, "containerd", *options)
    assert scenario.read_tree("/opt/site") == files


def _write_site_drop_in(scenario: Scenario, generation: str) -> None:
    """A main file that imports conf.d, and a drop-in of the site's there, in the engine's own version."""
    version, cri, images = (3, CRI_RUNTIME, '"io.containerd.cri.v1.images".pinned_images]\nsandbox')
    if generation != "2":
        version, cri, images = (2, CRI_SERVICE, '"io.containerd.grpc.v1.cri"]\nsandbox_image')
    scenario.write(CONFIG, f'version = {version}\nimports = ["/etc/containerd/conf.d/*.toml"]\n')
    scenario.write(
        "/etc/containerd/conf.d/10-site.toml",
        f"# the site's own\nversion = {version}\n\n"
        f'[plugins.{images} = "registry.example.com/pause:7"\n\n'
        f'[plugins."{cri}".containerd.runtimes.runc]\nruntime_type = "io.containerd.runc.v2"\n'
        f'[plugins."{cri}".containerd.runtimes.runc.options]\nSystemdCgroup = true\n',
    )


def test_a_drop_in_of_the_sites_keeps_its_word(containerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(containerd)
    _write_site_drop_in(scenario, containerd.generation)
    assert "registry.example.com/pause:7" in flatten(dump_config(scenario.host)).values()
    _run_life_cycle(scenario)
    assert all("--systemd-cgroup" in call for call in scenario.runtime.creates)


def test_the_default_runtime_is_changed_and_given_back(containerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(containerd)
    scenario.write(CONFIG, read_corpus("containerd", "v2-crun-default.toml")[0].read_bytes())
    files, before = scenario.read_tree(FOLDER), dump_config(scenario.host)
    configure(scenario, "containerd", "--set-as-default")
    changes = differences(before, dump_config(scenario.host))
    defaults = {key: values for key, values in changes.items() if key[-1] == "default_runtime_name"}
    assert list(defaults.values()) == [("crun", "nvidia")]
    assert _foreign({key: values for key, values in changes.items() if key not in defaults}) == {}
    with RunningContainerd(scenario.host) as daemon:
        daemon.load_image(scenario.busybox)
        assert daemon.run_pod("", HELLO).exit_code == 7
    assert len(scenario.runtime.creates) == 2
    unconfigure(scenario, "containerd")
    assert scenario.read_tree(FOLDER) == files


@pytest.mark.parametrize("generation", ["1.7", "2"])
def test_cdi_is_switched_on_and_works(generation: str, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(need_engine("containerd", generation))
    scenario.write("/etc/cdi/vendor.json", json.dumps(CDI_SPEC))
    scenario.write(CONFIG, read_corpus("containerd", "v2-kubeadm.toml")[0].read_bytes())
    files = scenario.read_tree(FOLDER)
    configure(scenario, "containerd", "--enable-cdi")
    with RunningContainerd(scenario.host) as daemon:
        assert daemon.cri_state() == "ok"
        daemon.load_image(scenario.busybox)
        result = daemon.run_pod("nvidia", ("/bin/env",), devices=("vendor.example.com/device=one",))
    assert result.exit_code == 0
    assert "CTK_CDI=injected" in result.output
    unconfigure(scenario, "containerd")
    assert scenario.read_tree(FOLDER) == files


def _assert_left_alone(scenario: Scenario, *options: str) -> list[str]:
    """A configure that must stop with exit 3 and leave every file as it was; returns the names of its errors."""
    files = scenario.read_tree(FOLDER)
    report = run_runtime(scenario, "configure", "containerd", *options)
    assert report.exit_code == 3, report.document
    assert scenario.read_tree(FOLDER) == files
    return report.errors


def test_a_switch_that_the_engine_does_not_know_is_taken_back(make_scenario: MakeScenario) -> None:
    scenario = make_scenario(need_engine("containerd", "1.6"))
    scenario.write(CONFIG, read_corpus("containerd", "v2-kubeadm.toml")[0].read_bytes())
    assert _assert_left_alone(scenario, "--enable-cdi") == ["verify"]


def test_a_foreign_setting_that_would_come_alive_is_taken_back(make_scenario: MakeScenario) -> None:
    scenario = make_scenario(need_engine("containerd", "2"))
    scenario.write(CONFIG, read_corpus("containerd", WOKEN_BY_A_TABLE[0])[0].read_bytes())
    assert _assert_left_alone(scenario) == ["verify"]


def test_options_taken_from_the_engines_own_dump(containerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(containerd)
    _write_site_drop_in(scenario, containerd.generation)
    _run_life_cycle(scenario, FOLDER, (), "--config-source=command")


@pytest.mark.parametrize("name", WITHOUT_CRI)
def test_a_switched_off_cri_plugin_is_refused(name: str, containerd: Engine, make_scenario: MakeScenario) -> None:
    scenario = make_scenario(containerd)
    scenario.write(CONFIG, read_corpus("containerd", name)[0].read_bytes())
    times = snapshot_times(scenario, FOLDER)
    assert _assert_left_alone(scenario) == ["cri-disabled"]
    assert snapshot_times(scenario, FOLDER) == times
    with RunningContainerd(scenario.host) as daemon:
        assert daemon.cri_state() == "absent"


@pytest.mark.parametrize(
    ("generation", "name"),
    [("2", "v1-plain.toml"), ("2", "v2-bom.toml"), ("1.7", "v3-kubeadm.toml")],
    ids=["version-1-on-2", "mark-on-2", "version-3-on-1.7"],
)
def test_a_file_that_the_engine_does_not_follow_is_never_a_success(
    generation: str, name: str, make_scenario: MakeScenario
) -> None:
    scenario = make_scenario(need_engine("containerd", generation))
    scenario.write(CONFIG, read_corpus("containerd", name)[0].read_bytes())
    _assert_left_alone(scenario)
