"""Unconfigure after somebody took the runtime out by hand, changed the file, and configured again."""

import pytest

from tests.unit.cli.scene import CONTAINERD_V2, HostFolder

NAME = {"docker": '"nvidia"', "containerd": "runtimes.nvidia"}
SECOND = {
    "docker": '{\n  "default-runtime": "kata",\n  "runtimes": {"kata": {"path": "/usr/bin/kata"}}\n}\n',
    "containerd": CONTAINERD_V2.replace("runc]", "crun]").replace("runc.options", "crun.options"),
}
FIRST = {
    "docker": '{\n  "default-runtime": "crun",\n  "runtimes": {"crun": {"path": "/c"}}\n}\n',
    "containerd": CONTAINERD_V2,
}


@pytest.mark.parametrize("engine", sorted(SECOND))
def test_a_hand_cleaned_file_begins_a_new_cycle(host: HostFolder, engine: str) -> None:
    path = host.engine(engine, FIRST[engine])
    assert host.configure(engine, "--set-as-default").code == 0
    path.write_text(SECOND[engine])
    assert host.configure(engine, "--set-as-default").code == 0
    assert NAME[engine] in path.read_text()

    assert host.unconfigure(engine).code == 0

    assert path.read_text() == SECOND[engine]


def test_a_second_name_keeps_the_cycle_of_the_first(host: HostFolder) -> None:
    path = host.engine("docker", FIRST["docker"])
    assert host.configure("docker").code == 0
    assert host.configure("docker", "--nvidia-runtime-name=other").code == 0
    assert host.unconfigure("docker").code == 0
    assert '"other"' in path.read_text()

    assert host.unconfigure("docker", "--nvidia-runtime-name=other").code == 0

    assert path.read_text() == FIRST["docker"]
