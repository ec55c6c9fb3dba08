"""Valid values of CDI: a spec with every field, and a host whose spec is true; override what a test is about."""

from ctk.facts.cdi_spec import (
    CdiSpec,
    SpecAnnotation,
    SpecDevice,
    SpecDeviceNode,
    SpecEdits,
    SpecHook,
    SpecIntelRdt,
    SpecMount,
    SpecNetDevice,
)

FULL_SPEC = CdiSpec(
    "1.1.0",
    "nvidia.com/gpu",
    (
        SpecDevice(
            "0",
            SpecEdits(
                env=("A=1", "B=yes"),
                device_nodes=(SpecDeviceNode("/dev/nvidia0", "/drv/dev/nvidia0", "c", 195, 0, 0o660, "rwm", 1, 44),),
                net_devices=(SpecNetDevice("eth1", "net0"),),
                mounts=(SpecMount("/a", "/b", ("ro", "rbind"), "bind"),),
                hooks=(
                    SpecHook("createContainer", "/usr/bin/nvidia-cdi-hook", ("nvidia-cdi-hook", "755"), ("X=",), 5),
                ),
                additional_gids=(44,),
                intel_rdt=SpecIntelRdt("clos", "L3:0=f", "MB:0=20", None, None, ("L2:0=1",), True),
            ),
            (SpecAnnotation("a.example/b", "12"),),
        ),
        SpecDevice("all", SpecEdits(env=("A=n",))),
    ),
    SpecEdits(env=("NVIDIA_VISIBLE_DEVICES=void",)),
    (SpecAnnotation("note", "no"),),
)
