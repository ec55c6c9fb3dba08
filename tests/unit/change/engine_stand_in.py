"""A stand-in for an engine and for systemctl: a real daemon on a real socket that dies on a file it does not like.

As a daemon: engine_stand_in.py serve CONFIG SOCKET PROTOCOL. It refuses to start if CONFIG holds "broken", serves for
a moment and dies if it holds "short-lived", and serves no CRI if it holds "no-cri".
As systemctl: engine_stand_in.py systemctl FOLDER ACTION UNIT. FOLDER/daemon holds the daemon's command, FOLDER/pid its
process, FOLDER/behaviour "fail" or "hang"; FOLDER/calls lists the calls, FOLDER/log what the daemon wrote.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

SETTINGS = b"\0\0\0\x04\0\0\0\0\0"


def reply_http(seen: bytes) -> bytes:
    ok = seen.startswith(b"GET /_ping HTTP/1.1\r\n")
    return b"HTTP/1.1 200 OK\r\n\r\nOK" if ok else b"HTTP/1.1 404 Not Found\r\n\r\n"


def reply_grpc(seen: bytes, config: str) -> bytes:
    """SETTINGS, and for a call of the CRI a message, or only trailers (grpc-status) where there is no such service."""
    if not seen.startswith(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS):
        return b""
    if b"/runtime.v1.RuntimeService/Version" not in seen or "no-cri" in config:
        trailers = b"\0\0\x01\x01\x05\0\0\0\x01\x88" if b"RuntimeService" in seen else b""
        return SETTINGS + trailers
    headers, message = b"\0\0\x01\x01\x04\0\0\0\x01\x88", b"\0\0\0\0\x02\x0a\x00"
    return SETTINGS + headers + len(message).to_bytes(3, "big") + b"\0\0\0\0\0\x01" + message


def serve(config_path: str, path: str, protocol: str) -> None:
    config = Path(config_path).read_text()
    if "broken" in config:
        print("level=fatal msg=invalid configuration", file=sys.stderr)
        sys.exit(1)
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    born = time.monotonic()
    while True:
        connection, _ = listener.accept()
        if "short-lived" in config and time.monotonic() - born > 0.05:
            print("level=fatal msg=died of it", file=sys.stderr)
            sys.exit(2)
        connection.settimeout(0.5)
        seen = connection.recv(4096)
        connection.sendall(reply_http(seen) if protocol == "docker" else reply_grpc(seen, config))
        connection.close()


def runs(pid: int) -> bool:
    """A process that has ended and waits to be collected has no command line any more."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False


def stop(folder: Path) -> None:
    pid = int((folder / "pid").read_text()) if (folder / "pid").exists() else 0
    if pid and runs(pid):
        os.kill(pid, signal.SIGKILL)
        while runs(pid):
            time.sleep(0.01)
    (folder / "pid").unlink(missing_ok=True)


def start(folder: Path) -> None:
    with (folder / "log").open("a") as log:
        daemon = subprocess.Popen(
            (folder / "daemon").read_text().split("\n"), stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    (folder / "pid").write_text(str(daemon.pid))


def systemctl(folder: Path, action: str, unit: str) -> int:
    with (folder / "calls").open("a") as calls:
        calls.write(f"{action} {unit}\n")
    behaviour = (folder / "behaviour").read_text() if (folder / "behaviour").exists() else ""
    if action in ("restart", "reload") and behaviour == "hang":
        time.sleep(3600)
    if action in ("restart", "reload") and behaviour == "fail":
        print(f"Failed to {action} {unit}: Unit not found.", file=sys.stderr)
        return 5
    if action == "restart":
        stop(folder)
        start(folder)
    if action == "is-active":
        print("active" if runs(int((folder / "pid").read_text())) else "failed")
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(*sys.argv[2:])
    else:
        sys.exit(systemctl(Path(sys.argv[2]), *sys.argv[3:]))
