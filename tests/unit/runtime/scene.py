"""A whole host below a test's folder, and plans for it; nothing is run, and only `carry_out` writes."""

import os
from pathlib import Path

from ctk.change.journal import Journal
from ctk.errors import CtkError
from ctk.host.local import LocalHost
from ctk.runtime.configure import plan_configure
from ctk.runtime.planned import Planned
from ctk.runtime.request import Request
from ctk.runtime.targets import Target, choose_targets
from ctk.runtime.unconfigure import unconfigure_with

RUNTIME = "/usr/bin/nvidia-container-runtime"


class Machine:
    """Files by their path on that host, and what ctk would do about them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "root"
        self.folder.mkdir()
        self.journal = Journal(str(folder / "state"))
        self.host = LocalHost(str(self.folder), environment={})
        self.program(RUNTIME)

    def path(self, name: str) -> Path:
        return self.folder / name.lstrip("/")

    def put(self, name: str, content: str, mode: int = 0o644) -> Path:
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
        path.chmod(mode)
        return path

    def program(self, name: str) -> Path:
        return self.put(name, "#!/bin/sh\n", 0o755)

    def targets(self, request: Request) -> list[tuple[str, str]]:
        """The engines and installations that a request means."""
        return [(target.engine, target.installation) for target in choose_targets(self.host, request)]

    def target(self, request: Request) -> Target:
        """The one installation that a request means."""
        [target] = choose_targets(self.host, request)
        return target

    def configure(self, request: Request) -> Planned:
        """The plan for the one installation that the request means."""
        return plan_configure(self.host, request, self.target(request))

    def unconfigure(self, request: Request) -> Planned:
        """The plan that takes it out again; no past is known."""
        return unconfigure_with(self.journal)(self.host, request, self.target(request))

    def refusal(self, request: Request) -> CtkError:
        """The error that planning ends with; the host must be as it was."""
        before = self.everything()
        try:
            self.configure(request)
        except CtkError as error:
            assert self.everything() == before
            return error
        raise AssertionError("the plan was made")

    def texts(self, planned: Planned) -> dict[str, str | None]:
        """The new texts by the path on that host."""
        pairs = ((change.target, change.after) for change in planned.plan.pending)
        return {
            "/" + os.path.relpath(target, self.folder): None if after is None else after.decode()
            for target, after in pairs
        }

    def carry_out(self, planned: Planned) -> None:
        """Write what the plan says."""
        for name, text in self.texts(planned).items():
            if text is None:
                self.path(name).unlink()
            else:
                self.put(name, text)

    def everything(self) -> dict[str, tuple[bytes, int]]:
        """All files, to see that nothing moved."""
        files = (path for path in sorted(self.folder.rglob("*")) if path.is_file() and not path.is_symlink())
        return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
