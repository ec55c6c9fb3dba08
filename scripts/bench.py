"""Measures whole ctk processes: an installed wheel on made-up hosts without engine programs; knows no ctk module.

Every figure is a ratio of medians within one run, against `python -c pass` of the interpreter that runs ctk, because
milliseconds differ from machine to machine and from minute to minute. The rows take turns, so that a slow minute hits
them all. A run counts only if it exits as it should and writes exactly when it should.
"""

import argparse
import hashlib
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench_cdi_host import make_cdi_host
from bench_driver_files import can_make_nodes
from bench_generate_host import make_generate_host, make_mig_host
from bench_gpu_host import make_gpu_host, make_large_log_host
from bench_hook import (
    APPLY,
    NO_LDCONFIG,
    SCRIPT,
    can_start_containers,
    find_nvidia_hook,
    in_a_container,
    make_container,
    nvidia_commands,
)

CHECKOUT = Path(__file__).resolve().parents[1]
WORK = CHECKOUT / ".cache" / "bench"
DOCUMENT = CHECKOUT / "docs" / "performance.md"
MEMORY_BUDGET_MIB = 45
CHECKS_BUDGET_MILLISECONDS = 10
WARM_UP_ROUNDS = 3
FILE_LINES = 250
BASE = "python -c pass"
ISOLATED_BASE = "python -I -S -c pass"


class Row(NamedTuple):
    """One measured command line. host: a row of HOSTS, made anew before each run when the command writes.

    budget: at most this many times `python -c pass`, or the row that against names; None where nothing was promised.
    program: "ctk"; "isolated", Python as specs start their hook; "" where the arguments say it. In the arguments of
    the last two {folder} is the host, {python} the interpreter, {site} where ctk is installed.
    """

    what: str
    budget: float | None
    arguments: tuple[str, ...]
    host: str = ""
    writes: bool = False
    exit_code: int = 0
    against: str = ""
    program: str = "ctk"


CONFIGURE = ("runtime", "configure")
MODE = "nvidia-container-runtime.mode"
SET_MODE = ("config", "set", f"{MODE}=cdi")
GENERATE = ("cdi", "generate", "--no-nvml")
GENERATE_ROW = "`cdi generate`, 8 GPUs"
HOOK_APPLY = ("{site}/" + SCRIPT, *APPLY)
NVIDIA_HOOK = find_nvidia_hook()
NVIDIA_ROW = "NVIDIA's six hook processes, with ldconfig"
NVIDIA_ROWS = (
    Row(NVIDIA_ROW, None, nvidia_commands(NVIDIA_HOOK or ""), "container", writes=True, program=""),
    Row(
        "`hook apply` with ldconfig, against NVIDIA's six",
        1,
        in_a_container(("{python}", "-I", "-S", *HOOK_APPLY)),
        "container",
        writes=True,
        against=NVIDIA_ROW,
        program="",
    ),
)
DOCTOR = ("doctor", "--no-nvml")  # the hosts are trees of files: there is no library to be asked
ROWS = (
    Row("`ctk --version`", 2, ("--version",)),
    Row("`runtime configure`, Docker, nothing to do", 6, (*CONFIGURE, "--runtime=docker"), "docker-done"),
    Row("`runtime configure`, containerd, nothing to do", 6, (*CONFIGURE, "--runtime=containerd"), "containerd-done"),
    Row("`runtime configure`, Docker, a change", 10, (*CONFIGURE, "--runtime=docker"), "docker", writes=True),
    Row(
        "`runtime configure`, containerd, a change", 10, (*CONFIGURE, "--runtime=containerd"), "containerd", writes=True
    ),
    Row("`runtime configure --dry-run`, Docker", 10, (*CONFIGURE, "--runtime=docker", "--dry-run"), "docker"),
    Row(
        "`runtime configure --dry-run`, containerd", 10, (*CONFIGURE, "--runtime=containerd", "--dry-run"), "containerd"
    ),
    Row("`config get`", 6, ("config", "get", MODE), "toolkit"),
    Row("`config set`, nothing to do", 6, SET_MODE, "toolkit-done"),
    Row("`config set`, a change", 10, SET_MODE, "toolkit", writes=True),
    Row("`runtime status`, two engines", None, ("runtime", "status"), "two-engines"),
    Row("`info --json`, two engines", None, ("info", "--json"), "two-engines"),
    Row("`cdi list`, 50 specs of 150 lines", 12, ("cdi", "list"), "cdi"),
    Row("`cdi validate`, 50 specs of 150 lines", 12, ("cdi", "validate"), "cdi"),
    Row("`doctor`, 8 GPUs", 40, DOCTOR, "gpus"),
    Row("`doctor --profile install`, 8 GPUs", 30, (*DOCTOR, "--profile=install"), "gpus"),
    Row("`doctor`, a kernel log of 200 MiB", 250, DOCTOR, "large-log"),
    *(
        (
            Row(GENERATE_ROW, 16, GENERATE, "generate"),
            Row(
                "`cdi generate`, 16 GPUs with 7 MIG devices each, against 8 GPUs",
                2,
                (*GENERATE, "--device-name-strategy=index,type-index"),  # as many names as with UUIDs
                "generate-mig",
                against=GENERATE_ROW,
            ),
        )
        if can_make_nodes()
        else ()
    ),
    *(
        (
            Row(
                "`hook apply`, a container's start without ldconfig, against `python -I -S -c pass`",
                4,
                (*HOOK_APPLY, NO_LDCONFIG),
                "container",
                writes=True,
                against=ISOLATED_BASE,
                program="isolated",
            ),
            Row("`hook apply`, with ldconfig", None, HOOK_APPLY, "container", writes=True, program="isolated"),
            *(NVIDIA_ROWS if NVIDIA_HOOK else ()),
        )
        if can_start_containers()
        else ()
    ),
)


# Hosts ---------------------------------------------------------------------------------------------------------------


def docker_json() -> str:
    """A daemon.json of 250 lines, as long lists of registries make them."""
    head = ["{", '    "log-driver": "journald",', '    "log-opts": {', '        "tag": "{{.Name}}"', "    },"]
    tail = ["    ],", '    "storage-driver": "overlay2"', "}"]
    names = [
        f'        "registry-{index:03}.example.net:5000",' for index in range(FILE_LINES - len(head) - len(tail) - 1)
    ]
    names[-1] = names[-1].rstrip(",")
    return "\n".join([*head, '    "insecure-registries": [', *names, *tail]) + "\n"


def containerd_toml() -> str:
    """A version-2 config.toml of 250 lines: the CRI plugin's tables, mirrors and comments."""
    cri = 'plugins."io.containerd.grpc.v1.cri"'
    head = [
        "# Written by hand; the mirrors are below.",
        "version = 2",
        "",
        f"[{cri}]",
        '  sandbox_image = "registry.example.net/pause:3.9"',
        "",
        f"[{cri}.containerd]",
        '  default_runtime_name = "runc"',
        "",
        f"[{cri}.containerd.runtimes.runc]",
        '  runtime_type = "io.containerd.runc.v2"',
        "",
        f"[{cri}.containerd.runtimes.runc.options]",
        "  SystemdCgroup = true # as the kubelet wants it",
    ]
    lines = list(head)
    while len(lines) < FILE_LINES:
        name = f"registry-{len(lines):03}.example.net"
        lines += ["", f"# {name} is served from inside", f'[{cri}.registry.mirrors."{name}"]']
        lines += ['  endpoint = ["https://mirror.example.net"]']
    return "\n".join(lines[:FILE_LINES]) + "\n"


def toolkit_toml() -> str:
    """The toolkit's config.toml as a site keeps it: keys set and commented, 250 lines with their comments."""
    keys = [
        "disable-require = false",
        '#swarm-resource = "DOCKER_RESOURCE_GPU"',
        "[nvidia-container-cli]",
        'environment = ["NVIDIA_DEBUG=1"]',
        '#root = "/run/nvidia/driver"',
        "load-kmods = true",
        'ldconfig = "@/sbin/ldconfig"',
        "[nvidia-container-runtime]",
        'log-level = "info"',
        'mode = "auto" # ask the GPU team',
        'runtimes = ["runc", "crun"]',
        "[nvidia-container-runtime.modes.cdi]",
        'spec-dirs = ["/etc/cdi", "/var/run/cdi"]',
    ]
    lines_each = FILE_LINES // len(keys)
    lines = [line for key in keys for line in [*["# why it is so"] * (lines_each - 1), key]]
    return "\n".join([*lines, *["# the end"] * (FILE_LINES - len(lines))]) + "\n"


def write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def make_host(folder: Path, config: str, text: str) -> None:
    """A Debian with one engine's configuration and NVIDIA's runtime, but without the engine's program."""
    write(folder / "etc/os-release", 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n')
    write(folder / "usr/bin/nvidia-container-runtime", "#!/bin/sh\n", 0o755)
    write(folder / config, text)


def make_docker(folder: Path) -> None:
    make_host(folder, "etc/docker/daemon.json", docker_json())


def make_containerd(folder: Path) -> None:
    make_host(folder, "etc/containerd/config.toml", containerd_toml())


def make_toolkit(folder: Path) -> None:
    make_host(folder, "etc/nvidia-container-runtime/config.toml", toolkit_toml())


def make_two_engines(folder: Path) -> None:
    """Both engines, with programs that are found but never run, because the host lies below --root."""
    make_docker(folder)
    make_containerd(folder)
    for program in ("usr/bin/dockerd", "usr/bin/containerd"):
        write(folder / program, "", 0o755)


HOSTS: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {  # how it is made, and what ctk has done there
    "docker": (make_docker, ()),
    "containerd": (make_containerd, ()),
    "two-engines": (make_two_engines, ()),
    "toolkit": (make_toolkit, ()),
    "toolkit-done": (make_toolkit, SET_MODE),
    "cdi": (make_cdi_host, ()),
    "gpus": (make_gpu_host, ()),
    "large-log": (make_large_log_host, ()),
    "generate": (make_generate_host, ()),
    "container": (make_container, ()),
    "generate-mig": (make_mig_host, ()),
    "docker-done": (make_docker, (*CONFIGURE, "--runtime=docker")),
    "containerd-done": (make_containerd, (*CONFIGURE, "--runtime=containerd")),
}


# The installed wheel -------------------------------------------------------------------------------------------------


class Installation(NamedTuple):
    python: Path
    ctk: Path
    site: Path


def run_quietly(*command: str | Path) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"scripts/bench: {command[0]} exited {done.returncode}\n{done.stdout}{done.stderr}")


def install_wheel() -> Installation:
    """A wheel of this checkout in an environment of its own, its modules compiled as an installer does."""
    shutil.rmtree(WORK, ignore_errors=True)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    wheels, venv = WORK / "wheel", WORK / "venv"
    run_quietly(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, CHECKOUT)
    run_quietly(sys.executable, "-m", "venv", "--without-pip", venv)
    python = venv / "bin" / "python"
    run_quietly(*pip, "--python", python, "install", "--compile", *wheels.glob("*.whl"))
    run_quietly(python, "-m", "compileall", "-q", *venv.glob("lib/python*/site-packages"))
    (site,) = venv.glob("lib/python*/site-packages")
    return Installation(python, venv / "bin" / "ctk", site)


# Measuring -----------------------------------------------------------------------------------------------------------


class Measured(NamedTuple):
    """One finished process."""

    seconds: float
    cpu_seconds: float
    peak_mib: float
    exit_code: int


def measure(command: list[str], environment: dict[str, str], errors: Path) -> Measured:
    """Runs a command with its output thrown away. Peak memory is that of the process and of what it waited for.

    The kernel counts the caller's memory at the moment of the start too, so this program stays smaller than a ctk.
    """
    null = os.open(os.devnull, os.O_RDWR)
    log = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    redirections = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, log, 2)]
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, environment, file_actions=redirections)
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    os.close(null)
    os.close(log)
    return Measured(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status))


def digest(folder: Path) -> str:
    """Every file of a host's configuration, and when it was last written."""
    found = hashlib.sha256()
    for path in sorted((folder / "etc").rglob("*")):
        if path.is_file():
            found.update(f"{path} {path.stat().st_mtime_ns}\n".encode() + path.read_bytes())
    return found.hexdigest()


class Bench:
    """Runs the rows and keeps what was measured."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        # No folder of engine programs is in PATH, and nothing of the caller decides what ctk sees.
        empty = WORK / "empty"
        empty.mkdir(parents=True)
        self.environment = {"PATH": str(empty), "HOME": str(empty), "LC_ALL": "C.UTF-8"}
        self.errors = WORK / "stderr"
        self.samples: dict[str, list[Measured]] = {}

    def make(self, host: str) -> Path:
        folder = WORK / "hosts" / host
        shutil.rmtree(folder, ignore_errors=True)
        maker, done = HOSTS[host]
        maker(folder)
        if done:
            self.run(self.command(done, folder), 0)
        return folder

    def command(self, arguments: Sequence[str], folder: Path | None) -> list[str]:
        root = ["--root", str(folder)] if folder else []
        return [str(self.installation.ctk), *root, *arguments]

    def row_command(self, row: Row, folder: Path | None) -> list[str]:
        if row.program == "ctk":
            return self.command(row.arguments, folder)
        places = {"{folder}": folder, "{python}": self.installation.python, "{site}": self.installation.site}
        words = [str(self.installation.python), "-I", "-S"] if row.program == "isolated" else []
        for word in row.arguments:
            for name, value in places.items():
                word = word.replace(name, str(value))
            words.append(word)
        return words

    def run(self, command: list[str], exit_code: int) -> Measured:
        measured = measure(command, self.environment, self.errors)
        if measured.exit_code != exit_code:
            said = self.errors.read_text(encoding="utf-8", errors="replace")
            sys.exit(f"scripts/bench: exit {measured.exit_code}, not {exit_code}: {' '.join(command)}\n{said}")
        return measured

    def run_row(self, row: Row) -> Measured:
        folder = WORK / "hosts" / row.host if row.host else None
        if folder and (row.writes or not folder.exists()):
            self.make(row.host)
        before = digest(folder) if folder else ""
        measured = self.run(self.row_command(row, folder), row.exit_code)
        if folder and (digest(folder) != before) != row.writes:
            sys.exit(f"scripts/bench: {row.what}: {'wrote nothing' if row.writes else 'wrote a file'}")
        if folder and row.writes:
            shutil.rmtree(folder)
        return measured

    def run_rounds(self, rounds: int) -> None:
        for number in range(WARM_UP_ROUNDS + rounds):
            python = str(self.installation.python)
            results = {BASE: self.run([python, "-c", "pass"], 0)}
            results[ISOLATED_BASE] = self.run([python, "-I", "-S", "-c", "pass"], 0)
            results |= {row.what: self.run_row(row) for row in ROWS}
            if number >= WARM_UP_ROUNDS:
                for what, measured in results.items():
                    self.samples.setdefault(what, []).append(measured)
            if sys.stderr.isatty():
                sys.stderr.write(f"\rround {number + 1} of {WARM_UP_ROUNDS + rounds} ")

    def checks_milliseconds(self) -> float:
        """All checks on the snapshot of eight GPUs, without reading it and without imports."""
        snapshot = WORK / "snapshot.json"
        folder = WORK / "hosts" / "gpus"
        self.run(self.command(("info", "--no-nvml", "--save", str(snapshot)), folder), 0)
        command = (self.installation.python, CHECKOUT / "scripts" / "bench_checks.py", snapshot)
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"scripts/bench: bench_checks.py exited {done.returncode}\n{done.stderr}")
        return float(done.stdout)

    def milliseconds(self, what: str) -> float:
        return statistics.median(sample.seconds for sample in self.samples[what]) * 1000

    def cpu_milliseconds(self, what: str) -> float:
        return statistics.median(sample.cpu_seconds for sample in self.samples[what]) * 1000

    def peak_mib(self, what: str) -> float:
        return max(sample.peak_mib for sample in self.samples[what])


DOCUMENT_TEXT = """# Performance

Written by `scripts/bench`; do not edit. Whole processes of an installed wheel, on made-up hosts below `--root` that
hold no engine program (or one that is never run), with configuration files of {lines} lines. A change includes its
journal entry and every fsync. A ratio compares medians of {rounds} rounds, in which the rows take turns, with
`{base}` of the same Python ({milliseconds:.1f} ms); the ratio of processor time leaves out waiting for the disk. Memory
is the largest resident size of a run.

Measured on {date}: {machine}.

{table}
"""


# The report ----------------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """One row of the report; the limit is already compared. cpu: the ratio of processor time, which waits leave out."""

    what: str
    reached: str
    budget: str
    met: bool
    cpu: str = ""
    milliseconds: str = ""


def report_lines(bench: Bench) -> list[Line]:
    base, base_cpu = bench.milliseconds(BASE), bench.cpu_milliseconds(BASE)
    lines = []
    for row in ROWS:
        ratio = bench.milliseconds(row.what) / (bench.milliseconds(row.against) if row.against else base)
        budget = f"{row.budget:g}x" if row.budget else "none"
        met = row.budget is None or ratio <= row.budget
        cpu = f"{bench.cpu_milliseconds(row.what) / base_cpu:.2f}x"
        lines.append(Line(row.what, f"{ratio:.2f}x", budget, met, cpu, f"{bench.milliseconds(row.what):.1f}"))
    alone = bench.checks_milliseconds()
    limit = CHECKS_BUDGET_MILLISECONDS
    lines.append(Line("all checks on a loaded snapshot", f"{alone:.1f} ms", f"{limit} ms", alone <= limit))
    largest = max(bench.peak_mib(row.what) for row in ROWS)
    met = largest <= MEMORY_BUDGET_MIB
    lines.append(Line("memory, the largest of these", f"{largest:.1f} MiB", f"{MEMORY_BUDGET_MIB} MiB", met))
    return lines


def render_document(lines: Sequence[Line], base: float, rounds: int) -> str:
    table = ["| what | reached | budget | met | processor time | median, ms |", "|---|---|---|---|---|---|"]
    for line in lines:
        met = ("yes" if line.met else "**no**") if line.budget != "none" else ""
        table.append(f"| {line.what} | {line.reached} | {line.budget} | {met} | {line.cpu} | {line.milliseconds} |")
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return DOCUMENT_TEXT.format(
        lines=FILE_LINES,
        rounds=rounds,
        base=BASE,
        milliseconds=base,
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        machine=f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores, {python}",
        table="\n".join(table),
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measures ctk and holds it to its budgets.")
    parser.add_argument("--quick", action="store_true", help="5 rounds, and docs/performance.md stays as it is")
    parser.add_argument("--rounds", type=int, default=21, metavar="N", help="rounds after the warm-up (default: 21)")
    arguments = parser.parse_args()
    rounds = 5 if arguments.quick else arguments.rounds
    bench = Bench(install_wheel())
    bench.run_rounds(rounds)
    lines = report_lines(bench)
    width = max(len(line.what) for line in lines)
    print(f"{BASE:{width}}  {bench.milliseconds(BASE):7.1f} ms")
    for line in lines:
        cpu = f"cpu {line.cpu:>7}" if line.cpu else " " * 11
        verdict = "" if line.budget == "none" else "met" if line.met else "MISSED"
        median = f"{line.milliseconds:>7} ms" if line.milliseconds else " " * 10
        print(f"{line.what:{width}}  {median}  {cpu}  {line.reached:>8} of {line.budget:<6} {verdict}")
    if not arguments.quick:
        DOCUMENT.write_text(render_document(lines, bench.milliseconds(BASE), rounds), encoding="utf-8")
    judged = [line for line in lines if line.budget != "none"]
    missed = [line.what for line in judged if not line.met]
    print(f"scripts/bench: {len(judged) - len(missed)} budgets met, {len(missed)} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
