"""A unit's command line is put together from the files systemd would take, in its order."""

from pathlib import Path

import pytest

from ctk.host.unit_text import Word
from ctk.host.units import collect_unit, drop_in_folder_names, find_drop_ins, user_folders
from tests.conftest import AsNobody
from tests.unit.host.trees import Link, plant

FOLDERS = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")


def test_strongest_file_wins(tmp_path: Path) -> None:
    host = plant(tmp_path, {f"{folder}/x.service": f"[Service]\nExecStart={folder}/x\n" for folder in FOLDERS})
    for folder in FOLDERS:
        unit = collect_unit(host, "x.service")
        assert unit is not None
        assert unit.path == f"{folder}/x.service"
        assert unit.command == (Word(f"{folder}/x", f"{folder}/x.service", 2),)
        (tmp_path / folder.lstrip("/") / "x.service").unlink()
    assert collect_unit(host, "x.service") is None


def test_drop_ins_are_ordered_by_name_across_all_folders(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {
            "/etc/systemd/system/x.service.d/20-b.conf": "",
            "/usr/lib/systemd/system/x.service.d/30-c.conf": "",
            "/run/systemd/system/x.service.d/10-a.conf": "",
            "/run/systemd/system/x.service.d/20-b.conf": "",
            "/etc/systemd/system/x.service.d/readme.txt": "",
            "/etc/systemd/system/service.d/15-all.conf": "",
            "/etc/systemd/system/service.d/30-c.conf": "",
        },
    )
    assert find_drop_ins(host, "x.service", FOLDERS) == (
        "/run/systemd/system/x.service.d/10-a.conf",
        "/etc/systemd/system/service.d/15-all.conf",
        "/etc/systemd/system/x.service.d/20-b.conf",
        "/usr/lib/systemd/system/x.service.d/30-c.conf",
    )


@pytest.mark.parametrize(
    ("name", "folders"),
    [
        ("x.service", ("x.service.d", "service.d")),
        ("a-b-c.service", ("a-b-c.service.d", "a-b-.service.d", "a-.service.d", "service.d")),
        ("snap.docker.dockerd.service", ("snap.docker.dockerd.service.d", "service.d")),
    ],
)
def test_drop_in_folders_of_a_name(name: str, folders: tuple[str, ...]) -> None:
    assert drop_in_folder_names(name) == folders


def test_empty_assignment_resets_the_command(tmp_path: Path) -> None:
    drop_in = "/etc/systemd/system/x.service.d/1.conf"
    host = plant(
        tmp_path,
        {
            "/lib/systemd/system/x.service": "[Service]\nExecStart=/bin/old\n",
            drop_in: "[Service]\nExecStart=\nExecStart=/bin/new --flag\n",
        },
    )
    unit = collect_unit(host, "x.service")
    assert unit is not None
    assert unit.command == (Word("/bin/new", drop_in, 3), Word("--flag", drop_in, 3))
    assert unit.files == ("/lib/systemd/system/x.service", drop_in)


def test_second_command_without_a_reset_is_not_the_daemons(tmp_path: Path) -> None:
    host = plant(
        tmp_path, {"/etc/systemd/system/x.service": "[Service]\nExecStart=/bin/a 1 ; /bin/b 2\nExecStart=/bin/c\n"}
    )
    unit = collect_unit(host, "x.service")
    assert unit is not None
    assert [word.text for word in unit.command] == ["/bin/a", "1"]


def test_environment_file_wins_over_environment_and_the_later_file_over_the_earlier(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {
            "/etc/systemd/system/x.service": (
                "[Service]\nEnvironmentFile=-/etc/one\nEnvironmentFile=/etc/two\n"
                "Environment=A=unit B=unit 'D=%n'\nExecStart=/bin/x ${A} ${B} ${C} ${D} $E\n"
            ),
            "/etc/one": "B=one\nC=one\n",
            "/etc/two": "# here\nC=two\nE=-v --w\n",
        },
    )
    unit = collect_unit(host, "x.service")
    assert unit is not None
    assert [word.text for word in unit.command] == ["/bin/x", "unit", "one", "two", "x.service", "-v", "--w"]
    assert unit.command[3] == Word("two", "/etc/two", 2)
    assert unit.command[6] == Word("--w", "/etc/two", 3)
    assert unit.files == ("/etc/systemd/system/x.service", "/etc/one", "/etc/two")


def test_environment_files_may_be_a_pattern_and_may_be_reset(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {
            "/usr/lib/systemd/system/x.service": "[Service]\nEnvironmentFile=/etc/old\nExecStart=/bin/x $A $B\n",
            "/etc/systemd/system/x.service.d/a.conf": "[Service]\nEnvironmentFile=\nEnvironmentFile=/etc/x.d/*.env\n",
            "/etc/old": "A=old\n",
            "/etc/x.d/1.env": "A=1\n",
            "/etc/x.d/2.env": "B=2\n",
        },
    )
    unit = collect_unit(host, "x.service")
    assert unit is not None
    assert [word.text for word in unit.command] == ["/bin/x", "1", "2"]


def test_missing_environment_file_is_a_problem_only_without_a_dash(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {"/etc/systemd/system/x.service": "[Service]\nEnvironmentFile=-/etc/a\nEnvironmentFile=/etc/b\nExecStart=/x\n"},
    )
    unit = collect_unit(host, "x.service")
    assert unit is not None
    assert unit.problems == ("cannot read /etc/b: no such file",)


@pytest.mark.parametrize("content", [Link("/dev/null"), ""])
def test_masked_unit_has_no_command(tmp_path: Path, content: str) -> None:
    host = plant(
        tmp_path,
        {"/etc/systemd/system/x.service": content, "/lib/systemd/system/x.service": "[Service]\nExecStart=/bin/x\n"},
    )
    unit = collect_unit(host, "x.service")
    assert unit is not None
    assert unit.masked
    assert unit.command == ()


def test_masked_drop_in_hides_the_weaker_one(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {
            "/lib/systemd/system/x.service": "[Service]\nExecStart=/bin/x\n",
            "/lib/systemd/system/x.service.d/1.conf": "[Service]\nExecStart=\nExecStart=/bin/y\n",
            "/etc/systemd/system/x.service.d/1.conf": Link("/dev/null"),
        },
    )
    unit = collect_unit(host, "x.service")
    assert unit is not None
    assert [word.text for word in unit.command] == ["/bin/x"]


def test_unit_behind_an_absolute_link_is_read_inside_the_root(tmp_path: Path) -> None:
    host = plant(
        tmp_path,
        {"/etc/systemd/system/x.service": Link("/opt/x.service"), "/opt/x.service": "[Service]\nExecStart=/bin/x\n"},
    )
    unit = collect_unit(host, "x.service")
    assert unit is not None
    assert unit.command[0].origin == "/etc/systemd/system/x.service"


def test_variables_are_left_alone_where_the_unit_says_so(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/etc/systemd/system/x.service": "[Service]\nEnvironment=A=1\nExecStart=:/bin/x $A %%\n"})
    unit = collect_unit(host, "x.service")
    assert unit is not None
    assert [word.text for word in unit.command] == ["/bin/x", "$A", "%"]


def test_socket_unit_names_its_addresses(tmp_path: Path) -> None:
    host = plant(tmp_path, {"/lib/systemd/system/d.socket": "[Socket]\nListenStream=%t/d.sock\nListenStream=2375\n"})
    unit = collect_unit(host, "d.socket")
    assert unit is not None
    assert unit.listen == ("/run/d.sock", "2375")


def test_users_units_come_before_everybodys(tmp_path: Path) -> None:
    folders = user_folders("/home/a", "/home/a/.config", "/run/user/1000")
    host = plant(
        tmp_path,
        {
            "/usr/lib/systemd/user/d.service": "[Service]\nExecStart=/usr/bin/d\n",
            "/home/a/.config/systemd/user/d.service": "[Service]\nExecStart=%h/bin/d\n",
        },
    )
    unit = collect_unit(host, "d.service", folders, {"h": "/home/a"})
    assert unit is not None
    assert unit.command[0].text == "/home/a/bin/d"


def test_unreadable_environment_file_is_told(tmp_path: Path, as_nobody: AsNobody) -> None:
    host = plant(
        tmp_path,
        {
            "/etc/systemd/system/x.service": "[Service]\nEnvironmentFile=-/etc/a\nExecStart=/bin/x $A\n",
            "/etc/a": "A=1\n",
        },
    )
    (tmp_path / "etc/a").chmod(0)
    unit = as_nobody(collect_unit, host, "x.service")
    assert unit is not None
    assert unit.problems == ("cannot read /etc/a: permission denied",)
    assert [word.text for word in unit.command] == ["/bin/x"]
