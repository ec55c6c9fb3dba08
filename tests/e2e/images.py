"""An image without a registry: a static busybox in the archive format that docker, podman and ctr all load."""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

IMAGE = "ctk.test/busybox:1"
_APPLETS = ("sh", "cat", "echo", "env", "ls", "id", "sleep", "true", "uname", "mount")
_FOLDERS = ("bin", "dev", "etc", "proc", "run", "sys", "tmp")


def write_image(
    target: Path, busybox: str, names: Sequence[str] = (IMAGE,), files: Mapping[str, bytes] | None = None
) -> Path:
    """Writes the archive with these names on the one image; without a command it sleeps, as a pod's sandbox must.

    files: what lies in it besides, by path; those below bin, sbin and lib64 are programs.
    """
    layer = _pack_layer(Path(busybox).read_bytes(), files or {})
    digest = hashlib.sha256(layer).hexdigest()
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": ["/bin/busybox"], "Cmd": ["sleep", "3600"], "Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            "history": [{"created_by": "ctk tests"}],
        }
    ).encode()
    name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = [{"Config": name, "RepoTags": list(names), "Layers": ["layer.tar"]}]
    with tarfile.open(target, "w") as archive:
        for path, content in ((name, config), ("layer.tar", layer), ("manifest.json", json.dumps(manifest).encode())):
            _add_file(archive, path, content, 0o644)
    return target


def _pack_layer(busybox: bytes, files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for folder in _FOLDERS:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        _add_file(archive, "bin/busybox", busybox, 0o755)
        _add_file(archive, "etc/passwd", b"root:x:0:0:root:/:/bin/sh\n", 0o644)
        _add_file(archive, "etc/group", b"root:x:0:\n", 0o644)
        for applet in _APPLETS:
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(link)
        for path, content in files.items():
            _add_file(archive, path, content, 0o755 if path.startswith(("bin/", "sbin/", "lib64/")) else 0o644)
    return buffer.getvalue()


def _add_file(archive: tarfile.TarFile, path: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
