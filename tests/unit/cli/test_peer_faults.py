"""Faults known from NVIDIA's toolkit that break engines or lose data, by number: none of them may be ours."""

import json
import os
import resource
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.unit.cli.scene import CONTAINERD_V2, CRIO_DROP_IN, RUNTIME, HostFolder, ctk

CRI2 = "io.containerd.grpc.v1.cri"
MAIN = "/etc/containerd/config.toml"
DROP_IN = "/etc/containerd/conf.d/99-nvidia.toml"
SECRET = "made-up-password"
REPOSITORY = Path(__file__).parents[3]


def cri(path: Path) -> dict[str, dict[str, object]]:
    """The table of containerd's runtimes in a version 2 file."""
    found: dict[str, dict[str, object]] = tomllib.loads(path.read_text())["plugins"][CRI2]["containerd"]
    return found


@pytest.mark.parametrize("start", [None, "version = 2\n"], ids=["no file", "minimal"])
def test_fault_01_containerd_keeps_its_runc(host: HostFolder, start: str | None) -> None:
    """A file that names only nvidia takes the built-in runc away, and the CRI plugin does not load."""
    config = host.engine("containerd", start)
    assert host.configure("containerd").code == 0
    assert set(cri(config)["runtimes"]) == {"runc", "nvidia"}


@pytest.mark.parametrize("start", [CONTAINERD_V2, "version = 3\n"], ids=["version 2", "version 3"])
def test_fault_02_an_empty_drop_in_is_the_main_file(host: HostFolder, start: str) -> None:
    """--drop-in-config= lost the runtime, and the main file imported its own folder."""
    config = host.engine("containerd", start)
    assert host.configure("containerd", "--drop-in-config=").code == 0
    document = tomllib.loads(config.read_text())
    assert "imports" not in document
    assert "nvidia" in str(document["plugins"])
    assert not host.path("/etc/containerd/conf.d").exists()


def test_fault_03_crio_conf_is_not_replaced(host: HostFolder) -> None:
    """--drop-in-config= replaced the whole crio.conf by the nvidia table."""
    start = '# site\n[crio.runtime]\ndefault_runtime = "crun"\n\n[crio.image]\npause_image = "a:1" # pinned\n'
    config = host.engine("crio", start)
    assert host.configure("crio", "--drop-in-config=").code == 0
    rest = iter(config.read_text().splitlines())
    assert all(line in rest for line in start.splitlines()), "every old line, in the old order"
    assert tomllib.loads(config.read_text())["crio"]["runtime"]["runtimes"]["nvidia"]["runtime_path"] == RUNTIME


@pytest.mark.real
def test_fault_04_a_version_1_file_stays_one(host: HostFolder, tmp_path: Path) -> None:
    """The dump of a newer version brought imports and version 2 tables into a version 1 file: no start any more."""
    config = host.put(
        "/config.toml", '[plugins.cri.containerd.runtimes.runc]\n  runtime_type = "io.containerd.runc.v2"\n'
    )
    dump = 'version = 2\n[plugins."io.containerd.grpc.v1.cri".containerd]\n  default_runtime_name = "runc"\n'
    program = host.put("/containerd", f"#!/bin/sh\ncat <<'END'\n{dump}END\n", 0o755)
    words = ("--runtime=containerd", f"--config={config}", f"--executable-path={program}", "--config-source=command")
    answer = ctk("runtime", "configure", *words, "--no-verify", "--force=missing-binary")
    assert answer.code == 0
    document = tomllib.loads(config.read_text())
    assert set(document) == {"plugins"}
    assert set(document["plugins"]) == {"cri"}
    assert "nvidia" in document["plugins"]["cri"]["containerd"]["runtimes"]
    assert not host.path("/conf.d").exists()


def test_fault_05_other_features_of_docker_stay(host: HostFolder) -> None:
    """--enable-cdi replaced the features object; without the snapshotter all images seemed to be gone."""
    config = host.engine("docker", '{"features": {"buildkit": true, "containerd-snapshotter": true}}\n')
    assert host.configure("docker", "--enable-cdi").code == 0
    features = json.loads(config.read_text())["features"]
    assert features == {"buildkit": True, "containerd-snapshotter": True, "cdi": True}


def with_secret(host: HostFolder) -> Path:
    """A main file that only root may read, because it holds a password."""
    config = host.engine("containerd")
    table = f'[plugins."{CRI2}".registry.configs."registry.example.com".auth]\n  password = "{SECRET}"\n'
    return host.put(str(config.relative_to(host.folder)), CONTAINERD_V2 + table, 0o600)


def files_that_hold(host: HostFolder, words: str) -> set[Path]:
    return {path for path in host.folder.rglob("*") if path.is_file() and words.encode() in path.read_bytes()}


@pytest.mark.parametrize("words", [(), (f"--drop-in-config={DROP_IN}",)], ids=["usual", "drop-in"])
def test_fault_06_passwords_stay_where_only_root_reads_them(host: HostFolder, words: tuple[str, ...]) -> None:
    """Registry credentials were copied from a 0600 file into a drop-in that all may read."""
    config = with_secret(host)
    assert host.configure("containerd", *words).code == 0
    holders = files_that_hold(host, SECRET)
    assert config in holders
    assert bool(words) is (len(holders) == 2)
    assert {path.stat().st_mode & 0o777 for path in holders} == {0o600}


def test_fault_07_another_drop_in_keeps_its_say(host: HostFolder) -> None:
    """A full copy of the main file's section came last, and won over the settings of other drop-ins."""
    config = host.engine("containerd", f'imports = ["conf.d/*.toml"]\n{CONTAINERD_V2}')
    site = host.put(
        "/etc/containerd/conf.d/10-site.toml", CONTAINERD_V2 + f'[plugins."{CRI2}"]\n  sandbox_image = "a:1"\n'
    )
    assert host.configure("containerd").code == 0
    assert not host.path(DROP_IN).exists()
    last = tomllib.loads(site.read_text())["plugins"][CRI2]
    assert last["sandbox_image"] == "a:1"
    assert set(last["containerd"]["runtimes"]) == {"runc", "nvidia"}, "containerd 1.x sees the last section only"
    assert last["containerd"]["runtimes"]["nvidia"]["options"]["SystemdCgroup"] is True
    assert "nvidia" not in config.read_text()


@pytest.mark.parametrize("engine", ["docker", "containerd", "crio"])
@pytest.mark.parametrize("name", ["", "  ", "runc"])
def test_fault_08_a_name_that_kills_the_engine_is_refused(host: HostFolder, engine: str, name: str) -> None:
    """An empty name gave invalid TOML, runc as a name keeps dockerd from starting."""
    host.engine(engine, {"docker": "{}\n", "containerd": CONTAINERD_V2, "crio": ""}[engine])
    before = host.everything()
    answer = host.configure(engine, f"--nvidia-runtime-name={name}")
    assert answer.code == (3 if name == "runc" else 2)
    assert len(answer.errors()) == 1
    assert host.everything() == before


def test_fault_10_nothing_that_stands_there_is_dropped(host: HostFolder) -> None:
    """Text behind the JSON object, imports that are no strings, a drop-in's content, and earlier names were dropped."""
    docker = host.engine("docker", '{"debug": true} trailing {"x": 1}\n')
    containerd = host.engine("containerd", 'version = 2\nimports = ["a.toml", 3]\n')
    before = host.everything()
    for engine in ("docker", "containerd"):
        assert host.configure(engine).code == 3
    assert host.everything() == before
    docker.write_text("{}\n")
    containerd.write_text(CONTAINERD_V2)
    host.engine("crio", "")
    drop_in = host.put(CRIO_DROP_IN, '# by hand\n[crio.image]\npause_image = "a:1"\n')
    for engine in ("docker", "containerd", "crio"):
        for name in ("nvidia", "nvidia-b"):
            assert host.configure(engine, f"--nvidia-runtime-name={name}").code == 0
    assert set(json.loads(docker.read_text())["runtimes"]) == {"nvidia", "nvidia-b"}
    assert set(cri(containerd)["runtimes"]) == {"runc", "nvidia", "nvidia-b"}
    assert set(tomllib.loads(drop_in.read_text())["crio"]["runtime"]["runtimes"]) == {"nvidia", "nvidia-b"}
    assert drop_in.read_text().startswith('# by hand\n[crio.image]\npause_image = "a:1"\n')


@pytest.mark.parametrize("words", [("--dry-run",), ("--dry-run", "--json"), ("--check",)], ids=" ".join)
def test_fault_20_no_password_is_printed(host: HostFolder, words: tuple[str, ...]) -> None:
    """Secrets left the file that kept them; ctk also keeps them out of what it prints."""
    with_secret(host)
    for more in ((), (f"--drop-in-config={DROP_IN}",)):
        answer = host.configure("containerd", *more, *words)
        assert SECRET not in answer.out + answer.err
    assert host.configure("containerd", f"--drop-in-config={DROP_IN}").code == 0
    assert SECRET not in host.unconfigure("containerd", *words).out


def started(host: HostFolder, *arguments: str, limit: int | None = None) -> subprocess.Popen[str]:
    """The command in a process of its own; limit: the largest file it may write, as on a full disk."""

    def set_limit() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.Popen(
        [sys.executable, "-m", "ctk", "--root", str(host.folder), "runtime", "configure", *arguments],
        cwd=REPOSITORY,
        env={**os.environ, "CTK_STATE_DIR": str(host.state)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=set_limit,
    )


@pytest.mark.real
def test_fault_21_a_failing_write_leaves_the_old_file(host: HostFolder) -> None:
    """Files were truncated in place: on a full disk nothing was left of them."""
    host.engine("docker", '{"debug": true}\n')
    before = host.everything()
    process = started(host, "--runtime=docker", limit=0)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert err.startswith("error: cannot ")
    assert host.everything() == before


@pytest.mark.real
def test_fault_21_concurrent_runs_lose_nothing(host: HostFolder) -> None:
    """Of eight runs at once, half lost their change."""
    config = host.engine("docker", "{}\n")
    names = {f"nvidia-{letter}" for letter in "abcdefgh"}
    processes = [started(host, "--runtime=docker", f"--nvidia-runtime-name={name}") for name in names]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert set(json.loads(config.read_text())["runtimes"]) == names


@pytest.mark.parametrize(
    ("engine", "text"),
    [
        ("docker", "null"),
        ("docker", '{"runtimes": []}'),
        ("docker", '{"runtimes": null}'),
        ("docker", '{"runtimes": "x"}'),
        ("containerd", f'version = 2\n[plugins."{CRI2}".containerd.runtimes]\nrunc = "x"\n'),
        ("containerd", f'version = 2\n[plugins]\n"{CRI2}" = "x"\n'),
        ("containerd", f'version = 2\n[plugins."{CRI2}"]\ncontainerd = "x"\n'),
        ("containerd", 'version = 2\nplugins = "x"\n'),
        ("crio", '[crio.runtime.runtimes]\nrunc = "x"\n'),
        ("crio", 'crio = "x"\n'),
    ],
)
def test_fault_22_wrong_types_are_an_error_with_a_place(host: HostFolder, engine: str, text: str) -> None:
    """Values of the wrong type ended in a panic with a stack trace, or in a runtime in the wrong table."""
    host.engine(engine, text)
    before = host.everything()
    for command in (host.configure, host.unconfigure):
        answer = command(engine)
        assert answer.code == 3
        assert len(answer.errors()) == 1
        assert "line " in answer.errors()[0]
        assert "Traceback" not in answer.err
    assert host.everything() == before


def test_fault_29_there_is_a_way_back_and_a_look_at_it(host: HostFolder) -> None:
    """There was no unconfigure, no status, no diff, no backup and no restoring it."""
    config = host.engine("docker", '{"debug": true}\n')
    diff = host.configure("docker", "--dry-run").out
    assert "+++ " in diff
    assert host.configure("docker").code == 0
    [row] = host.ctk("runtime", "status", "--json").json()["data"]["engines"]
    assert row["registered"] is True
    [entry] = host.ctk("runtime", "history", "--json").json()["data"]["entries"]
    assert host.ctk("runtime", "rollback", entry["id"]).code == 0
    assert config.read_text() == '{"debug": true}\n'
    assert host.configure("docker").code == 0
    assert host.unconfigure("docker").code == 0
    assert config.read_text() == '{"debug": true}\n'


SPELLED = {
    "docker": '{\n\t"log-level": "info",\n\t"big": 12345678901234567890,\n\t"mark": "a<b>&\\u00e9"\n}',
    "containerd": "# top\r\nversion = 2 # two\r\noom_score = 0x10\r\n[debug] # last\r\nlevel = 'info'\r\n",
    "crio": '# top\n[crio.image] # pinned\npause_image = """a:1"""\n\n\n# end\n',
}


@pytest.mark.parametrize("engine", SPELLED)
def test_fault_30_a_run_changes_no_line_of_others(host: HostFolder, engine: str) -> None:
    """Comments, order, spelling and line ends were lost with every rewrite, even where nothing was to be done."""
    config = host.engine(engine, SPELLED[engine])
    assert host.configure(engine, "--drop-in-config=" if engine == "crio" else "--no-restart").code == 0
    rest = iter(config.read_bytes().split(b"\n"))
    old = SPELLED[engine].encode().split(b"\n")
    assert all(any(line.rstrip(b",") == other.rstrip(b",") for other in rest) for line in old)
    before = host.everything()
    assert host.configure(engine, "--drop-in-config=" if engine == "crio" else "--no-restart").code == 0
    assert host.everything() == before


def test_fault_31_a_dry_run_is_a_diff_with_an_exit_code(host: HostFolder) -> None:
    """It printed whole files with a wrong import, said nothing by its exit code, and wrote in hook mode."""
    host.engine("containerd", "version = 3\n")
    drop_in = "/etc/containerd/site/gpu.toml"
    hook = host.path("/hook.json")
    before = host.everything()
    answer = host.configure("containerd", f"--drop-in-config={drop_in}", "--dry-run")
    assert answer.code == 0
    assert '+imports = ["/etc/containerd/site/*.toml"]' in answer.out.splitlines()
    assert f"+++ {host.path(drop_in)}" in answer.out
    assert host.configure("containerd", "--check").code == 1
    assert host.configure("crio", "--config-mode=oci-hook", f"--oci-hook-path={hook}", "--dry-run").code == 0
    assert not hook.exists()
    assert host.everything() == before
    assert host.configure("containerd").code == 0
    assert host.configure("containerd", "--check").code == 0


def test_fault_32_success_means_in_force(host: HostFolder) -> None:
    """No program, CRI switched off, a file that nothing imports: success was reported all the same."""
    config = host.engine("containerd", "version = 2\n")
    assert "missing-binary" in host.configure("containerd", "--nvidia-runtime-path=/nowhere/runtime").err
    config.write_text('disabled_plugins = ["cri"]\n')
    switched_off = host.configure("containerd")
    assert switched_off.code == 3
    assert "switches the CRI plugin off" in switched_off.errors()[0]
    config.write_text("version = 3\n")
    for drop_in in ("/etc/containerd/conf.d/x.conf", "/etc/containerd/elsewhere/x.toml"):
        assert host.configure("containerd", f"--drop-in-config={drop_in}").code == 0
        [row] = host.ctk("runtime", "status", "--runtime=containerd", "--json").json()["data"]["engines"]
        assert (row["registered"], row["file"]) == (True, str(host.path(drop_in)))
        assert host.unconfigure("containerd", f"--drop-in-config={drop_in}").code == 0
    host.engine("crio", "")
    ignored = host.configure("crio", "--drop-in-config=/etc/crio/conf.d/x.toml")
    assert (ignored.code, host.path("/etc/crio/conf.d").exists()) == (3, False)


@pytest.mark.real
def test_fault_35_the_engines_own_words_are_shown(host: HostFolder) -> None:
    """When the command for the configuration failed, its stderr was thrown away."""
    config = host.put("/config.toml", CONTAINERD_V2)
    program = host.put("/containerd", "#!/bin/sh\necho 'containerd: no such plugin: xyz' >&2\nexit 7\n", 0o755)
    words = ("--runtime=containerd", f"--config={config}", f"--executable-path={program}", "--config-source=command")
    answer = ctk("runtime", "configure", *words)
    assert answer.code == 3
    assert "containerd: no such plugin: xyz" in answer.errors()[0]
    assert config.read_text() == CONTAINERD_V2


def test_fault_36_other_places_than_the_default_are_known(host: HostFolder) -> None:
    """Only the default paths were known: no rootless Docker, no snap, no k3s, RKE2, MicroK8s or k0s, no podman."""
    for program in ("/usr/bin/podman", "/snap/docker/current/bin/dockerd", "/var/lib/k0s/bin/containerd", RUNTIME):
        host.program(program)
    host.put("/etc/passwd", "root:x:0:0::/root:/bin/sh\nalpha:x:1000:1000::/home/alpha:/bin/sh\n")
    host.put("/home/alpha/.config/docker/daemon.json", "{}\n")
    host.put("/var/lib/rancher/k3s/agent/etc/containerd/config.toml", "version = 2\n")
    host.put("/var/lib/rancher/rke2/agent/etc/containerd/config.toml", "version = 2\n")
    host.put("/var/snap/microk8s/current/args/containerd-template.toml", "version = 2\n")
    host.path("/var/snap/docker/current").mkdir(parents=True)
    found = host.ctk("info", "--json").json()["data"]["engines"]
    names = {(row["engine"], row["installation"]) for row in found}
    assert {("docker", "snap"), ("docker", "rootless"), ("podman", "system")} <= names
    assert {("containerd", kind) for kind in ("k3s", "rke2", "microk8s", "k0s")} <= names


def test_fault_37_removal_gives_back_the_default_and_leaves_no_table(host: HostFolder) -> None:
    """Docker's former default became runc, and CRI-O's tables stayed."""
    start = '{"default-runtime": "crun", "runtimes": {"crun": {"path": "/usr/bin/crun"}}}\n'
    docker = host.engine("docker", start)
    host.engine("crio", '[crio.runtime]\ndefault_runtime = "crun"\n[crio.runtime.runtimes.crun]\n')
    for engine in ("docker", "crio"):
        assert host.configure(engine, "--set-as-default").code == 0
    docker.write_text(docker.read_text().replace("/usr/bin/crun", "/opt/crun"))  # so that no bytes can be given back
    drop_in = host.path(CRIO_DROP_IN)
    drop_in.write_text(drop_in.read_text() + '\n[crio.image]\npause_image = "a:1"\n')
    for engine in ("docker", "crio"):
        assert host.unconfigure(engine).code == 0
    assert docker.read_text() == start.replace("/usr/bin/crun", "/opt/crun")
    assert tomllib.loads(drop_in.read_text()) == {"crio": {"image": {"pause_image": "a:1"}}}
