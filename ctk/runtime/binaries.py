"""Whether the runtime's program exists where the entry will say; reads, runs nothing."""

from typing import TYPE_CHECKING

from ctk.errors import Refused

if TYPE_CHECKING:
    from ctk.host import Host


def check_runtime_binary(host: "Host", path: str, forced: frozenset[str]) -> tuple[str, ...]:
    """Refuse a runtime program that is not there: every container of that runtime would fail. Forced: a warning.

    A name without a slash is looked up as an engine does, in PATH and the system's folders (Docker takes such names).
    """
    from ctk.host.programs import program_fault

    cause = program_fault(host, path)
    if not cause:
        return ()
    if "missing-binary" in forced:
        return (f"{cause}: containers of this runtime will not start until it is there",)
    raise Refused(
        f"cannot register the runtime: {cause}",
        force="missing-binary",
        hint="Install the toolkit first, or give the right path with --nvidia-runtime-path; "
        "--force missing-binary registers it all the same. Nothing was changed.",
        path=path,
    )
