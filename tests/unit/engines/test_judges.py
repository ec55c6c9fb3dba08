"""What the judges say of dumps that containerd 1.6 and 2.1 really printed, and of how they could differ."""

from pathlib import Path

import pytest

from ctk.engines import containerd_judge, crio_judge
from ctk.engines.base import RuntimeSpec
from ctk.facts.command import CommandOutput

DUMPS = Path(__file__).parent / "dumps"
SPEC = RuntimeSpec("nvidia", "/usr/bin/nvidia-container-runtime", set_as_default=True)
RELEASES = ("1.6", "2.1")  # both read the same kubeadm file of version 2; 2.1 prints it under its new plugin id
WARNING = (
    'time="2026-01-01T00:00:00Z" level=warning msg="Ignoring unknown key in TOML for plugin" error="strict mode: '
    'fields in the document are missing in the target struct" key={} plugin=io.containerd.cri.v1.runtime\n'
)


def dump(release: str, when: str) -> str:
    """A recorded dump."""
    return (DUMPS / f"containerd-{release}-{when}.toml").read_text()


def printed(text: str, stderr: str = "") -> CommandOutput:
    """An answer of the program."""
    return CommandOutput(("containerd", "config", "dump"), 0, text, stderr)


def judge(release: str, after: str, *, before: str | None = None, stderr: str = "", spec: RuntimeSpec = SPEC) -> str:
    """All problems as one text; empty if there are none."""
    old = printed(dump(release, "before") if before is None else before)
    return "\n".join(containerd_judge.judge_configured(spec, base_is_ours=False)(old, printed(after, stderr)))


@pytest.mark.parametrize("release", RELEASES)
def test_a_good_dump_has_no_problems(release: str) -> None:
    assert judge(release, dump(release, "after")) == ""
    back = containerd_judge.judge_unconfigured("nvidia")
    assert back(printed(dump(release, "after")), printed(dump(release, "before"))) == ()


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.6", "pause"),
        ("/opt/cni/bin", "/usr/lib/cni", "bin_dir"),
        ("enable_selinux = false", "enable_selinux = true", "enable_selinux"),
        ("oom_score = 0", "oom_score = 1", "oom_score"),
    ],
)
def test_a_foreign_key_that_changes_is_named(release: str, old: str, new: str, key: str) -> None:
    text = dump(release, "after")
    assert old in text
    problems = judge(release, text.replace(old, new))
    assert key in problems
    assert "would change from" in problems


@pytest.mark.parametrize("release", RELEASES)
def test_the_default_is_foreign_unless_asked_for(release: str) -> None:
    problems = judge(release, dump(release, "after"), spec=SPEC._replace(set_as_default=False))
    assert "containerd.default_runtime_name would change from 'runc' to 'nvidia'" in problems


@pytest.mark.parametrize("release", RELEASES)
def test_runc_is_foreign_unless_it_was_added(release: str) -> None:
    text = dump(release, "after").replace("SystemdCgroup = true", "SystemdCgroup = false", 2)
    assert "runtimes.runc.options.SystemdCgroup would change from True to False" in judge(release, text)
    ours = containerd_judge.judge_configured(SPEC, base_is_ours=True)
    assert ours(printed(dump(release, "before")), printed(text)) == ()


@pytest.mark.parametrize("release", RELEASES)
def test_a_runtime_that_is_not_in_force_is_named(release: str) -> None:
    problems = judge(release, dump(release, "before"))
    assert "containerd ignores containerd.runtimes.nvidia.options.BinaryName: it has None" in problems
    assert "containerd ignores containerd.default_runtime_name: it has 'runc', not 'nvidia'" in problems


def test_cdi_in_a_release_that_does_not_know_it() -> None:
    problems = judge("1.6", dump("1.6", "after"), spec=SPEC._replace(enable_cdi=True))
    assert problems == "containerd ignores enable_cdi: it has None, not True (containerd knows enable_cdi since 1.7)"
    assert judge("2.1", dump("2.1", "after"), spec=SPEC._replace(enable_cdi=True)) == ""


@pytest.mark.parametrize(
    ("key", "is_problem"),
    [
        ('"containerd runtimes nvidia options BinaryName"', True),
        ('"containerd runtimes nvidia runtime_type"', True),
        ('"containerd runtimes nvidia"', True),
        ('"containerd default_runtime_name"', True),
        ('"containerd runtimes nvidia runtime_engine"', False),  # copied from runc, where it is ignored, too
        ('"containerd runtimes runc runtime_engine"', False),
        ("sandbox_image", False),
    ],
)
def test_a_key_of_ours_that_containerd_says_it_ignores(key: str, is_problem: bool) -> None:
    problems = judge("2.1", dump("2.1", "after"), stderr=WARNING.format(key))
    assert bool(problems) is is_problem
    assert not is_problem or problems == f"containerd ignores the key {'.'.join(key.strip(chr(34)).split())}"


def test_a_key_that_was_ignored_before_is_no_news() -> None:
    warning = WARNING.format('"containerd default_runtime_name"')
    judged = containerd_judge.judge_configured(SPEC, base_is_ours=False)
    assert judged(printed(dump("2.1", "before"), warning), printed(dump("2.1", "after"), warning)) == ()


@pytest.mark.parametrize("release", RELEASES)
def test_a_new_default_without_an_entry_keeps_cri_from_loading(release: str) -> None:
    text = dump(release, "after").replace("containerd.runtimes.runc", "containerd.runtimes.other")
    spec = SPEC._replace(set_as_default=False)
    text = text.replace("default_runtime_name = 'nvidia'", "default_runtime_name = 'runc'")
    text = text.replace('default_runtime_name = "nvidia"', 'default_runtime_name = "runc"')
    problems = containerd_judge.judge_configured(spec, base_is_ours=True)(None, printed(text))
    assert problems == ("the default runtime 'runc' has no entry, so the CRI plugin would not load",)


@pytest.mark.parametrize("release", RELEASES)
def test_a_default_that_dangled_before_is_not_our_failure(release: str) -> None:
    quote = "'" if release == "2.1" else '"'
    spec = SPEC._replace(set_as_default=False)
    old, new = (f"default_runtime_name = {quote}{name}{quote}" for name in ("runc", "kata"))
    before = dump(release, "before").replace(old, new)
    after = dump(release, "after").replace(old.replace("runc", "nvidia"), new)
    assert judge(release, after, before=before, spec=spec) == ""


def test_a_file_that_containerd_cannot_read() -> None:
    said = "time=... level=error msg=...\ncontainerd: failed to load TOML: /etc/containerd/config.toml: (2, 1): bad\n\n"
    failed = CommandOutput(("containerd",), 1, "", said)
    for judged in (containerd_judge.judge_configured(SPEC, False), containerd_judge.judge_unconfigured("nvidia")):
        assert judged(None, failed) == ("containerd: failed to load TOML: /etc/containerd/config.toml: (2, 1): bad",)
        assert judged(None, CommandOutput(("containerd",), 2, "", "")) == ("containerd ended with status 2",)
        assert judged(None, printed("no = [toml")) == ("containerd's config dump is not valid TOML",)


@pytest.mark.parametrize("release", RELEASES)
def test_an_answer_from_before_that_failed_proves_nothing_about_foreign_keys(release: str) -> None:
    failed = CommandOutput(("containerd",), 1, "", "no such file")
    assert containerd_judge.judge_configured(SPEC, base_is_ours=True)(failed, printed(dump(release, "after"))) == ()


@pytest.mark.parametrize("release", RELEASES)
def test_removal_that_changes_something_else(release: str) -> None:
    text = dump(release, "before").replace("registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.6")
    problems = containerd_judge.judge_unconfigured("nvidia")(printed(dump(release, "after")), printed(text))
    assert len(problems) == 1
    assert "pause" in problems[0]


# --- CRI-O ---------------------------------------------------------------------------------------------------------

CRIO_BEFORE = """\
[crio]
# storage_driver = "overlay"
[crio.runtime]
default_runtime = "crun"
[crio.runtime.runtimes.crun]
runtime_path = "/usr/libexec/crio/crun"
monitor_path = "/usr/libexec/crio/conmon"
[crio.image]
pause_image = "registry.k8s.io/pause:3.9"
"""
CRIO_AFTER = (
    CRIO_BEFORE.replace('"crun"\n', '"nvidia"\n', 1)
    + '[crio.runtime.runtimes.nvidia]\nruntime_path = "/usr/bin/nvidia-container-runtime"\n'
)


def crio(spec: RuntimeSpec, after: str, before: str = CRIO_BEFORE) -> str:
    return "\n".join(crio_judge.judge_configured(spec)(printed(before), printed(after)))


def test_crio_good() -> None:
    assert crio(SPEC, CRIO_AFTER) == ""
    assert crio_judge.judge_unconfigured("nvidia")(printed(CRIO_AFTER), printed(CRIO_BEFORE)) == ()


def test_crio_foreign_key() -> None:
    problems = crio(SPEC, CRIO_AFTER.replace("pause:3.9", "pause:3.6"))
    assert problems.startswith("crio.image.pause_image would change from 'registry.k8s.io/pause:3.9' to")


def test_crio_default_is_foreign_unless_asked_for() -> None:
    problems = crio(SPEC._replace(set_as_default=False), CRIO_AFTER)
    assert problems == "crio.runtime.default_runtime would change from 'crun' to 'nvidia'"


def test_crio_ours_not_in_force() -> None:
    problems = crio(SPEC, CRIO_BEFORE)
    assert "CRI-O ignores crio.runtime.runtimes.nvidia.runtime_path: it has None" in problems
    assert "CRI-O ignores crio.runtime.default_runtime: it has 'crun', not 'nvidia'" in problems


def test_crio_cannot_read_its_files() -> None:
    failed = CommandOutput(("crio",), 1, "", "crio: validating runtime config: bad monitor\n")
    for judged in (crio_judge.judge_configured(SPEC), crio_judge.judge_unconfigured("nvidia")):
        assert judged(None, failed) == ("crio: validating runtime config: bad monitor",)
        assert judged(None, printed("<html>")) == ("CRI-O's configuration dump is not valid TOML",)
