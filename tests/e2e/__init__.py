"""The engine suite: real containerd, dockerd and podman in a private copy of this host; nothing outside it changes."""
