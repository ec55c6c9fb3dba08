"""What keeps NVIDIA's modules from being built, found or loaded: other drivers, signatures, DKMS, the wrong kernel."""

from typing import TYPE_CHECKING

from ctk.doctor.checks.applies import (
    elsewhere,
    gpus,
    has_trace,
    is_debian_like,
    is_loaded,
    no_gpu_here,
    nothing_to_judge,
    release_of,
)
from ctk.doctor.checks.log_lines import quote
from ctk.doctor.model import UBUNTU, Command, Evidence, Outcome, Remedy, failed, noted, passed, skipped, unseen, warned
from ctk.facts import Unknown

if TYPE_CHECKING:
    from ctk.facts.kernel import Kernel
    from ctk.facts.modules import DkmsBuild, Modules
    from ctk.facts.snapshot import Snapshot

GROUP = "Host and kernel"
DKMS_FOLDER = "/var/lib/dkms"
COMPETITORS = ("nova_core", "nova_drm", "nvidiafb", "rivafb", "rivatv", "mods")
"""The kernel's Rust driver, the old frame buffer drivers, and NVIDIA's own driver for factory tests."""
MODPROBE = Command("modprobe nvidia")


def check_nouveau_loaded(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """Loaded is no harm by itself; a GPU it has bound is lost to NVIDIA's driver."""
    return _judge_competitors(snapshot, ("nouveau",))


def check_competing_drivers(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """The same for those few others."""
    return _judge_competitors(snapshot, COMPETITORS)


def _judge_competitors(snapshot: "Snapshot", names: tuple[str, ...]) -> Outcome | tuple[Outcome, ...]:
    why = elsewhere(snapshot)
    if why:
        return skipped(why)
    taken = tuple(gpu for gpu in gpus(snapshot) if isinstance(gpu.driver, str) and gpu.driver in names)
    if taken:
        return tuple(
            failed(
                f"GPU {gpu.address} is bound to {gpu.driver}",
                Evidence(str(gpu.driver), f"{gpu.folder}/driver"),
                subject=gpu.address,
                remedy=_deny_remedy(snapshot, str(gpu.driver)),
            )
            for gpu in taken
        )
    modules = snapshot.modules
    if isinstance(modules, Unknown):
        return unseen(modules)
    if isinstance(modules.loaded, Unknown):
        return unseen(modules.loaded)
    loaded = [module for module in modules.loaded if module.name in names]
    if not loaded:
        return passed(f"{' and '.join(names[:2])} {'is' if len(names) == 1 else 'and the like are'} not loaded")
    if not gpus(snapshot):
        return noted(f"{loaded[0].name} is loaded; there is no NVIDIA GPU", Evidence(loaded[0].name, "/proc/modules"))
    return warned(
        f"{loaded[0].name} is loaded beside NVIDIA's driver, though no GPU is bound to it",
        *(Evidence(module.name, "/proc/modules") for module in loaded[:3]),
        remedy=_deny_remedy(snapshot, loaded[0].name),
    )


def _deny_remedy(snapshot: "Snapshot", module: str) -> Remedy:
    rebuild = "update-initramfs -u" if is_debian_like(snapshot) else "dracut --force"
    path = f"/etc/modprobe.d/blacklist-{module.replace('_', '-')}.conf"
    options = "\\noptions nouveau modeset=0" if module == "nouveau" else ""
    return Remedy(
        f"Deny {module}, in the initial RAM disk too, and start the machine anew",
        (
            Command(f"printf 'blacklist {module}{options}\\n' | sudo tee {path}"),
            Command(rebuild),
            Command("systemctl reboot", stops_containers=True, reboots=True),
        ),
    )


def check_secure_boot(snapshot: "Snapshot") -> Outcome:
    """Never a fault by itself."""
    kernel = _kernel(snapshot)
    if not isinstance(kernel, Outcome):
        if isinstance(kernel.secure_boot, Unknown):
            return unseen(kernel.secure_boot)
        if kernel.secure_boot is True:
            return noted("Secure Boot is on", Evidence("SecureBoot = 1", "/sys/firmware/efi/efivars"))
        return passed("Secure Boot is off" if kernel.efi is True else "the machine was started without EFI")
    return kernel


def check_lockdown(snapshot: "Snapshot") -> Outcome:
    """confidentiality closes more than unsigned modules: BPF programs may not be looked into either."""
    kernel = _kernel(snapshot)
    if isinstance(kernel, Outcome):
        return kernel
    mode = kernel.lockdown
    if isinstance(mode, Unknown):
        return unseen(mode)
    evidence = Evidence(str(mode), "/sys/kernel/security/lockdown")
    if mode == "confidentiality":
        return warned("the kernel is locked down to confidentiality: device rules cannot be inspected", evidence)
    if mode == "integrity":
        return noted("the kernel is locked down: it refuses unsigned modules", evidence)
    return passed("the kernel is not locked down")


def check_module_signature(snapshot: "Snapshot") -> Outcome:
    """Only where the kernel refuses unsigned modules; a module that is loaded was accepted."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    kernel = _kernel(snapshot)
    if isinstance(kernel, Outcome):
        return kernel
    if is_loaded(snapshot):
        return passed("the kernel accepted the loaded module")
    enforced = _signatures_enforced(kernel)
    if isinstance(enforced, Unknown):
        return unseen(enforced)
    if enforced is None:
        return skipped("the kernel takes unsigned modules")
    return _judge_signature(snapshot, kernel, enforced)


def _signatures_enforced(kernel: "Kernel") -> Evidence | None | Unknown:
    """Why the kernel refuses unsigned modules; None: it takes them."""
    if kernel.signatures_enforced is True:
        return Evidence("module.sig_enforce is on", "/sys/module/module/parameters/sig_enforce")
    if kernel.lockdown in ("integrity", "confidentiality"):
        return Evidence(f"lockdown {kernel.lockdown}", "/sys/kernel/security/lockdown")
    if kernel.secure_boot is True and kernel.lockdown is None:
        return Evidence("Secure Boot is on", "/sys/firmware/efi/efivars")
    for fact in (kernel.lockdown, kernel.signatures_enforced, kernel.secure_boot):
        if isinstance(fact, Unknown):
            return fact
    return None


def _judge_signature(snapshot: "Snapshot", kernel: "Kernel", enforced: Evidence) -> Outcome:
    modules = snapshot.modules
    file = None if isinstance(modules, Unknown) else modules.find_file("nvidia")
    if isinstance(modules, Unknown):
        return unseen(modules)
    if file is None:
        return unseen(modules.files) if isinstance(modules.files, Unknown) else skipped("no nvidia module is on disk")
    if isinstance(file.signed, Unknown):
        return _rejected(snapshot, enforced) or unseen(file.signed)
    secure = "Secure Boot is on and " if kernel.secure_boot is True else ""
    if not file.signed:
        message = f"{secure}the kernel refuses unsigned modules, and nvidia.ko is not signed"
        remedy = _sign_remedy(snapshot, unsigned=True)
        return failed(message, Evidence("no signature", file.path), enforced, remedy=remedy)
    signer = file.signer
    if not isinstance(signer, str):
        return _rejected(snapshot, enforced) or unseen(signer or Unknown("the signature does not say who made it"))
    if isinstance(kernel.trusted_keys, Unknown):
        return _rejected(snapshot, enforced) or unseen(kernel.trusted_keys)
    if any(signer in key for key in kernel.trusted_keys or ()):
        return passed("the kernel trusts the module's signer", Evidence(f"signed by {signer}", file.path))
    message = f"{secure}nvidia.ko is signed by {signer!r}, a key the kernel does not trust"
    keys = Evidence(f"not among {len(kernel.trusted_keys or ())} keys", "/proc/keys")
    return failed(message, Evidence(f"signed by {signer}", file.path), keys, enforced, remedy=_sign_remedy(snapshot))


def _rejected(snapshot: "Snapshot", enforced: Evidence) -> Outcome | None:
    """The kernel's own word, where the signature or the keys could not be looked at."""
    log = snapshot.kernel_log
    if log is None or isinstance(log, Unknown):
        return None
    lines = log.matching("Loading of", "is rejected")
    if not lines:
        return None
    message = "the kernel refused a module for its signature, and the nvidia module is not loaded"
    return failed(message, quote(lines[0], log), enforced, remedy=_sign_remedy(snapshot))


def _sign_remedy(snapshot: "Snapshot", *, unsigned: bool = False) -> Remedy:
    """DKMS signs what it builds once it has a key."""
    key = "/var/lib/shim-signed/mok/MOK.der" if snapshot.system.distribution == "ubuntu" else "/var/lib/dkms/mok.pub"
    return Remedy(
        "Enrol the key that DKMS signs with: it asks for a password, which the firmware's screen asks again at the "
        "next start; or install the distribution's signed module packages instead",
        (
            Command(f"mokutil --import {key}"),
            *((Command("dkms install --force nvidia/$(modinfo -F version nvidia) # signs it"),) if unsigned else ()),
            Command("systemctl reboot", stops_containers=True, reboots=True),
            Command(
                "apt-get install linux-modules-nvidia-<BRANCH>-server-$(uname -r) # signed; instead of a key",
                only_on=(UBUNTU,),
            ),
        ),
    )


def check_kernel_headers(snapshot: "Snapshot") -> Outcome:
    """Only DKMS and NVIDIA's installer build modules on the host."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    kernel = _kernel(snapshot)
    if isinstance(kernel, Outcome):
        return kernel
    if not _own_builds(snapshot) and not has_trace(snapshot, "runfile"):
        return skipped("no module is built on this host")
    if isinstance(kernel.headers, Unknown):
        return unseen(kernel.headers)
    if isinstance(kernel.headers, str):
        return passed("the running kernel's headers are there", Evidence("complete", kernel.headers))
    release = release_of(snapshot)
    message = f"the headers of the running kernel {release} are missing, so no module can be built for it"
    package = (
        f"apt-get install linux-headers-{release}"
        if is_debian_like(snapshot)
        else f"dnf install kernel-devel-{release}"
    )
    remedy = Remedy(
        "Install them and build the module", (Command(package), Command(f"dkms autoinstall -k {release}"), MODPROBE)
    )
    evidence = Evidence("no Makefile or no autoconf.h", f"/lib/modules/{release}/build")
    return (warned if is_loaded(snapshot) else failed)(message, evidence, remedy=remedy)


def check_dkms_status(snapshot: "Snapshot") -> Outcome:
    """Installed for the running kernel, or why not: never built, built and left, or the build failed."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    if isinstance(snapshot.modules, Unknown):
        return unseen(snapshot.modules)
    if isinstance(snapshot.modules.dkms, Unknown):
        return unseen(snapshot.modules.dkms)
    builds = _own_builds(snapshot)
    if not builds:
        return skipped("DKMS has no NVIDIA module")
    if not isinstance(snapshot.system.kernel, str):
        return unseen(Unknown("the running kernel's release is not known"))
    here = [build for build in builds if build.kernel in (snapshot.system.kernel, None)]
    installed = [build for build in here if build.state == "installed"]
    if installed:
        return passed(f"DKMS installed {installed[0].module}/{installed[0].version} for the running kernel")
    if _has_other_file(snapshot.modules):
        return noted("DKMS has no module for the running kernel, but another package brought one")
    return _judge_builds(snapshot, snapshot.system.kernel, [build for build in here if build.kernel] or list(builds))


def _judge_builds(snapshot: "Snapshot", release: str, builds: "list[DkmsBuild]") -> Outcome:
    build = next((build for build in builds if build.state == "failed"), builds[-1])
    name = f"{build.module}/{build.version}"
    evidence = [Evidence(f"{name} for {build.kernel or 'no kernel'}: {build.state}", f"{DKMS_FOLDER}/{build.module}")]
    retry = Command(f"dkms install {name} -k {release}")
    if build.state == "failed":
        evidence.append(Evidence(build.error or "no error line was found", build.log or DKMS_FOLDER))
        message = f"DKMS could not build {name} for kernel {release}: the build failed"
        remedy = Remedy(
            "Read the build's log; a branch that is too old for this kernel needs a newer driver",
            (Command(f"grep -n -m5 -i error {build.log}"), retry, MODPROBE),
        )
        return _by_use(snapshot, message, evidence, remedy)
    if build.state == "built" and build.kernel == release:
        message = f"DKMS has built {name} for kernel {release} but not installed it"
        return _by_use(snapshot, message, evidence, Remedy("Install the build", (retry, MODPROBE)))
    message = f"DKMS has not built {name} for the running kernel {release}"
    return _by_use(snapshot, message, evidence, Remedy("Build it", (retry, MODPROBE)))


def _by_use(snapshot: "Snapshot", message: str, evidence: list[Evidence], remedy: Remedy) -> Outcome:
    """A module that runs all the same was loaded by other means: then it is a risk, no failure."""
    return (warned if is_loaded(snapshot) else failed)(message, *evidence, remedy=remedy)


def _has_other_file(modules: "Modules") -> bool:
    file = modules.find_file("nvidia")
    return file is not None and "/dkms/" not in file.path


def _own_builds(snapshot: "Snapshot") -> "tuple[DkmsBuild, ...]":
    """DKMS's builds of the driver itself; nvidia-fs and the like are other products."""
    modules = snapshot.modules
    if isinstance(modules, Unknown) or not isinstance(modules.dkms, tuple):
        return ()
    return tuple(
        build for build in modules.dkms if not build.module.startswith(("nvidia-fs", "nvidia-peer", "nvidia_peer"))
    )


def check_module_vermagic(snapshot: "Snapshot") -> Outcome | tuple[Outcome, ...]:
    """A module built for another kernel is refused; of two copies depmod's search order takes one."""
    why = no_gpu_here(snapshot)
    if why:
        return skipped(why)
    modules = snapshot.modules
    if isinstance(modules, Unknown):
        return unseen(modules)
    if isinstance(modules.files, Unknown):
        return unseen(modules.files)
    file = modules.find_file("nvidia")
    if file is None or not isinstance(snapshot.system.kernel, str):
        return skipped("no nvidia module is on disk for the running kernel")
    if isinstance(file.version_magic, Unknown):
        return unseen(file.version_magic)
    built_for = (file.version_magic or "").partition(" ")[0]
    if built_for and built_for != snapshot.system.kernel and "/weak-updates/" not in file.path:
        message = f"nvidia.ko was built for kernel {built_for}, and {snapshot.system.kernel} is running"
        return failed(message, Evidence(f"vermagic {built_for}", file.path))
    copies = {other.version: other for other in modules.files or () if other.plain_name == "nvidia"}
    versions = [version for version in copies if isinstance(version, str)]
    if len(versions) > 1:
        message = f"nvidia.ko is there in {len(versions)} versions: {', '.join(sorted(versions))}"
        return warned(message, *(Evidence(version, copies[version].path) for version in versions[:3]))
    return passed("nvidia.ko was built for the running kernel", Evidence(f"vermagic {built_for}", file.path))


def _kernel(snapshot: "Snapshot") -> "Kernel | Outcome":
    why = nothing_to_judge(snapshot)
    if why:
        return skipped(why)
    return unseen(snapshot.kernel) if isinstance(snapshot.kernel, Unknown) else snapshot.kernel
