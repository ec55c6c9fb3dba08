"""What the doctor reads in the engines' files beyond one runtime: versions, folders, faults, what is in vain."""

import pytest

from ctk.engines import containerd_reading, crio_reading, docker_reading
from ctk.engines.base import Layer
from ctk.engines.reading import FilesReading, fault_of, is_nvidia_runtime, version_numbers
from ctk.errors import ParseFault
from ctk.facts import Unknown
from ctk.facts.engines import OTHER_PLUGIN, EngineFlag, FileFault, UnreadRuntime

MAIN, DROP_IN = "/etc/containerd/config.toml", "/etc/containerd/conf.d/99-nvidia.toml"
OLD, NEW = "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"
IMPORTS = 'imports = ["/etc/containerd/conf.d/*.toml"]\n'


def entry(plugin: str, name: str = "nvidia", options: str = 'BinaryName = "/usr/bin/nvidia-container-runtime"') -> str:
    table = f'plugins."{plugin}".containerd.runtimes.{name}'
    return f'[{table}]\nruntime_type = "io.containerd.runc.v2"\n[{table}.options]\n{options}\n'


def containerd(*texts: str, engine: tuple[int, int] | None = (1, 7), merged_elsewhere: bool = False) -> FilesReading:
    layers = tuple(Layer(path, text) for path, text in zip((MAIN, DROP_IN), texts, strict=False))
    return containerd_reading.read(layers, engine, merged_elsewhere=merged_elsewhere)


# -- containerd --------------------------------------------------------------------------------------------------------


def test_runtimes_with_type_file_and_cgroup_manager() -> None:
    text = "version = 2\n" + entry(OLD, "runc", "SystemdCgroup = true") + entry(OLD)
    found = containerd(text).files
    assert [(one.name, one.path, one.file, one.kind, one.systemd_cgroup) for one in found.runtimes] == [
        ("runc", None, MAIN, "io.containerd.runc.v2", True),
        ("nvidia", "/usr/bin/nvidia-container-runtime", MAIN, "io.containerd.runc.v2", None),
    ]
    assert (found.config_version, found.default_runtime, found.cdi_enabled) == (2, None, None)


def test_version_0_is_no_version() -> None:
    """As dockerd writes the file of the containerd that it starts itself."""
    found = containerd('disabled_plugins = ["io.containerd.grpc.v1.cri"]\nversion = 0\n')
    assert (found.files.config_version, found.files.disabled_plugins) == (1, ("io.containerd.grpc.v1.cri",))


def test_a_drop_in_is_where_the_runtime_stands() -> None:
    found = containerd(f"version = 3\n{IMPORTS}", "version = 3\n" + entry(NEW), engine=(2, 1))
    assert [(one.name, one.file) for one in found.files.runtimes] == [("nvidia", DROP_IN)]


def test_a_drop_in_that_is_not_imported_is_not_in_force() -> None:
    assert containerd("version = 2\n", "version = 2\n" + entry(OLD)).files.runtimes == ()


def test_another_program_may_merge_what_is_not_imported() -> None:
    found = containerd("version = 2\n", "version = 2\n" + entry(OLD), merged_elsewhere=True)
    assert [one.name for one in found.files.runtimes] == ["nvidia"]


def test_switches_of_the_plugin() -> None:
    head = f'version = 2\ndisabled_plugins = ["cri", "btrfs"]\n[plugins."{OLD}"]\nenable_cdi = true\n'
    found = containerd(head + 'cdi_spec_dirs = ["/srv/cdi"]\n').files
    assert (found.disabled_plugins, found.cdi_enabled, found.cdi_directories) == (("cri",), True, ("/srv/cdi",))


@pytest.mark.parametrize(
    ("text", "engine", "plugins"),
    [
        pytest.param("version = 3\n" + entry(OLD), (2, 1), [OLD], id="old-name-in-new-file"),
        pytest.param("version = 2\n" + entry(NEW), (1, 7), [NEW], id="new-name-in-old-file"),
        pytest.param("version = 2\n" + entry("cri"), (1, 7), ["cri"], id="oldest-name"),
        pytest.param(entry(OLD), (1, 7), [OLD], id="no-version"),
        pytest.param("version = 1\n" + entry("cri"), (2, 1), ["cri"], id="version-1-on-containerd-2"),
        pytest.param("version = 3\n" + entry(NEW), (1, 6), [NEW], id="version-3-on-containerd-1"),
        pytest.param("version = 2\n" + entry(OLD), (2, 1), [], id="migrated"),
        pytest.param("version = 2\n" + entry(OLD), None, [], id="fits"),
        pytest.param("version = 3\n" + entry(NEW), (2, 1), [], id="fits-3"),
        pytest.param("version = 2\n" + entry(NEW, "kata", 'BinaryName = "/k"'), (1, 7), [], id="not-ours"),
    ],
)
def test_runtimes_under_a_name_that_is_not_read(text: str, engine: tuple[int, int], plugins: list[str]) -> None:
    assert list(containerd(text, engine=engine).unread) == [
        UnreadRuntime("nvidia", MAIN, OTHER_PLUGIN, plugin) for plugin in plugins
    ]


@pytest.mark.parametrize(
    ("text", "engine", "dangling"),
    [
        ("version = 2\n" + entry(OLD), (1, 7), "runc"),  # a list in the file replaces the built-in one before 2.0
        ("version = 2\n" + entry(OLD), (2, 1), None),
        ("version = 2\n" + entry(OLD), None, None),
        ("version = 2\n", (1, 7), None),
        (f'version = 2\n[plugins."{OLD}".containerd]\ndefault_runtime_name = "crun"\n', (1, 7), "crun"),
        (f'version = 2\n[plugins."{OLD}".containerd]\ndefault_runtime_name = "${{RUNTIME}}"\n', (1, 7), None),
        (f'version = 2\n[plugins."{OLD}".containerd]\ndefault_runtime_name = "nvidia"\n' + entry(OLD), (1, 7), None),
        (f'version = 2\n[plugins."{OLD}".containerd.default_runtime]\nruntime_type = "x"\n' + entry(OLD), (1, 7), None),
    ],
)
def test_a_default_that_nothing_stands_behind(text: str, engine: tuple[int, int] | None, dangling: str | None) -> None:
    assert containerd(text, engine=engine).files.dangling_default == dangling


def test_files_of_two_versions_are_a_fault_with_its_place() -> None:
    found = containerd(f"version = 2\n{IMPORTS}", "# ours\nversion = 3\n" + entry(NEW))
    assert found.faults == (FileFault(DROP_IN, f"it is version 3, but {MAIN} is version 2", 2, 1),)


def test_a_file_that_is_too_new_is_a_fault() -> None:
    found = containerd("version = 3\n" + entry(NEW), engine=(1, 7))
    assert [(one.message, one.line, one.is_fatal) for one in found.faults] == [
        ("containerd 1.7 does not take version 3", 1, True)
    ]
    assert found.unread == ()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('version = "2"\n', 1, "version must be an integer such as version = 2, not '2'"),
        ("version = 9\n", 1, "unsupported config version 9: ctk knows versions 1 to 4"),
        ("version = 2\n[a]\n[a]\n", 3, "the table [a] stands here a second time, the first one is in line 2"),
        ("version = 2\nimports = 5\n", 2, "imports must be an array of strings, not an integer"),
    ],
)
def test_what_is_refused_is_told_in_few_words(text: str, line: int, words: str) -> None:
    with pytest.raises(ParseFault) as caught:
        containerd(text)
    found = fault_of(caught.value, MAIN)
    assert (found.path, found.line, found.message, found.is_fatal) == (MAIN, line, words, True)


@pytest.mark.parametrize(
    ("version", "table"),
    [
        (1, "plugins.cri.containerd.runtimes"),
        (2, f"plugins.'{OLD}'.containerd.runtimes"),
        (3, f"plugins.'{NEW}'.containerd.runtimes"),
        (None, f"plugins.'{OLD}'.containerd.runtimes"),
    ],
)
def test_the_right_table_for_each_version(version: int | None, table: str) -> None:
    assert containerd_reading.plugin_table(version) == table


def test_runtimes_of_one_file_under_any_name() -> None:
    assert containerd_reading.nvidia_runtimes_of(entry(NEW) + entry(OLD, "runc", ""), DROP_IN) == ("nvidia",)


# -- Docker ------------------------------------------------------------------------------------------------------------


def docker(text: str | None, *flags: EngineFlag) -> FilesReading:
    return docker_reading.read((Layer("/etc/docker/daemon.json", text),), flags)


def test_daemon_json() -> None:
    found = docker(
        '{"runtimes": {"nvidia": {"path": "/n", "args": []}, "kata": {"runtimeType": "io.containerd.kata.v2"}},'
        ' "default-runtime": "nvidia", "features": {"cdi": true}, "live-restore": true,'
        ' "exec-opts": ["native.cgroupdriver=cgroupfs", "native.cgroupdriver=systemd"], "cdi-spec-dirs": ["/c"]}'
    ).files
    assert [(one.name, one.path, one.kind) for one in found.runtimes] == [
        ("nvidia", "/n", None),
        ("kata", None, "io.containerd.kata.v2"),
    ]
    assert (found.default_runtime, found.cdi_enabled, found.live_restore) == ("nvidia", True, True)
    assert (found.cgroup_driver, found.cdi_directories, found.dangling_default) == ("systemd", ("/c",), None)
    assert found.keys == ("runtimes", "default-runtime", "features", "live-restore", "exec-opts", "cdi-spec-dirs")


@pytest.mark.parametrize("text", [None, "", "{}"])
def test_nothing_in_the_file(text: str | None) -> None:
    found = docker(text)
    assert (found.files.runtimes, found.files.keys, found.files.live_restore, found.faults) == ((), (), None, ())


@pytest.mark.parametrize(
    ("text", "flags", "dangling"),
    [
        ('{"default-runtime": "crun"}', (), "crun"),
        ('{"default-runtime": "crun"}', (EngineFlag("add-runtime", "crun=/usr/bin/crun", "unit"),), None),
        ('{"default-runtime": "runc"}', (), None),
        ('{"default-runtime": "io.containerd.kata.v2"}', (), None),
        ('{"default-runtime": "nvidia", "runtimes": {"nvidia": {"path": "/n"}}}', (), None),
    ],
)
def test_a_default_of_dockers_that_nothing_stands_behind(
    text: str, flags: tuple[EngineFlag, ...], dangling: str | None
) -> None:
    assert docker(text, *flags).files.dangling_default == dangling


def test_what_is_there_twice_is_no_fatal_fault() -> None:
    (fault,) = docker('{\n  "debug": true,\n  "debug": false\n}').faults
    assert (fault.line, fault.column, fault.is_fatal) == (3, 3, False)
    assert "debug is there twice" in fault.message


def test_a_shim_with_a_path_is_a_fatal_fault() -> None:
    (fault,) = docker('{"runtimes": {"k": {"path": "/k", "runtimeType": "x"}}}').faults
    assert (fault.message, fault.is_fatal) == ("runtimes.k has both path and runtimeType", True)


@pytest.mark.parametrize(
    "text", ['{"runtimes": []}', '{"default-runtime": 5}', '{"features": {"cdi": "yes"}}', "[]", "{,}"]
)
def test_what_dockerd_refuses_is_refused(text: str) -> None:
    with pytest.raises(ParseFault):
        docker(text)


@pytest.mark.parametrize(
    ("flag", "member"), [("host", "hosts"), ("exec-opt", "exec-opts"), ("add-runtime", "runtimes"), ("debug", "debug")]
)
def test_a_flag_has_its_member(flag: str, member: str) -> None:
    assert docker_reading.member_of(flag) == member


# -- CRI-O and Podman --------------------------------------------------------------------------------------------------


def test_crio_merges_key_by_key() -> None:
    main = '[crio.runtime]\ncgroup_manager = "cgroupfs"\n[crio.runtime.runtimes.nvidia]\nruntime_path = "/old"\n'
    table = "[crio.runtime.runtimes.nvidia]"
    late = f'[crio.runtime]\ncdi_spec_dirs = ["/c"]\n{table}\nmonitor_path = "/m"\nruntime_type = "oci"\n'
    found = crio_reading.read((Layer("/a", main), Layer("/b", late))).files
    assert [(one.name, one.path, one.file, one.kind, one.monitor) for one in found.runtimes] == [
        ("nvidia", "/old", "/b", "oci", "/m")
    ]
    assert (found.cgroup_driver, found.cdi_directories, found.cdi_enabled) == ("cgroupfs", ("/c",), True)


@pytest.mark.parametrize(("default", "dangling"), [("kata", "kata"), ("runc", None), ("crun", None), ("", None)])
def test_crio_brings_two_runtimes_along(default: str, dangling: str | None) -> None:
    found = crio_reading.read((Layer("/a", f'[crio.runtime]\ndefault_runtime = "{default}"\n'),)).files
    assert found.dangling_default == dangling


def test_podman_reads_the_table_engine() -> None:
    texts = ('[engine]\ncdi_spec_dirs = ["/a"]\nruntime = "crun"\n', '[engine]\ncdi_spec_dirs = ["/b"]\n')
    found = crio_reading.read_podman(tuple(Layer(f"/{index}", text) for index, text in enumerate(texts))).files
    assert (found.cdi_directories, found.default_runtime, found.runtimes) == (("/b",), "crun", ())


def test_crios_runtimes_of_one_file() -> None:
    table = "crio.runtime.runtimes"
    text = f'[{table}.gpu]\nruntime_path = "/usr/bin/nvidia-container-runtime"\n[{table}.runc]\n'
    assert crio_reading.nvidia_runtimes_of(text, "/a") == ("gpu",)


# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "path", "ours"),
    [
        ("nvidia", None, True),
        ("nvidia-cdi", None, True),
        ("gpu", "/opt/nvidia-container-runtime.cdi", True),
        ("gpu", "ctk-container-runtime", True),
        ("runc", "/usr/bin/runc", False),
        ("kata", None, False),
    ],
)
def test_whose_runtime_it_is(name: str, path: str | None, ours: bool) -> None:
    assert is_nvidia_runtime(name, path) is ours


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("27.5.1", (27, 5)), ("1.6.20~ds1", (1, 6)), ("2", None), ("x.y", None), (None, None), (Unknown("no"), None)],
)
def test_two_numbers_of_a_version(text: str | None | Unknown, numbers: tuple[int, int] | None) -> None:
    assert version_numbers(text) == numbers
